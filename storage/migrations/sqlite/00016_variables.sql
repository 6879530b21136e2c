-- +goose Up
-- What tools find in their environment: secrets of agents, and variables of the sandbox. The values are sealed with a key that is
-- kept elsewhere.
CREATE TABLE variables (
	id          TEXT   PRIMARY KEY,
	agent_id    TEXT   NOT NULL, -- empty: of the sandbox
	name        TEXT   NOT NULL,
	description TEXT   NOT NULL,
	tools       TEXT   NOT NULL, -- a JSON array of names
	sealed      BLOB   NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	UNIQUE (agent_id, name)
);
