-- +goose Up
-- MCP servers that a person added, and the tools that they were found to have. What is secret is sealed with a key that is kept
-- elsewhere.
CREATE TABLE mcp_servers (
	id         TEXT   PRIMARY KEY,
	name       TEXT   NOT NULL UNIQUE,
	transport  TEXT   NOT NULL,
	data       TEXT   NOT NULL, -- a JSON object: command or address, grants, what went wrong
	sealed     BLOB   NOT NULL, -- empty: it has no secrets
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);

CREATE TABLE mcp_tools (
	id        TEXT PRIMARY KEY,
	server_id TEXT NOT NULL REFERENCES mcp_servers (id) ON DELETE CASCADE,
	name      TEXT NOT NULL UNIQUE,
	remote    TEXT NOT NULL, -- what its server calls it
	data      TEXT NOT NULL, -- a JSON object: what its server said of it
	UNIQUE (server_id, remote)
);
