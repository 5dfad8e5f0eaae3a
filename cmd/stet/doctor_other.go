//go:build !unix

package main

const hasModes = false

func writable(string) bool { return true }

func freeSpace(string) (bytes uint64, known bool) { return 0, false }
