package rawjson

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"
	"weak"
)

func FuzzUnquote(f *testing.F) {
	for _, text := range samples {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, lit []byte) {
		var want string
		ok := len(lit) > 0 && lit[0] == '"' && lit[len(lit)-1] == '"' && json.Unmarshal(lit, &want) == nil
		got, err := Unquote(lit)
		if (err == nil) != ok || ok && got != want {
			t.Fatalf("%q: %q, %v; want %q, %v", lit, got, err, want, ok)
		}
		if !ok {
			return
		}
		text, exact, err := (&texts{}).String(lit, Span{0, len(lit)})
		if text != want || err != nil {
			t.Fatalf("%q: %q, %v", lit, text, err)
		}
		if exact && !utf8.Valid(lit) {
			t.Fatalf("%q: bytes lost without a word", lit)
		}
		if !strings.ContainsRune(want, utf8.RuneError) && !exact {
			t.Fatalf("%q: exact is false, but the text is complete", lit)
		}
	})
}

func FuzzQuote(f *testing.F) {
	for _, text := range samples {
		f.Add(text)
	}
	f.Add("<a href=\"x\">&\u2028\u2029</a>")
	f.Fuzz(func(t *testing.T, text string) {
		lit := appendQuoted([]byte("x"), text)[1:]
		var got string
		if err := json.Unmarshal(lit, &got); err != nil {
			t.Fatalf("%q: %v", lit, err)
		}
		if want := string([]rune(text)); got != want {
			t.Fatalf("%q: %q", want, got)
		}
		if back, err := Unquote(lit); err != nil || back != got {
			t.Fatalf("%q: %q, %v", lit, back, err)
		}
	})
}

func TestQuoteEscapesNoMoreThanItMust(t *testing.T) {
	in := "<&>\u2028é/\u007f\"\\\n\t\r\x00\x1f"
	if got, want := string(appendQuoted(nil, in)), "\"<&>\u2028é/\u007f\\\"\\\\\\n\\t\\r\\u0000\\u001f\""; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Strings that one texts returned must not share memory.
func TestTextsKeepsStringsApart(t *testing.T) {
	list := newTexts(100)
	var got, want []string
	for i := range 2000 {
		word := strings.Repeat(string(rune('a'+i%26)), i%40)
		if i%7 == 0 {
			word += "\n\xff"
		}
		if i%3 == 0 {
			got = append(got, list.Copy([]byte(word)))
		} else {
			lit := appendQuoted(nil, word)
			if i%7 == 0 {
				lit = []byte("\"" + strings.ReplaceAll(word, "\n", `\n`) + "\"")
				word = string([]rune(word))
			}
			text, _, err := list.String(lit, Span{0, len(lit)})
			if err != nil {
				t.Fatal(err)
			}
			clear(lit)
			got = append(got, text)
		}
		want = append(want, word)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%d: %q, want %q", i, got[i], want[i])
		}
	}
}

// A short string in use does not keep the memory of a long one that was decoded before it.
func TestLargeStringsHaveTheirOwnMemory(t *testing.T) {
	body := []byte(`["` + strings.Repeat(`a line\n`, 100_000) + `","id"]`)
	var spans []Span
	s := New(body)
	for s.Enter('['); s.Next(); {
		spans = append(spans, s.Skip())
	}
	for name, texts := range map[string]texts{"zero": {}, "sized": newTexts(len(body))} {
		long, _, err := texts.String(body, spans[0])
		if err != nil || len(long) != 700_000 {
			t.Fatalf("%d bytes, %v", len(long), err)
		}
		memory := weak.Make(unsafe.StringData(long))
		short, _, err := texts.String(body, spans[1])
		if err != nil || short != "id" {
			t.Fatalf("%q, %v", short, err)
		}
		runtime.GC()
		if memory.Value() != nil {
			t.Errorf("%s: the long string is kept", name)
		}
		runtime.KeepAlive(short)
	}
}
