// Package e2e runs real coding agents, unmodified and headless, against a
// scripted model, with and without stet in between, and with stet's file tools
// over MCP. It holds tests only.
//
// The agents come from npm, pinned by agents/package-lock.json, into
// $STET_E2E_CACHE (default: ~/.cache/stet-e2e); this needs Node 20, npm and a
// registry once. The tests themselves run in a network namespace that has a
// loopback device and nothing else, so that no agent reaches anything but the
// model here. Where one of these is not to be had the tests skip and say what
// to do; STET_E2E=require makes that a failure, STET_E2E=off and -short skip
// them all. STET_SOAK=1 plays more agents, on more wires.
package e2e
