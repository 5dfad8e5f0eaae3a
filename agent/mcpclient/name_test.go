package mcpclient

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	long := "a_tool_whose_name_does_not_fit_beside_that_of_its_server"
	for _, c := range []struct {
		server, name string
		n            int
		want         string
	}{
		{"git", "log", 1, "mcp__git__log"},
		{"my server", "a.b/c", 1, "mcp__my_server__a_b_c"},
		{"git", "log", 2, "mcp__git__log_2"},
		{"a long name", long, 1, "mcp__a_long_name__a_tool_whose_name_does_not_fit_beside_cc0ff50b"},
	} {
		if got := nameOf(c.server, c.name, c.n); got != c.want {
			t.Errorf("%s %s %d: %s", c.server, c.name, c.n, got)
		}
	}
}

// nameOf returns a valid name for any name of a server and a tool.
func TestNamesAreNames(t *testing.T) {
	taken := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	rapid.Check(t, func(t *rapid.T) {
		got := nameOf(rapid.String().Draw(t, "server"), rapid.String().Draw(t, "tool"), rapid.IntRange(1, 1000).Draw(t, "n"))
		if !taken.MatchString(got) {
			t.Error(got)
		}
	})
}
