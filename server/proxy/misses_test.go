package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

// If stet knows no reason for a cache miss, it records the reason that the provider's diagnostics give.
func TestProvidersReason(t *testing.T) {
	const messages = `{"type":"message","id":"msg_1","model":"model-a","content":[],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1},` +
		`"diagnostics":{"cache_miss_reason":{"type":%q,"cache_missed_input_tokens":2000}}}`
	const responses = `{"id":"resp_1","object":"response","status":"completed","model":"model-a","output":[],"usage":{"input_tokens":3,"output_tokens":1},` +
		`"prompt_cache_diagnostics":{"type":"cache_miss","reason":%q,"cache_missed_tokens":2000}}`
	for _, test := range []struct {
		path, answer, reason string
		want                 record.Cache // the members that say why the cache missed
	}{
		{"/v1/messages", messages, "tools_changed", record.Cache{Broke: record.BrokeTools}},
		{"/v1/messages", messages, "messages_changed", record.Cache{Broke: record.BrokeMessage, BrokeAt: -1}},
		{"/v1/messages", messages, "previous_message_not_found", record.Cache{}},
		{"/v1/messages", messages, "x_new_reason", record.Cache{}},
		{"/v1/responses", responses, "service_tier_changed", record.Cache{Broke: record.BrokeSettings}},
		{"/v1/responses", responses, "context_compacted", record.Cache{Broke: record.BrokeContext}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			up := recorder{answer: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, fmt.Sprintf(test.answer, test.reason))
			}}
			r := newRig(t, &up, func(c *proxy.Config) { c.History.Policy = trim.Lossless })
			for _, a := range apis {
				if a.path == test.path {
					r.post(a.path, a.body, "Content-Type", "application/json")
				}
			}
			if got := r.row().Cache; got.Broke != test.want.Broke || got.BrokeAt != test.want.BrokeAt {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
