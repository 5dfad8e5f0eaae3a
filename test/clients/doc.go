// Package clients tests the clients in other languages with the real gateway: hub, connections, tokens and queue of questions,
// over real sockets. It has only tests.
//
// The TypeScript client's own tests are clients/ts/test/*.test.ts. This package compiles them and runs them with Node, each with
// gateways of its own. It also generates the client's types from the Go types: go test ./test/clients -run TestGenerated -update.
//
// Package npm installs the npm packages. With STET_E2E=require a failed installation fails the test.
package clients
