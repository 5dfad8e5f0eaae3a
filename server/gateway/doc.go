// Package gateway connects agents with workspaces on other machines, and with the people who decide about their writes.
//
// A [Hub] is in the middle. Agents make calls over a WebSocket, over plain HTTP, or in the same process ([Hub.Caller]). A [Host]
// beside a workspace runs the calls. Its questions go to people at its own terminal, or to people connected to the gateway. Package
// wire defines the frames.
//
// Three words describe the link between two ends. A connection is a transport: a WebSocket, or a pipe in this process. A session
// lasts longer than a connection: its frames are counted, and it continues over the next connection. A frame queue holds a
// session's outgoing frames. Both ends of a session have the same type. At the hub a session has a peer (agentPeer, hostPeer,
// personPeer). At a client it has a dialer, which connects again.
//
// # A call
//
// Hub.start begins a call from agentPeer, rest or [Remote]. The call waits until the scheduler admits it (scheduler.go). Then it is
// sent over the [Bus] to the hub that has the host. The result returns the same way, and the call's done receives it. The call's
// clock (30 s) stops while a person is asked, and another clock runs (600 s). When the time is over, the host is told to end the
// call, and the host's answer counts. If the host did not do the call, the result says so. If it did, the call is a success. If the
// host does not answer, the result says that this is not known.
//
// A call is done once. Neither the hub nor the host accepts the same id twice in a session. A host that names [wire.CanRepeat]
// answers a repeated write from its audit trail, also after it or the hub was restarted.
//
// # Large contents
//
// Content that is too large for one frame is sent in parts, in both directions. The hub forwards the parts and checks their order
// and size. At most four parts are on their way and not yet taken, so memory stays bounded. The host stages the parts. The call is
// planned and decided when all parts have arrived. (FILE-9)
//
// # Lost connections
//
// The frames of a session are counted, and frames without an acknowledgement are kept. When the client connects again within a time
// limit, the session continues where it stopped. No frame is lost, and no frame arrives twice. But the calls that a host was
// running when its connection broke fail at once. Calls that wait for a person continue.
package gateway
