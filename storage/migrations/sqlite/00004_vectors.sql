-- +goose Up
-- A set is what is searched together: the vectors of one kind of text by one model.
CREATE TABLE vector_sets (
	id     INTEGER PRIMARY KEY AUTOINCREMENT,
	kind   TEXT   NOT NULL,
	model  TEXT   NOT NULL,
	dim    BIGINT NOT NULL,
	pruned BIGINT NOT NULL DEFAULT 0, -- deletions up to here are not on record any more
	UNIQUE (kind, model, dim)
);

-- A vector never changes; an update is a deletion and a row with a higher id. The owner is the seq of a passage or
-- message. The data are little-endian float32 of length 1.
CREATE TABLE vectors (
	id     INTEGER PRIMARY KEY AUTOINCREMENT,
	set_id BIGINT NOT NULL REFERENCES vector_sets (id),
	owner  BIGINT NOT NULL,
	data   BLOB   NOT NULL,
	UNIQUE (set_id, owner)
);
CREATE INDEX vectors_set ON vectors (set_id);

CREATE TABLE vector_gone (
	seq       INTEGER PRIMARY KEY AUTOINCREMENT,
	set_id    BIGINT NOT NULL,
	vector_id BIGINT NOT NULL
);

-- Texts that wait for a vector. One that changes while it waits gets a new number.
CREATE TABLE vector_queue (
	num   INTEGER PRIMARY KEY AUTOINCREMENT,
	kind  TEXT   NOT NULL,
	owner BIGINT NOT NULL,
	UNIQUE (kind, owner)
);

-- Archives whose model has changed, and how far their passages were put into the queue.
CREATE TABLE vector_moves (
	archive_id TEXT   NOT NULL PRIMARY KEY,
	after_at   BIGINT NOT NULL,
	after_seq  BIGINT NOT NULL
);

-- +goose StatementBegin
CREATE TRIGGER vectors_fixed BEFORE UPDATE ON vectors BEGIN
	SELECT RAISE(ABORT, 'a vector never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER vectors_gone AFTER DELETE ON vectors BEGIN
	INSERT INTO vector_gone (set_id, vector_id) VALUES (OLD.set_id, OLD.id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER passages_wait AFTER INSERT ON passages WHEN NEW.deleted_at IS NULL BEGIN
	INSERT INTO vector_queue (kind, owner) VALUES ('passage', NEW.seq);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER passages_changed AFTER UPDATE OF text, archive_id, created_at, deleted_at ON passages
WHEN NEW.text IS NOT OLD.text OR NEW.archive_id IS NOT OLD.archive_id OR NEW.created_at IS NOT OLD.created_at OR NEW.deleted_at IS NOT OLD.deleted_at BEGIN
	DELETE FROM vectors WHERE owner = OLD.seq AND set_id IN (SELECT id FROM vector_sets WHERE kind = 'passage');
	DELETE FROM vector_queue WHERE kind = 'passage' AND owner = OLD.seq;
	INSERT INTO vector_queue (kind, owner) SELECT 'passage', NEW.seq WHERE NEW.deleted_at IS NULL;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER passages_gone AFTER DELETE ON passages BEGIN
	DELETE FROM vectors WHERE owner = OLD.seq AND set_id IN (SELECT id FROM vector_sets WHERE kind = 'passage');
	DELETE FROM vector_queue WHERE kind = 'passage' AND owner = OLD.seq;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER messages_wait AFTER INSERT ON messages
WHEN NEW.hidden = '' AND NOT NEW.is_error AND NEW.role IN ('user', 'assistant', 'approval', 'summary') AND NEW.deleted_at IS NULL BEGIN
	INSERT INTO vector_queue (kind, owner) VALUES ('message', NEW.seq);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER messages_changed AFTER UPDATE OF data, deleted_at ON messages
WHEN NEW.hidden = '' AND NOT NEW.is_error AND NEW.role IN ('user', 'assistant', 'approval', 'summary')
	AND (NEW.data IS NOT OLD.data OR NEW.deleted_at IS NOT OLD.deleted_at) BEGIN
	DELETE FROM vectors WHERE owner = OLD.seq AND set_id IN (SELECT id FROM vector_sets WHERE kind = 'message');
	DELETE FROM vector_queue WHERE kind = 'message' AND owner = OLD.seq;
	INSERT INTO vector_queue (kind, owner) SELECT 'message', NEW.seq WHERE NEW.deleted_at IS NULL;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER messages_gone AFTER DELETE ON messages BEGIN
	DELETE FROM vectors WHERE owner = OLD.seq AND set_id IN (SELECT id FROM vector_sets WHERE kind = 'message');
	DELETE FROM vector_queue WHERE kind = 'message' AND owner = OLD.seq;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER archives_moved AFTER UPDATE OF data ON archives
WHEN json_extract(NEW.data, '$.embedding') IS NOT json_extract(OLD.data, '$.embedding') BEGIN
	DELETE FROM vector_moves WHERE archive_id = NEW.id;
	INSERT INTO vector_moves (archive_id, after_at, after_seq) VALUES (NEW.id, 0, 0);
END;
-- +goose StatementEnd

INSERT INTO vector_queue (kind, owner) SELECT 'passage', seq FROM passages WHERE deleted_at IS NULL;
INSERT INTO vector_queue (kind, owner) SELECT 'message', seq FROM messages
	WHERE hidden = '' AND NOT is_error AND role IN ('user', 'assistant', 'approval', 'summary') AND deleted_at IS NULL;
