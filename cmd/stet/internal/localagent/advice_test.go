package localagent

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// An error says what a person can do, and still wraps the original error.
func TestAdvice(t *testing.T) {
	a := advising{name: "m", at: "http://127.0.0.1:1/v1", variable: "SOME_KEY"}
	keyed := a
	keyed.keyed = true
	refused := &llm.Error{Host: "h", Status: 401, Kind: llm.ErrAuth}
	for _, c := range []struct {
		a    advising
		err  error
		want string
	}{
		{a, refused, "; no key was sent: set SOME_KEY"},
		{keyed, refused, "; the key was that of SOME_KEY: is it for this endpoint (--base-url), and still valid?"},
		{a, &llm.Error{Host: "h", Status: 404, Kind: llm.ErrInvalid}, `; is there a model "m" (--model) at http://127.0.0.1:1/v1 (--base-url)?`},
		{a, fmt.Errorf("no response: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), "; is there an endpoint at http://127.0.0.1:1/v1 (--base-url), and can it be reached?"},
		{a, llm.ErrTooLong, ""},
	} {
		if got := c.a.advise(c.err); !errors.Is(got, c.err) || got.Error() != c.err.Error()+c.want {
			t.Errorf("%v", got)
		}
	}
	if a.advise(nil) != nil {
		t.Error("a nil error became an error")
	}
	secret := advising{at: "http://me:secret@127.0.0.1:1/v1"}
	if got := secret.advise(&net.OpError{Op: "dial", Err: errors.New("refused")}); strings.Contains(got.Error(), "secret") {
		t.Error(got)
	}
}
