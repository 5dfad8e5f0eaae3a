package record

import (
	"context"
	"errors"
	"fmt"
)

// ErrLost is the error of a trail that no longer has an entry that was in it:
// its file was removed, replaced or emptied, or its end was cut off. Nothing is
// written to such a trail, so what needs an entry in it is not done. (FILE-11)
var ErrLost = errors.New("the audit trail has lost entries")

// Noter is a Trail that keeps a note, apart from the entries, of how far the
// chain has reached.
type Noter interface {
	Trail
	// Noted returns the links that must be in the trail, or ErrLost if the
	// trail is known to be another one than it was.
	Noted(ctx context.Context) ([]Link, error)
}

// noted returns what t itself has noted.
func noted(ctx context.Context, t Trail) ([]Link, error) {
	if n, ok := t.(Noter); ok {
		return n.Noted(ctx)
	}
	return nil, nil
}

// LossEntry is the entry with which a person takes note that the entries up to
// lost are gone. The chain goes on after it.
func LossEntry(lost Link, by string) Entry {
	return Entry{
		Kind: Loss, Intent: lost.Seq, Before: lost.Hash, Decision: "accepted", By: "person " + by, Outcome: OK,
	}
}

// PruneEntry is the checkpoint that pruning leaves: last is the newest entry
// that was removed, and removed is how many were. The chain is followed from
// there on.
func PruneEntry(last Link, removed int, by string) Entry {
	return Entry{
		Kind: Prune, Intent: last.Seq, Before: last.Hash, Decision: "allowed", By: by, Outcome: OK,
		Flags: []string{fmt.Sprintf("%d removed", removed)},
	}
}
