// Package hazards runs the real "stet mcp" against what happens to file tools
// in the wild: races, links, special files, crashes, full disks, other agents,
// web pages. It looks at stet from outside only: over MCP, by its commands and
// at the disk. It holds tests only.
//
// STET_SOAK=1 makes the races, the kills and the edits of two agents as many
// as are worth waiting for. STET_E2E_STET names a stet to test in place of this
// checkout's.
package hazards
