-- +goose Up
PRAGMA application_id = 0x73746574;

CREATE TABLE requests (
	seq            INTEGER PRIMARY KEY,
	id             TEXT    NOT NULL UNIQUE,
	time_us        INTEGER NOT NULL,
	conversation   TEXT    NOT NULL,
	agent          TEXT    NOT NULL,
	client         TEXT    NOT NULL,
	api            TEXT    NOT NULL,
	model          TEXT    NOT NULL,
	upstream       TEXT    NOT NULL,
	status         INTEGER NOT NULL,
	policy         TEXT    NOT NULL,
	observe        INTEGER NOT NULL,
	passed         TEXT    NOT NULL,
	cut            INTEGER NOT NULL,
	bytes_in       INTEGER NOT NULL,
	bytes_out      INTEGER NOT NULL,
	tokens_off     INTEGER NOT NULL,
	tokens         INTEGER NOT NULL,
	input          INTEGER NOT NULL,
	cache_read     INTEGER NOT NULL,
	cache_write    INTEGER NOT NULL,
	cache_write_1h INTEGER NOT NULL,
	output         INTEGER NOT NULL,
	reasoning      INTEGER NOT NULL,
	web_searches   INTEGER NOT NULL,
	speed          TEXT    NOT NULL,
	region         TEXT    NOT NULL,
	tier           TEXT    NOT NULL,
	reads          INTEGER NOT NULL,
	repeats        INTEGER NOT NULL,
	dangling       INTEGER NOT NULL,
	trimmed        INTEGER NOT NULL,
	added_ns       INTEGER NOT NULL
) STRICT;
CREATE INDEX requests_by_time ON requests (time_us);
CREATE INDEX requests_by_conversation ON requests (conversation, time_us);

CREATE TABLE trims (
	seq          INTEGER PRIMARY KEY,
	request      TEXT    NOT NULL,
	time_us      INTEGER NOT NULL,
	conversation TEXT    NOT NULL,
	call_id      TEXT    NOT NULL,
	paths        TEXT    NOT NULL,
	reason       TEXT    NOT NULL,
	before       INTEGER NOT NULL,
	after        INTEGER NOT NULL,
	observe      INTEGER NOT NULL,
	UNIQUE (request, call_id)
) STRICT;
CREATE INDEX trims_by_time ON trims (time_us);
CREATE INDEX trims_by_conversation ON trims (conversation, time_us);
