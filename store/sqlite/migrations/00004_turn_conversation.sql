-- +goose Up
ALTER TABLE turns ADD COLUMN conversation TEXT NOT NULL DEFAULT '';
