// Package documents has one file of every kind that people have, each made here,
// and holds the command line, the API and the page /check against what is right
// for it. It holds tests only.
package documents
