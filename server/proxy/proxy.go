package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/semaphore"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/cachestate"
	"github.com/stet-dev/stet/server/proxy/sent"
	"github.com/stet-dev/stet/server/proxy/threads"
	"github.com/stet-dev/stet/trim"
)

// Config configures a [Proxy]. The zero value is the default.
type Config struct {
	Upstreams llm.Upstreams
	// Agents returns the upstreams of an agent that has its own. Such an agent sends requests whose path begins with /stet/NAME. If it
	// returns an error, the request is refused and does not go to Upstreams. nil: no path is special.
	Agents func(name string) (llm.Upstreams, error)

	// History says what is left out. If its Root is empty, the workspace is learned in each conversation from what the agent
	// says. If its Window or its Price is zero, each model's own is used.
	History trim.Config
	// Prices are the models' windows and prices; nil: the prices built into stet. It must not be changed after New.
	Prices *prices.Catalog
	// Observe forwards every request unchanged, and only reports what would have been left out.
	Observe bool

	// RefuseThreads rejects a request that continues a message thread, as a server without threads does. The client then sends
	// its whole conversation with every request. If it is false, threads are followed.
	RefuseThreads bool

	// KeepResults turns off asking the provider to clear old tool results (trim.Config.Clears).
	KeepResults bool

	// Memory limits the bytes of the newest requests that are held. If a request continues a held one, only its new part is read, hashed
	// and planned. Half as many bytes may also be held for conversations that the provider stores. 0 is 64 MB; negative: nothing is held.
	Memory int64

	// MaxBody is the size in bytes up to which a request is read. Larger requests are streamed through. 0 is 64 MB.
	MaxBody int64
	// AllowedHosts are names that a request's Host may have besides the loopback's, with or without a port.
	AllowedHosts []string

	// Holdout reports whether nothing is to be left out of the conversation with this name, of its sub-agents and of what is forked from
	// it, for life. It gives the same answer in every process. Only conversations that agents name are asked for. nil: there is no holdout.
	Holdout func(conversation string) bool
	Caps    Caps // of what may be spent; the zero value: there are none
	// Tell reports to a person that a cap is nearly or fully spent. No request waits for it; Close does. nil: nobody is there.
	Tell func(text string)

	Store     record.Store         // where requests are recorded; nil: nowhere. Close does not close it
	Keep      Keep                 // how much is recorded
	Logger    *slog.Logger         // nil discards
	Metrics   *prometheus.Registry // nil: a registry of the proxy's own, with the process's goroutines and memory
	Transport http.RoundTripper    // to the upstreams; nil: a transport of the proxy's own. It must not decompress
}

// Proxy forwards requests. Its methods may be called concurrently.
type Proxy struct {
	config        Config
	endpoints     endpoints
	forwarder     *httputil.ReverseProxy
	policy        trim.Policy
	rules         *rules
	engines       *engines
	counters      counters
	conversations *conversations
	cache         *cachestate.State
	forms         *sent.Memory // how conversations were sent
	shadow        *sent.Memory // with Config.Observe: how they would have been sent; in memory alone
	accounts      accounts     // accounts that clear no results
	unchanged     bool         // no body is ever changed
	recent        *recent
	continued     *threads.Store // conversations that the provider stores
	trees         trees
	caps          caps
	meters        meters
	writer        *writer
	metrics       *metrics
	buffers       buffers
	budget        bodyBudget
	gather        http.Handler
	log           *slog.Logger
	untouched     sync.Once // logs once that requests to Bedrock pass untouched
	ready         struct {  // what the store said last
		sync.Mutex
		at  time.Time
		err error
	}

	base   context.Context // ends when Close gives up waiting
	cancel context.CancelFunc
	ending context.Context // ends when Close begins
	end    context.CancelFunc

	mu      sync.Mutex
	closing bool
	work    sync.WaitGroup // requests and their background work
	close   sync.Once
	closed  chan struct{}
}

