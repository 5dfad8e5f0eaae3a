package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/gateway/wire"
)

// Headers of messages.
const (
	fromHeader  = "Stet-From"
	pieceHeader = "Stet-Piece" // of a piece: the name of its message
	lastHeader  = "Stet-Last"  // of the last piece; the value is the size of the message
	errorHeader = "Stet-Error" // of an answer: why the message was not taken
)

// Reasons in errorHeader.
const (
	notOwner = "not the owner"
	broken   = "broken"
)

// findTime is how long servers may not yet know a new owner.
const findTime = 150 * time.Millisecond

// Send implements gateway.Bus. A message to an address of this process does not go over NATS.
func (b *Bus) Send(address string, m gateway.Message) error {
	if b.putHere(address, m) {
		return nil
	}
	body, err := bodyOf(m)
	if err == nil {
		err = b.send(address, m.From, body)
	}
	if err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	return nil
}

func (b *Bus) send(address, from string, body []byte) error {
	size := min(int64(len(body))+1024, flying)
	waiting, stop := context.WithTimeout(b.ctx, capacityTime)
	err := b.inFlight.Acquire(waiting, size)
	stop()
	if err != nil {
		return ErrFull
	}
	defer b.inFlight.Release(size)
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for begin := time.Now(); ; {
		o, err := b.ownerOf(ctx, address)
		if err == nil {
			err = b.sendTo(o, from, body)
		}
		if err == nil {
			return nil
		}
		b.mu.Lock()
		delete(b.known, address) // the address may have a new owner
		b.mu.Unlock()
		if !errors.Is(err, gateway.ErrNoOwner) || time.Since(begin) > findTime {
			return err
		}
		select {
		case <-time.After(findTime / 5):
		case <-ctx.Done():
			return err
		}
	}
}

// ownerOf returns the owner of an address, as found last.
func (b *Bus) ownerOf(ctx context.Context, address string) (owner, error) {
	b.mu.Lock()
	o, ok := b.known[address]
	b.mu.Unlock()
	if ok {
		return o, nil
	}
	if !b.conn.IsConnected() {
		return o, ErrOffline
	}
	e, err := b.lookUp(ctx, token(address))
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return o, gateway.ErrNoOwner
	case err != nil:
		return o, fmt.Errorf("its owner was not found, and nothing was sent: %w", err)
	}
	o = decode(e.Value())
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.known) > 1<<16 {
		clear(b.known)
	}
	b.known[address] = o
	return o, nil
}

// lookUp asks for an entry until the server answers or ctx ends.
func (b *Bus) lookUp(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	for {
		trying, cancel := context.WithTimeout(ctx, answerTime)
		e, err := b.addresses.Get(trying, key)
		cancel()
		if err == nil || errors.Is(err, jetstream.ErrKeyNotFound) {
			return e, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(findTime / 5):
		}
	}
}

// sendTo sends a message to an owner, and waits until the owner has taken it.
func (b *Bus) sendTo(o owner, from string, body []byte) error {
	begin := time.Now()
	b.mu.Lock()
	silent := begin.Before(b.heard[o.Token].silent)
	b.mu.Unlock()
	if silent {
		return errors.New("its owner did not answer a moment ago, and nothing was sent: try again later")
	}
	last := nats.NewMsg(o.subject())
	last.Header.Set(fromHeader, from)
	if len(body) > pieceBytes {
		id := nuid.Next()
		last.Header.Set(pieceHeader, id)
		last.Header.Set(lastHeader, fmt.Sprint(len(body)))
		for ; len(body) > pieceBytes; body = body[pieceBytes:] {
			piece := nats.NewMsg(o.subject())
			piece.Header.Set(pieceHeader, id)
			piece.Data = body[:pieceBytes]
			if err := b.conn.PublishMsg(piece); err != nil {
				return unsent(err)
			}
		}
	}
	last.Data = body
	answer, err := b.conn.RequestMsg(last, patience)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return gateway.ErrNoOwner
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		b.missed(o, begin)
		return ErrSilent
	case err != nil:
		return unsent(err)
	}
	b.mu.Lock()
	if len(b.heard) > 1<<16 {
		clear(b.heard)
	}
	b.heard[o.Token] = answering{last: time.Now()}
	b.mu.Unlock()
	switch why := answer.Header.Get(errorHeader); why {
	case "":
		return nil
	case notOwner:
		return gateway.ErrNoOwner
	default:
		return fmt.Errorf("the message was not taken: %s", why)
	}
}

// missed records that a message that was sent at begin got no answer. An owner that has answered a later message is not silent: this
// answer was lost.
func (b *Bus) missed(o owner, begin time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.heard[o.Token]; !a.last.After(begin) {
		b.heard[o.Token] = answering{a.last, time.Now().Add(lease)}
	}
}

// unsent returns the error for a message that was not sent. It says what to do.
func unsent(err error) error {
	if errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrConnectionClosed) ||
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrConnectionReconnecting) {
		return fmt.Errorf("%w (%w)", ErrOffline, err)
	}
	return fmt.Errorf("%w (%w)", ErrSilent, err)
}

