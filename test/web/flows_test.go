package web

import "testing"

// People answer questions. (FILE-6)
func TestQueue(t *testing.T) {
	for _, name := range []string{
		"approve", "reject", "rejectByKeys", "manyLines", "hunks", "edit", "discard", "pattern", "badPattern", "session", "people", "reconnect", "missed", "late", "tabs",
		"large", "hostile", "hostileEditor", "longLine", "phone", "keyboard", "keys", "outside", "habit", "withdrawn", "native", "link", "flood",
		"impostor", "impostorAtBegin", "restart", "noSubtle",
	} {
		t.Run(name, func(t *testing.T) { flow(t, "queue", name) })
	}
}

// The other views. (FILE-11, FILE-12)
func TestViews(t *testing.T) {
	for _, name := range []string{"login", "empty", "sessions", "elsewhere", "timeline", "savings", "undo", "undoStopped", "audit", "native", "hostile", "dark", "push"} {
		t.Run(name, func(t *testing.T) { flow(t, "views", name) })
	}
}

// The views are readable in light and dark, fit on every screen, and need no mouse.
func TestLook(t *testing.T) {
	for _, name := range []string{"light", "dark", "lightPhone", "darkPhone", "money", "fits", "keyboard"} {
		t.Run(name, func(t *testing.T) { flow(t, "look", name) })
	}
}
