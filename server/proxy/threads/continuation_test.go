package threads

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	kept = Shape{Items: "messages", Keeps: true}
	own  = Shape{Items: "input", Without: []string{"previous"}, Lone: func(text []byte) []byte {
		return fmt.Appendf(nil, `{"text":%s}`, text)
	}}
)

// whole reads a request that has all items.
func whole(t testing.TB, s Shape, body string) *Turn {
	t.Helper()
	turn, err := s.Whole([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// hold stores a turn that was sent unchanged, or as sent.
func hold(t testing.TB, s *Store, id string, turn *Turn, sent string, answer ...string) {
	t.Helper()
	var items [][]byte
	for _, item := range answer {
		items = append(items, []byte(item))
	}
	if sent == "" {
		sent = string(turn.real)
	}
	if err := s.Hold(id, turn, []byte(sent), items...); err != nil {
		t.Fatal(err)
	}
}

// next reads a request that continues from an answer.
func next(t testing.TB, s *Store, shape Shape, id, body string) *Turn {
	t.Helper()
	turn, err := s.Continue(shape, id, []byte(body))
	if err != nil || turn == nil {
		t.Fatal(turn, err)
	}
	return turn
}

// A continuation becomes one body with all items (WIRE-3, WIRE-4).
func TestContinue(t *testing.T) {
	for _, c := range []struct {
		name        string
		shape       Shape
		first, then string
		want, fresh string
	}{
		{
			"the rest of the first body stays", kept,
			`{"a":1,"thread":"create","messages":[{"x":"[1]"}, {"x":2}],"system":"s"}`, `{"system":"other","messages":[{"x":4}],"thread":"continue"}`,
			`{"a":1,"thread":"create","messages":[{"x":"[1]"},{"x":2},{"x":3},{"x":4}],"system":"s"}`, `{"x":4}],"system":"s"}`,
		},
		{
			"no new items", kept,
			`{"messages":[1]}`, `{"messages":[ ]}`,
			`{"messages":[1,{"x":3} ]}`, ` ]}`,
		},
		{
			"none before", kept,
			`{"messages":[]}`, `{"messages":[2]}`,
			`{"messages":[{"x":3},2]}`, `2]}`,
		},
		{
			"the rest is the body's own", own,
			`{"a":1,"input":[1],"b":2}`, `{"a":5, "previous":"id","input":[ 2, 3],"c":3}`,
			`{"a":5,"input":[1,{"x":3}, 2, 3],"c":3}`, ` 2, 3],"c":3}`,
		},
		{
			"texts in place of lists", own,
			`{"input":"one"}`, `{"previous":"id","input":"two"}`,
			`{"input":[{"text":"one"},{"x":3},{"text":"two"}]}`, `{"text":"two"}]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(1 << 20)
			turn := whole(t, c.shape, c.first)
			if turn.From != 0 || turn.Continues() || string(turn.Body) != c.first {
				t.Errorf("whole: %d %s", turn.From, turn.Body)
			}
			hold(t, s, "id", turn, "", `{"x":3}`)
			turn = next(t, s, c.shape, "id", c.then)
			if got := string(turn.Body); got != c.want || got[turn.From:] != c.fresh || !json.Valid(turn.Body) {
				t.Errorf("got %s\nnew %s", got, got[turn.From:])
			}
			if got, err := turn.Patched(nil, turn.Body); err != nil || string(got) != c.then {
				t.Errorf("unedited: %s %v", got, err)
			}
		})
	}
}

// A conversation may begin without items, and its answer may have none: it can still be continued (WIRE-4).
func TestContinueNothing(t *testing.T) {
	for _, shape := range []Shape{kept, own} {
		s := New(1 << 20)
		hold(t, s, "begin", whole(t, shape, `{"`+shape.Items+`":[]}`), "")
		turn := next(t, s, shape, "begin", `{"`+shape.Items+`":[1,2]}`)
		if got := string(turn.Body); got != `{"`+shape.Items+`":[1,2]}` || !turn.Continues() {
			t.Errorf("got %s", got)
		}
		hold(t, s, "more", turn, "", "3")
		if got := string(next(t, s, shape, "more", `{"`+shape.Items+`":[4]}`).Body); got != `{"`+shape.Items+`":[1,2,3,4]}` {
			t.Errorf("then %s", got)
		}
	}
}

// Edits of new items are made in the request's body. An older item must be as it was sent.
func TestPatched(t *testing.T) {
	s := New(1 << 20)
	hold(t, s, "a", whole(t, kept, `{"messages":["long","b"],"z":1}`), `{"messages":["cut","b"],"z":1}`, `"answer"`)
	turn := next(t, s, kept, "a", `{"id":"a", "messages":[ "new text" ]}`)
	if want := `{"messages":["long","b","answer", "new text" ],"z":1}`; string(turn.Body) != want {
		t.Fatalf("%s", turn.Body)
	}
	for _, c := range []struct{ whole, want string }{
		{`{"messages":["cut","b","answer", "new" ],"z":1}`, `{"id":"a", "messages":[ "new" ]}`},
		{`{"messages":["cut","b","answer", "new text" ],"z":1}`, `{"id":"a", "messages":[ "new text" ]}`},
		{`{"messages":["long","b","answer", "new" ],"z":1}`, ErrSent.Error()},
		{`{"messages":["cut","b","other", "new" ],"z":1}`, ErrSent.Error()},
		{`{"messages":["cut","b","answer", "new" ],"z":2}`, errRest.Error()},
	} {
		got, err := turn.Patched([]byte("dst"), []byte(c.whole))
		text := strings.TrimPrefix(string(got), "dst")
		if err != nil {
			if text != "" {
				t.Errorf("%s: dst is changed: %s", c.whole, got)
			}
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%s: %s, want %s", c.whole, text, c.want)
		}
	}
	// The continued conversation has both texts of each item.
	hold(t, s, "b", turn, `{"id":"a","more":1,"messages":["new"]}`, `"answer 2"`)
	last := next(t, s, kept, "b", `{"messages":["x"]}`)
	if got, err := last.Patched(nil, []byte(`{"messages":["cut","b","answer","new","answer 2","y"],"z":1}`)); err != nil || string(got) != `{"messages":["y"]}` {
		t.Errorf("%s %v", got, err)
	}
	lone := New(1 << 20)
	hold(t, lone, "a", whole(t, own, `{"input":"one"}`), "", `"answer"`)
	turn = next(t, lone, own, "a", `{"input":"two"}`)
	if _, err := turn.Patched(nil, []byte(strings.Replace(string(turn.Body), "two", "2", 1))); err == nil {
		t.Error("a text in place of the list was edited")
	}
}

// A body that does not fit the shape is an error, and nothing of it is stored.
func TestRefuse(t *testing.T) {
	for _, body := range []string{`{}`, `{"messages":{}}`, `{"messages":"text"}`, `{"messages":[1],"messages":[2]}`, `{"messages":[1]`, `{"messages":[1]} x`, `[]`, ``, `{"messages":null}`} {
		if turn, err := kept.Whole([]byte(body)); err == nil {
			t.Errorf("%s: %s", body, turn.Body)
		}
	}
	s := New(1 << 20)
	turn := whole(t, kept, `{"messages":[1,2]}`)
	for _, sent := range []string{`{"messages":[1]}`, `{"messages":[1,2,3]}`, `{`} {
		if err := s.Hold("a", turn, []byte(sent)); err == nil {
			t.Errorf("%s was held", sent)
		}
	}
	if turn, err := s.Continue(kept, "a", []byte(`{"messages":[]}`)); turn != nil || err != nil || s.size != 0 {
		t.Error(turn, err, s.size)
	}
}

// Memory is bounded: the least recently used leave first, and common items are stored once.
func TestBounded(t *testing.T) {
	s := New(1 << 20)
	text := strings.Repeat("x", 1000)
	body := `{"messages":["` + text + `"]}`
	hold(t, s, "0", whole(t, kept, body), "", `"a"`)
	for i := range 300 { // one long conversation
		turn := next(t, s, kept, fmt.Sprint(i), fmt.Sprintf(`{"messages":["%d%s"]}`, i, text))
		hold(t, s, fmt.Sprint(i+1), turn, "", `"a"`)
	}
	once := s.size
	if once > 301*(1000+4*overhead) {
		t.Errorf("%d bytes for 300 kB", once)
	}
	// A whole request with the same items gives the same items.
	turn := next(t, s, kept, "300", `{"messages":[]}`)
	hold(t, s, "again", whole(t, kept, string(turn.Body)), "")
	if s.size > once+2*overhead {
		t.Errorf("%d bytes, then %d", once, s.size)
	}
	for i := range 2000 {
		hold(t, s, fmt.Sprint("other", i), whole(t, kept, fmt.Sprintf(`{"messages":["%d%s"]}`, i, text)), "", `"a"`)
		if s.size > 1<<20 {
			t.Fatalf("%d bytes", s.size)
		}
	}
	if turn, err := s.Continue(kept, "300", []byte(`{"messages":[]}`)); turn != nil || err != nil {
		t.Error("the oldest is still held", err)
	}
	// A conversation that is dropped while it is continued is stored whole again.
	hold(t, s, "301", turn, "", `"late"`)
	if got := next(t, s, kept, "301", `{"messages":[]}`); len(got.Body) < 300*1000 || !strings.HasSuffix(string(got.Body), `"late"]}`) {
		t.Errorf("%d bytes", len(got.Body))
	}
	hold(t, s, "large", whole(t, kept, `{"messages":["`+strings.Repeat("y", 1<<20)+`"]}`), "")
	if turn, _ := s.Continue(kept, "large", []byte(`{"messages":[]}`)); turn != nil {
		t.Error("one conversation took all memory")
	}
	for s.order.Len() > 0 {
		s.drop(s.order.Back())
	}
	if s.size != 0 || len(s.nodes) != 0 || len(s.byID) != 0 {
		t.Errorf("%d bytes, %d nodes are left", s.size, len(s.nodes))
	}
	none := New(-1)
	hold(t, none, "a", whole(t, kept, body), "")
	if len(none.nodes) != 0 {
		t.Error("held without memory")
	}
}

// For any order of requests, a continuation is read as the client's conversation, and sent as the provider's conversation.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(rapid.Int64Range(0, 30_000).Draw(t, "memory"))
		type conversation struct{ came, went []string }
		byID := map[string]conversation{}
		var ids []string
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			var items, cut []string
			for range rapid.IntRange(0, 3).Draw(t, "items") {
				item := rapid.SampledFrom([]string{`"a"`, `"b"`, `{"c":[1,"]"]}`, `[ ]`}).Draw(t, "item")
				items, cut = append(items, item), append(cut, rapid.SampledFrom([]string{item, `"-"`}).Draw(t, "sent"))
			}
			id, answer := fmt.Sprint(i), fmt.Sprintf(`"answer %d"`, rapid.IntRange(0, 2).Draw(t, "answer"))
			var now conversation
			body := `{"messages":[` + strings.Join(items, ",") + `]}`
			turn, err := kept.Whole([]byte(body))
			if len(ids) > 0 && rapid.Bool().Draw(t, "continues") {
				from := rapid.SampledFrom(ids).Draw(t, "from")
				if turn, err = s.Continue(kept, from, []byte(body)); turn == nil && err == nil {
					continue // it is no longer stored
				}
				now = byID[from]
			}
			if err != nil {
				t.Fatal(err)
			}
			now.came = append(now.came[:len(now.came):len(now.came)], items...)
			now.went = append(now.went[:len(now.went):len(now.went)], cut...)
			join := func(items []string) string { return `{"messages":[` + strings.Join(items, ",") + `]}` }
			if diff := cmp.Diff(join(now.came), string(turn.Body)); diff != "" {
				t.Fatal(diff)
			}
			sent, err := turn.Patched(nil, []byte(join(now.went)))
			if err != nil {
				t.Fatal(err)
			}
			want := join(cut)
			if !turn.Continues() {
				want = join(now.went)
			}
			if string(sent) != want {
				t.Fatalf("sent %s, want %s", sent, want)
			}
			if err := s.Hold(id, turn, sent, []byte(answer)); err != nil {
				t.Fatal(err)
			}
			now.came, now.went = append(now.came, answer), append(now.went, answer)
			byID[id], ids = now, append(ids, id)
			if s.size > s.max && s.size != 0 {
				t.Fatalf("%d of %d bytes", s.size, s.max)
			}
		}
	})
}

func TestConcurrent(t *testing.T) {
	s := New(20_000)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for n := range 200 {
				turn, err := s.Continue(kept, fmt.Sprint(n%7), fmt.Appendf(nil, `{"messages":[%d]}`, i))
				if turn == nil {
					turn, err = kept.Whole([]byte(`{"messages":[1,2]}`))
				}
				if err == nil {
					err = s.Hold(fmt.Sprint((n+i)%7), turn, turn.real, []byte(`3`))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}
