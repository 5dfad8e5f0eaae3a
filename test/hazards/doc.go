// Package hazards runs the real "stet mcp" under what happens to file tools in practice: races, links, special files, crashes,
// full disks, other agents, and web pages. It tests stet only from outside: over MCP, with its commands, and on the disk. The
// package has only tests.
//
// STET_SOAK=1 makes more races, kills and edits. STET_E2E_STET names a stet binary to test instead of this checkout's.
package hazards
