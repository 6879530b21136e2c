-- +goose Up
-- When a text of it was forgotten, 0: never. The hash is that of what was sent.
ALTER TABLE snapshots ADD COLUMN redacted BIGINT NOT NULL DEFAULT 0;

-- What was forgotten, without a word of it. Where done_at is 0, files beside the facts may still hold it.
CREATE TABLE forgets (
	num     INTEGER PRIMARY KEY AUTOINCREMENT,
	at      BIGINT NOT NULL,
	records BIGINT NOT NULL,
	done_at BIGINT NOT NULL DEFAULT 0
);

-- The copies that were made on request, so that who forgets something is told of them.
CREATE TABLE backups (
	path TEXT   NOT NULL PRIMARY KEY,
	at   BIGINT NOT NULL
);
