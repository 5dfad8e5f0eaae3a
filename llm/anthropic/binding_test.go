package anthropic

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRefusesBound(t *testing.T) {
	for body, want := range map[string]bool{
		`{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ` + "`signature` in `thinking`" + ` block. The block is bound to a different conversation. Remove the block."}}`:                                                              true,
		`{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ` + "`data` in `redacted_thinking`" + ` block. The block is bound to a different conversation."},"request_id":"r"}`:                                                           true,
		`{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid signature in thinking block"}}`:                                                                                                                                               false,
		`{"error":{"message":"litellm.BadRequestError: AnthropicException - {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid signature. The block is bound to a different conversation.\"}}","type":"None","code":"400"}}`: true,
		`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"The block is bound to a different conversation."}}}`:                                                                                                                                               true,
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}`:                                                                                                                                                                                      false,
		``: false,
	} {
		if got := RefusesBound([]byte(body)); got != want {
			t.Errorf("%s: %t", body, got)
		}
	}
}

func TestAppendDropping(t *testing.T) {
	for body, want := range map[string]string{
		"{ \"a\" : 1.0 ,\n\"thinking\": { \"type\":\"adaptive\" }, \"b\":\"\\u00e4\"} ": "{ \"a\" : 1.0 ,\n\"thinking\": { \"type\":\"adaptive\" ,\"block_binding\":{\"prefix_mismatch_behavior\":\"drop_block\"}}, \"b\":\"\\u00e4\"} ",
		`{"thinking":{}}`: `{"thinking":{"block_binding":{"prefix_mismatch_behavior":"drop_block"}}}`,
		`{"a":1 }`:        `{"a":1 ,"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}}`,
		`{}`:              `{"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}}`,
		// Members that the client sets itself, and invalid requests.
		`{"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"error"}}}`: "",
		`{"thinking":{"type":"disabled"}}`: "",
		`{"thinking":null}`:                "",
		`[]`:                               "",
		`{"a":`:                            "",
	} {
		got, err := AppendDropping(nil, []byte(body))
		if diff := cmp.Diff(want, string(got)); diff != "" || (err == nil) != (want != "") {
			t.Errorf("%s: %v\n%s", body, err, diff)
		}
	}
}

func TestAllowDropping(t *testing.T) {
	for _, test := range []struct{ in, want []string }{
		{nil, []string{bindingBeta}},
		{[]string{"a, b"}, []string{"a, b," + bindingBeta}},
		{[]string{"a", "b"}, []string{"a", "b," + bindingBeta}},
		{[]string{"a, " + bindingBeta, "b"}, []string{"a, " + bindingBeta, "b"}},
	} {
		h := http.Header{"Anthropic-Beta": test.in}
		AllowDropping(h)
		if diff := cmp.Diff(test.want, h["Anthropic-Beta"]); diff != "" {
			t.Error(diff)
		}
	}
}
