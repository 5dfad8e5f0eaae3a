// Package wire plays conversations through stet against a scripted model that refuses what
// the providers refuse: through the program, which is ended, killed and started again in the
// middle; and recorded sessions through proxies of this process. It holds tests only.
//
//	go test ./test/wire -run Table -v
//
// prints a table: how many turns a session took, how many errors there were, and how much
// less was sent. Recorded sessions are read where STET_TRANSCRIPTS says.
package wire
