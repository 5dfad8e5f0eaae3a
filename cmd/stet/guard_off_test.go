package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The calls of guarded agents since the guard ran last are read from their session files; those of projects that are not guarded are not.
// doctor says since when no guard runs, and uninstall finds the hooks of projects. (GRD-2)
func TestOffSince(t *testing.T) {
	r := newUndoRig(t)
	home := strings.TrimPrefix(r.p.env[0], "HOME=")
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, ".config/stet/config.toml"), []byte("listen = \"127.0.0.1:1\"\n"))
	now := time.Now()
	for _, dir := range []string{r.dir, "/elsewhere"} {
		var b bytes.Buffer
		name := filepath.Base(dir)
		for _, ago := range []time.Duration{2 * time.Hour, time.Minute} {
			id, at := "toolu_"+name+ago.String(), now.Add(-ago).Format(time.RFC3339Nano)
			for _, m := range []string{
				`{"role":"assistant","model":"m","content":[{"type":"tool_use","id":"` + id + `","name":"Bash","input":{"command":"rm x"}}]}`,
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"ok"}]}`,
			} {
				role := m[len(`{"role":"`):strings.Index(m, `",`)]
				fmt.Fprintf(&b, `{"parentUuid":null,"isSidechain":false,"cwd":%q,"sessionId":%q,"type":%q,"uuid":%q,"timestamp":%q,"message":%s}`+"\n",
					dir, name, role, id+role, at, m)
			}
		}
		write(filepath.Join(home, ".claude/projects/"+name, name+".jsonl"), b.Bytes())
	}
	if off := r.p.offSince(t.Context(), now.Add(-time.Hour), now); len(off.Calls) != 0 {
		t.Error("no agent is guarded, and these are reported:", off.Calls)
	}
	if code, said := r.stet("guard", "claude", "--project", "--yes"); code != 0 {
		t.Fatal(said)
	}
	off := r.p.offSince(t.Context(), now.Add(-time.Hour), now)
	if len(off.Calls) != 1 || off.Calls[0].Call != "toolu_"+filepath.Base(r.dir)+"1m0s" || off.Calls[0].Dir != r.dir || off.Calls[0].Agent != "claude" {
		t.Error(off.Calls)
	}
	if code, said := r.stet("guard", "claude", "--yes"); code != 0 {
		t.Fatal(said)
	}
	if off := r.p.offSince(t.Context(), now.Add(-time.Hour), now); len(off.Calls) != 2 {
		t.Error(off.Calls)
	}
	if _, said := r.stet("doctor"); !strings.Contains(said, "no guard has ever run") {
		t.Error(said)
	}
	if err := r.p.sayAlive("127.0.0.1:1", now); err != nil {
		t.Fatal(err)
	}
	if _, said := r.stet("doctor"); !strings.Contains(said, "the guard is off since") {
		t.Error(said)
	}
	if code, said := r.stet("uninstall"); code != 0 || strings.Count(said, "the guard's hooks are taken out") != 2 {
		t.Error(code, said)
	}
}
