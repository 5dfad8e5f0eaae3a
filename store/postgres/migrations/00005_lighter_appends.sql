-- An append changes updated_us of its session: without an index on that the row is changed in place. Events are only
-- written in the transaction that has locked their session.
DROP INDEX sessions_by_time;
ALTER TABLE sessions SET (fillfactor = 70);
ALTER TABLE events DROP CONSTRAINT events_session_fkey;
