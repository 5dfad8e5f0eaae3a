package codectest

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// Meter checks the results of a meter for a response that arrives in pieces. The first 50 bytes of the response must not contain
// usage.
func Meter(t *testing.T, c llm.Codec, contentType, body string, want llm.Reading) {
	t.Helper()
	check := func(m llm.Meter) {
		t.Helper()
		if got := m.Reading(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%T: %+v, want %+v", c, got, want)
		}
	}
	for size := 1; size < 60; size += 7 {
		m := c.NewMeter(contentType)
		for rest := body; rest != ""; {
			n := min(size, len(rest))
			if taken, err := m.Write([]byte(rest[:n])); taken != n || err != nil {
				t.Fatal(taken, err)
			}
			rest = rest[n:]
		}
		check(m)
	}
	m := c.NewMeter(contentType)
	write(m, body[:50])
	if m.Reading().Counted {
		t.Errorf("%T: usage too early", c)
	}
	write(m, body[50:])
	check(m)
}

func write(m llm.Meter, body string) { _, _ = m.Write([]byte(body)) }

// For bytes that are not an answer, a meter has no results.
func invalidBytes(t *testing.T, f Format) {
	for _, body := range []string{
		"", "\xff\x00", "\x00\xff\xfe", "data: {\n\n", "data: []\n\n", `{"usage":[]}`,
		`{"error":{"message":"no","type":"invalid_request_error"}}`,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
		`{"type":"message","usage":{"input_tokens":"many"}}`, "data: {\"usage\":{\"prompt_tokens\":\"x\"}}\n\n",
		"data: {\"type\":\"message_start\",\"message\":5}\n\n",
		"data: " + strings.Repeat(`{"type":"message_start","message":`, 400) + "1" + strings.Repeat("}", 400) + "\n\n",
	} {
		for _, contentType := range []string{"text/event-stream", "application/json", "", "text/html"} {
			m := f.Codec.NewMeter(contentType)
			write(m, body)
			if r := m.Reading(); r.Counted || r.Model != "" || r.StopReason != "" {
				t.Errorf("%.40q: %+v", body, r)
			}
		}
	}
}
