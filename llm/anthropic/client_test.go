package anthropic_test

import (
	"errors"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/modeltest"
	"github.com/stet-dev/stet/test/strictmodel"
)

var adapter = modeltest.Adapter{
	API: anthropic.API,
	Opaque: []llm.Part{
		{Kind: llm.Thinking, Raw: `{"type":"redacted_thinking","data":"c2VjcmV0"}`},
		{Kind: llm.Thinking, Raw: `{"type":"thinking","thinking":"","signature":"c2ln"}`},
		{Kind: llm.Opaque, Raw: `{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query":"plants"}}`},
		{Kind: llm.Opaque, Raw: `{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[{"type":"web_search_result","url":"https://example.test"}]}`},
	},
	Resent: true, Marks: true, IDs: regexp.MustCompile(`^[a-zA-Z0-9_-]+$`),
}

func TestClient(t *testing.T) { modeltest.Run(t, adapter) }

var update = flag.Bool("update", false, "write what comes of the recorded exchanges into them")

func TestRecorded(t *testing.T) { // CTX-11
	write := func(name string, archive []byte) error { return os.WriteFile("testdata/"+name, archive, 0o644) }
	if !*update {
		write = nil
	}
	modeltest.Recorded(t, adapter, os.DirFS("testdata"), "*.txtar", write)
}

// TestOverTCP asks a model over real connections. A request whose connection was reset is tried again.
func TestOverTCP(t *testing.T) { // CTX-11
	server := strictmodel.New(llmtest.Script{})
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	model := endpoint.Client{API: anthropic.API, Config: endpoint.Config{BaseURL: server.URL, Model: "m", HTTP: &http.Client{Transport: transport}}}
	server.Fail(llmtest.Fault{Reset: true})
	for range 2 {
		res, err := model.Stream(t.Context(), &llm.Request{}, nil)
		if err != nil || res.Message.Parts[0].Text != "Done." {
			t.Errorf("%+v, %v", res, err)
		}
	}
	if n := len(server.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
	_ = server.Close()
	if _, err := model.Complete(t.Context(), &llm.Request{}); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("no endpoint there: %v", err)
	}
}

// TestProxyFromEnvironment runs itself as a second process with a proxy in the environment, because Go reads that only once. The
// model's host does not exist, so an answer can only come through the proxy.
func TestProxyFromEnvironment(t *testing.T) { // CTX-11
	if os.Getenv("STET_TEST_PROXIED") != "" {
		model := endpoint.Client{API: anthropic.API, Config: endpoint.Config{BaseURL: "http://model.invalid", Model: "m", Retries: -1}}
		if _, err := model.Complete(t.Context(), &llm.Request{}); err != nil {
			t.Fatal(err)
		}
		return
	}
	server := strictmodel.New(llmtest.Script{})
	defer server.Close()
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyFromEnvironment$", "-test.count=1")
	again.Env = append(os.Environ(), "STET_TEST_PROXIED=1", "HTTP_PROXY="+server.URL, "http_proxy="+server.URL, "NO_PROXY=", "no_proxy=")
	if out, err := again.CombinedOutput(); err != nil || len(server.Requests()) != 1 {
		t.Errorf("%d requests through the proxy, %v: %s", len(server.Requests()), err, out)
	}
}
