// Package bpe counts the tokens of a text exactly, in the two public
// byte-pair vocabularies: o200k_base and cl100k_base.
//
// A text is cut into pieces by the vocabulary's regular expression, implemented by hand in one pass (split.go). Most pieces are
// tokens: they are looked up whole, as two machine words (table.go). The other pieces are merged (merge.go): token by token, the
// longest that fits, if byte-pair encoding would put that token after the one before it. If no token fits, it goes one token back.
// The time is linear in the length of any text. Counting allocates only its buffers, once.
//
// The vocabularies are files in this package, generated from the npm package tiktoken by gen/gen.mjs. Letters are those of Unicode
// 16, as in that package. A vocabulary is loaded when it is first used.
package bpe

//go:generate sh -c "cd gen && npm install --no-save --no-package-lock && for v in o200k_base cl100k_base; do node gen.mjs $$v > ../$$v.bpe || exit 1; done; rm -rf node_modules"
