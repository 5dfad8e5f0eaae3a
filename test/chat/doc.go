// Package chat runs stet's chat in a real terminal, which tmux gives, as a person
// does: it types, waits until the screen shows a text, and compares screens. It
// holds tests only.
//
// Where there is no tmux the tests skip and say so; STET_E2E=require makes that a
// failure, STET_E2E=off and -short skip them.
package chat
