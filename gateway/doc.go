// Package gateway connects agents with workspaces on other machines, and with the
// people who decide about their writes.
//
// A [Hub] is in the middle. Agents make calls over a WebSocket, over plain HTTP, or
// in the same process ([Hub.Caller]); a [Host] beside a workspace does them, and
// leaves its questions to people at its own terminal or to those of the gateway. The
// frames are those of package wire.
//
// # A call
//
// The caller waits on a future by the call's id. The call is let in when there is
// room for its bytes, one session after the other, goes over the [Bus] to the hub
// that has the host, and its result comes back the same way. Its clock (30 s) stands
// while a person is asked, for whom another one runs (600 s). When time is over the
// host is told to end the call, and what it says of it counts: a call that is over
// time and was not done says so, one that was done is a success. Only a host that
// says nothing leaves that open, and the result tells so.
//
// A call is done once: an id is not taken twice in a session, neither here nor at
// the host. A host that says [wire.CanRepeat] answers a repeated write from its audit
// trail, also after it or the hub was started again.
//
// # Large contents
//
// What is too large for one piece goes in parts, both ways. The hub passes them on
// and looks at their order and size; four are on their way that were not taken, so
// that nothing gathers in between. The host stages them, and the call is planned and
// decided when all are there. (FILE-9)
//
// # Lost connections
//
// Frames are counted, those not known to have arrived are kept, and a session goes on
// over the next connection where the last one broke off, within a time. Nothing is
// lost of it and nothing comes twice. Calls that a host was at when its connection
// broke fail at once all the same; those that wait for a person go on.
package gateway
