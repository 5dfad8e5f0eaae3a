package nats_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/gateway/nats"
	"github.com/stet-dev/stet/server/gateway/wire"
)

// BenchmarkAnnouncement is what a hub publishes of each of its hosts every two seconds, with nine tools in 5 KB, until another hub has it.
// Its processor time is that of both, and of the NATS server between them.
func BenchmarkAnnouncement(b *testing.B) {
	s, err := serve(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Shutdown()
	var ends [2]*nats.Bus
	for i := range ends {
		if ends[i], err = nats.Open(b.Context(), nats.Config{Server: s}); err != nil {
			b.Fatal(err)
		}
		defer ends[i].Close()
	}
	var got atomic.Int64
	stop, err := ends[1].Subscribe("presence", func(gateway.Message) { got.Add(1) })
	if err != nil {
		b.Fatal(err)
	}
	defer stop()
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"` + strings.Repeat("of a file ", 35) + `"}}}`)
	up := &wire.Event{Event: wire.HostUp, Workspace: "project"}
	for range 9 {
		up.Tools = append(up.Tools, wire.Tool{Name: "read_file", Description: strings.Repeat("read ", 14), Schema: schema})
	}
	begin := processorTime(b)
	var sent int64
	for b.Loop() {
		if err := ends[0].Publish("presence", gateway.Message{From: "hub/x", Frame: up}); err != nil {
			b.Fatal(err)
		}
		for sent++; sent-got.Load() > 500; {
			time.Sleep(time.Millisecond)
		}
	}
	for got.Load() < sent {
		time.Sleep(time.Millisecond)
	}
	b.ReportMetric(float64(processorTime(b)-begin)/float64(b.N), "cpu-ns/op")
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
