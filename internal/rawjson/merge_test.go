package rawjson

import (
	"encoding/json"
	"maps"
	"testing"
)

func TestMerge(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":1,"b": [ 2 ]}`, `{}`, `{"a":1,"b":[ 2 ]}`},
		{`{"a":1,"b":2,"c":3}`, `{"b":{"x":null},"d":4}`, `{"a":1,"c":3,"b":{"x":null},"d":4}`},
		{`{"a":1}`, `{"a":null,"z":null}`, `{}`},
		{`{}`, ` {"a" : "é"} `, `{"a":"é"}`},
	} {
		got, err := Merge([]byte(c[0]), []byte(c[1]))
		if err != nil || string(got) != c[2] {
			t.Errorf("%s + %s: %s, %v", c[0], c[1], got, err)
		}
	}
	for _, bad := range []string{``, `[]`, `{"a":1`, `{"a":tru}`, `{"\u0061":1}`, `{} {}`, `null`} {
		if got, err := Merge([]byte(`{"a":1}`), []byte(bad)); err == nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[{}]}`), []byte(`{"b":null,"c":"x"}`))
	f.Fuzz(func(t *testing.T, body, extra []byte) {
		var want, more, got map[string]json.RawMessage
		if json.Unmarshal(body, &want) != nil || json.Unmarshal(extra, &more) != nil || want == nil {
			return
		}
		merged, err := Merge(body, extra)
		if err != nil {
			return
		}
		maps.Copy(want, more)
		for key, value := range more {
			if string(value) == "null" {
				delete(want, key)
			}
		}
		if err := json.Unmarshal(merged, &got); err != nil || !maps.EqualFunc(want, got, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			t.Fatalf("%s + %s: %s, %v", body, extra, merged, err)
		}
	})
}
