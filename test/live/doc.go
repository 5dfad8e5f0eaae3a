// Package live sends recorded sessions through the proxy itself, at the times of the recording, and computes the bill of a
// provider's prompt cache. It prints the figures of package replay for the same sessions beside its own.
package live
