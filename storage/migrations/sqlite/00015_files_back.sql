-- +goose Up
-- What stood at a path before and after a change: a file, a folder or a link; and changes that a rewind made.
ALTER TABLE file_changes ADD COLUMN before_kind TEXT NOT NULL DEFAULT '';
ALTER TABLE file_changes ADD COLUMN after_kind TEXT NOT NULL DEFAULT '';
ALTER TABLE file_changes ADD COLUMN after_mode BIGINT NOT NULL DEFAULT 0;
ALTER TABLE file_changes ADD COLUMN rewind_id TEXT NOT NULL DEFAULT '';
UPDATE file_changes SET before_kind = 'file' WHERE before_hash <> '';
UPDATE file_changes SET after_kind = 'file', after_mode = 524288; -- a mode that nobody noted
CREATE INDEX file_changes_rewind ON file_changes (rewind_id) WHERE rewind_id <> '';

-- Whether files are yet to be put back.
ALTER TABLE rewinds ADD COLUMN unfinished BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX rewinds_unfinished ON rewinds (number) WHERE unfinished;
