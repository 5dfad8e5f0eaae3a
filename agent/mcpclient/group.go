package mcpclient

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/tool"
)

// Config is the configuration for all servers of a Group.
type Config struct {
	Version string        // of the program; sent to the servers
	Environ []string      // "NAME=value": the environment of programs, before Server.Env
	Wait    time.Duration // maximum time until a server is ready; 0: 30 s
	Call    time.Duration // maximum time of a call; 0: 10 min
	Log     *slog.Logger  // nil: no log
}

func (c Config) log() *slog.Logger {
	return cmp.Or(c.Log, slog.New(slog.DiscardHandler))
}

// Group is a set of MCP servers with their tools. Its methods may be called concurrently.
type Group struct {
	stop context.CancelFunc
	done chan struct{} // closed when each server is connected or has failed

	clients  []*client // one for each server; nil if it has failed
	troubles []error
	set      *tool.Set
	close    sync.Once
}

// Open starts to connect to servers, and returns at once. The caller must call Close.
func Open(c Config, servers []Server) *Group {
	ctx, stop := context.WithCancel(context.Background())
	g := &Group{stop: stop, done: make(chan struct{}), clients: make([]*client, len(servers))}
	wrong := make([]error, len(servers))
	var connecting sync.WaitGroup
	for i, s := range servers {
		connecting.Go(func() { g.clients[i], wrong[i] = connect(ctx, c, s) })
	}
	go func() {
		defer close(g.done)
		connecting.Wait()
		for i, err := range wrong {
			if err != nil {
				g.troubles = append(g.troubles, fmt.Errorf("MCP server %s: %w", plain(servers[i].Name), err))
			}
		}
		g.set = g.collect()
	}()
	return g
}

// Ready reports whether Tools returns without waiting.
func (g *Group) Ready() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// Tools waits until each server is connected or has failed, and returns the tools. The slice has an error for each server that
// failed, and for each server with too many tools ([ErrPart]). The last result is the error of ctx.
func (g *Group) Tools(ctx context.Context) (*tool.Set, []error, error) {
	select {
	case <-g.done:
		return g.set, g.troubles, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// Close ends the servers that were started and the connections to the others, and waits for that. No call may be running.
func (g *Group) Close() {
	g.close.Do(func() {
		g.stop()
		<-g.done
		var closing sync.WaitGroup
		for _, c := range g.clients {
			if c != nil {
				closing.Go(c.close)
			}
		}
		closing.Wait()
	})
}

// collect puts the tools of all servers into one set, within the bounds. If two tools get the same name, a number is added to the
// later one.
func (g *Group) collect() *tool.Set {
	set := new(tool.Set)
	left := bounds{maxTools, maxSpecs}
	for _, c := range g.clients {
		if c == nil {
			continue
		}
		tools, err := left.take(c)
		if err != nil {
			g.troubles = append(g.troubles, err)
		}
		for _, t := range tools {
			for n := 1; ; n++ {
				t.spec.Name = nameOf(c.server.Name, t.name, n)
				if set.Add(t) == nil {
					break
				}
			}
		}
	}
	return set
}

// plain returns the name of a server on one line, with "?" for characters that could deceive a reader.
func plain(name string) string {
	if strings.TrimSpace(name) == "" {
		return "without a name"
	}
	return strings.Map(func(r rune) rune {
		if isPlain(r) {
			return r
		}
		return '?'
	}, name)
}
