package mcpserver

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

type worded struct{ error }

func (worded) Reason() string { return "the trail is full" }

// The text of an internal error contains no names that the client did not send.
func TestReason(t *testing.T) {
	for want, err := range map[string]error{
		": the trail is full":         fmt.Errorf("write: %w", worded{errors.New("/home/me/stet.db is full")}),
		": " + syscall.ENOSPC.Error(): fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "/home/me/x", Err: syscall.ENOSPC}),
		"":                            errors.New("disk /dev/sda1 is on fire"),
	} {
		if got := reason(err); got != want {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	}
}
