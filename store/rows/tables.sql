-- The tables, in the spelling of SQLite; package postgres replaces the types. The documentation of package rows says units and
-- formats. A change of this file gets a new SchemaNumber.

-- The account of requests.
CREATE TABLE requests (
	seq            INTEGER PRIMARY KEY,
	id             TEXT    NOT NULL UNIQUE,
	time_us        INTEGER NOT NULL,
	conversation   TEXT    NOT NULL,
	root           TEXT    NOT NULL,
	holdout        TEXT    NOT NULL,
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
	reads          INTEGER NOT NULL,
	repeats        INTEGER NOT NULL,
	dangling       INTEGER NOT NULL,
	trimmed        INTEGER NOT NULL,
	added_ns       INTEGER NOT NULL,
	gap_ns         INTEGER NOT NULL,
	lifetime_ns    INTEGER NOT NULL,
	moment         TEXT    NOT NULL,
	alive          INTEGER NOT NULL,
	broke          TEXT    NOT NULL,
	broke_at       INTEGER NOT NULL,
	tool_set       INTEGER NOT NULL,
	web_searches   INTEGER NOT NULL,
	speed          TEXT    NOT NULL,
	region         TEXT    NOT NULL,
	tier           TEXT    NOT NULL,
	project        TEXT    NOT NULL
) STRICT;
CREATE INDEX requests_by_time ON requests (time_us);
CREATE INDEX requests_by_conversation ON requests (conversation, time_us);
CREATE INDEX requests_by_root ON requests (root, time_us) WHERE root <> '';

-- What was left out of requests. A call's result and its arguments may both be shortened in one request.
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
	UNIQUE (request, call_id, reason)
) STRICT;
CREATE INDEX trims_by_time ON trims (time_us);
CREATE INDEX trims_by_conversation ON trims (conversation, time_us);

-- Which tools requests offer, and how often they are called.
CREATE TABLE tool_sets (
	id    INTEGER NOT NULL PRIMARY KEY,
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

-- What the proxy remembers of conversations.
CREATE TABLE turns (
	prefix       INTEGER NOT NULL,
	time_us      INTEGER NOT NULL,
	model        TEXT    NOT NULL,
	system       INTEGER NOT NULL,
	tools        INTEGER NOT NULL,
	lifetime_ns  INTEGER NOT NULL,
	account      INTEGER NOT NULL,
	conversation TEXT    NOT NULL,
	thread       INTEGER NOT NULL,
	PRIMARY KEY (prefix, model, system, tools)
) STRICT, WITHOUT ROWID;
CREATE INDEX turns_by_thread ON turns (thread, time_us);

-- How requests were changed on their way to the provider, so that they can be sent in the same form again.
CREATE TABLE sent_forms (
	id     INTEGER NOT NULL PRIMARY KEY,
	parent INTEGER NOT NULL,
	edits  BLOB    NOT NULL
) STRICT;
CREATE TABLE sent_places (
	place   INTEGER NOT NULL,
	key     INTEGER NOT NULL,
	form    INTEGER NOT NULL,
	time_us INTEGER NOT NULL,
	bound   INTEGER NOT NULL,
	drops   INTEGER NOT NULL,
	PRIMARY KEY (place, key)
) STRICT, WITHOUT ROWID;

-- The accounts for which a provider clears no results.
CREATE TABLE refusals (
	account INTEGER NOT NULL PRIMARY KEY,
	time_us INTEGER NOT NULL
) STRICT;

-- Small values that processes share. A note with an empty text was taken back.
CREATE TABLE notes (
	kind    TEXT    NOT NULL,
	key     TEXT    NOT NULL,
	text    TEXT    NOT NULL,
	time_us INTEGER NOT NULL,
	PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE trail (
	seq      INTEGER NOT NULL PRIMARY KEY,
	time_us  INTEGER NOT NULL,
	prev     TEXT    NOT NULL,
	hash     TEXT    NOT NULL,
	kind     TEXT    NOT NULL,
	intent   INTEGER NOT NULL,
	root     TEXT    NOT NULL,
	session  TEXT    NOT NULL,
	client   TEXT    NOT NULL,
	call_id  TEXT    NOT NULL,
	tool     TEXT    NOT NULL,
	path     TEXT    NOT NULL,
	bytes    INTEGER NOT NULL,
	before   TEXT    NOT NULL,
	after    TEXT    NOT NULL,
	decision TEXT    NOT NULL,
	by       TEXT    NOT NULL,
	outcome  TEXT    NOT NULL,
	flags    TEXT    NOT NULL,
	request  TEXT    NOT NULL
) STRICT;
CREATE INDEX trail_by_session ON trail (session, seq);
CREATE INDEX trail_by_time ON trail (time_us);
CREATE INDEX trail_by_call ON trail (call_id, seq) WHERE request <> '';
CREATE INDEX trail_prunes ON trail (intent) WHERE kind = 'prune';

-- Stored conversations. A row of sessions is derived from the session's events, for lists.
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
	session INTEGER NOT NULL,
	seq     INTEGER NOT NULL,
	time_us INTEGER NOT NULL,
	kind    TEXT    NOT NULL,
	version INTEGER NOT NULL,
	sum     INTEGER NOT NULL,
	body    TEXT    NOT NULL,
	UNIQUE (session, seq)
) STRICT;
CREATE INDEX events_with_text ON events (time_us DESC, place DESC) WHERE kind IN ('message', 'title');
