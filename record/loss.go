package record

import (
	"context"
	"errors"
	"fmt"
)

// ErrLost is the error of a trail that has lost an entry: its file was removed, replaced or emptied, or its end was cut
// off. Nothing is written to such a trail. So stet does nothing that needs an entry in it.
var ErrLost = errors.New("the audit trail has lost entries")

// Noter is a Trail that also stores, apart from the entries, how far the chain has reached.
type Noter interface {
	Trail
	// Noted returns the links that must be in the trail. It returns ErrLost if the trail is known to be a different one
	// than before.
	Noted(ctx context.Context) ([]Link, error)
}

// noted returns the links that t itself has noted.
func noted(ctx context.Context, t Trail) ([]Link, error) {
	if n, ok := t.(Noter); ok {
		return n.Noted(ctx)
	}
	return nil, nil
}

// LossEntry returns the entry with which a person accepts that the entries up to lost are gone. The chain continues after
// it.
func LossEntry(lost Link, by string) Entry {
	return Entry{
		Kind: Loss, Intent: lost.Seq, Before: lost.Hash, Decision: "accepted", By: "person " + by, Outcome: OK,
	}
}

// PruneEntry returns the entry that pruning adds. last is the newest entry that was removed. removed is the number of
// removed entries. Verify starts after last.
func PruneEntry(last Link, removed int, by string) Entry {
	return Entry{
		Kind: Prune, Intent: last.Seq, Before: last.Hash, Decision: "allowed", By: by, Outcome: OK,
		Flags: []string{fmt.Sprintf("%d removed", removed)},
	}
}
