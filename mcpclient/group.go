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

// Config holds what the servers of a Group have in common.
type Config struct {
	Version string        // of the program, for the servers
	Environ []string      // "NAME=value", the environment that programs begin with
	Wait    time.Duration // for a server to be ready; 0: 30 s
	Call    time.Duration // for a call to end; 0: 10 min
	Log     *slog.Logger  // nil: nothing is logged
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
	done chan struct{} // closed when each server is connected or has failed

	clients  []*client // of each server; nil if it has failed
	troubles []error
	set      *tool.Set
	close    sync.Once
}

// Open begins to connect to servers, and returns at once. The caller closes the
// Group.
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

// Tools waits until the servers are connected, and returns their tools. The slice
// has an error for each server that failed, or that has too many tools ([ErrPart]).
// The last error is that of ctx.
func (g *Group) Tools(ctx context.Context) (*tool.Set, []error, error) {
	select {
	case <-g.done:
		return g.set, g.troubles, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// Close ends the servers that were started and the connections to the others, and
// waits for that. No call may be at work any more.
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

// collect puts the tools of all servers into one set, within the bounds. If two
// have one name, the later one gets a number.
func (g *Group) collect() *tool.Set {
	set := new(tool.Set)
	room := bounds{maxTools, maxSpecs}
	for _, c := range g.clients {
		if c == nil {
			continue
		}
		tools, err := room.take(c)
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

// plain returns a server's name on one line.
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
