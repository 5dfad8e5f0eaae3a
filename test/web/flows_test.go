package web

import "testing"

// What people do with questions. (FILE-6)
func TestQueue(t *testing.T) {
	for _, name := range []string{
		"approve", "reject", "hunks", "edit", "discard", "pattern", "badPattern", "session", "people", "reconnect", "late", "tabs",
		"large", "hostile", "hostileEditor", "longLine", "phone", "keyboard", "habit", "withdrawn",
	} {
		t.Run(name, func(t *testing.T) { flow(t, "queue", name) })
	}
}

// The other views. (FILE-11, FILE-12)
func TestViews(t *testing.T) {
	for _, name := range []string{"login", "sessions", "timeline", "savings", "undo", "audit", "dark", "accessible"} {
		t.Run(name, func(t *testing.T) { flow(t, "views", name) })
	}
}

// TestPictures draws the views. It is for the documentation, and proves nothing.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("only with -pictures DIR")
	}
	flow(t, "views", "pictures")
}
