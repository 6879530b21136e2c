-- +goose Up
-- Requests to models with their answers, while somebody wants them kept: data is packed JSON.
CREATE TABLE traces (
	id              TEXT   NOT NULL PRIMARY KEY,
	agent_id        TEXT   NOT NULL,
	conversation_id TEXT   NOT NULL,
	run_id          TEXT   NOT NULL,
	step_id         TEXT   NOT NULL,
	at              BIGINT NOT NULL,
	bytes           BIGINT NOT NULL,
	data            BLOB   NOT NULL
);
CREATE INDEX traces_run ON traces (run_id);
CREATE INDEX traces_step ON traces (step_id);
CREATE INDEX traces_at ON traces (at);
