-- +goose Up
-- Whose files' chunks an archive holds; empty: it is archival memory. Of a folder that is gone it keeps the name.
ALTER TABLE archives ADD COLUMN folder_id TEXT NOT NULL DEFAULT '';
CREATE INDEX archives_folder ON archives (folder_id) WHERE folder_id <> '';

-- The file whose chunk a passage is, empty: none, and where in the file it stands, from 0.
ALTER TABLE passages ADD COLUMN file_id TEXT NOT NULL DEFAULT '';
ALTER TABLE passages ADD COLUMN place BIGINT NOT NULL DEFAULT 0;
CREATE INDEX passages_file ON passages (file_id, place) WHERE file_id <> '';

CREATE TABLE folders (
	id         TEXT    NOT NULL PRIMARY KEY,
	name       TEXT    NOT NULL,
	archive_id TEXT    NOT NULL REFERENCES archives (id),
	mirrored   BOOLEAN NOT NULL,
	files      BIGINT  NOT NULL DEFAULT 0,
	bytes      BIGINT  NOT NULL DEFAULT 0,
	created_at BIGINT  NOT NULL,
	updated_at BIGINT  NOT NULL,
	deleted_at BIGINT,
	data       TEXT    NOT NULL
);
CREATE UNIQUE INDEX folders_name ON folders (name) WHERE deleted_at IS NULL;
CREATE INDEX folders_created ON folders (created_at, id);
CREATE INDEX folders_archive ON folders (archive_id);
CREATE INDEX folders_deleted ON folders (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE files (
	seq        INTEGER PRIMARY KEY AUTOINCREMENT,
	id         TEXT    NOT NULL UNIQUE,
	folder_id  TEXT    NOT NULL REFERENCES folders (id),
	name       TEXT    NOT NULL,
	hash       TEXT    NOT NULL,
	status     TEXT    NOT NULL,
	size       BIGINT  NOT NULL,
	chunks     BIGINT  NOT NULL,
	embedded   BIGINT  NOT NULL,
	created_at BIGINT  NOT NULL,
	updated_at BIGINT  NOT NULL,
	deleted_at BIGINT,
	data       TEXT    NOT NULL
);
CREATE UNIQUE INDEX files_name ON files (folder_id, name) WHERE deleted_at IS NULL;
CREATE INDEX files_folder ON files (folder_id, seq);
CREATE INDEX files_hash ON files (folder_id, hash);
CREATE INDEX files_unfinished ON files (status, seq) WHERE status IN ('pending', 'parsing', 'embedding') AND deleted_at IS NULL;
CREATE INDEX files_deleted ON files (deleted_at) WHERE deleted_at IS NOT NULL;

-- The bytes of a file until it is read.
CREATE TABLE file_bytes (
	file_id TEXT NOT NULL PRIMARY KEY REFERENCES files (id),
	data    BLOB NOT NULL
);

-- The text of a file and how it is divided: JSON, compressed.
CREATE TABLE file_texts (
	file_id TEXT NOT NULL PRIMARY KEY REFERENCES files (id),
	body    BLOB NOT NULL
);

CREATE TABLE folder_agents (
	agent_id  TEXT   NOT NULL REFERENCES agents (id),
	folder_id TEXT   NOT NULL REFERENCES folders (id),
	position  BIGINT NOT NULL,
	PRIMARY KEY (agent_id, folder_id)
);
CREATE INDEX folder_agents_folder ON folder_agents (folder_id);

-- What agents looked at. Lines count from 1; 0 and 0: from the start to what fits.
CREATE TABLE open_files (
	agent_id   TEXT    NOT NULL REFERENCES agents (id),
	file_id    TEXT    NOT NULL REFERENCES files (id),
	open       BOOLEAN NOT NULL,
	start_line BIGINT  NOT NULL,
	end_line   BIGINT  NOT NULL,
	used_at    BIGINT  NOT NULL,
	PRIMARY KEY (agent_id, file_id)
);
CREATE INDEX open_files_file ON open_files (file_id);
