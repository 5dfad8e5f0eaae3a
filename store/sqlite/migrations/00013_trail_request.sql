-- +goose Up
ALTER TABLE trail ADD COLUMN request TEXT NOT NULL DEFAULT '';
CREATE INDEX trail_by_call ON trail (call_id, seq) WHERE request <> '';
