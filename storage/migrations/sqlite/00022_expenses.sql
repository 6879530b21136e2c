-- +goose Up
-- What each call of a model used and cost, and what may be spent in a day. Neither goes with an agent: what was spent, was.
CREATE TABLE expenses (
	id              TEXT    PRIMARY KEY,
	at              BIGINT  NOT NULL,
	agent_id        TEXT    NOT NULL,
	conversation_id TEXT    NOT NULL,
	run_id          TEXT    NOT NULL,
	step_id         TEXT    NOT NULL,
	purpose         TEXT    NOT NULL,
	model           TEXT    NOT NULL,
	prompt          BIGINT  NOT NULL,
	completion      BIGINT  NOT NULL,
	cached          BIGINT  NOT NULL,
	written         BIGINT  NOT NULL,
	cost            BIGINT,           -- millionths of a millionth of a dollar; NULL: unknown
	open            INTEGER NOT NULL, -- 1: under way, with the most that it may come to
	least_prompt    BIGINT  NOT NULL, -- what counts if it is never said what it came to
	least_cost      BIGINT,
	estimated       INTEGER NOT NULL
);
CREATE INDEX expenses_by_time ON expenses (at);
CREATE INDEX expenses_by_run ON expenses (run_id);
CREATE INDEX expenses_by_conversation ON expenses (conversation_id);
CREATE INDEX expenses_open ON expenses (open) WHERE open = 1;

CREATE TABLE budgets (
	agent_id TEXT   PRIMARY KEY, -- empty: the home
	money    BIGINT NOT NULL,    -- 0: no limit
	tokens   BIGINT NOT NULL     -- 0: no limit
);
