package gateway

import (
	"errors"
	"fmt"
	"sync"

	"github.com/stet-dev/stet/server/gateway/wire"
)

// Errors of a Bus.
var (
	ErrNoOwner = errors.New("the address has no owner")
	ErrTaken   = errors.New("the address already has an owner")
)

// Message is a frame on its way between the parts of a gateway. The data that it points to must not be changed.
type Message struct {
	From  string // the address for answers
	Frame wire.Frame
}

// Bus connects the parts of a gateway, which may run in several processes. It carries calls to the hub that has the host, and
// results to the hub that has the caller.
//
// Messages from one address to another arrive in order. Each arrives once, or not at all if a process is lost. For one sender,
// deliver is called for one message at a time. deliver must not wait, and must not call the Bus's stop functions. A Bus may be used
// concurrently.
type Bus interface {
	// Own takes an address until stop is called. ErrTaken says that the address has another owner. lost is called once if another
	// owner takes the address before stop. This happens when this process was disconnected from the others for a time. lost may be
	// nil.
	Own(address string, deliver func(Message), lost func()) (stop func(), err error)
	// Send gives a message to the owner of an address, and returns when the owner's process has taken it. ErrNoOwner says that the
	// address has no owner and nothing was sent. After another error the message may have been taken; the error's text says what is
	// known.
	Send(address string, m Message) error

	// Subscribe calls deliver for each message published on a topic, until stop is called.
	Subscribe(topic string, deliver func(Message)) (stop func(), err error)
	Publish(topic string, m Message) error
}

// Local is the Bus within one process. Its zero value is ready to use.
type Local struct {
	mu     sync.RWMutex
	owners map[string]*func(Message)
	topics map[string][]*func(Message)
}

var _ Bus = (*Local)(nil)

// Own implements Bus.
func (l *Local) Own(address string, deliver func(Message), _ func()) (stop func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owners[address] != nil {
		return nil, fmt.Errorf("address %s: %w", address, ErrTaken)
	}
	if l.owners == nil {
		l.owners = map[string]*func(Message){}
	}
	l.owners[address] = &deliver
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.owners[address] == &deliver {
			delete(l.owners, address)
		}
	}, nil
}

// Send implements Bus.
func (l *Local) Send(address string, m Message) error {
	l.mu.RLock()
	deliver := l.owners[address]
	l.mu.RUnlock()
	if deliver == nil {
		return fmt.Errorf("address %s: %w", address, ErrNoOwner)
	}
	(*deliver)(m)
	return nil
}

// Subscribe implements Bus.
func (l *Local) Subscribe(topic string, deliver func(Message)) (stop func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.topics == nil {
		l.topics = map[string][]*func(Message){}
	}
	l.topics[topic] = append(l.topics[topic], &deliver)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		var rest []*func(Message)
		for _, d := range l.topics[topic] {
			if d != &deliver {
				rest = append(rest, d)
			}
		}
		l.topics[topic] = rest
	}, nil
}

// Publish implements Bus.
func (l *Local) Publish(topic string, m Message) error {
	l.mu.RLock()
	all := l.topics[topic]
	l.mu.RUnlock()
	for _, deliver := range all {
		(*deliver)(m)
	}
	return nil
}
