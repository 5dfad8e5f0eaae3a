package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/stet-dev/stet/server/gateway"
)

// owner is the bucket entry of an address.
type owner struct {
	Process string `json:"process"`
	Token   string `json:"token"` // fencing token
}

func (o owner) subject() string { return "stet.to." + o.Token }

// owned is an address of this process.
type owned struct {
	b       *Bus
	address string
	owner   owner
	sub     *nats.Subscription
	claimed int // Bus.lapses when the address was claimed last; Bus.mu guards it
	queue   chan gateway.Message
	done    chan struct{} // closed when the address is given back
	lost    func()
	taking  sync.Mutex        // held while a message is taken
	over    bool              // no more messages are taken
	pieces  map[string]pieces // pieces of incomplete messages, by the message's name; used by take
}

// Own implements gateway.Bus. It waits until the lease of a lost owner has ended.
func (b *Bus) Own(address string, deliver func(gateway.Message), lost func()) (stop func(), err error) {
	o := &owned{
		b: b, address: address, owner: owner{b.process, nuid.Next()}, lost: lost,
		queue: make(chan gateway.Message, backlog), done: make(chan struct{}), pieces: map[string]pieces{},
	}
	b.mu.Lock()
	taken := b.owned[address] != nil
	b.mu.Unlock()
	if taken {
		return nil, fmt.Errorf("address %s: %w", address, gateway.ErrTaken)
	}
	if o.sub, err = b.conn.Subscribe(o.owner.subject(), o.take); err != nil {
		return nil, fmt.Errorf("address %s: %w", address, err)
	}
	_ = o.sub.SetPendingLimits(-1, -1) // senders bound it: each waits for answers
	err = b.conn.FlushTimeout(patience)
	if err == nil {
		err = b.claim(o, false)
	}
	if err != nil {
		_ = o.sub.Unsubscribe()
		return nil, fmt.Errorf("address %s: %w", address, err)
	}
	b.running.Go(func() { o.run(deliver) })
	return o.release, nil
}

// claim writes an owner into the bucket, unless a running process owns the address. again says that this process owned the address
// before; then it may have been given back meanwhile.
func (b *Bus) claim(o *owned, again bool) error {
	ctx, cancel := context.WithTimeout(b.ctx, 2*lease)
	defer cancel()
	b.mu.Lock()
	b.claimed[o.owner.Token] = true
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.claimed, o.owner.Token)
		b.mu.Unlock()
	}()
	key, entry := token(o.address), encode(o.owner)
	for {
		b.mu.Lock()
		lapses := b.lapses
		b.mu.Unlock()
		err := b.tryClaim(ctx, o, key, entry)
		switch {
		case err == nil:
			b.mu.Lock()
			defer b.mu.Unlock()
			if again && b.owned[o.address] != o {
				return errGivenBack
			}
			b.owned[o.address], o.claimed = o, max(o.claimed, lapses)
			b.known[o.address] = o.owner
			if lapses != b.lapses { // the lease ended meanwhile
				b.running.Go(func() { b.regain(o) })
			}
			return nil
		case errors.Is(err, gateway.ErrTaken), ctx.Err() != nil:
			return err
		}
		select { // another process was faster, or the old owner's lease has not ended
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("its owner does not answer, and whether its lease has ended is not known: %w", err)
		}
	}
}

// tryClaim makes one attempt of claim.
func (b *Bus) tryClaim(ctx context.Context, o *owned, key string, entry []byte) error {
	creating, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	_, err := b.addresses.Create(creating, key, entry)
	if errors.Is(err, jetstream.ErrKeyExists) {
		err = b.replace(ctx, o, key, entry)
	}
	return err
}

var errGivenBack = errors.New("it was given back")

var errLeased = errors.New("the lease of the old owner goes on")

