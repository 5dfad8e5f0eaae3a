-- What only SQLite needs besides the tables of package rows. A change of this file gets a new rows.SchemaNumber.

-- The chain shows what was changed; these keep it from happening by mistake. The oldest entries may go once an entry of kind
-- "prune" says so: its intent is the newest entry that goes, its before the hash of that entry.
CREATE TRIGGER trail_is_never_changed BEFORE UPDATE ON trail
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER trail_is_cut_by_pruning_only BEFORE DELETE ON trail
WHEN OLD.seq > (SELECT coalesce(max(intent), 0) FROM trail WHERE kind = 'prune')
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_are_never_cut BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
