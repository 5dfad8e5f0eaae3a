-- +goose Up
DROP TABLE words;
DROP TABLE words_until;

-- What a search need not read: see wordfilter.go. Both can be made again from events at any time.
CREATE TABLE words_blocks (
	segment INTEGER PRIMARY KEY,
	blocks  BLOB    NOT NULL -- for each block the place of its last event and the time_us of its newest one, 8 bytes each, the lowest first
) STRICT;
CREATE TABLE words_bits (
	key  INTEGER PRIMARY KEY, -- segment * 1024 + number of the part
	bits BLOB    NOT NULL
) STRICT;
