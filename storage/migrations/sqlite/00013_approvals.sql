-- +goose Up
-- Approval records are few among the messages, and what waits is asked for often.
CREATE INDEX messages_approval ON messages (agent_id, seq) WHERE role = 'approval';
