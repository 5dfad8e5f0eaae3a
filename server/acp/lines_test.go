package acp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stet-dev/stet/internal/rpclines"
)

// Each line is answered or passed on. A line that is passed on is unchanged.
func FuzzLines(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}`, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`,
		`{"id":null,"method":"x"}`, `[]`, `{`, `{"id":1e400,"method":"session/cancel"}`, "\xff", `{"id":"\ud800","result":{}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var passed, answered bytes.Buffer
		l := &connection{sessions: map[string]*session{"s": {id: "s"}}}
		l.out = &lineWriter{out: &answered, fail: func(error) {}}
		i := &lineReader{in: rpclines.NewReader(bytes.NewReader(in), maxMessage), out: l.out, sdk: &passed, conn: l}
		l.client = nil
		closed := make(chan struct{})
		close(closed)
		l.over = closed
		if err := i.run(); err != nil {
			t.Fatal(err)
		}
		came := strings.Split(string(in), "\n")
		for _, line := range strings.SplitAfter(passed.String(), "\n") {
			for len(came) > 0 && line != "" && strings.TrimSpace(came[0]) != strings.TrimSuffix(line, "\n") {
				came = came[1:]
			}
			if line != "" && len(came) == 0 {
				t.Fatalf("%q did not come in", line)
			}
		}
		for _, line := range bytes.Split(bytes.TrimSuffix(answered.Bytes(), []byte("\n")), []byte("\n")) {
			if len(line) > 0 && !json.Valid(line) {
				t.Fatalf("answered %q", line)
			}
		}
	})
}
