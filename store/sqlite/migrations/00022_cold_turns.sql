-- How a conversation was sent before thinking is known by its sent form: turns have cold points alone, and whole_from is used
-- no more.
-- +goose Up
UPDATE turns SET moment = '' WHERE moment IN ('elsewhere', 'managed', 'thinking');
