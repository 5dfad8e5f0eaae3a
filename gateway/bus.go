package gateway

import (
	"errors"
	"fmt"
	"sync"

	"github.com/stet-dev/stet/gateway/wire"
)

// What a Bus answers.
var (
	ErrNoOwner = errors.New("nobody is there")
	ErrTaken   = errors.New("somebody is there already")
)

// Message is a frame on its way between the parts of a gateway. What it points
// to is not to be changed.
type Message struct {
	From  string // the address that answers go to
	Frame wire.Frame
}

// Bus connects the parts of a gateway, which may run in several processes:
// calls go to the hub that has the host, results to the one that has the caller.
//
// What is sent from one address to another arrives in order: once, or not at all when
// a process is lost. deliver is called one message after the other for each sender. It
// must not wait, and must not call the Bus's stop functions. A Bus may be used
// concurrently.
type Bus interface {
	// Own takes an address, until stop. ErrTaken says that it has another owner. lost is
	// called once if the address gets another owner before stop, which happens when
	// this process is cut off from the others for a time. It may be nil.
	Own(address string, deliver func(Message), lost func()) (stop func(), err error)
	// Send hands a message to the owner of an address, and returns when its process has
	// taken it. ErrNoOwner says that there is none, and that nothing was sent. After
	// another error the message may have been taken: its text says what is known.
	Send(address string, m Message) error

	// Subscribe has deliver called for all that is published on a topic, until
	// stop.
	Subscribe(topic string, deliver func(Message)) (stop func(), err error)
	Publish(topic string, m Message) error
}

// Local is the Bus within one process. The zero Local is ready.
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
