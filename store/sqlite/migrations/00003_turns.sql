-- +goose Up
ALTER TABLE requests ADD COLUMN gap_ns      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN lifetime_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN moment      TEXT    NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN alive       INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN longer      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN broke       TEXT    NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN broke_at    INTEGER NOT NULL DEFAULT 0;

-- A call's result and its arguments may both be shortened in one request.
CREATE TABLE trims_new (
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
	UNIQUE (request, call_id, reason)
) STRICT;
INSERT INTO trims_new SELECT seq, request, time_us, conversation, call_id, paths, reason, before, after, observe FROM trims;
DROP TABLE trims;
ALTER TABLE trims_new RENAME TO trims;
CREATE INDEX trims_by_time ON trims (time_us);
CREATE INDEX trims_by_conversation ON trims (conversation, time_us);

CREATE TABLE turns (
	prefix      INTEGER PRIMARY KEY,
	time_us     INTEGER NOT NULL,
	moment      TEXT    NOT NULL,
	model       TEXT    NOT NULL,
	system      INTEGER NOT NULL,
	tools       INTEGER NOT NULL,
	lifetime_ns INTEGER NOT NULL,
	longer      INTEGER NOT NULL,
	account     INTEGER NOT NULL
) STRICT;
CREATE INDEX turns_by_time ON turns (moment <> '', time_us);
