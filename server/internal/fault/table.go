package fault

import "slices"

// Row is one error code: the HTTP status it comes with (0: it stands in a
// record, not in an answer) and what it means.
type Row struct {
	Code    int
	Status  int
	Meaning string
}

// Table is every error code there is; docs/errors.md is kept equal to it.
var Table = []Row{
	{70, 422, "scopes missing"},
	{80, 422, "scopes malformed"},
	{90, 422, "scope not enabled"},
	{100, 400, "body is not valid JSON"},
	{101, 413, "body or document over the limit"},
	{102, 404, "no such route (404) or method (405)"},
	{103, 415, "media type not supported"},
	{104, 500, "internal error; the text carries the request id"},
	{105, 503, "a dependency, the storage or the audit is not available"},
	{110, 0, "wrong certificate credentials"},
	{111, 423, "certificate locked after wrong passwords or one-time passwords"},
	{112, 0, "certificate expired, suspended or revoked"},
	{113, 0, "document cannot be signed in this format"},
	{114, 0, "time-stamp authority failed"},
	{115, 0, "revocation data for the level cannot be had"},
	{116, 0, "wrong or used one-time password"},
	{117, 0, "remote document could not be fetched"},
	{118, 0, "certificate kind does not fit the endpoint"},
	{119, 0, "internal failure; the message carries the request id"},
	{120, 0, "approval refused, or not given in time"},
	{125, 401, "wrong token"},
	{126, 403, "token lacks the scope"},
	{127, 403, "address not allowed for this token"},
	{128, 401, "wrong account or API key"},
	{129, 403, "the certificate's security level asks for more than the call presents"},
	{130, 429, "rate limit or a token's own limit reached"},
	{131, 403, "for administrators only"},
	{140, 404, "no such record"},
	{141, 400, "malformed id"},
	{142, 404, "unknown actionType"},
	{143, 409, "not ready: the record is not DONE"},
	{144, 410, "file deleted at the end of its retention"},
	{145, 409, "the certificate's state does not allow this"},
	{150, 409, "idempotent request still running"},
	{151, 422, "idempotency key used with another body"},
	{160, 422, "a query parameter is wrong"},
	{281, 422, "latitude must be between -90 and 90"},
	{282, 422, "longitude must be between -180 and 180"},
	{283, 422, "latitude or longitude missing or not a number"},
	{284, 422, "semester unknown or not loaded"},
	{285, 503, "no publication loaded"},
	{286, 422, "geometry, format, nearest, bbox or points wrong"},
	{287, 422, "publication refused"},
	{305, 404, "certificate product not available"},
	{310, 422, "a field of the purchase is wrong"},
	{311, 422, "this identification is not configured"},
	{312, 422, "the person identified is not the applicant"},
	{611, 402, "insufficient credit in wallet"},
	{615, 422, "inputDocuments required, or one of them cannot be read"},
	{622, 422, "invalid signatureType"},
	{625, 422, "invalid options member"},
	{635, 422, "certificateUsername required"},
	{640, 422, "certificatePassword required"},
	{645, 422, "certificateOtp required"},
	{650, 422, "verify: inputDocument required or not base64"},
	{651, 422, "verify: verifyOnDate is not YYYY-MM-DD"},
	{652, 422, "verify: wrong or missing pdfEncryptionPassword"},
	{653, 422, "verify: detachedContent is not base64"},
	{704, 422, "callback.url missing or malformed"},
	{706, 422, "callback.url is not http(s), or its host is refused"},
	{708, 422, "callback.headers is not an object"},
	{709, 422, "callback.headers: a key over 256 characters"},
	{710, 422, "callback.headers: a value is not a string"},
	{711, 422, "callback.headers: over 2 kB in all"},
	{730, 422, "callback.custom over 512 bytes"},
	{740, 422, "callback.retry outside 0..5"},
}

// Status is the HTTP status of a code; a code that is not in the table is an
// internal error.
func Status(code int) int {
	i := slices.IndexFunc(Table, func(r Row) bool { return r.Code == code })
	if i < 0 || Table[i].Status == 0 {
		return 500
	}
	return Table[i].Status
}

// Meaning is what a code stands for, "" for one that is not in the table.
func Meaning(code int) string {
	i := slices.IndexFunc(Table, func(r Row) bool { return r.Code == code })
	if i < 0 {
		return ""
	}
	return Table[i].Meaning
}
