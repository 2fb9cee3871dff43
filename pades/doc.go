// Package pades makes and reads PAdES signatures (EN 319 142-1): CAdES
// signatures inside PDF files (ISO 32000-1 and ISO 32000-2, 12.8), and, from
// level T on, document time-stamps and the Document Security Store.
//
// Most callers want rogito.Sign. Here the steps can be taken one by one:
// [Prepare] with a document, who signs ([ades.SignParams]) and [Options], have
// the draft signed, and call
// Finish for level B or [Draft.Complete] for the levels above it. [Augment]
// raises a document to T, LT or LTA, again and again.
// [Read] states everything that can be found out about the signatures of a
// document without a clock, a network or an opinion.
//
// Signatures are always added as incremental updates: what was there is kept
// byte for byte, so that earlier signatures stay valid.
package pades
