-- +goose Up
-- The version whose content a version brings back; 0: an edit.
ALTER TABLE block_versions ADD COLUMN restores BIGINT NOT NULL DEFAULT 0;

-- Who inserted a passage itself, and in which step; empty: a person or a program.
ALTER TABLE passages ADD COLUMN agent_id TEXT NOT NULL DEFAULT '';
ALTER TABLE passages ADD COLUMN step_id TEXT NOT NULL DEFAULT '';
CREATE INDEX passages_step ON passages (step_id) WHERE step_id <> '';

CREATE TABLE rewinds (
	number          INTEGER PRIMARY KEY AUTOINCREMENT,
	id              TEXT   NOT NULL UNIQUE,
	agent_id        TEXT   NOT NULL,
	conversation_id TEXT   NOT NULL,
	step_id         TEXT   NOT NULL,
	undoes          TEXT   NOT NULL,
	rev             BIGINT NOT NULL,
	after_step      BIGINT NOT NULL, -- the newest steps.num when it was made
	created_at      BIGINT NOT NULL,
	data            TEXT   NOT NULL
);
CREATE INDEX rewinds_conversation ON rewinds (conversation_id, number);

-- What became of passages: a rewind took them away, or brought them back.
CREATE TABLE rewind_passages (
	passage_id TEXT    NOT NULL,
	rewind     BIGINT  NOT NULL REFERENCES rewinds (number),
	taken      BOOLEAN NOT NULL,
	PRIMARY KEY (passage_id, rewind)
);
CREATE INDEX rewind_passages_rewind ON rewind_passages (rewind);
