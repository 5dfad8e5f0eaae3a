// Package bpe counts the tokens of a text exactly, in the two public
// byte-pair vocabularies: o200k_base and cl100k_base.
//
// A text is cut into pieces as the vocabulary's regular expression cuts it
// (split.go, by hand, in one pass). Most pieces are tokens: they are looked up
// whole, as two machine words (table.go). The others are merged (merge.go):
// token by token the longest that fits, as long as byte-pair encoding would
// have put that token beside the one before it, and a step back where nothing
// fits. That takes time in proportion to the text, whatever it is, and
// allocates nothing but its buffers, once.
//
// The vocabularies are files in this package, generated from the npm package
// tiktoken by gen/gen.mjs, and what is a letter is Unicode 16's, as there. A vocabulary is read when it counts for the first
// time; until then it costs nothing.
package bpe

//go:generate sh -c "cd gen && npm install --no-save --no-package-lock && for v in o200k_base cl100k_base; do node gen.mjs $$v > ../$$v.bpe || exit 1; done; rm -rf node_modules"
