-- Which tools requests offer, and how often they are called.
-- +goose Up
ALTER TABLE requests ADD COLUMN tool_set INTEGER NOT NULL DEFAULT 0;

CREATE TABLE tool_sets (
	id    INTEGER PRIMARY KEY,
	tools TEXT    NOT NULL
) STRICT;

CREATE TABLE tool_calls (
	seq          INTEGER PRIMARY KEY,
	conversation TEXT    NOT NULL,
	agent        TEXT    NOT NULL,
	tool         TEXT    NOT NULL,
	time_us      INTEGER NOT NULL,
	calls        INTEGER NOT NULL,
	UNIQUE (conversation, agent, tool)
) STRICT;
