package rawjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// tree decodes body keeping numbers as they are written.
func tree(t testing.TB, body []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return v
}

func FuzzPatch(f *testing.F) {
	for _, text := range samples {
		f.Add([]byte(text), "new \"text\"\n", uint64(0b1011))
	}
	f.Fuzz(func(t *testing.T, body []byte, text string, which uint64) {
		if !shallow(body) || !json.Valid(body) {
			return
		}
		var values []Span
		s := New(body)
		walk(&s, body, &values)

		same, err := AppendPatched(nil, body, nil)
		if err != nil || !bytes.Equal(same, body) {
			t.Fatalf("no patches: %q, %v", same, err)
		}
		var patches []Patch
		mark := "\x00mark"
		for i, at := range values {
			if which>>(i%64)&1 == 1 {
				patches = append(patches, Patch{at, text + mark})
			}
		}
		before := []byte("before")
		out, err := AppendPatched(before, body, patches)
		if err != nil {
			t.Fatal(err)
		}
		out = out[len(before):]
		if !json.Valid(out) {
			t.Fatalf("%q became %q", body, out)
		}
		// Patched back, the body is the original.
		var now []Span
		s = New(out)
		walk(&s, out, &now)
		if len(now) != len(values) {
			t.Fatalf("%d strings became %d", len(values), len(now))
		}
		from, fromNow := 0, 0
		for i := range values {
			if !bytes.Equal(body[from:values[i].Start], out[fromNow:now[i].Start]) {
				t.Fatalf("bytes changed: %q, %q", body, out)
			}
			if which>>(i%64)&1 == 0 && !bytes.Equal(values[i].Of(body), now[i].Of(out)) {
				t.Fatalf("unpatched string changed: %q, %q", body, out)
			}
			if which>>(i%64)&1 == 1 {
				if got := tree(t, now[i].Of(out)); got != string([]rune(text+mark)) {
					t.Fatalf("patched string says %q", got)
				}
			}
			from, fromNow = values[i].End, now[i].End
		}
		if !bytes.Equal(body[from:], out[fromNow:]) {
			t.Fatalf("bytes changed: %q, %q", body, out)
		}
	})
}

// An element of an array is removed with the comma behind it.
func TestPatchRemoves(t *testing.T) {
	body := []byte(`[{"a":1} , {"b":"x"},{"c":3}]`)
	out, err := AppendPatched(nil, body, []Patch{{Span{1, 11}, ""}, {Span{11, 21}, ""}})
	if err != nil || string(out) != `[{"c":3}]` {
		t.Errorf("%s, %v", out, err)
	}
}

func TestPatchRefuses(t *testing.T) {
	body := []byte(`{"a":"b\"c","d":"e"}`)
	a, e := Span{5, 11}, Span{16, 19}
	if _, err := AppendPatched(nil, body, []Patch{{a, "x"}, {e, "y"}}); err != nil {
		t.Fatal(err)
	}
	for _, patches := range [][]Patch{
		{{e, "y"}, {a, "x"}},
		{{a, "x"}, {a, "x"}},
		{{Span{5, 9}, "x"}},
		{{Span{6, 11}, "x"}},
		{{Span{5, 12}, "x"}},
		{{Span{9, 11}, "x"}, {Span{10, 12}, "x"}},
		{{Span{-1, 4}, "x"}},
		{{Span{16, 99}, "x"}},
		{{Span{}, "x"}},
		{{Span{10, 5}, "x"}},
	} {
		dst := []byte("kept")
		out, err := AppendPatched(dst, body, patches)
		if err == nil || string(out) != "kept" {
			t.Errorf("%v: %q, %v", patches, out, err)
		}
	}
}

func TestWriter(t *testing.T) {
	var w Writer
	w.Open('{')
	w.Key("a\"")
	w.Open('[')
	w.Int(1)
	w.Bool(true)
	w.Null()
	w.Raw(`{"x": [1]}`, "raw")
	w.Open('{')
	w.Close('}')
	w.Close(']')
	w.Key("b")
	w.String("é\n")
	w.Close('}')
	body, err := w.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a\"":[1,true,null,{"x": [1]},{}],"b":"é\n"}`; string(body) != want {
		t.Errorf("%s, want %s", body, want)
	}
	w.Raw("{", "a broken thing")
	if _, err := w.Bytes(); err == nil {
		t.Error("broken raw value passed")
	}
	if !reflect.DeepEqual([]bool{IsObject("{}"), IsObject(` {"a":1}`), IsObject("[]"), IsObject(""), IsObject("{")},
		[]bool{true, true, false, false, false}) {
		t.Error("IsObject")
	}
}

// An object is replaced by another object, byte for byte.
func TestPatchObject(t *testing.T) {
	body := []byte(`{"a": {"b": "}"} , "c":"d"}`)
	at := Span{6, 16}
	out, err := AppendPatched(nil, body, []Patch{{at, `{ "x":[1,{}]}`}, {Span{23, 26}, "e\n"}})
	if want := `{"a": { "x":[1,{}]} , "c":"e\n"}`; err != nil || string(out) != want {
		t.Errorf("%s, %v, want %s", out, err, want)
	}
	for _, p := range []Patch{
		{at, ""}, {at, "[]"}, {at, `"text"`}, {at, "{"}, {at, "{} "}, {at, "{}{}"}, {at, `{"a"}`},
		{Span{6, 15}, "{}"}, {Span{6, 17}, "{}"}, {Span{6, 19}, "{}"},
	} {
		if out, err := AppendPatched([]byte("kept"), body, []Patch{p}); err == nil || string(out) != "kept" {
			t.Errorf("%+v: %s, %v", p, out, err)
		}
	}
}
