-- +goose Up
-- Where the texts came from that a model had read from outside, in the same run, before it wrote a version: one a line. Those of
-- passages stand in their data.
ALTER TABLE block_versions ADD COLUMN source TEXT NOT NULL DEFAULT '';
