-- +goose Up
-- The oldest entries may go once an entry of kind "prune" says so: its intent is
-- the newest entry that goes, its before the hash of that entry.
DROP TRIGGER IF EXISTS trail_is_never_cut;
CREATE INDEX trail_prunes ON trail (intent) WHERE kind = 'prune';
-- +goose StatementBegin
CREATE TRIGGER trail_is_cut_by_pruning_only BEFORE DELETE ON trail
WHEN OLD.seq > (SELECT coalesce(max(intent), 0) FROM trail WHERE kind = 'prune')
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
-- +goose StatementEnd
