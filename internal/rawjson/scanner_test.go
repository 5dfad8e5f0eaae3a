package rawjson

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stet-dev/stet/internal/invisible"
)

// walk visits the next value with only Enter, Next and Key. It decodes every string, and returns the places of the strings that
// are values.
func walk(s *Scanner, body []byte, values *[]Span) {
	switch s.Kind() {
	case '{':
		for s.Enter('{'); s.Next(); {
			quoted := Span{s.key.Start - 1, s.key.End + 1}
			if _, err := Unquote(quoted.Of(body)); err != nil {
				s.fail(err, s.pos)
			}
			walk(s, body, values)
		}
	case '[':
		for s.Enter('['); s.Next(); {
			walk(s, body, values)
		}
	default:
		at := s.Skip()
		if at.KindOf(body) != '"' {
			return
		}
		if _, err := Unquote(at.Of(body)); err != nil {
			s.fail(err, at.Start)
		}
		*values = append(*values, at)
	}
}

var samples = []string{
	``, ` `, `null`, `true`, `false`, `nul`, `truee`, `0`, `-0`, `01`, `-`, `1.`, `1.5e+10`, `1e`, `1E-2`, `.5`, `+1`,
	`""`, `"`, `"\"`, `"\\"`, `"\\\""`, `"a\nb"`, `"\u00e9"`, `"\ud83d\ude00"`, `"\ud800"`, `"\udc00\ud800"`, `"\u12"`, `"\x"`,
	"\"a\nb\"", "\"\x1f\"", "\"\x7f\"", "\"\xff\"", "\"\xe2\x82\xac\"", "\"\xe2\x82\"",
	`[]`, `[ ]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[[],{}]`, `[}`, `{]`, `[`, `{`, `]`, `}`,
	`{}`, `{ }`, `{"a":1}`, `{"a" : 1 , "b":[ ] }`, `{"a":}`, `{"a"}`, `{a:1}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`,
	`{"a":{"b":[{"c":"d"},"e",null]}}`, `{"\u0061":1}`, `{"a":1,"a":2}`, "\ufeff{}", "{}\x00", `{} {}`, "\t[\r\n1\n,\t2 ]\n",
	`[true,false,null,-1.5e3,"x"]`, `{"a":tru}`, `[1e5.2]`, "[\"\\\"]\"]", "{\"a\":\"\\\\\"}", "[\f1]", "[1\v]", `[""""]`, `{"a"::1}`,
}

func TestScanSamples(t *testing.T) {
	for _, text := range samples {
		agree(t, []byte(text))
	}
}

// agree checks that the Scanner and encoding/json agree about a body.
func agree(t *testing.T, body []byte) {
	t.Helper()
	body = invisible.SkipMark(body)
	valid := json.Valid(body)

	s := New(body)
	var values []Span
	walk(&s, body, &values)
	if err := s.End(); (err == nil) != valid {
		t.Fatalf("walk %q: %v, but valid = %v", body, err, valid)
	}

	s = New(body)
	at := s.Skip()
	err := s.End()
	if valid && err != nil {
		t.Fatalf("skip %q: %v", body, err)
	}
	if err == nil && !bytes.Equal(at.Of(body), bytes.Trim(body, " \t\r\n")) {
		t.Fatalf("skip %q: span %q", body, at.Of(body))
	}
	if err == nil && !valid {
		// Skip does not check the content of strings, but it must check everything else.
		hollow := hollowed(body)
		if !json.Valid(hollow) {
			t.Fatalf("skip passed %q", body)
		}
	}
}

// hollowed returns body with empty strings in place of its strings.
func hollowed(body []byte) []byte {
	var out []byte
	for i := 0; i < len(body); {
		if body[i] != '"' {
			out = append(out, body[i])
			i++
			continue
		}
		end := i + 1
		for end < len(body) && body[end] != '"' {
			if body[end] == '\\' {
				end++
			}
			end++
		}
		out = append(out, `""`...)
		i = end + 1
	}
	return out
}

func shallow(body []byte) bool {
	return bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) < maxDepth/2
}

func FuzzScan(f *testing.F) {
	for _, text := range samples {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if shallow(body) {
			agree(t, body)
		}
	})
}

func TestDepth(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(strings.Repeat(`[{"a":`, n/2) + "1" + strings.Repeat("}]", n/2))
	}
	for _, c := range []struct {
		depth int
		ok    bool
	}{{4, true}, {maxDepth - 2, true}, {maxDepth, false}, {1 << 20, false}} {
		body := nested(c.depth)
		s := New(body)
		s.Skip()
		if err := s.End(); (err == nil) != c.ok {
			t.Errorf("skip depth %d: %v", c.depth, err)
		}
		s = New(body)
		for i := 0; i < c.depth/2; i++ {
			if s.Enter('['); s.Next() {
				s.Enter('{')
				s.Next()
			}
		}
		s.Skip()
		for s.Next() {
			t.Error("more members")
		}
		if (s.Err() == nil) != c.ok {
			t.Errorf("enter depth %d: %v", c.depth, s.Err())
		}
	}
}

func TestObject(t *testing.T) {
	body := []byte(` {"b" : [1,2], "x":{"a":9}, "a":"A", "n":null, "u":1, "u":2} `)
	keys := []string{"a", "b", "n", "none"}
	at := make([]Span, len(keys))
	s := New(body)
	whole := s.Object(keys, at)
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	if got := string(whole.Of(body)); got != strings.TrimSpace(string(body)) {
		t.Errorf("whole: %q", got)
	}
	if a, b := string(at[0].Of(body)), string(at[1].Of(body)); a != `"A"` || b != "[1,2]" {
		t.Errorf("a = %s, b = %s", a, b)
	}
	if !at[2].IsZero() || !at[3].IsZero() {
		t.Error("null and absent must be zero")
	}
}

func TestObjectRefuses(t *testing.T) {
	for _, text := range []string{`{"a":1,"a":2}`, `{"\u0061":1}`, `{"b\n":1}`, `[]`, `"a"`, ``, `{"a":1`} {
		at := make([]Span, 1)
		s := New([]byte(text))
		if !s.Object([]string{"a"}, at).IsZero() || s.Err() == nil {
			t.Errorf("%s passed", text)
		}
	}
}

func TestNumbers(t *testing.T) {
	body := []byte(`[12,-3,1e3,2.0,1.5,9007199254740993,99999999999999999999,"1",0]`)
	want := []struct {
		n  int
		ok bool
	}{{12, true}, {-3, true}, {1000, true}, {2, true}, {0, false}, {0, false}, {0, false}, {0, false}, {0, true}}
	s := New(body)
	i := 0
	for s.Enter('['); s.Next(); i++ {
		at := s.Skip()
		n, ok := Int(body, at)
		if i != 5 && (n != want[i].n || ok != want[i].ok) {
			t.Errorf("%s: %d, %v", at.Of(body), n, ok)
		}
		kept := 7
		err := count(body, at, &kept)
		if good := ok && n >= 0; good != (err == nil) || !good && kept != 7 {
			t.Errorf("count %s: %d, %v", at.Of(body), kept, err)
		}
	}
}
