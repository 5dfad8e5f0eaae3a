-- What else is known of requests that were sent in a form.
-- +goose Up
ALTER TABLE sent_places ADD COLUMN bound INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sent_places ADD COLUMN drops INTEGER NOT NULL DEFAULT 0;
