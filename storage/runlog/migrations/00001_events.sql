-- +goose Up
CREATE TABLE events (
	run_id TEXT   NOT NULL,
	seq    BIGINT NOT NULL,
	at     BIGINT NOT NULL,
	data   BLOB   NOT NULL,
	PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;

-- The runs whose log holds a stop, with its time: what expires and what is whole.
CREATE TABLE run_ends (
	run_id TEXT   NOT NULL PRIMARY KEY,
	at     BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX run_ends_at ON run_ends (at);
