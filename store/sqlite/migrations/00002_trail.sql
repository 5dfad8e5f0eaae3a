-- +goose Up
CREATE TABLE trail (
	seq      INTEGER PRIMARY KEY,
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
	flags    TEXT    NOT NULL
) STRICT;
CREATE INDEX trail_by_session ON trail (session, seq);
CREATE INDEX trail_by_time ON trail (time_us);

-- The chain shows what was changed; these keep it from happening by mistake.
-- +goose StatementBegin
CREATE TRIGGER trail_is_never_changed BEFORE UPDATE ON trail
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER trail_is_never_cut BEFORE DELETE ON trail
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
