//go:build unix

package filetools

import (
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// Pipes, sockets and devices are refused at once, by every tool. (READ-7, FILE-13, hazards)
func TestSpecialFiles(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	if err := syscall.Mkfifo(b.file("pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if r := b.read("path", "pipe"); r.Error.Code != "ACCESS_DENIED" || r.Text != "Path 'pipe' is not a regular file." {
			t.Errorf("%+v", r)
		}
		for _, c := range [][2]string{
			{"read_file", `{"path":"pipe"}`}, {"read_file", `{"path":"pipe","start_line":1}`}, {"search_text", `{"path":"pipe","pattern":"x"}`},
			{"write_file", `{"path":"pipe","content":"x"}`}, {"edit_file", `{"path":"pipe","edits":[{"old_text":"x","new_text":"y"}]}`},
		} {
			if o := b.op(c[0], c[1]); o.code != tool.PermissionDenied {
				t.Errorf("%s: %+v", c[0], o)
			}
		}
		if o := b.op("file_info", `{"path":"pipe"}`); o.Data["type"] != "special" {
			t.Errorf("%+v", o)
		}
		if o := b.op("search_text", `{"pattern":"x"}`); !o.Success {
			t.Errorf("%+v", o)
		}
		if o := b.op("list_files", `{}`); o.text() != "pipe (special)" {
			t.Errorf("%+v", o)
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("hangs")
	}
}
