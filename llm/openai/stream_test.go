package openai

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/test/codectest"
)

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

func FuzzChatStream(f *testing.F) {
	reader := func(emit func(llm.Event)) endpoint.Reader { return &chatReader{emit: emit} }
	codectest.FuzzStream(f, Chat{}, reader, recorded(f, "testdata/chat/*.txtar")...)
}

func FuzzResponsesStream(f *testing.F) {
	reader := func(emit func(llm.Event)) endpoint.Reader { return &responsesReader{emit: emit} }
	codectest.FuzzStream(f, Responses{}, reader, recorded(f, "testdata/responses/*.txtar")...)
}
