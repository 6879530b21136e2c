-- +goose Up
-- Tools that people wrote. What describes them is made of the source when they are stored.
CREATE TABLE tools (
	id          TEXT   PRIMARY KEY,
	name        TEXT   NOT NULL UNIQUE,
	description TEXT   NOT NULL,
	language    TEXT   NOT NULL,
	source      TEXT   NOT NULL,
	data        TEXT   NOT NULL, -- a JSON object: schemas, tags, requirements and settings
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL
);
