package gateway

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// echo is a Caller that returns this text.
type echo string

func (e echo) Specs() []tool.Spec {
	return []tool.Spec{{Name: "read_file", Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true}}
}

func (e echo) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{CallID: c.ID, Text: string(e)}, nil
}

// payload returns a result of about n bytes.
func payload(n int) echo {
	return echo(`{"success":true,"content":"` + strings.Repeat("x", n-40) + `"}`)
}

// BenchmarkRoundTrip measures agent → gateway → host → gateway → agent over the loopback, for results of several sizes.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			hub, err := New(Config{Authority: &testAuthority{}, Limits: Limits{Rate: -1}})
			if err != nil {
				b.Fatal(err)
			}
			url := serveHub(b, hub)
			runHost(b, url, "w", payload(size))
			agent := dialAgent(b, url, "w")
			b.SetBytes(int64(size))
			b.ReportAllocs()
			defer measureCPU(b)()
			for b.Loop() {
				if r, err := agent.Call(context.Background(), tool.Call{Name: "read_file", Arguments: json.RawMessage(`{"path":"a"}`)}); err != nil || len(r.Text) < size-100 {
					b.Fatal(r, err)
				}
			}
		})
	}
}

// BenchmarkFirstPart measures the time from the call to the first part of a file of 95 MB. The whole file is read before that,
// because all parts are of one version.
func BenchmarkFirstPart(b *testing.B) {
	hub, err := New(Config{Authority: &testAuthority{}, Limits: Limits{Rate: -1}})
	if err != nil {
		b.Fatal(err)
	}
	url := serveHub(b, hub)
	files := newBench(b, nil, policy.Policy{Unattended: true})
	files.put(b, "large", strings.Repeat(strings.Repeat("some text ", 6)+"abc\n", 95<<20/64))
	stagingHost(b, url, files)
	dialAgent(b, url, "w") // it waits for the host
	agent := dialRaw(b, url, "agent-a")
	agent.hello(wire.Hello{Role: wire.Agent, Workspace: "w", Capabilities: []string{wire.CanParts, wire.CanCancel}})
	defer measureCPU(b)()
	for n := 0; b.Loop(); n++ {
		id := strconv.Itoa(n)
		agent.send(&wire.ToolCall{CallID: id, ToolName: "read_file", Arguments: json.RawMessage(`{"path":"large"}`)})
		if p := want[*wire.Part](agent); p.CallID != id || p.Seq != 0 {
			b.Fatalf("%+v", p)
		}
		agent.send(&wire.Cancel{CallID: id})
		for over := false; !over; {
			switch f := agent.next().(type) {
			case *wire.ToolResult:
				over = true
			case *wire.Part:
				agent.send(&wire.Taken{CallID: f.CallID, Seq: f.Seq})
			}
		}
	}
}

// measureCPU reports the processor time of both ends. It depends less on other processes than wall time does.
func measureCPU(b *testing.B) (done func()) {
	before := cpuTime(b)
	return func() { b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkRawTCP measures the lower bound: a request of 200 bytes and an answer over one loopback connection.
func BenchmarkRawTCP(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			go answerRaw(l, size)
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			r, ask, buf := bufio.NewReader(c), make([]byte, 200), make([]byte, size)
			b.SetBytes(int64(size))
			defer measureCPU(b)()
			for b.Loop() {
				if _, err := c.Write(ask); err != nil {
					b.Fatal(err)
				}
				var n uint32
				if err := binary.Read(r, binary.BigEndian, &n); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(r, buf[:n]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func answerRaw(l net.Listener, size int) {
	c, err := l.Accept()
	if err != nil {
		return
	}
	defer c.Close()
	ask, out := make([]byte, 200), make([]byte, 4+size)
	binary.BigEndian.PutUint32(out, uint32(size))
	for {
		if _, err := io.ReadFull(c, ask); err != nil {
			return
		}
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}
