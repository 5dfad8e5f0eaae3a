// Package prices knows what models cost: the rules of the providers' prompt
// caches, relative to one plain input token, and per model its context window,
// its prices and the name of its vocabulary.
//
// The rules are a table in this package ([Rules]). The models are data
// ([Lookup]), generated into models.json from a public price list and embedded,
// so that everything works offline; [Catalog.Load] adds a user's own.
package prices

//go:generate sh -c "cd gen && npm install --no-save --no-package-lock && node gen.mjs 2026-11-20 > models.new && mv models.new ../models.json && rm -rf node_modules"
