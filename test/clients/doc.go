// Package clients proves the clients in other languages against the gateway as it
// is: hub, link, tokens and queue of questions over real sockets. It holds tests
// only.
//
// The TypeScript client's own tests are clients/ts/test/*.test.ts; here they are
// compiled and run by Node, each with gateways of its own. Its types are made of
// the Go types here, too: go test ./test/clients -run TestGenerated -update.
//
// npm packages are installed as package npm says. With STET_E2E=require a failed installation fails the test.
package clients
