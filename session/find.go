package session

import (
	"context"
	"fmt"
)

// Latest returns the most recently used open session of a workspace. With dir "" it searches all workspaces.
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

// Find returns the session whose ID is id or begins with id. It is an error if several sessions match.
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

// Follow returns the open session that continues the named one, through all compactions. If the named session is open, it returns that.
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
