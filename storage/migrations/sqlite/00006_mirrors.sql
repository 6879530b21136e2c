-- +goose Up
-- Whose memory is kept alike with a folder of files.
CREATE TABLE mirrors (
	agent_id   TEXT    NOT NULL PRIMARY KEY,
	path       TEXT    NOT NULL,
	branch     TEXT    NOT NULL,
	is_on      BOOLEAN NOT NULL,
	created_at BIGINT  NOT NULL
);

-- What a block and its file were when they were last alike, and what is being written to the file.
CREATE TABLE mirror_files (
	agent_id   TEXT NOT NULL,
	block_id   TEXT NOT NULL,
	path       TEXT NOT NULL,
	block_hash TEXT NOT NULL,
	file_hash  TEXT NOT NULL,
	next_block TEXT NOT NULL,
	next_file  TEXT NOT NULL,
	PRIMARY KEY (agent_id, block_id)
);
