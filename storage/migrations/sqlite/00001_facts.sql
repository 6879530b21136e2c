-- +goose Up
CREATE TABLE meta (
	key   TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
);

CREATE TABLE agents (
	id            TEXT    NOT NULL PRIMARY KEY,
	name          TEXT    NOT NULL,
	name_key      TEXT    NOT NULL, -- lower case, for substring search
	type          TEXT    NOT NULL,
	model         TEXT    NOT NULL,
	hidden        BOOLEAN NOT NULL,
	last_stop     TEXT    NOT NULL,
	last_run_at   BIGINT  NOT NULL, -- 0: never
	last_run_ms   BIGINT  NOT NULL,
	message_count BIGINT  NOT NULL DEFAULT 0,
	rev           BIGINT  NOT NULL,
	created_at    BIGINT  NOT NULL,
	updated_at    BIGINT  NOT NULL,
	deleted_at    BIGINT,
	data          TEXT    NOT NULL
);
CREATE INDEX agents_created ON agents (created_at, id);
CREATE INDEX agents_updated ON agents (updated_at, id);
CREATE INDEX agents_last_run ON agents (last_run_at, id);
CREATE INDEX agents_name ON agents (name);
CREATE INDEX agents_deleted ON agents (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE agent_tags (
	agent_id TEXT NOT NULL,
	tag      TEXT NOT NULL,
	PRIMARY KEY (agent_id, tag)
);
CREATE INDEX agent_tags_tag ON agent_tags (tag, agent_id);

CREATE TABLE blocks (
	id            TEXT    NOT NULL PRIMARY KEY,
	label         TEXT    NOT NULL,
	template_name TEXT    NOT NULL,
	value         TEXT    NOT NULL,
	description   TEXT    NOT NULL,
	limit_chars   BIGINT  NOT NULL,
	hidden        BOOLEAN NOT NULL,
	version       BIGINT  NOT NULL,
	created_at    BIGINT  NOT NULL,
	updated_at    BIGINT  NOT NULL,
	deleted_at    BIGINT,
	data          TEXT    NOT NULL
);
CREATE INDEX blocks_created ON blocks (created_at, id);
CREATE INDEX blocks_label ON blocks (label);
CREATE INDEX blocks_deleted ON blocks (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE block_tags (
	block_id TEXT NOT NULL,
	tag      TEXT NOT NULL,
	PRIMARY KEY (block_id, tag)
);
CREATE INDEX block_tags_tag ON block_tags (tag, block_id);

-- Kept for ever, also when the block itself is gone: steps name versions.
CREATE TABLE block_versions (
	block_id    TEXT   NOT NULL,
	version     BIGINT NOT NULL,
	value       TEXT   NOT NULL,
	label       TEXT   NOT NULL,
	description TEXT   NOT NULL,
	limit_chars BIGINT NOT NULL,
	author_kind TEXT   NOT NULL,
	author_id   TEXT   NOT NULL,
	step_id     TEXT   NOT NULL,
	at          BIGINT NOT NULL,
	PRIMARY KEY (block_id, version)
);

-- The label stands here too, so that it is unique among the blocks of an agent.
CREATE TABLE agent_blocks (
	agent_id TEXT   NOT NULL REFERENCES agents (id),
	block_id TEXT   NOT NULL REFERENCES blocks (id),
	label    TEXT   NOT NULL,
	position BIGINT NOT NULL,
	PRIMARY KEY (agent_id, block_id)
);
CREATE UNIQUE INDEX agent_blocks_label ON agent_blocks (agent_id, label);
CREATE INDEX agent_blocks_block ON agent_blocks (block_id);

CREATE TABLE conversations (
	id              TEXT    NOT NULL PRIMARY KEY,
	agent_id        TEXT    NOT NULL REFERENCES agents (id),
	is_default      BOOLEAN NOT NULL,
	summary         TEXT    NOT NULL,
	hidden          BOOLEAN NOT NULL,
	stale           BOOLEAN NOT NULL,
	rev             BIGINT  NOT NULL,
	message_count   BIGINT  NOT NULL DEFAULT 0,
	last_message_at BIGINT  NOT NULL, -- 0: none
	created_at      BIGINT  NOT NULL,
	updated_at      BIGINT  NOT NULL,
	deleted_at      BIGINT,
	data            TEXT    NOT NULL
);
CREATE INDEX conversations_agent ON conversations (agent_id, created_at, id);
CREATE INDEX conversations_created ON conversations (created_at, id);
CREATE INDEX conversations_deleted ON conversations (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE messages (
	seq             INTEGER PRIMARY KEY AUTOINCREMENT,
	id              TEXT    NOT NULL UNIQUE,
	agent_id        TEXT    NOT NULL,
	conversation_id TEXT    NOT NULL REFERENCES conversations (id),
	run_id          TEXT    NOT NULL,
	step_id         TEXT    NOT NULL,
	role            TEXT    NOT NULL,
	hidden          TEXT    NOT NULL,
	is_error        BOOLEAN NOT NULL,
	tokens          BIGINT  NOT NULL,
	created_at      BIGINT  NOT NULL,
	deleted_at      BIGINT,
	preface         TEXT    NOT NULL,
	native          TEXT,
	data            TEXT    NOT NULL
);
CREATE INDEX messages_conversation ON messages (conversation_id, seq);
CREATE INDEX messages_agent ON messages (agent_id, seq);
CREATE INDEX messages_run ON messages (run_id, seq) WHERE run_id <> '';
CREATE INDEX messages_step ON messages (step_id, seq) WHERE step_id <> '';
CREATE INDEX messages_deleted ON messages (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE context (
	conversation_id TEXT   NOT NULL REFERENCES conversations (id),
	message_id      TEXT   NOT NULL REFERENCES messages (id),
	position        BIGINT NOT NULL,
	entered         BIGINT NOT NULL,
	"left"          BIGINT,
	why             TEXT   NOT NULL,
	cut_to          BIGINT NOT NULL,
	PRIMARY KEY (conversation_id, message_id, entered)
);
CREATE INDEX context_position ON context (conversation_id, position);
CREATE INDEX context_message ON context (message_id);
CREATE UNIQUE INDEX context_open ON context (conversation_id, message_id) WHERE "left" IS NULL;
CREATE INDEX context_left ON context (conversation_id, "left") WHERE "left" IS NOT NULL;
CREATE INDEX context_window ON context (conversation_id, position) WHERE "left" IS NULL;

CREATE TABLE runs (
	number          INTEGER PRIMARY KEY AUTOINCREMENT,
	id              TEXT    NOT NULL UNIQUE,
	agent_id        TEXT    NOT NULL REFERENCES agents (id),
	conversation_id TEXT    NOT NULL,
	status          TEXT    NOT NULL,
	stop_reason     TEXT    NOT NULL,
	background      BOOLEAN NOT NULL,
	request         TEXT    NOT NULL,
	created_at      BIGINT  NOT NULL,
	completed_at    BIGINT  NOT NULL, -- 0: not yet
	deleted_at      BIGINT,
	data            TEXT    NOT NULL
);
CREATE UNIQUE INDEX runs_request ON runs (conversation_id, request) WHERE request <> '' AND deleted_at IS NULL;
CREATE INDEX runs_agent ON runs (agent_id, number);
CREATE INDEX runs_conversation ON runs (conversation_id, number);
CREATE INDEX runs_unfinished ON runs (number) WHERE status IN ('created', 'running');
CREATE INDEX runs_deleted ON runs (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE steps (
	num             INTEGER PRIMARY KEY AUTOINCREMENT,
	id              TEXT    NOT NULL UNIQUE,
	run_id          TEXT    NOT NULL REFERENCES runs (id),
	agent_id        TEXT    NOT NULL,
	conversation_id TEXT    NOT NULL,
	number          BIGINT  NOT NULL,
	status          TEXT    NOT NULL,
	model           TEXT    NOT NULL,
	feedback        TEXT    NOT NULL,
	system_hash     TEXT    NOT NULL,
	tools_hash      TEXT    NOT NULL,
	agent_hash      TEXT    NOT NULL,
	created_at      BIGINT  NOT NULL,
	data            TEXT    NOT NULL
);
CREATE INDEX steps_run ON steps (run_id, num);
CREATE INDEX steps_agent ON steps (agent_id, num);

CREATE TABLE snapshots (
	hash TEXT NOT NULL PRIMARY KEY,
	kind TEXT NOT NULL,
	body BLOB NOT NULL
);

CREATE TABLE archives (
	id         TEXT   NOT NULL PRIMARY KEY,
	name       TEXT   NOT NULL,
	passages   BIGINT NOT NULL DEFAULT 0,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	deleted_at BIGINT,
	data       TEXT   NOT NULL
);
CREATE INDEX archives_created ON archives (created_at, id);
CREATE INDEX archives_deleted ON archives (deleted_at) WHERE deleted_at IS NOT NULL;

-- An agent has at most one archive.
CREATE TABLE agent_archives (
	agent_id   TEXT NOT NULL PRIMARY KEY REFERENCES agents (id),
	archive_id TEXT NOT NULL REFERENCES archives (id)
);
CREATE INDEX agent_archives_archive ON agent_archives (archive_id);

CREATE TABLE passages (
	seq        INTEGER PRIMARY KEY AUTOINCREMENT,
	id         TEXT    NOT NULL UNIQUE,
	archive_id TEXT    NOT NULL REFERENCES archives (id),
	text       TEXT    NOT NULL,
	created_at BIGINT  NOT NULL,
	updated_at BIGINT  NOT NULL,
	deleted_at BIGINT,
	data       TEXT    NOT NULL
);
CREATE INDEX passages_archive ON passages (archive_id, created_at, seq);
CREATE INDEX passages_created ON passages (created_at, seq);
CREATE INDEX passages_deleted ON passages (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE passage_tags (
	passage_id TEXT NOT NULL,
	tag        TEXT NOT NULL,
	PRIMARY KEY (passage_id, tag)
);
CREATE INDEX passage_tags_tag ON passage_tags (tag, passage_id);

CREATE TABLE archive_tags (
	archive_id TEXT   NOT NULL,
	tag        TEXT   NOT NULL,
	uses       BIGINT NOT NULL,
	PRIMARY KEY (archive_id, tag)
);

CREATE TABLE workspaces (
	path            TEXT   NOT NULL PRIMARY KEY,
	agent_id        TEXT   NOT NULL,
	conversation_id TEXT   NOT NULL,
	used_at         BIGINT NOT NULL
);
CREATE INDEX workspaces_used ON workspaces (used_at);

-- What the search index follows, in the order of the commits.
CREATE TABLE changes (
	seq  INTEGER PRIMARY KEY AUTOINCREMENT,
	kind TEXT NOT NULL,
	id   TEXT NOT NULL,
	op   TEXT NOT NULL
);
