// Package chat runs stet's chat in a real terminal of tmux, as a person does: it types, waits until the screen shows a text, and
// compares screens. It has only tests.
//
// Without tmux the tests skip and say so. With STET_E2E=require that is a failure. STET_E2E=off and -short skip them.
package chat
