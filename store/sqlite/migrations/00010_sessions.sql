-- +goose Up
CREATE TABLE sessions (
	key        INTEGER PRIMARY KEY,
	id         TEXT    NOT NULL UNIQUE,
	dir        TEXT    NOT NULL,
	source     TEXT    NOT NULL,
	title      TEXT    NOT NULL,
	first      TEXT    NOT NULL,
	model      TEXT    NOT NULL,
	parent     TEXT    NOT NULL,
	parent_seq INTEGER NOT NULL,
	relation   TEXT    NOT NULL,
	next       TEXT    NOT NULL,
	closed     INTEGER NOT NULL,
	created_us INTEGER NOT NULL,
	updated_us INTEGER NOT NULL,
	last       INTEGER NOT NULL,
	count      INTEGER NOT NULL
) STRICT;

-- In the order of arrival: appending to any session writes to the end.
CREATE TABLE events (
	place   INTEGER PRIMARY KEY,
	session INTEGER NOT NULL REFERENCES sessions (key),
	seq     INTEGER NOT NULL,
	time_us INTEGER NOT NULL,
	kind    TEXT    NOT NULL,
	version INTEGER NOT NULL,
	sum     INTEGER NOT NULL,
	body    TEXT    NOT NULL,
	UNIQUE (session, seq)
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_are_never_cut BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
-- +goose StatementEnd

-- The words of events, by events.place, up to that of the last row of
-- words_until. They can be made again from events at any time.
CREATE VIRTUAL TABLE words USING fts5 (text, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1');
CREATE TABLE words_until (place INTEGER NOT NULL) STRICT;
INSERT INTO words_until VALUES (0);