// replace replaces an owner whose lease has ended. An owner that answers is running, whatever its lease entry says.
func (b *Bus) replace(ctx context.Context, o *owned, key string, entry []byte) error {
	reading, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	old, err := b.addresses.Get(reading, key)
	if err != nil {
		return err
	}
	was := decode(old.Value())
	if was == o.owner {
		return nil
	}
	if answer, err := b.conn.Request(was.subject(), nil, time.Second); err == nil && answer.Header.Get(errorHeader) == "" {
		return gateway.ErrTaken
	}
	if was.Process != b.process {
		looking, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		if _, err := b.leases.Get(looking, was.Process); err == nil {
			if !b.denied(was) {
				return errLeased
			}
		} else if !errors.Is(err, jetstream.ErrKeyNotFound) {
			return err
		}
	}
	writing, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	_, err = b.addresses.Update(writing, key, entry, old.Revision())
	return err
}

// denied asks the process of an owner whether it still owns the address. A running process may not own it: its entry remains if it
// could not be removed, or if an error hid that it was made.
func (b *Bus) denied(o owner) bool {
	answer, err := b.conn.Request(processSubject(o.Process), []byte(o.Token), time.Second)
	return err == nil && answer.Header.Get(errorHeader) == notOwner
}

func processSubject(process string) string { return "stet.process." + process }

// deny answers whether this process owns an address by a token. If it does not, it never will: each attempt to own an address has a
// new token.
func (b *Bus) deny(in *nats.Msg) {
	asked := string(in.Data)
	b.mu.Lock()
	mine := b.claimed[asked]
	for _, o := range b.owned {
		mine = mine || o.owner.Token == asked
	}
	b.mu.Unlock()
	answer := nats.NewMsg(in.Reply)
	if !mine {
		answer.Header.Set(errorHeader, notOwner)
	}
	if err := in.RespondMsg(answer); err != nil {
		b.log.Warn("nats: not answered", "err", err)
	}
}

// reclaim takes the addresses again after the lease had ended. An address that another process has taken meanwhile is lost.
func (b *Bus) reclaim() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.owned {
		b.running.Go(func() { b.regain(o) })
	}
	clear(b.known)
}

// regain tries to take an address again, until it has it, or the address is lost or given back.
func (b *Bus) regain(o *owned) {
	for {
		err := b.claim(o, true)
		switch {
		case err == nil, errors.Is(err, errGivenBack), b.ctx.Err() != nil:
			return
		case errors.Is(err, gateway.ErrTaken):
			b.log.Warn("nats: an address is lost", "address", o.address, "err", err)
			if o.end() && o.lost != nil {
				o.lost()
			}
			return
		}
		b.log.Warn("nats: an address is not taken again yet", "address", o.address, "err", err)
		select {
		case <-o.done:
			return
		case <-b.ctx.Done():
			return
		case <-time.After(answerTime / 5):
		}
	}
}

// release gives the address back. Further calls do nothing.
func (o *owned) release() {
	if !o.end() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	key := token(o.address)
	if e, err := o.b.addresses.Get(ctx, key); err == nil && decode(e.Value()) == o.owner {
		_ = o.b.addresses.Delete(ctx, key, jetstream.LastRevision(e.Revision())) // if this fails, see denied
	}
}

// lateTime is how long an ended owner still refuses messages. Without a refusal their senders would wait for an answer.
const lateTime = time.Second

// end stops taking messages. It reports whether it was called before.
func (o *owned) end() bool {
	b := o.b
	b.mu.Lock()
	if b.owned[o.address] != o {
		b.mu.Unlock()
		return false
	}
	delete(b.owned, o.address)
	delete(b.known, o.address)
	b.late = time.Now().Add(lateTime)
	b.mu.Unlock()
	o.taking.Lock()
	o.over = true
	o.taking.Unlock()
	close(o.done)
	time.AfterFunc(lateTime, func() { _ = o.sub.Unsubscribe() })
	return true
}

// run delivers messages until the address is given back. Messages taken before that are also delivered.
func (o *owned) run(deliver func(gateway.Message)) {
	for {
		select {
		case m := <-o.queue:
			deliver(m)
		case <-o.done:
			for {
				select {
				case m := <-o.queue:
					deliver(m)
				default:
					return
				}
			}
		}
	}
}

func encode(o owner) []byte {
	out, err := json.Marshal(o)
	if err != nil {
		panic(err) // Marshal of two strings cannot fail
	}
	return out
}

func decode(entry []byte) (o owner) {
	_ = json.Unmarshal(entry, &o) // a broken entry stands for no owner
	return o
}
