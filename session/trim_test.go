package session_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/test/sessiontest"
	"github.com/stet-dev/stet/trim"
)

// talk has a store and the engine that builds requests.
type talk struct {
	*testing.T
	store  session.Store
	engine *trim.Engine
	calls  int
}

// read appends a read of a file to a session, and returns the event number of the result. If changing is set, the file differs at
// each read.
func (k *talk) read(s *session.Session, changing bool) uint64 {
	k.Helper()
	k.calls++
	n := 0
	if changing {
		n = k.calls
	}
	id := fmt.Sprintf("call_%d", k.calls)
	args, _ := json.Marshal(map[string]any{"filePath": "src/a.go", "startLine": 1, "endLine": 20})
	result := fmt.Sprintf("📄 src/a.go (lines 1-20/20)\n1→line 1, version %d", n)
	for i := 2; i <= 20; i++ {
		result += fmt.Sprintf("\n%d→line %d of version %d, some words long", i, i, n)
	}
	err := s.Append(k.Context(),
		session.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "filesystem-read", Args: string(args)}}},
		session.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: result}}},
	)
	if err != nil {
		k.Fatal(err)
	}
	return s.State().Last
}

func (k *talk) resume(id string) *session.Session {
	k.Helper()
	s, err := session.Resume(k.Context(), k.store, id)
	if err != nil {
		k.Fatal(err)
	}
	return s
}

// stored returns all stored bytes of a session.
func (k *talk) stored(id string) []byte {
	k.Helper()
	events, damaged, err := k.store.Events(k.Context(), id, 0)
	if err != nil || len(damaged) > 0 {
		k.Fatal(err, damaged)
	}
	var out bytes.Buffer
	if err := session.WriteJSON(&out, id, events); err != nil {
		k.Fatal(err)
	}
	return out.Bytes()
}

// built builds a request from the session. It returns one letter for each result in the request: w for whole, l for left out. It
// also checks that building the request changes nothing.
func (k *talk) built(s *session.Session) string {
	k.Helper()
	before := k.stored(s.ID())
	st := s.State()
	in, _ := json.Marshal(st.Messages)
	request, _ := k.engine.Build(st.Messages)
	if now, _ := json.Marshal(st.Messages); !bytes.Equal(in, now) || !bytes.Equal(before, k.stored(s.ID())) {
		k.Error("building a request changed what is stored")
	}
	var out strings.Builder
	for _, m := range request {
		for _, p := range m.Parts {
			switch {
			case p.Kind != llm.ToolResult:
			case strings.HasPrefix(p.Text, "📄"):
				out.WriteByte('w')
			default:
				out.WriteByte('l')
			}
		}
	}
	return out.String()
}

func (k *talk) expect(when string, s *session.Session, want string) {
	k.Helper()
	if got := k.built(s); got != want {
		k.Errorf("%s: %s, want %s", when, got, want)
	}
}

// TRIM-1, TRIM-12: the same results are left out in every case: in a normal turn, after resuming the latest session, one of the
// list or a compacted one, after a rewind, and after a compaction. The stored events never change.
func TestEveryWayToARequest(t *testing.T) {
	for _, store := range []struct {
		name string
		open func(t *testing.T) session.Store
	}{
		{"memory", func(*testing.T) session.Store { return &session.Memory{} }},
		{"sqlite", func(t *testing.T) session.Store {
			s, err := sqlite.OpenSessions(t.Context(), filepath.Join(t.TempDir(), "stet.db"))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}},
	} {
		// With lossless the file does not change between reads. A second read of the same content is answered in full.
		for _, policy := range []struct {
			trim.Policy
			changing                bool // the file changes between reads
			eight, six, nine, seven string
		}{
			{trim.KeepLatest, true, "lllwwwww", "lwwwww", "llllwwwww", "llwwwww"},
			{trim.Lossless, false, "wlwlwlwl", "wlwlwl", "wlwlwlwlw", "wlwlwlw"},
		} {
			t.Run(store.name+" "+string(policy.Policy), func(t *testing.T) {
				engine, err := trim.New(trim.Config{Policy: policy.Policy})
				if err != nil {
					t.Fatal(err)
				}
				k := &talk{T: t, store: store.open(t), engine: engine}
				defer k.store.Close()
				s, err := session.Create(t.Context(), k.store, session.Opening{Dir: "/p"}, sessiontest.Text(llm.User, "begin"))
				if err != nil {
					t.Fatal(err)
				}
				var reads []uint64
				for range 8 {
					reads = append(reads, k.read(s, policy.changing))
				}
				k.expect("normal turn", s, policy.eight)

				latest, err := session.Latest(t.Context(), k.store, "/p")
				if err != nil {
					t.Fatal(err)
				}
				k.expect("resume the latest", k.resume(latest.ID), policy.eight)
				listed, err := k.store.List(t.Context(), session.Query{})
				if err != nil || len(listed) != 1 {
					t.Fatal(listed, err)
				}
				k.expect("resume from the list", k.resume(listed[0].ID), policy.eight)

				if err := s.Rewind(t.Context(), reads[5]); err != nil {
					t.Fatal(err)
				}
				k.expect("rewind", s, policy.six)
				k.expect("resume what was rewound", k.resume(s.ID()), policy.six)
				if err := s.Rewind(t.Context(), reads[7]); err != nil {
					t.Fatal(err)
				}
				k.expect("rewind the rewind", s, policy.eight)
				k.read(s, policy.changing)
				k.expect("a turn after it", s, policy.nine)

				next, err := s.Compact(t.Context(), sessiontest.Text(llm.User, "what was done so far"))
				if err != nil {
					t.Fatal(err)
				}
				k.expect("after a compaction", next, "")
				for range 7 {
					k.read(next, policy.changing)
				}
				k.expect("turns after a compaction", next, policy.seven)
				k.expect("resume what goes on", k.resume(next.ID()), policy.seven)
				k.expect("resume the compacted one", k.resume(s.ID()), policy.nine)
				fork, err := s.Fork(t.Context(), reads[5])
				if err != nil {
					t.Fatal(err)
				}
				k.expect("fork", fork, policy.six)

				all := k.stored(s.ID())
				if n := bytes.Count(all, []byte("📄 src/a.go")); n != 9 {
					t.Errorf("%d reads are stored, want all 9", n)
				}
			})
		}
	}
}
