// Package mcp runs MCP clients that others wrote, and the MCP conformance
// suite, against stet's MCP server. It holds tests only.
//
// They come from npm, pinned by npm/package-lock.json, into
// $STET_E2E_CACHE/mcp (default: ~/.cache/stet-e2e/mcp), and bring the Node 22
// that they need; npm and a registry are needed once. Where they are not to be
// had the tests skip and say why; STET_E2E=require makes that a failure,
// STET_E2E=off and -short skip them all.
package mcp
