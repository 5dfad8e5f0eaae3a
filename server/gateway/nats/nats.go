// Package nats is a gateway.Bus over NATS: it connects the hubs of several processes.
//
// A JetStream bucket has the owner of each address, under the address. The entry names the process and a fencing token, which is
// new each time an owner takes the address. A message goes to a subject that contains this token. So a message for a new owner
// never reaches the old owner.
//
// Each process has one lease in a second bucket, whose entries expire. It renews the lease three times in that time. A process whose
// lease has ended refuses messages, because another process may own its addresses now. When the lease is renewed after that, each
// address refuses messages until the process has claimed it again.
//
// Send waits until the owner's process has said that it took the message. So every failure is reported, and the bytes on their way
// are bounded. A message is sent once. If no answer comes, it is not known whether the message was taken; then Send returns
// ErrSilent.
package nats

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"golang.org/x/sync/semaphore"

	"github.com/stet-dev/stet/server/gateway"
)

// Errors of a Bus, besides those of package gateway.
var (
	// ErrSilent says that no answer came. The message may have been taken.
	ErrSilent = errors.New("no answer over NATS in time, so whether the message was taken is not known: look before you repeat it")
	// ErrOffline says that this process has no connection; nothing was sent.
	ErrOffline = errors.New("not connected to NATS, and nothing was sent: try again when the connection is back")
	// ErrFull says that too many bytes are on their way; nothing was sent.
	ErrFull = errors.New("too many bytes are on their way over NATS, and nothing was sent: try again later")
)

// Times and sizes that are the same for every Bus.
const (
	lease        = 3 * time.Second  // how long a process counts as running after it renewed its lease
	patience     = 3 * time.Second  // how long Send waits for an answer
	answerTime   = time.Second      // how long one request to the buckets waits: servers that choose a leader may never answer it
	pieceBytes   = 512 << 10        // size of a piece of a message; NATS takes 1 MB unless it is configured
	capacityTime = 30 * time.Second // how long Send waits until fewer bytes are on their way
	flying       = 4 << 20          // the limit of this process's bytes on their way at once, small enough to be answered in time
	backlog      = 256              // messages of an address that are taken but not yet delivered
)

// Config says how a Bus connects. The zero value of each field is the default.
type Config struct {
	User, Password string // "": none, or those in the URL

	URL      string                     // of a NATS server with JetStream, or of several, with commas
	Server   nats.InProcessConnProvider // a server in this process; nil: URL is used
	Replicas int                        // of the buckets; 0: 1
	TLS      *tls.Config                // for tls:// in the URL; nil: the default
	Log      *slog.Logger
}

// Bus is a gateway.Bus. It may be used concurrently; Close ends it.
type Bus struct {
	log       *slog.Logger
	conn      *nats.Conn
	leases    jetstream.KeyValue // process -> empty value; entries expire
	addresses jetstream.KeyValue // address -> owner
	process   string             // the name of this process
	inFlight  *semaphore.Weighted

	ctx     context.Context // done when the Bus closes
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	until   time.Time            // when the lease ends unless it is renewed
	lapses  int                  // how often the lease has ended before it was renewed
	owned   map[string]*owned    // by address
	claimed map[string]bool      // tokens of addresses that are being taken
	known   map[string]owner     // found owners, by address
	late    time.Time            // until when messages may arrive for addresses that were given back
	heard   map[string]answering // tokens of owners, and how they answered
}

var _ gateway.Bus = (*Bus)(nil)

// answering is how an owner answered the messages of this process.
type answering struct {
	last   time.Time // of the last answer
	silent time.Time // until when nothing is sent, because a message got no answer
}

