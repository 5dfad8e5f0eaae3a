// Package web drives the UI in a real browser: Chromium with playwright-core. The server is the handler of package web, with a
// real queue, file tools and stores. The package has only tests.
//
// Each flow is a function in flows/*.mjs. Chromium is the program of $STET_CHROMIUM or of the PATH. With STET_E2E=require it is a
// failure if something is missing. With -serve the server of the flows keeps running, to be used in a browser. With -pictures the
// views are drawn into a directory.
package web
