package mcpserver

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A long text reaches the client in the encoding that the SDK would produce.
func TestLongText(t *testing.T) {
	const signs = "ab\"\\\n\r\t<>&\x00\x1f\x7fé世\u2028\ufffd\U0001f600\xff\xc3"
	random := make([]byte, 2*longText)
	for i := range random {
		random[i] = signs[rand.IntN(len(signs))]
	}
	for name, text := range map[string]string{
		"short": strings.Repeat("x", longText-1), "long": strings.Repeat("x", longText), "signs": strings.Repeat(signs, 1000),
		"random": string(random), "json": `{"content":"` + strings.Repeat(`a \"line\"\n`, longText) + `"}`,
	} {
		s := newServer(t, Config{Caller: fixed(text)})
		answers := exchange(t, s, initialize, `{"jsonrpc":"2.0","id":"\u0022a","method":"tools/call","params":{"name":"get"}}`)
		result, err := json.Marshal(textResult(text, false))
		if err != nil {
			t.Fatal(err)
		}
		id, err := jsonrpc.MakeID(`"a`)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Result: result})
		if err != nil {
			t.Fatal(err)
		}
		if len(answers) != 2 || !reflect.DeepEqual(parsed(t, answers[1]), parsed(t, string(want))) {
			t.Errorf("%s: %.300q, not %.300q", name, answers[len(answers)-1], want)
		}
		for _, revision := range revisions {
			c, end := client(t, s, revision, nil)
			if got := textOf(t, call(t, c, "get", nil)); got != string([]rune(text)) { // bytes that are not UTF-8 become U+FFFD
				t.Errorf("%s, %s: %.300q", revision, name, got)
			}
			end()
		}
	}
}

func parsed(t *testing.T, line string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
