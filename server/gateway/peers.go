package gateway

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Hubs on one bus tell each other about their hosts and open questions.
//
// Each hub publishes on the presence topic, at regular times, that it runs and which hosts it has. So a lost message, or a hub that
// starts later, is corrected by the next beat. A hub or host without news for some time counts as gone.
//
// A question stays at the hub that asks it. The other hubs have copies, which people answer there. The answer is sent until the
// first hub has taken it. The first answer that arrives counts.

// How often a hub publishes that it runs, and after how long without news it counts as gone.
const (
	beatEvery = 2 * time.Second
	beatsLost = 3 * beatEvery
)

// Events between hubs, on the bus alone.
const (
	hubAlive  = "hub_alive"  // the hub From runs
	askedAnew = "asked_anew" // copies of From's questions are to be dropped; all its open questions follow
	hostStays = "host_stays" // the host of a wanted workspace stays at From
)

// peers are the other hubs, and the copies of their questions.
type peers struct {
	fresh chan string   // addresses of hubs that must get all questions
	early chan struct{} // capacity 1: asks for a beat now

	mu     sync.Mutex
	seen   map[string]time.Time               // when the last message of a hub came, by its address
	copies map[string]context.CancelCauseFunc // copies of other hubs' questions, by hub and id
}

// heard records news of a hub, and reports whether the hub is new.
func (ps *peers) heard(address string) (fresh bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	_, known := ps.seen[address]
	ps.seen[address] = time.Now()
	return !known
}

func (ps *peers) forget(address string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(ps.seen, address)
}

// all returns the addresses of the hubs.
func (ps *peers) all() []string {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return slices.Sorted(maps.Keys(ps.seen))
}

// dropSilent forgets hubs without news, and returns their addresses.
func (ps *peers) dropSilent(now time.Time) (lost []string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for address, seen := range ps.seen {
		if now.Sub(seen) > beatsLost {
			lost = append(lost, address)
			delete(ps.seen, address)
		}
	}
	return lost
}

// addCopy adds the copy with a key, unless there is one.
func (ps *peers) addCopy(key string, withdraw context.CancelCauseFunc) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.copies[key] != nil {
		return false
	}
	ps.copies[key] = withdraw
	return true
}

// dropCopies withdraws the copy with a key, or all copies of a hub, for the reason why.
func (ps *peers) dropCopies(key string, why error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for k, withdraw := range ps.copies {
		if k == key || strings.HasPrefix(k, key+"/") {
			withdraw(why)
			delete(ps.copies, k)
		}
	}
}

// beat publishes this hub's state until the hub closes, and forgets hubs without news.
func (h *Hub) beat() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		if err := h.bus.Publish(presence, Message{From: h.address, Frame: &wire.Event{Event: hubAlive}}); err != nil {
			h.log.Warn("bus", "err", err)
		}
		for _, p := range h.hosts.connected() {
			p.mu.Lock()
			away := p.away
			p.mu.Unlock()
			if !away {
				p.publish(wire.HostUp)
			}
		}
		h.dropSilent(time.Now())
		select {
		case <-tick.C:
		case <-h.peers.early:
		case <-h.base.Done():
			return
		}
	}
}

// dropSilent forgets hubs without news, with their hosts and questions.
func (h *Hub) dropSilent(now time.Time) {
	gone, lost := h.hosts.dropSilent(h.address, now), h.peers.dropSilent(now)
	for _, address := range lost {
		h.peers.dropCopies(address, nil)
	}
	for _, name := range gone {
		for _, c := range h.calls.sentTo(name) {
			c.fromHost(&wire.ToolResult{Error: string(tool.HostUnavailable)})
		}
		h.tellClients(&wire.Event{Event: wire.HostDown, Workspace: name})
	}
}

// heardOf records news of another hub. A new hub gets all questions.
func (h *Hub) heardOf(address string) {
	if address == h.address || !h.peers.heard(address) {
		return
	}
	select {
	case h.peers.early <- struct{}{}: // the new hub does not know the hosts of this hub
	default:
	}
	select {
	case h.peers.fresh <- address:
	default:
		h.peers.forget(address) // it counts as new again at its next beat
	}
}