// Open connects a Bus, and waits for the server until ctx ends.
func Open(ctx context.Context, c Config) (*Bus, error) {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	b := &Bus{
		log: c.Log, process: nuid.Next(), inFlight: semaphore.NewWeighted(flying),
		owned: map[string]*owned{}, claimed: map[string]bool{}, known: map[string]owner{}, heard: map[string]answering{},
	}
	b.ctx, b.stop = context.WithCancel(context.Background())
	options := []nats.Option{
		nats.Name("stet"), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectBufSize(-1), // an error instead of a message that waits in memory
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { b.log.Error("nats", "err", err) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if b.ctx.Err() == nil { // else it is closed
				b.log.Warn("nats: the connection is lost; connecting again", "err", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { b.log.Info("nats: connected again") }),
	}
	if c.User != "" {
		options = append(options, nats.UserInfo(c.User, c.Password))
	}
	if c.TLS != nil {
		options = append(options, nats.Secure(c.TLS))
	}
	if c.Server != nil {
		options = append(options, nats.InProcessServer(c.Server))
	}
	var err error
	if b.conn, err = nats.Connect(c.URL, options...); err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	if _, err := b.conn.Subscribe(processSubject(b.process), b.deny); err != nil {
		b.conn.Close()
		return nil, fmt.Errorf("nats: %w", err)
	}
	if err := b.openBuckets(ctx, max(c.Replicas, 1)); err != nil {
		b.conn.Close()
		return nil, err
	}
	b.running.Go(b.keepLease)
	return b, nil
}

// openBuckets makes or opens the buckets. Servers that are starting refuse this for a while.
func (b *Bus) openBuckets(ctx context.Context, replicas int) error {
	js, err := jetstream.New(b.conn)
	if err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	for {
		if err = b.tryBuckets(ctx, js, replicas); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nats: JetStream does not answer; the servers need it, and more than half of them have to be up: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (b *Bus) tryBuckets(ctx context.Context, js jetstream.JetStream, replicas int) (err error) {
	trying, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	open := func(name string, ttl time.Duration) (jetstream.KeyValue, error) {
		looking, cancel := context.WithTimeout(trying, answerTime)
		defer cancel()
		kv, err := js.KeyValue(looking, name)
		if !errors.Is(err, jetstream.ErrBucketNotFound) {
			return kv, err
		}
		return js.CreateKeyValue(trying, jetstream.KeyValueConfig{
			Bucket: name, TTL: ttl, Replicas: replicas, Storage: jetstream.MemoryStorage, History: 1,
		})
	}
	if b.leases, err = open("stet-leases", lease); err != nil {
		return err
	}
	if b.addresses, err = open("stet-addresses", 0); err != nil {
		return err
	}
	_, err = b.renew(trying)
	return err
}

// keepLease renews the lease of this process until the Bus closes.
func (b *Bus) keepLease() {
	tick := time.NewTicker(lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-tick.C:
		}
		renewing, cancel := context.WithTimeout(b.ctx, lease/3)
		lapsed, err := b.renew(renewing)
		cancel()
		if b.ctx.Err() != nil {
			return
		}
		if err != nil {
			b.log.Warn("nats: the lease of this process is not renewed", "err", err)
		} else if lapsed {
			b.running.Go(b.reclaim)
		}
	}
}

// renew renews the lease. The lease time counts from before the request. lapsed says that the lease had ended before: another
// process may own the addresses of this one, and owns refuses each until it is claimed again.
func (b *Bus) renew(ctx context.Context) (lapsed bool, err error) {
	from := time.Now()
	if _, err := b.leases.Put(ctx, b.process, nil); err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if lapsed = !time.Now().Before(b.until); lapsed {
		b.lapses++
	}
	b.until = from.Add(lease)
	return lapsed, nil
}

// owns reports whether this process owns an address now: the lease is valid, and has not ended since the address was claimed.
func (b *Bus) owns(o *owned) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.owned[o.address] == o && o.claimed == b.lapses && time.Now().Before(b.until)
}

// Close gives all addresses back. It ends the connection when no more messages for them can be on their way. If a message got no
// answer, its sender would not know whether the call was done.
func (b *Bus) Close() error {
	b.mu.Lock()
	var all []*owned
	for _, o := range b.owned {
		all = append(all, o)
	}
	b.mu.Unlock()
	for _, o := range all {
		o.release()
	}
	b.mu.Lock()
	late := b.late
	b.mu.Unlock()
	time.Sleep(time.Until(late))
	b.stop()
	b.running.Wait()
	ending, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = b.leases.Delete(ending, b.process) // it expires anyway
	b.conn.Close()
	return nil
}

// token encodes a name for NATS subjects and keys.
func token(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) }
