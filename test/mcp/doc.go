// Package mcp runs MCP clients of other projects, and the MCP conformance suite, with stet's MCP server. It has only tests.
//
// The clients come from npm, in the versions of npm/package-lock.json, and are installed in $STET_E2E_CACHE/mcp (default:
// ~/.cache/stet-e2e/mcp), together with the Node 22 that they need. That needs npm and, once, a registry. If one is missing, the
// tests skip and say why. With STET_E2E=require that is a failure. STET_E2E=off and -short skip all tests.
package mcp
