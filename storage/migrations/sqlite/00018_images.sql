-- +goose Up
-- The images of messages, each once, and which messages and runs name them.
CREATE TABLE images (
	hash       TEXT   PRIMARY KEY,
	media_type TEXT   NOT NULL,
	width      BIGINT NOT NULL,
	height     BIGINT NOT NULL,
	body       BLOB   NOT NULL,
	put_at     BIGINT NOT NULL -- last: one that nobody names yet stays for a while
);
CREATE TABLE image_uses (
	owner TEXT NOT NULL, -- the id of a message, or of a run whose input holds it
	hash  TEXT NOT NULL,
	PRIMARY KEY (owner, hash)
);
CREATE INDEX image_uses_hash ON image_uses (hash);
