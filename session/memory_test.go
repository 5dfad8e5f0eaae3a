package session_test

import (
	"testing"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/sessiontest"
)

func TestMemory(t *testing.T) {
	sessiontest.Run(t, func(*testing.T) session.Store { return &session.Memory{} })
}
