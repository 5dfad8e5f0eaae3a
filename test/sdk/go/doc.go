// Package sdks runs the Go SDKs of two providers, as real clients, with a scripted model, directly and under "stet wrap". They
// must return the same both times. The package is a module of its own, so that building stet does not need these SDKs.
package sdks
