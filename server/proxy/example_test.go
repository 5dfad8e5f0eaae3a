package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/proxy"
)

// An agent that reads a file twice sends its content twice. stet sends the second one to the provider as one line.
func Example() {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // memory of this process has no read errors
		fmt.Println("the content reached the provider times:", strings.Count(string(body), "line 5 of main.go"))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"Done."},"finish_reason":"stop"}]}`)
	}))
	defer provider.Close()
	p, err := proxy.New(proxy.Config{Upstreams: llm.Upstreams{llm.Chat: provider.URL + "/v1"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	front := httptest.NewServer(p)
	defer front.Close()

	var content strings.Builder
	for i := range 40 {
		fmt.Fprintf(&content, "line %d of main.go\n", i)
	}
	// The first messages of a conversation stay whole until the prompt is long enough to be cached.
	messages := fmt.Sprintf(`{"role":"system","content":%q},{"role":"user","content":"fix the bug"}`, strings.Repeat("Follow the rule. ", 400))
	for _, id := range []string{"call_1", "call_2"} {
		messages += fmt.Sprintf(`,{"role":"assistant","tool_calls":[{"id":%q,"type":"function","function":{"name":"read_file","arguments":"{\"path\":\"main.go\"}"}}]}`, id)
		messages += fmt.Sprintf(`,{"role":"tool","tool_call_id":%q,"content":%q}`, id, content.String())
	}
	resp, err := http.Post(front.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[`+messages+`]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = resp.Body.Close()
	if err := p.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println("shortened:", p.Totals().Shortened)
	// Output:
	// the content reached the provider times: 1
	// shortened: map[repeat:1]
}
