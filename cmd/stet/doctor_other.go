//go:build !unix

package main

const hasModes = false

func writable(string) bool { return true }
