package mcpclient

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A server has time for an orderly end. Its remaining child processes are killed.
func TestEnd(t *testing.T) {
	last := filepath.Join(t.TempDir(), "words")
	child := filepath.Join(t.TempDir(), "child")
	g, _, troubles := open(t, Config{}, self(t, "server", "STET_TEST_LAST_WORDS="+last), self(t, "family", "STET_TEST_CHILD="+child))
	if len(troubles) > 0 {
		t.Fatal(troubles)
	}
	g.Close()
	if b, err := os.ReadFile(last); err != nil || string(b) != "ended well" {
		t.Errorf("%q, %v", b, err)
	}
	b, err := os.ReadFile(child)
	if err != nil {
		t.Fatal(err)
	}
	for range 500 { // init has to collect the process first
		if status, err := os.ReadFile("/proc/" + string(b) + "/stat"); err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the server's child lives on")
}
