// Package wild signs PDFs as they come: those that the tests make themselves, some
// for each kind of slip that producers make, and real ones from the folder that
// ROGITO_WILD names (`make wild`). Each is signed, is valid here and for others,
// and shows what it showed before. It holds tests only.
package wild
