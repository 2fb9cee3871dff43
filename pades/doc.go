// Package pades creates and reads PAdES signatures (EN 319 142-1): CAdES signatures inside PDF
// files (ISO 32000-1 and ISO 32000-2, 12.8), and, from level T on, document time-stamps and the
// Document Security Store.
//
// Most callers want rogito.Sign. This package has the single steps: call [Prepare] with a document,
// the signer's parameters ([ades.SignParams]) and [Options], have the draft signed, and call Finish
// for level B or [Draft.Complete] for the levels above it. [Augment] raises a document to T, LT or
// LTA, any number of times. [Read] returns all facts about the signatures of a document, without a
// clock, network access or judgement.
//
// Signatures are always added as incremental updates: existing bytes never change, so that earlier
// signatures remain valid.
package pades