// New returns a proxy. It returns an error for an invalid upstream, or history configuration.
func New(c Config) (*Proxy, error) {
	if c.MaxBody == 0 {
		c.MaxBody = 64 << 20
	}
	if c.Memory == 0 {
		c.Memory = defaultMemory
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
		c.Metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})) // the registry is empty, so this cannot fail
	}
	if c.Transport == nil {
		c.Transport = NewTransport()
	}
	if c.History.Logger == nil {
		c.History.Logger = c.Logger
		if c.Observe {
			c.History.Logger = c.Logger.With("observe", true)
		}
	}
	targets, err := endpointsOf(c.Upstreams)
	if err != nil {
		return nil, err
	}
	c.History.InPlace = true // a body edit can only replace a single string
	engine, err := trim.New(c.History)
	if err != nil {
		return nil, err
	}
	known := &rules{catalog: c.Prices}
	p := &Proxy{
		config: c, endpoints: targets, policy: engine.Policy(), rules: known, engines: &engines{config: c.History, rules: known},
		conversations: newConversations(maxConversations), log: c.Logger, gather: promhttp.HandlerFor(c.Metrics, promhttp.HandlerOpts{}), closed: make(chan struct{}),
	}
	if p.metrics, err = newMetrics(c.Metrics); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	p.budget = newBodyBudget(c.MaxBody)
	p.recent = &recent{max: c.Memory, pool: &p.buffers}
	p.continued = threads.New(c.Memory / 2)
	p.unchanged = c.Observe || p.policy == trim.Off || p.policy == trim.Finish
	p.cache = cachestate.New(cachestate.Config{
		Evicts: evicts(p.policy), Unchanged: p.unchanged, Checks: func(api, model string) bool { return known.of(api, model).checks },
	})
	p.forms, p.shadow, p.accounts.store = sent.NewMemory(c.Store), sent.NewMemory(nil), c.Store
	p.base, p.cancel = context.WithCancel(context.Background())
	p.ending, p.end = context.WithCancel(p.base)
	p.forwarder = p.newForwarder()
	p.writer = newWriter(c.Store, c.Keep, c.Logger, p.metrics)
	p.trees.store, p.trees.holdout, p.trees.kept = c.Store, c.Holdout, c.Holdout != nil || !c.Caps.none()
	p.caps.reading = semaphore.NewWeighted(1)
	p.caps.Caps, p.caps.store, p.caps.rules, p.caps.log, p.caps.tell, p.caps.write = c.Caps, c.Store, known, c.Logger, func(text string) {
		p.conversations.count(func(t *Totals) { t.limit(text) })
		if c.Tell != nil {
			p.work.Go(func() { c.Tell(text) }) // a request is under way, so this is no race with Wait
		}
	}, p.writer.add
	p.caps.flush = p.writer.flush
	p.meters.write = p.writer.add
	return p, nil
}

// NewTransport returns a transport without a limit on the time of an answer, because models may think long. It does not decompress bodies.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}
}

// Totals returns sums over all finished requests since the start. The caller owns the result.
func (p *Proxy) Totals() Totals { return p.conversations.sums() }

// Close ends the proxy. New requests are refused. Close waits until the requests in flight are finished and everything is recorded.
// If ctx ends first, the requests in flight are cut off, and Close returns an error. Another call of Close then waits on.
func (p *Proxy) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	p.end()
	p.close.Do(func() {
		go func() {
			defer close(p.closed)
			p.work.Wait()
			p.writer.stop()
			p.cancel()
			if t, ok := p.config.Transport.(interface{ CloseIdleConnections() }); ok {
				t.CloseIdleConnections()
			}
		}()
	})
	select {
	case <-p.closed:
		return nil
	case <-ctx.Done():
		p.cancel()
		return fmt.Errorf("close proxy: requests are still in flight: %w", ctx.Err())
	}
}

// enter counts a request as going on, unless the proxy is closing. If it returns true, the caller must call p.work.Done at the end.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closing {
		p.work.Add(1)
	}
	return !p.closing
}

// Ready returns the reason why the proxy cannot work, or nil. If the Store has a method Ready(context.Context) error, it asks that at
// most once a second: a write into a file that was removed causes no error.
func (p *Proxy) Ready() error {
	p.mu.Lock()
	closing := p.closing
	p.mu.Unlock()
	if closing {
		return errors.New("closing")
	}
	if err := p.writer.trouble(); err != nil {
		return err
	}
	store, ok := p.config.Store.(interface {
		Ready(ctx context.Context) error
	})
	if !ok {
		return nil
	}
	p.ready.Lock()
	defer p.ready.Unlock()
	if time.Since(p.ready.at) > time.Second {
		ctx, cancel := context.WithTimeout(p.base, maxLookUp)
		defer cancel()
		p.ready.err, p.ready.at = store.Ready(ctx), time.Now()
	}
	return p.ready.err
}
