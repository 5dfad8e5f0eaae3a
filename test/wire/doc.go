// Package wire plays conversations through stet. A scripted model refuses what the providers refuse. Some tests run the program,
// which is ended, killed and started again in the middle. Others play recorded sessions through proxies in the test process. The
// package has only tests.
//
//	go test ./test/wire -run Table -v
//
// prints a table: how many turns a session took, how many errors there were, and how much less was sent. STET_TRANSCRIPTS names
// the directory of the recorded sessions.
package wire
