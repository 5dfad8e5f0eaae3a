package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// The gateway's audit trail records what the gateway itself decides: refused requests, clients that it disconnects, and calls that
// it ends instead of their host. A host's decisions are in the host's trail.

// record adds an entry to the trail.
func (h *Hub) record(e record.Entry) {
	e.Kind, e.Time = record.Call, time.Now()
	e.By = cmp.Or(e.By, "gateway")
	if err := h.config.Journal.Later(e); err != nil {
		h.log.Error("audit trail", "err", err)
	}
}

// about returns an entry about the session of a token.
func about(who Identity, hello *wire.Hello) record.Entry {
	e := record.Entry{Session: "gateway-" + who.ID, Client: calledBy(hello.Client, who)}
	if hello.Workspace != "" {
		e.Root = root(hello.Workspace)
	}
	return e
}

// calledBy names the caller: the client's own name and the token's name.
func calledBy(client string, who Identity) string {
	if who.Name == "" {
		return client
	}
	return fmt.Sprintf("%s (token %s)", client, who.Name)
}

// root names a workspace in the gateway's trail. The gateway does not know the workspace's path.
func root(workspace string) string { return "gateway:" + workspace }

// recordRefusal records that a client with a valid token was refused.
func (h *Hub) recordRefusal(who Identity, hello *wire.Hello, why *wire.Error) {
	e := about(who, hello)
	e.Decision, e.Outcome = "refused: "+why.Message, why.Code
	h.recordSeldom(who.ID+" "+why.Code, e)
}

// Refused records that another handler on the same port refused a request. why is a sentence for people.
func (h *Hub) Refused(r *http.Request, why string) {
	h.log.Warn("refused", "why", why, "remote", r.RemoteAddr)
	h.recordStranger(r.RemoteAddr, why)
}

// recordStranger records that a request without a valid token was refused.
func (h *Hub) recordStranger(remote, why string) {
	address, _, err := net.SplitHostPort(remote)
	if err != nil {
		address = remote
	}
	h.recordSeldom(address+" "+why, record.Entry{Client: address, Decision: "refused: " + why, Outcome: wire.Forbidden})
}

// recordCutOff records that the gateway ended a session; why is the reason. Sessions that end in another way are not recorded.
func (h *Hub) recordCutOff(who Identity, hello *wire.Hello, why error) {
	outcome := record.Broke
	switch {
	case errors.Is(why, websocket.ErrMessageTooBig):
		outcome = string(tool.FileTooLarge)
	case errors.Is(why, errMalformed):
		outcome = wire.Malformed
	case errors.Is(why, errToken):
		outcome = wire.Forbidden
	case !errors.Is(why, errSlow) && !errors.Is(why, errSilent) && !errors.Is(why, errStuck):
		return
	}
	e := about(who, hello)
	e.Decision, e.Outcome = "cut off: "+why.Error(), outcome
	h.recordSeldom(who.ID+" "+outcome, e)
}

// recordResult records that the gateway, not the host, decided the result of the call.
func (c *call) recordResult(r *wire.ToolResult) {
	decision := "refused"
	switch tool.Code(r.Error) {
	case tool.Timeout:
		decision = "timeout"
	case tool.Cancelled:
		decision = "cancelled"
	case tool.HostUnavailable:
		decision = "no host"
	}
	e := record.Entry{
		Root: root(c.to), Session: c.f.Session, Client: calledBy(c.f.Client, c.who), CallID: c.f.CallID, Tool: c.f.ToolName,
		Path: c.pathIn(), Decision: decision, Outcome: r.Error,
	}
	if r.Error == string(tool.RateLimited) {
		e.By = "rate limit"
	}
	c.h.record(e)
}

// pathIn returns the path in the call's arguments.
func (c *call) pathIn() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.f.Arguments == nil {
		return c.path
	}
	return tool.PathIn(c.f.Arguments)
}

// manyKinds is the limit of frequent entries in a minute, over all kinds. Each kind is recorded once a minute. Without a token a client
// can make any number of requests.
const manyKinds = 1024

// recordSeldom is record for frequent entries. It records one entry a minute for each kind, with the number that was skipped.
func (h *Hub) recordSeldom(kind string, e record.Entry) {
	if wait, left := h.seldom.Take(kind, time.Now()); wait == 0 {
		if left > 0 {
			e.Flags = append(e.Flags, fmt.Sprintf("%d more like the one before were left out", left))
		}
		h.record(e)
	}
}
