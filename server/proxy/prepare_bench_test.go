package proxy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim"
)

// BenchmarkPrepare decodes, hashes, judges, plans and patches a body of 1 MB and 1,000 messages, without the network. It measures
// the whole body, and a body in which only the tail is new.
func BenchmarkPrepare(b *testing.B) {
	var whole strings.Builder
	whole.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"go on"}`)
	round := func(i int) string {
		text := strings.Repeat(fmt.Sprintf("     1\tround %d reads a line of some file\n", i), 50)
		file := i
		if i%10 == 9 {
			file = i - 5
			text = strings.ReplaceAll(text, fmt.Sprint("round ", i), fmt.Sprint("round ", file))
		}
		return fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"Read","input":{"file_path":"/home/me/project/%d.go"}}]}`, i, file) +
			fmt.Sprintf(`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":%q}]}`, i, text)
	}
	for i := range 500 {
		whole.WriteString(round(i))
	}
	var bodies [][]byte
	for i := range 40 {
		whole.WriteString(round(500 + i))
		bodies = append(bodies, markLast([]byte(whole.String()+`],"tools":[{"name":"Read","input_schema":{"type":"object"}}]}`)))
	}
	for _, test := range []struct {
		name   string
		memory int64
	}{{"tail", 0}, {"whole", -1}} {
		b.Run(test.name, func(b *testing.B) {
			p, err := New(Config{History: trim.Config{Policy: trim.Adaptive}, Memory: test.memory})
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close(b.Context())
			b.SetBytes(int64(len(bodies[0])))
			b.ReportAllocs()
			var added []time.Duration // without the first body, which goes back to the beginning
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				body := bodies[i%len(bodies)]
				head := append(p.buffers.get(len(body)), body...)
				x := &exchange{
					endpoint: p.endpoints.messages, body: upload{head: head, whole: true, borrowed: []*lease{lend(head)}},
					row: record.Request{Conversation: "unknown", API: llm.Messages, Time: time.Now(), Status: 200},
				}
				b.StartTimer()
				p.prepare(x, http.Header{}, planned)
				b.StopTimer()
				if x.row.Passed != "" {
					b.Fatal(x.row.Passed)
				}
				if i%len(bodies) > 0 {
					added = append(added, x.row.Added)
				}
				p.reports(x)
				<-x.background
				p.settle(x, time.Now())
				p.conversations.leave(x.conversation, &x.row, nil)
				x.body.release(&p.buffers)
				b.StartTimer()
			}
			if slices.Sort(added); len(added) > 0 {
				b.ReportMetric(float64(added[len(added)/2].Microseconds()), "median-added-µs")
			}
		})
	}
}