// take handles a message for an address, and answers it. It is called for one message at a time.
func (o *owned) take(in *nats.Msg) {
	piece := in.Header.Get(pieceHeader)
	if piece != "" && in.Reply == "" && len(piece) <= limits.Name {
		o.keep(piece, in.Data, time.Now())
		return
	}
	why := ""
	if !o.b.owns(o) {
		why = notOwner
	} else if len(in.Header) > 0 { // without a header the message only asks whether the owner is running
		body := in.Data
		if piece != "" {
			body = append(o.pieces[piece].body, in.Data...)
			delete(o.pieces, piece)
			if fmt.Sprint(len(body)) != in.Header.Get(lastHeader) {
				why = broken + ": a piece of it was lost"
			}
		}
		m, err := messageOf(in.Header.Get(fromHeader), body)
		switch {
		case why != "":
		case err != nil:
			why = broken + ": " + err.Error()
		case !o.put(m):
			why = notOwner
		}
	}
	answer := nats.NewMsg(in.Reply)
	if why != "" {
		answer.Header.Set(errorHeader, why)
	}
	if err := in.RespondMsg(answer); err != nil {
		o.b.log.Warn("nats: not answered", "address", o.address, "err", err)
	}
}

// pieces are the pieces of an incomplete message.
type pieces struct {
	body []byte
	last time.Time // when the last piece came
}

// keep adds a piece to its message. The other pieces may never come, because the sender may have lost its connection. Old
// incomplete messages are dropped to make space.
func (o *owned) keep(message string, piece []byte, now time.Time) {
	p, begun := o.pieces[message]
	if !begun {
		oldest := message
		for name, other := range o.pieces {
			if now.Sub(other.last) > capacityTime {
				delete(o.pieces, name)
			} else if oldest == message || other.last.Before(o.pieces[oldest].last) {
				oldest = name
			}
		}
		if len(o.pieces) >= backlog {
			delete(o.pieces, oldest)
		}
	}
	if len(p.body)+len(piece) <= maxMessage {
		o.pieces[message] = pieces{append(p.body, piece...), now}
	}
}

// put adds a message to the backlog, unless the address was given back. It waits for capacity.
func (o *owned) put(m gateway.Message) bool {
	o.taking.Lock()
	defer o.taking.Unlock()
	if !o.over {
		o.queue <- m
	}
	return !o.over
}

// putHere adds a message to the backlog of an address of this process. It reports false if that is not possible at once; then
// NATS shows what to do.
func (b *Bus) putHere(address string, m gateway.Message) bool {
	b.mu.Lock()
	o := b.owned[address]
	b.mu.Unlock()
	if o == nil || !b.owns(o) || !o.taking.TryLock() {
		return false
	}
	defer o.taking.Unlock()
	if o.over {
		return false
	}
	select {
	case o.queue <- m:
		return true
	default:
		return false
	}
}

// maxMessage is above the size of every message: the largest frame has 16 MB.
const maxMessage = 64 << 20

func bodyOf(m gateway.Message) ([]byte, error) {
	if m.Frame == nil {
		return nil, nil
	}
	e, err := wire.Encode(m.Frame)
	return e.Bytes(), err
}

func messageOf(from string, body []byte) (gateway.Message, error) {
	if len(from) > limits.Name {
		return gateway.Message{}, fmt.Errorf("the sender's name has %d bytes, at most %d", len(from), limits.Name)
	}
	if len(body) == 0 {
		return gateway.Message{From: from}, nil
	}
	f, err := wire.Decode(body)
	return gateway.Message{From: from, Frame: f}, err
}

// Subscribe implements gateway.Bus.
func (b *Bus) Subscribe(topic string, deliver func(gateway.Message)) (stop func(), err error) {
	sub, err := b.conn.Subscribe("stet.topic."+token(topic), func(in *nats.Msg) {
		m, err := messageOf(in.Header.Get(fromHeader), in.Data)
		if err != nil {
			b.log.Error("nats: not understood", "topic", topic, "err", err)
			return
		}
		deliver(m)
	})
	if err == nil {
		err = b.conn.FlushTimeout(patience)
	}
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", topic, err)
	}
	return func() {
		_ = sub.Unsubscribe()
		_ = b.conn.FlushTimeout(patience)
	}, nil
}

// Publish implements gateway.Bus. It does not wait for subscribers. Messages published while the connection is lost are lost.
func (b *Bus) Publish(topic string, m gateway.Message) error {
	body, err := bodyOf(m)
	if err == nil && !b.conn.IsConnected() {
		err = ErrOffline
	}
	if err == nil {
		out := nats.NewMsg("stet.topic." + token(topic))
		out.Header.Set(fromHeader, m.From)
		out.Data = body
		err = b.conn.PublishMsg(out)
	}
	if err != nil {
		return fmt.Errorf("topic %s: %w", topic, err)
	}
	return nil
}
