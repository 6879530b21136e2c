-- +goose Up
-- The rewind that wrote a version of a block, so that a redo leaves alone what it took back.
ALTER TABLE block_versions ADD COLUMN rewind_id TEXT NOT NULL DEFAULT '';
