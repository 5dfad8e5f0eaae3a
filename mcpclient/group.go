package mcpclient

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/tool"
)

// Config is what the servers of a Group have in common.
type Config struct {
	Version string        // of the program, for the servers
	Environ []string      // "NAME=value", the environment that programs begin with
	Wait    time.Duration // for a server to be ready; 0: 30 s
	Call    time.Duration // for a call to end; 0: 10 min
	Log     *slog.Logger  // nil: silence
}

func (c Config) log() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

// Group is MCP servers with their tools. Its methods may be called concurrently.
type Group struct {
	stop context.CancelFunc
	done chan struct{} // closed when each server is connected, or will not be

	clients  []*client // of each server; nil where there is none
	troubles []error
	set      *tool.Set
	close    sync.Once
}

// Open begins to connect to servers, and returns at once. The Group is to be
// closed.
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

// Ready reports whether Tools returns at once.
func (g *Group) Ready() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// Tools waits until the servers are connected, and returns their tools, and a
// sentence on each that is not, or of whose tools some are left out ([ErrPart]). The
// error is that of ctx.
func (g *Group) Tools(ctx context.Context) (*tool.Set, []error, error) {
	select {
	case <-g.done:
		return g.set, g.troubles, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// Close ends the servers that were started, and the connections to the others,
// and waits for it. No call is under way any more.
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

// collect puts the tools of all servers together, as many as there is room for.
// Of two with one name the later one has a number.
func (g *Group) collect() *tool.Set {
	set := new(tool.Set)
	left := room{maxTools, maxSpecs}
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

// plain is a server's name on one line.
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
