package nats_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/gateway/nats"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/test/bustest"
)

// serverDir is an environment variable. If it is set, the test program runs as a NATS server that stores its data there, and prints
// its URL.
const serverDir = "STET_TEST_NATS_DIR"

func TestMain(m *testing.M) {
	dir := os.Getenv(serverDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	s, err := serve(dir)
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString(s.ClientURL() + "\n")
	s.WaitForShutdown()
}

func serve(dir string) (*server.Server, error) {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true,
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		return nil, errors.New("the NATS server is not up")
	}
	return s, nil
}

// startProcess starts a NATS server as a separate process.
func startProcess(t *testing.T) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverDir+"="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line := make([]byte, 256)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(string(line[:n]))
}

func open(t *testing.T, c nats.Config) *nats.Bus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b, err := nats.Open(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// startEmbedded starts a server in this process.
func startEmbedded(t *testing.T) *server.Server {
	t.Helper()
	s, err := serve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

func TestEmbedded(t *testing.T) {
	bustest.Run(t, func(t *testing.T) (a, b gateway.Bus) {
		s := startEmbedded(t)
		return open(t, nats.Config{Server: s}), open(t, nats.Config{Server: s})
	})
}

func TestProcess(t *testing.T) {
	bustest.Run(t, func(t *testing.T) (a, b gateway.Bus) {
		_, url := startProcess(t)
		return open(t, nats.Config{URL: url}), open(t, nats.Config{URL: url})
	})
}

// Many messages at once all arrive.
func TestBurst(t *testing.T) {
	s := startEmbedded(t)
	a, b := open(t, nats.Config{Server: s}), open(t, nats.Config{Server: s})
	const many, size = 1000, 64 << 10
	got := make(chan string, many)
	stop, err := a.Own("hub/x", func(m gateway.Message) { got <- wire.CallOf(m.Frame) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	m := large("c", size)
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			if err := b.Send("hub/x", m); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for range many {
		<-got
	}
}

func large(id string, size int) gateway.Message {
	result, err := json.Marshal(map[string]string{"content": strings.Repeat("x", size)})
	if err != nil {
		panic(err)
	}
	return gateway.Message{From: "hub/y", Frame: &wire.ToolResult{CallID: id, Result: result}}
}

// A message above the size limit of NATS arrives whole, between other messages.
func TestPieces(t *testing.T) {
	s := startEmbedded(t)
	a, b := open(t, nats.Config{Server: s}), open(t, nats.Config{Server: s})
	const size = 5 << 20
	got := make(chan gateway.Message, 100)
	stop, err := a.Own("hub/x", func(m gateway.Message) { got <- m }, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := b.Send("hub/x", large("c", size)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for range 4 {
		m := <-got
		if f, ok := m.Frame.(*wire.ToolResult); !ok || len(f.Result) < size || m.From != "hub/y" {
			t.Errorf("%T from %s", m.Frame, m.From)
		}
	}
}

// Incomplete messages of lost senders do not prevent other messages from being completed.
func TestPiecesLeft(t *testing.T) {
	s := startEmbedded(t)
	a, b := open(t, nats.Config{Server: s}), open(t, nats.Config{Server: s})
	got := make(chan gateway.Message, 1)
	stop, err := a.Own("hub/x", func(m gateway.Message) { got <- m }, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	conn, err := client.Connect("", client.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, entry := entryOf(t, conn, "hub/x")
	var owner struct{ Token string }
	if err := json.Unmarshal(entry.Value(), &owner); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		piece := client.NewMsg("stet.to." + owner.Token)
		piece.Header.Set("Stet-Piece", fmt.Sprint(i))
		piece.Data = []byte("{")
		if err := conn.PublishMsg(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	const size = 5 << 20
	if err := b.Send("hub/x", large("c", size)); err != nil {
		t.Fatal(err)
	}
	if f, ok := (<-got).Frame.(*wire.ToolResult); !ok || len(f.Result) < size {
		t.Errorf("%+v", f)
	}
}

// A message to an address of the same process does not go over NATS, and follows those that were sent before.
func TestSendHere(t *testing.T) {
	s := startEmbedded(t)
	line := startRelay(t, s.Addr().String())
	b := open(t, nats.Config{URL: line.url()})
	got := make(chan gateway.Message, 200)
	stop, err := b.Own("hub/x", func(m gateway.Message) { got <- m }, nil)
	if err != nil {
		t.Fatal(err)
	}
	line.hold() // NATS answers nothing; the lease lasts three seconds
	for i := range 200 {
		if err := b.Send("hub/x", large(fmt.Sprint(i), 10)); err != nil {
			t.Fatal(i, err)
		}
	}
	line.letGo()
	for i := range 200 {
		if m := <-got; wire.CallOf(m.Frame) != fmt.Sprint(i) {
			t.Fatalf("message %d is %+v", i, m)
		}
	}
	stop()
	if err := b.Send("hub/x", large("c", 10)); !errors.Is(err, gateway.ErrNoOwner) {
		t.Errorf("after the address was given back: %v", err)
	}
}

// A lost server causes an error that says what to do.
func TestServerLost(t *testing.T) {
	cmd, url := startProcess(t)
	a, b := open(t, nats.Config{URL: url}), open(t, nats.Config{URL: url})
	stop, err := a.Own("hub/x", func(gateway.Message) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := b.Send("hub/x", large("c", 10)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	err = b.Send("hub/x", large("c", 10))
	if !errors.Is(err, nats.ErrOffline) && !errors.Is(err, nats.ErrSilent) {
		t.Errorf("%v", err)
	}
}

// An owner whose process is disconnected loses the address to another owner. It is told, and takes no more messages. Messages reach
// only the new owner.
func TestFence(t *testing.T) {
	s := startEmbedded(t)
	line := startRelay(t, s.Addr().String())
	old, b, c := open(t, nats.Config{URL: line.url()}), open(t, nats.Config{Server: s}), open(t, nats.Config{Server: s})
	atOld, atNew, lost := make(chan gateway.Message, 10), make(chan gateway.Message, 10), make(chan bool, 1)
	if _, err := old.Own("workspace/w", func(m gateway.Message) { atOld <- m }, func() { lost <- true }); err != nil {
		t.Fatal(err)
	}
	if err := c.Send("workspace/w", large("1", 10)); err != nil {
		t.Fatal(err)
	}
	<-atOld
	line.hold()
	if err := c.Send("workspace/w", large("2", 10)); !errors.Is(err, nats.ErrSilent) && !errors.Is(err, gateway.ErrNoOwner) {
		t.Errorf("sent to an owner that is cut off: %v", err)
	}
	if _, err := b.Own("workspace/w", func(m gateway.Message) { atNew <- m }, nil); err != nil {
		t.Fatal(err)
	}
	line.letGo()
	<-lost
	if err := c.Send("workspace/w", large("3", 10)); err != nil {
		t.Fatal(err)
	}
	if m := <-atNew; wire.CallOf(m.Frame) != "3" {
		t.Errorf("%+v", m)
	}
	if err := old.Close(); err != nil { // waits for deliveries
		t.Error(err)
	}
	select {
	case m := <-atOld:
		t.Errorf("the old owner has %+v", m)
	default:
	}
}

// entryOf returns the entry of an address, and its bucket.
func entryOf(t *testing.T, conn *client.Conn, address string) (jetstream.KeyValue, jetstream.KeyValueEntry) {
	t.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := js.KeyValue(t.Context(), "stet-addresses")
	if err != nil {
		t.Fatal(err)
	}
	entry, err := addresses.Get(t.Context(), base64.RawURLEncoding.EncodeToString([]byte(address)))
	if err != nil {
		t.Fatal(err)
	}
	return addresses, entry
}

// An entry of a running process that no longer owns the address does not block other processes. Such an entry remains when it could
// not be removed while the servers had no majority.
func TestEntryLeft(t *testing.T) {
	s := startEmbedded(t)
	old, b := open(t, nats.Config{Server: s}), open(t, nats.Config{Server: s})
	stop, err := old.Own("workspace/w", func(gateway.Message) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := client.Connect("", client.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	addresses, entry := entryOf(t, conn, "workspace/w")
	stop()
	if _, err := addresses.Put(t.Context(), entry.Key(), entry.Value()); err != nil {
		t.Fatal(err)
	}
	got := make(chan gateway.Message, 1)
	if _, err := b.Own("workspace/w", func(m gateway.Message) { got <- m }, nil); err != nil {
		t.Fatal(err)
	}
	if err := old.Send("workspace/w", large("1", 10)); err != nil {
		t.Fatal(err)
	}
	<-got
}

// A message on its way to a process that ends is refused. Without an answer its sender would not know whether it was taken.
func TestCloseAnswers(t *testing.T) {
	s := startEmbedded(t)
	for !closeAnswers(t, s) {
	}
}

// closeAnswers returns false if the machine was too slow: an answer is promised only in the first second.
func closeAnswers(t *testing.T, s *server.Server) bool {
	old := open(t, nats.Config{Server: s})
	if _, err := old.Own("workspace/w", func(gateway.Message) {}, nil); err != nil {
		t.Fatal(err)
	}
	conn, err := client.Connect("", client.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := js.KeyValue(t.Context(), "stet-addresses")
	if err != nil {
		t.Fatal(err)
	}
	key := base64.RawURLEncoding.EncodeToString([]byte("workspace/w"))
	entry, err := addresses.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	var owner struct{ Token string }
	if err := json.Unmarshal(entry.Value(), &owner); err != nil {
		t.Fatal(err)
	}
	closed, begun := make(chan error, 1), time.Now()
	go func() { closed <- old.Close() }()
	for err == nil {
		_, err = addresses.Get(t.Context(), key)
	}
	time.Sleep(100 * time.Millisecond) // a message that was sent before is late
	answer, err := conn.Request("stet.to."+owner.Token, nil, time.Second)
	if err != nil && time.Since(begun) >= time.Second {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if why := answer.Header.Get("Stet-Error"); why != "not the owner" {
		t.Errorf("the answer is %q", why)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	return true
}
