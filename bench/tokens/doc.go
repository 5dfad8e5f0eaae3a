// Package tokens measures stet's tokenizer beside others, in one run:
//
//	cd bench && go test -bench . -benchmem ./tokens
//
// and fuzzes it against one of them. Whether its tokens are exactly those of
// the vocabularies' own encoder is tested in internal/bpe.
package tokens
