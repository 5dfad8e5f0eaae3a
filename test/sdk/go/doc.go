// Package sdks runs the Go SDKs of two providers, as real clients, against a
// scripted model, straight and through "stet wrap": what they return must be
// the same. It is a module of its own, so that building stet does not need
// these SDKs.
package sdks
