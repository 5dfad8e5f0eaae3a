//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TRK-12: with --results plain the results are plain text, in the specification's words.
func TestMCPPlainResults(t *testing.T) {
	h := newHome(t)
	write(t, filepath.Join(h.tree, "large.txt"), strings.Repeat("x", 1<<20+1))
	write(t, filepath.Join(h.dir, ".config/stet/config.toml"), "read-limit = 1\nwrite-limit = 1\n")
	s, err := newClient(nil).Connect(t.Context(), &mcp.CommandTransport{
		Command: h.stet("mcp", "--root", h.tree, "--write-without-asking", "--results", "plain", "--dedupe"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct{ tool, args, want string }{
		{"write_file", `{"path":"new.txt","content":"one\ntwo\n"}`, "File written: new.txt"},
		{"read_file", `{"path":"new.txt"}`, "one\ntwo\n"},
		{"read_file", `{"path":"new.txt"}`, "[File previously read: new.txt. Content unchanged since last read.] With full: true it is shown."},
		{"edit_file", `{"path":"new.txt","edits":[{"old_text":"one","new_text":"1"}]}`, "File written: new.txt"},
		{"Read", `{"path":"new.txt"}`, "   1 | 1\n   2 | two\n"},
		{"Read", `{"path":"new.txt","start_line":9}`, "Error: Invalid start_line: the file has 2 lines; valid range is 1-2."},
		{"Read", `{"path":"none"}`, "Error: File not found: none"},
		{"read_file", `{"path":"none"}`, "Error: File not found: none"},
		{"read_file", `{"path":"../none"}`, "Error: invalid_path: "},
		{"LS", `{}`, "new.txt"},
		{"read_file", `{"path":"large.txt"}`, "Error: file_too_large: read large.txt: too large: 1048577 bytes, the limit is 1048576; read it in parts by start_line and end_line"},
		{"write_file", `{"path":"b.txt","content":"` + strings.Repeat("x", 1<<20+1) + `"}`, "Error: file_too_large: b.txt would have 1048577 bytes, and a write may have 1048576; put it into several files"},
	} {
		got := callOnce(t, s, c.tool, c.args)
		if got != c.want && !(strings.HasSuffix(c.want, ": ") || c.tool == "LS") || !strings.Contains(got, c.want) || strings.HasPrefix(got, "{") {
			t.Errorf("%s %.200s: %q, want %q", c.tool, c.args, got, c.want)
		}
	}
}
