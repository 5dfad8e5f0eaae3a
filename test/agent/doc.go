// Package agent runs the agent as its users do, in a process of its own with
// sessions on disk, and ends that process at any moment.
package agent
