// Package acp runs the real binary, "stet acp", as editors do: by the clients of
// the Go SDK and of the protocol's own SDK for JavaScript. It holds tests only.
//
// The latter comes from npm, pinned by npm/package-lock.json, into
// $STET_E2E_CACHE/acp (default: ~/.cache/stet-e2e/acp); npm and a registry are
// needed once. Where it is not to be had its test skips and says why;
// STET_E2E=require makes that a failure, STET_E2E=off and -short skip it.
package acp
