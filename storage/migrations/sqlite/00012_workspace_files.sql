-- +goose Up
-- What conversations know of files in the folders of people, and what calls changed there. The contents lie beside the facts,
-- by their hash.
CREATE TABLE file_reads (
	conversation_id TEXT   NOT NULL,
	path            TEXT   NOT NULL,
	hash            TEXT   NOT NULL,
	at              BIGINT NOT NULL,
	PRIMARY KEY (conversation_id, path)
);
CREATE TABLE file_changes (
	num             INTEGER PRIMARY KEY AUTOINCREMENT,
	agent_id        TEXT   NOT NULL,
	conversation_id TEXT   NOT NULL,
	run_id          TEXT   NOT NULL,
	step_id         TEXT   NOT NULL,
	call_id         TEXT   NOT NULL,
	workspace       TEXT   NOT NULL,
	path            TEXT   NOT NULL,
	before_hash     TEXT   NOT NULL, -- empty: there was no file
	after_hash      TEXT   NOT NULL,
	mode            BIGINT NOT NULL,
	folders         BIGINT NOT NULL, -- made for the file
	at              BIGINT NOT NULL
);
CREATE INDEX file_changes_step ON file_changes (step_id);
CREATE INDEX file_changes_conversation ON file_changes (conversation_id, num);
