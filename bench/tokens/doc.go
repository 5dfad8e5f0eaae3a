// Package tokens compares stet's tokenizer with others, in one run:
//
//	cd bench && go test -bench . -benchmem ./llm/tokens
//
// It also fuzzes stet's tokenizer and compares it with one of them. Tests in llm/tokens/bpe check that its tokens are exactly those
// of the vocabularies' own encoder.
package tokens
