package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// Whatever comes in, each line is answered or passed on, and what is passed on
// is what came in.
func FuzzInlet(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}`, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`,
		`{"id":null,"method":"x"}`, `[]`, `{`, `{"id":1e400,"method":"session/cancel"}`, "\xff", `{"id":"\ud800","result":{}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var passed, answered bytes.Buffer
		l := &link{sessions: map[string]*session{"s": {id: "s"}}}
		l.out = &outlet{w: &answered, fail: func(error) {}}
		i := &inlet{in: bufio.NewReader(bytes.NewReader(in)), out: l.out, sdk: &passed, link: l}
		l.client = nil
		closed := make(chan struct{})
		close(closed)
		l.over = closed
		if err := i.run(); err != nil {
			t.Fatal(err)
		}
		came := strings.Split(string(in), "\n")
		for _, line := range strings.SplitAfter(passed.String(), "\n") {
			for len(came) > 0 && line != "" && came[0] != strings.TrimSuffix(line, "\n") {
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

// A line that takes many reads, and a last one without an end.
func TestNext(t *testing.T) {
	long := `{"id":1,"method":"` + strings.Repeat("x", 100_000) + `"}`
	i := &inlet{in: bufio.NewReaderSize(strings.NewReader(long+"\n{}"), 16)}
	if line, err := i.next(); err != nil || string(line) != long+"\n" {
		t.Errorf("%d bytes, %v", len(line), err)
	}
	if line, err := i.next(); err != io.EOF || string(line) != "{}\n" {
		t.Errorf("%q, %v", line, err)
	}
}
