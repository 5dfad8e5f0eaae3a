package gateway

import (
	"bufio"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/server/gateway/wire"
)

// A frame of any size and in any three pieces arrives unchanged while pings are sent.
func TestFramesOnTheWire(t *testing.T) {
	hub, _ := newHub(t, Config{})
	url := serveHub(t, hub)
	c, err := Dial{URL: url, Token: "agent-a"}.dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.abort)
	r := &raw{t, c}
	r.hello(wire.Hello{Role: wire.Agent})
	go func() {
		for c.ping(ctx) == nil { // the reader below receives the pongs
		}
	}()
	for _, n := range []int{0, 1, 7, 60, 120, 126, 130, 4000, 16_000, 16_400, 65_400, 65_536, 70_000, 300_001} {
		text := []byte(`{"type":"cancel","call_id":"1"` + strings.Repeat(" ", n) + `}`)
		a := rand.IntN(len(text))
		b := a + rand.IntN(len(text)-a)
		if err := c.write(wire.Encoded{Head: text[:a], Body: text[a:b], Tail: text[b:]}); err != nil {
			t.Fatal(err)
		}
		if e := want[*wire.Error](r); e.Message != "cancel: no such call is under way" {
			t.Errorf("%d bytes: %+v", n, e)
		}
	}
	c.close(websocket.StatusNormalClosure, "bye")
}

// wireFrame returns a WebSocket frame of a client. The mask is zero, so the payload is as it is.
func wireFrame(head byte, masked bool, payload string) string {
	var b []byte
	switch n := len(payload); {
	case n < 126:
		b = []byte{head, byte(n)}
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16([]byte{head, 126}, uint16(n))
	default:
		b = binary.BigEndian.AppendUint64([]byte{head, 127}, uint64(n))
	}
	if masked {
		b[1] |= 0x80
		b = append(b, 0, 0, 0, 0)
	}
	return string(b) + payload
}

// A client that does not follow the WebSocket protocol gets a close frame with the status that RFC 6455 names, and a reason. This is so
// before and after its hello, also if it goes on sending.
func TestRefusedFrames(t *testing.T) {
	const limit = 64 << 10
	hub, _ := newHub(t, Config{Limits: Limits{Frame: limit}})
	address := strings.TrimPrefix(serveHub(t, hub), "http://")
	text := func(s string) string { return wireFrame(0x81, true, s) }
	for _, c := range []struct {
		name, sends string
		status      websocket.StatusCode
		reason      string
	}{
		{"binary", wireFrame(0x82, true, "{}"), 1003, "send frames as text"},
		{"large binary", wireFrame(0x82, true, strings.Repeat("x", 8<<20)), 1003, "send frames as text"},
		{"binary in pieces", wireFrame(0x02, true, "{") + wireFrame(0x80, true, "}"), 1003, "send frames as text"},
		{"unmasked", wireFrame(0x81, false, "{}"), 1002, "unmasked"},
		{"large unmasked", wireFrame(0x81, false, strings.Repeat("x", 8<<20)), 1002, "unmasked"},
		{"unmasked piece", wireFrame(0x01, true, "{") + wireFrame(0x80, false, "}"), 1002, "unmasked"},
		{"unmasked ping", wireFrame(0x89, false, ""), 1002, "unmasked"},
		{"reserved bit", wireFrame(0xC1, true, "{}"), 1002, "rsv"},
		{"other reserved bits", wireFrame(0xB1, true, "{}"), 1002, "rsv"},
		{"unknown opcode", wireFrame(0x83, true, "{}"), 1002, "opcode"},
		{"unknown control frame", wireFrame(0x8B, true, ""), 1002, "opcode"},
		{"large ping", wireFrame(0x89, true, strings.Repeat("x", 126)), 1002, "length"},
		{"ping in pieces", wireFrame(0x09, true, "x"), 1002, "fragmented"},
		{"no beginning", wireFrame(0x80, true, "{}"), 1002, "continuation"},
		{"no end", wireFrame(0x01, true, "{") + text("{}"), 1002, "without finishing"},
		{"negative length", "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff", 1002, "negative"},
		{"not UTF-8", text("{\"type\":\"\xff\"}"), 1007, "UTF-8"},
		{"not UTF-8, in pieces", wireFrame(0x01, true, "\xe2\x82") + wireFrame(0x80, true, "x"), 1007, "UTF-8"},
		{"too large", text(strings.Repeat("x", 8<<20)), 1009, "bytes"},
		{"too large, in pieces", strings.Repeat(wireFrame(0x01, true, strings.Repeat("x", limit/2)), 1) + strings.Repeat(wireFrame(0x00, true, strings.Repeat("x", limit/2)), 9), 1009, "bytes"},
		{"ack of what was not sent", text(`{"type":"ack","received":99}`), 1008, "ack"},
		{"close with a bad status", wireFrame(0x88, true, "\x03\xed"), 1002, "close"},
	} {
		for _, greets := range []bool{false, true} {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			_, err = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer agent-a\r\nConnection: Upgrade\r\n"+
				"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
			if err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(conn)
			if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
				t.Fatal(resp, err)
			}
			sends := c.sends
			if greets {
				sends = text(`{"type":"hello","version":1,"role":"agent"}`) + sends
			}
			go func() { _, _ = io.WriteString(conn, sends) }()
			status, reason := closedWith(in)
			if status != c.status || !strings.Contains(reason, c.reason) {
				t.Errorf("%s, greets %v: %d %q, want %d with %q", c.name, greets, status, reason, c.status, c.reason)
			}
			_ = conn.Close()
		}
	}
}

// closedWith reads frames of a server until a close frame; 0: there is none.
func closedWith(in *bufio.Reader) (websocket.StatusCode, string) {
	for {
		var head [2]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return 0, err.Error()
		}
		size := int(head[1])
		if size == 126 {
			var n [2]byte
			_, _ = io.ReadFull(in, n[:]) // the next read fails, too
			size = int(binary.BigEndian.Uint16(n[:]))
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(in, payload); err != nil {
			return 0, err.Error()
		}
		if head[0] == 0x88 && size >= 2 {
			return websocket.StatusCode(binary.BigEndian.Uint16(payload)), string(payload[2:])
		}
	}
}
