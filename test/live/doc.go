// Package live tests what a provider's prompt cache would bill for recorded
// sessions that go through the proxy itself, at the times they were recorded
// at: the same sessions as in package replay, whose figures stand beside.
package live
