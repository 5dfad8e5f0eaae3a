-- How requests were changed on their way to the provider, so that they can be sent in the same form again.
-- +goose Up
CREATE TABLE sent_forms (
	id     INTEGER PRIMARY KEY,
	parent INTEGER NOT NULL,
	rules  INTEGER NOT NULL,
	edits  BLOB NOT NULL
) STRICT;
CREATE TABLE sent_places (
	place   INTEGER NOT NULL,
	form    INTEGER NOT NULL,
	time_us INTEGER NOT NULL,
	PRIMARY KEY (place, form)
) STRICT, WITHOUT ROWID;
CREATE INDEX sent_places_time ON sent_places (time_us);
