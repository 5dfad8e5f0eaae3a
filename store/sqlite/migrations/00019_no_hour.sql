-- The proxy no longer asks for a cache of an hour. The file is copied before this (copy.go).
-- +goose Up
ALTER TABLE requests DROP COLUMN longer;
ALTER TABLE requests DROP COLUMN hour;
ALTER TABLE turns DROP COLUMN longer;
