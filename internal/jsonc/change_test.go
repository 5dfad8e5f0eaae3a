package jsonc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Replacing or removing a value does not change the rest.
func TestReplaceAndRemove(t *testing.T) {
	const text = "{\n  // kept\n  \"env\": {\n    \"A\": \"1\", // one\n    \"b/c~\": \"2\"\n  },\n  \"z\": [1, 2,],\n}\n"
	path := []string{"env", "b/c~"}
	if v, ok, err := Lookup([]byte(text), path); v != "2" || !ok || err != nil {
		t.Fatal(v, ok, err)
	}
	replaced, err := Replace([]byte(text), path, "three")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("{\n  // kept\n  \"env\": {\n    \"A\": \"1\", // one\n    \"b/c~\": \"three\"\n  },\n  \"z\": [1, 2,],\n}\n", string(replaced)); diff != "" {
		t.Error(diff)
	}
	removed, err := Remove(replaced, path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("{\n  // kept\n  \"env\": {\n    \"A\": \"1\" // one\n  },\n  \"z\": [1, 2,],\n}\n", string(removed)); diff != "" {
		t.Error(diff)
	}
	for _, path := range [][]string{{"nothing"}, {"env", "nothing"}, {"z", "a"}} {
		if _, ok, err := Lookup([]byte(text), path); ok || err != nil {
			t.Error(path, ok, err)
		}
		if out, err := Remove([]byte(text), path); err == nil {
			t.Errorf("%v: %s", path, out)
		}
	}
	if _, _, err := Lookup([]byte("{"), path); err == nil {
		t.Error("an open object passed")
	}
	if _, ok, err := Lookup(nil, path); ok || err != nil {
		t.Error("an empty text", ok, err)
	}
}
