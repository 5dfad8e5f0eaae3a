package prefix

import "testing"

// WIRE-3: the arguments of a call have the same hash in every form.
func TestArguments(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"path": "a\/b.go", "n": 1e3}`:                   `{"path":"a/b.go","n":1e3}`,
		`{"path":"a b.go"}`:                               `{"path":"a b.go"}`,
		`{"z":1,"a":{"x":[ ]}}`:                           `{"z":1,"a":{"x":[]}}`,
		`{"t":"\u0041\u00e9\ud83c\udf31\t\u0001<\u003c"}`: `{"t":"Aé🌱\t\u0001<<"}`,
		`{"half":"\ud83c"}`:                               `{"half":"\ud83c"}`,
		`{"quotes":"say \"a\" \\ b","k\u0065y":"v"}`:      `{"quotes":"say \"a\" \\ b","key":"v"}`,
		`free text \n`:                                    `free text \n`,
		`{"a": `:                                          `{"a": `,
		``:                                                ``,
	} {
		if got := Arguments(arguments); got != want {
			t.Errorf("%s: %s, want %s", arguments, got, want)
		}
		if again := Arguments(want); again != want {
			t.Errorf("%s becomes %s", want, again)
		}
	}
}
