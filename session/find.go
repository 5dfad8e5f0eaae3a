package session

import (
	"context"
	"fmt"
)

// Latest returns the session that was used last in a workspace (""; in any) and
// is open.
func Latest(ctx context.Context, store Store, dir string) (Info, error) {
	found, err := store.List(ctx, Query{Dir: dir, Open: true, Limit: 1})
	if err != nil {
		return Info{}, err
	}
	if len(found) == 0 {
		return Info{}, fmt.Errorf("latest session: %w", ErrNotFound)
	}
	return found[0], nil
}

// Find returns the session whose ID is, or begins with, id. More than one is an error.
func Find(ctx context.Context, store Store, id string) (Info, error) {
	found, err := store.List(ctx, Query{ID: id})
	if err != nil {
		return Info{}, err
	}
	for _, i := range found {
		if i.ID == id {
			return i, nil
		}
	}
	switch {
	case len(found) == 0 || id == "":
		return Info{}, fmt.Errorf("session %s: %w", id, ErrNotFound)
	case len(found) > 1:
		return Info{}, fmt.Errorf("session %s: %d sessions have an id that begins with this; give more of it", id, len(found))
	}
	return found[0], nil
}

// Follow returns the session that goes on after the one named, through all
// compactions; the named one itself when it is open.
func Follow(ctx context.Context, store Store, id string) (Info, error) {
	seen := map[string]bool{}
	for {
		found, err := Find(ctx, store, id)
		if err != nil || found.Next == "" {
			return found, err
		}
		if seen[id] {
			return found, fmt.Errorf("session %s: its compactions go round in a circle", id)
		}
		seen[id] = true
		id = found.Next
	}
}
