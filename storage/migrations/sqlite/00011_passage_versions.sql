-- +goose Up
-- What passages were. The first change of one writes two: what it was until then, and what it is now.
CREATE TABLE passage_versions (
	num         INTEGER PRIMARY KEY AUTOINCREMENT,
	passage_id  TEXT    NOT NULL,
	version     BIGINT  NOT NULL,
	archive_id  TEXT    NOT NULL,
	text        TEXT    NOT NULL,
	gone        BOOLEAN NOT NULL, -- this version is that it was deleted
	author_kind TEXT    NOT NULL,
	author_id   TEXT    NOT NULL,
	step_id     TEXT    NOT NULL,
	rewind_id   TEXT    NOT NULL,
	restores    BIGINT  NOT NULL,
	at          BIGINT  NOT NULL,
	data        TEXT    NOT NULL,
	UNIQUE (passage_id, version)
);
CREATE INDEX passage_versions_archive ON passage_versions (archive_id, num);
CREATE INDEX passage_versions_step ON passage_versions (step_id) WHERE step_id <> '';
CREATE INDEX passage_versions_rewind ON passage_versions (rewind_id) WHERE rewind_id <> '';
