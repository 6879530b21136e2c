-- +goose Up
-- Which hosts a shell line had reached that made a file: one a line.
ALTER TABLE file_changes ADD COLUMN source TEXT NOT NULL DEFAULT '';
CREATE INDEX file_changes_source ON file_changes (workspace, path) WHERE source <> '';
