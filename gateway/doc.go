// Package gateway connects agents with workspaces on other machines, and with the
// people who decide about their writes.
//
// A [Hub] is in the middle. Agents make calls over a WebSocket, over plain HTTP, or
// in the same process ([Hub.Caller]). A [Host] beside a workspace does them, and
// leaves its questions to people at its own terminal or to those of the gateway. The
// frames are those of package wire.
//
// Three words say what is between two ends. A connection is a transport: a WebSocket, or
// a pipe in this process. A session outlives connections: its frames are counted, and go
// on over the next one. A frame queue holds a session's outgoing frames. Both ends of a
// session are the same type; at the hub it has a peer (agentPeer, hostPeer, personPeer),
// and at a client a dialer, which connects again.
//
// # A call
//
// A call goes in by Hub.start, from agentPeer, rest or [Remote]. It waits until it is
// let in (scheduler.go), and is sent over the [Bus] to the hub that has the host. Its
// result comes back the same way, to the call's done. Its clock (30 s) stands while a person is asked;
// then another one runs (600 s). When time is over the host is told to end the call, and
// its answer counts: a call that was not done says so, one that was done is a success.
// Only a host that does not answer leaves that open, and the result tells so.
//
// A call is done once: an id is not taken twice in a session, neither here nor at
// the host. A host that says [wire.CanRepeat] answers a repeated write from its audit
// trail, also after it or the hub was started again.
//
// # Large contents
//
// What is too large for one frame goes in parts, both ways. The hub passes them on
// and checks their order and size. At most four are on their way that were not taken, so
// that nothing gathers in between. The host stages them, and the call is planned and
// decided when all are there. (FILE-9)
//
// # Lost connections
//
// The frames of a session are counted, and those not acknowledged are kept. When the
// client connects again within a time, the session goes on where it broke off. Nothing
// is lost, and nothing comes twice. Calls that a host was at when its connection
// broke fail at once all the same; those that wait for a person go on.
package gateway
