// Package acp runs the real binary, "stet acp", as editors do: with clients of the Go SDK and of the protocol's own SDK for
// JavaScript. It has only tests.
//
// The JavaScript SDK comes from npm, in the version of npm/package-lock.json, and is installed in $STET_E2E_CACHE/acp (default:
// ~/.cache/stet-e2e/acp). That needs npm and, once, a registry. If one is missing, its test skips and says why. With
// STET_E2E=require that is a failure. STET_E2E=off and -short skip it.
package acp
