// Package forgery holds forged documents and the genuine ones they were made
// from. It has tests only. Every specimen is made when the tests run: from
// documents that Rogito signs, and, where `make interop` asks for it, from
// documents that pyHanko and EU DSS sign.
//
// A forged specimen may never be called valid, whatever road it takes: the
// library, `rogito verify` or POST /verify. A genuine one must be TOTAL-PASSED
// on all three, so that strictness is not bought with false alarms.
package forgery
