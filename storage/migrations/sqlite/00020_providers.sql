-- +goose Up
-- Providers that a person stored. The keys are sealed with a key that is kept elsewhere.
CREATE TABLE providers (
	id         TEXT   PRIMARY KEY,
	name       TEXT   NOT NULL UNIQUE,
	type       TEXT   NOT NULL,
	protocol   TEXT   NOT NULL,
	base_url   TEXT   NOT NULL,
	sealed     BLOB   NOT NULL, -- empty: it has no key
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
