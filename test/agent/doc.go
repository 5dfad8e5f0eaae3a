// Package agent runs the agent in a process of its own, with sessions on disk, as its users do. It ends that process at random
// moments.
package agent
