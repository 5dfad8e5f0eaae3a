package gateway

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Where the workspaces are: which of them have a host, at which hub, and with which tools.

// presence is the topic for events about hosts that connect or go.
const presence = "workspaces"

func workspaceAddress(name string) string { return "workspace/" + name }

// presentHost is the host of a workspace: the address of its hub, and when its last news came.
type presentHost struct {
	tools []wire.Tool
	hub   string
	seen  time.Time
}

// hosts says which workspaces have a host, here or at another hub.
type hosts struct {
	shared bool // there may be other hubs

	mu    sync.Mutex
	known map[string]presentHost // the workspaces that have a host
	left  map[string]presentHost // workspaces that had a host, and may have it again soon
	here  map[string]*hostPeer   // hosts that are connected to this hub, by workspace
	stays map[string]time.Time   // when another hub said that its host of a workspace does not move
}

// Workspaces lists the workspaces that have a host.
func (h *Hub) Workspaces() []string { return h.hosts.names() }

func (d *hosts) names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.known))
}

// tools returns the tools of a workspace; ok says whether it has a host.
func (d *hosts) tools(workspace string) (tools []wire.Tool, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w, ok := d.known[workspace]
	return w.tools, ok
}

// toolsMoving is tools, also for a workspace whose host was lost a short time ago: the host may be moving to another hub.
func (d *hosts) toolsMoving(workspace string) (tools []wire.Tool, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w, ok := d.known[workspace]
	if !ok && d.shared {
		w, ok = d.left[workspace]
		ok = ok && time.Since(w.seen) < moveWait
	}
	return w.tools, ok
}

// repeats reports whether a call to a tool of a workspace may be sent a second time, because its host answers a repeated call from
// its record.
func (d *hosts) repeats(workspace, name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	host := d.here[workspace]
	return host != nil && host.can(wire.CanRepeat) &&
		slices.ContainsFunc(d.known[workspace].tools, func(t wire.Tool) bool { return t.Name == name && !t.ReadOnly })
}

// noHost returns the message for a workspace without a host.
func (d *hosts) noHost(workspace string) string {
	if all := d.names(); len(all) > 0 && !slices.Contains(all, workspace) {
		return fmt.Sprintf("No host is connected for workspace %q.", workspace)
	}
	return fmt.Sprintf("The host of workspace %q is not connected right now.", workspace)
}

// join adds a host that has connected to this hub.
func (d *hosts) join(p *hostPeer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.here[p.workspace()] = p
}

// part removes a host that was connected to this hub.
func (d *hosts) part(p *hostPeer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.here[p.workspace()] == p {
		delete(d.here, p.workspace())
	}
}

// connected returns the hosts that are connected to this hub.
func (d *hosts) connected() []*hostPeer {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.here))
}

// holder returns the host of a workspace that is connected here, or nil, and whether another hub has said since a time that its host
// of the workspace stays.
func (d *hosts) holder(workspace string, since time.Time) (p *hostPeer, stays bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stays = d.stays[workspace].After(since)
	delete(d.stays, workspace)
	return d.here[workspace], stays
}

// stay records that the host of a workspace stays at another hub.
func (d *hosts) stay(workspace string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stays[workspace] = time.Now()
}

// heard takes in what a hub has published about a host. news says whether that was not known, and moved whether the host was at
// another hub before.
func (d *hosts) heard(e *wire.Event, hub string) (news, moved bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was, known := d.known[e.Workspace]
	switch {
	case e.Event == wire.HostUp:
		d.known[e.Workspace] = presentHost{e.Tools, hub, time.Now()}
		moved = known && was.hub != hub
		return moved || !known, moved // hubs repeat this event
	case was.hub != hub: // the host has already moved
		return false, false
	}
	d.drop(e.Workspace)
	return true, false
}

// drop records that a workspace has lost its host. The caller holds mu.
func (d *hosts) drop(workspace string) {
	w, ok := d.known[workspace]
	delete(d.known, workspace)
	if ok && d.shared {
		w.seen = time.Now()
		d.left[workspace] = w
	}
	maps.DeleteFunc(d.left, func(_ string, w presentHost) bool { return time.Since(w.seen) > moveWait })
}

// dropSilent drops the hosts of other hubs without news, and returns their workspaces. own is the address of this hub.
func (d *hosts) dropSilent(own string, now time.Time) (gone []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, w := range d.known {
		if w.hub != own && now.Sub(w.seen) > beatsLost {
			gone = append(gone, name)
			d.drop(name)
		}
	}
	return gone
}

// workspaceFor returns the workspace of a call, or the result of a call that cannot have one. named is the workspace that the caller
// named, or "". A caller that may reach it was checked before.
func (h *Hub) workspaceFor(who Identity, named string) (string, *wire.ToolResult) {
	if name := cmp.Or(named, who.Workspace); name != "" {
		return name, nil
	}
	switch all := h.hosts.names(); len(all) {
	case 0:
		return "", failure(tool.HostUnavailable, "No host is connected.")
	case 1:
		return all[0], nil
	default:
		return "", failure(tool.InvalidArgument, fmt.Sprintf("There are several workspaces. Name one in hello, or in plain HTTP as ?workspace=NAME: %q.", all[:min(len(all), 20)]))
	}
}

// present handles published events about hosts, and tells agents.
func (h *Hub) present(m Message) {
	e, ok := m.Frame.(*wire.Event)
	if !ok {
		return
	}
	h.heardOf(m.From)
	if e.Event == hubAlive {
		return
	}
	news, moved := h.hosts.heard(e, m.From)
	if moved {
		h.background(func() { h.askAfter(e.Workspace) })
	}
	if news {
		h.tellClients(e)
	}
}

// askAfter asks the hub that now has a workspace's host about the calls that are running there. Calls sent to the earlier hub have
// failed, and the earlier hub may no longer exist and cannot say so.
func (h *Hub) askAfter(workspace string) {
	for _, c := range h.calls.sentTo(workspace) {
		if err := c.send(&wire.Progress{CallID: c.f.CallID, State: wire.Working}); err != nil {
			h.log.Warn("not asked after", "workspace", workspace, "call", c.f.CallID, "err", err)
		}
	}
}

// tellClients sends an event about a workspace to agents.
func (h *Hub) tellClients(e *wire.Event) {
	for _, s := range h.clients.all() {
		if s.hello.Role != wire.Host {
			s.tellOf(e)
		}
	}
}

// tellOf sends an event about a workspace to a client, if the client wants it and may have it.
func (s *hubSession) tellOf(e *wire.Event) {
	if named := s.hello.Workspace; s.can(wire.CanEvents) && s.who.reaches(e.Workspace) && (named == "" || named == e.Workspace) {
		s.tell(e)
	}
}
