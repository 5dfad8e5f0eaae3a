// Package web drives the UI in a real browser: Chromium by playwright-core,
// against the handler of package web with a queue, file tools and stores as they
// are. It has tests only.
//
// Each flow is a function in flows/*.mjs. Chromium is taken from $STET_CHROMIUM or
// the PATH; STET_E2E=require makes it a failure when something is missing. With
// -serve the house of the flows stays open, to be looked at in a browser; with
// -pictures its views are drawn into a directory.
package web
