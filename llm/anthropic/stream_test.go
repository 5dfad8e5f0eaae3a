package anthropic

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/test/codectest"
)

func FuzzStream(f *testing.F) {
	reader := func(emit func(llm.Event)) endpoint.Reader { return &reader{emit: emit} }
	codectest.FuzzStream(f, Messages{}, reader, recorded(f, "testdata/*.txtar")...)
}

// recorded returns the streams of the recorded exchanges.
func recorded(t testing.TB, pattern string) [][]byte {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatal(err, "no archives")
	}
	var out [][]byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			if file.Name == "stream" {
				out = append(out, file.Data)
			}
		}
	}
	return out
}