// share tells the other hubs about this hub's questions, until the hub closes.
func (h *Hub) share() {
	open := map[string]*wire.Approval{}
	for h.base.Err() == nil {
		sub := h.config.Queue.Subscribe()
		events := make(chan approval.Event)
		reading, stop := context.WithCancel(h.base)
		h.serving.Go(func() {
			defer close(events)
			for {
				e, err := sub.Next(reading)
				if err != nil {
					return
				}
				select {
				case events <- e:
				case <-reading.Done():
					return
				}
			}
		})
		h.shareEvents(events, open)
		stop()
		_ = sub.Close()
		for id := range open { // questions that were closed while there was no subscription
			if _, err := h.config.Queue.Find(id); err != nil {
				h.shareEvent(approval.Event{Closed: &approval.Closing{ID: id}}, open)
			}
		}
	}
}

// shareEvents is share for one subscription, until it ends.
func (h *Hub) shareEvents(events <-chan approval.Event, open map[string]*wire.Approval) {
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			h.shareEvent(e, open)
		case address := <-h.peers.fresh:
			ok := h.toPeer(address, &wire.Event{Event: askedAnew})
			for _, f := range open {
				left := *f
				q := *f.Question
				left.Question, q.Asked = &q, time.Now() // the time that is left counts there
				ok = ok && h.toPeer(address, &left)
			}
		}
	}
}

func (h *Hub) shareEvent(e approval.Event, open map[string]*wire.Approval) {
	var f *wire.Approval
	switch {
	case e.Opened != nil && !strings.HasPrefix(e.Opened.Root, copyRoot):
		f = &wire.Approval{ID: e.Opened.ID, CallID: e.Opened.CallID, Question: e.Opened}
		if open[f.ID] != nil {
			return
		}
		open[f.ID] = f
	case e.Closed != nil && open[e.Closed.ID] != nil:
		f = &wire.Approval{ID: e.Closed.ID, Withdrawn: true}
		if e.Closed.How == "expired" {
			f.Code = string(tool.Timeout)
		}
		delete(open, f.ID)
	default:
		return
	}
	for _, address := range h.peers.all() {
		h.toPeer(address, f)
	}
}

// toPeer sends to another hub. If that hub does not take the message, it gets everything again at its next beat.
func (h *Hub) toPeer(address string, f wire.Frame) bool {
	err := h.bus.Send(address, Message{From: h.address, Frame: f})
	if err != nil {
		h.log.Warn("question not shared", "with", address, "err", err)
		h.peers.forget(address)
	}
	return err == nil
}

// copyRoot is the prefix of the root of a copied question.
const copyRoot = "hub/"

// fromPeer handles another hub's message about questions: a question, its end, or the answer to a question of this hub. It returns
// false for other messages.
func (h *Hub) fromPeer(m Message) bool {
	switch f := m.Frame.(type) {
	case *wire.Event:
		switch f.Event {
		case askedAnew:
			h.peers.dropCopies(m.From, nil)
		case hostStays:
			h.hosts.stay(f.Workspace)
		}
		return true
	case *wire.Approval:
		switch {
		case h.config.Queue == nil:
		case f.Answer != nil:
			if err := h.config.Queue.Answer(f.ID, *f.Answer); err != nil {
				h.log.Info("an answer from another gateway does not count", "question", f.ID, "err", err)
			}
		case f.Withdrawn:
			h.peers.dropCopies(m.From+"/"+f.ID, whyWithdrawn(f.Code))
		case f.Question != nil:
			h.copyQuestion(m.From, f)
		}
		return true
	}
	return false
}

// copyQuestion asks the people of this hub a question of another hub.
func (h *Hub) copyQuestion(from string, f *wire.Approval) {
	q := *f.Question
	q.Root = from // it begins with copyRoot
	base, withdraw := context.WithCancelCause(h.base)
	key := from + "/" + f.ID
	if !h.peers.addCopy(key, withdraw) {
		withdraw(nil)
		return
	}
	h.background(func() {
		defer withdraw(nil)
		ctx, cancel := asOf(base, &q, longest)
		defer cancel()
		if a, err := h.config.Queue.Ask(ctx, q); err == nil {
			h.sendAnswer(ctx, from, &wire.Approval{ID: f.ID, Answer: &a})
		}
		h.peers.dropCopies(key, nil)
	})
}

// sendAnswer sends an answer to the hub that asked, until that hub has taken it or the question is over. A repeated answer counts
// once.
func (h *Hub) sendAnswer(ctx context.Context, to string, f *wire.Approval) {
	for {
		err := h.bus.Send(to, Message{From: h.address, Frame: f})
		if err == nil {
			return
		}
		h.log.Warn("answer not sent yet", "question", f.ID, "to", to, "err", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			h.log.Error("answer lost: the gateway that asked did not take it", "question", f.ID, "to", to)
			return
		}
	}
}
