-- What only PostgreSQL needs besides the tables of package rows. A change of this file gets a new rows.SchemaNumber.

ALTER TABLE sessions SET (fillfactor = 70); -- an append changes the row in place; so no index has updated_us

CREATE FUNCTION stet_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$;
CREATE TRIGGER events_are_never_changed BEFORE UPDATE OR DELETE ON events
	FOR EACH ROW EXECUTE FUNCTION stet_append_only();
CREATE TRIGGER events_are_never_emptied BEFORE TRUNCATE ON events
	FOR EACH STATEMENT EXECUTE FUNCTION stet_append_only();

-- Its one row is the end of the chain. Who adds to the chain locks it.
CREATE TABLE trail_head (
	one  boolean PRIMARY KEY DEFAULT true CHECK (one),
	seq  bigint  NOT NULL,
	hash text    NOT NULL
);
INSERT INTO trail_head (seq, hash) VALUES (0, '');

-- The chain shows what was changed; these keep it from happening by mistake. The oldest entries may go
-- once an entry of kind "prune" says so: its intent is the newest entry that goes.
CREATE FUNCTION stet_cut_by_pruning_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF OLD.seq > (SELECT coalesce(max(intent), 0) FROM trail WHERE kind = 'prune') THEN
		RAISE EXCEPTION 'the audit trail is append-only';
	END IF;
	RETURN OLD;
END $$;
CREATE TRIGGER trail_is_never_changed BEFORE UPDATE ON trail
	FOR EACH ROW EXECUTE FUNCTION stet_append_only();
CREATE TRIGGER trail_is_cut_by_pruning_only BEFORE DELETE ON trail
	FOR EACH ROW EXECUTE FUNCTION stet_cut_by_pruning_only();
CREATE TRIGGER trail_is_never_emptied BEFORE TRUNCATE ON trail
	FOR EACH STATEMENT EXECUTE FUNCTION stet_append_only();
