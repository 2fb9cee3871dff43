// Package browser walks through the pages in a real Chromium, which it drives
// through a pipe by the DevTools protocol: every page with and without scripts,
// by keyboard, narrow, zoomed, dark and in forced colours, in both languages.
// Whatever a tab shows, it asks no other origin and breaks no policy; axe-core
// (of npm, fetched when the tests run) finds nothing.
//
//	go test ./test/browser                              every journey
//	ROGITO_TEST_SCREENSHOTS=/tmp/shots go test …        keeps the pictures there; .ci/run has them in build/pages
//	ROGITO_TEST_BINARY=bin/rogito go test …             of a binary that is built
package browser
