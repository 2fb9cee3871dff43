package fault

import "slices"

// Row is one error code: the HTTP status it comes with (0: it is only in a
// record, not in an answer) and what it means.
type Row struct {
	Code    Code
	Status  int
	Meaning string
}

// Table is every error code there is; docs/errors.md is kept equal to it.
var Table = []Row{
	{ScopesMissing, 422, "scopes missing"},
	{BadScopes, 422, "scopes malformed"},
	{ScopeNotEnabled, 422, "scope not enabled"},
	{BadBody, 400, "body is not valid JSON"},
	{TooLarge, 413, "body or document over the limit"},
	{NoRoute, 404, "no such route (404) or method (405)"},
	{UnsupportedMedia, 415, "media type not supported"},
	{Internal, 500, "internal error; the text carries the request id"},
	{Unavailable, 503, "a dependency, the storage or the audit is not available"},
	{WrongCredentials, 0, "wrong certificate credentials"},
	{CertificateLocked, 423, "certificate locked after wrong passwords or one-time passwords"},
	{CertificateNotUsable, 0, "certificate expired, suspended or revoked"},
	{NotSignable, 0, "document cannot be signed in this format"},
	{TimestampFailed, 0, "time-stamp authority failed"},
	{RevocationMissing, 0, "revocation data for the level cannot be had"},
	{WrongOTP, 0, "wrong or used one-time password"},
	{FetchFailed, 0, "remote document could not be fetched"},
	{WrongCertificateKind, 0, "certificate kind does not fit the endpoint"},
	{SigningFailed, 0, "internal failure; the message carries the request id"},
	{NotApproved, 0, "approval refused, or not given in time"},
	{ProviderRefused, 0, "the remote key's provider refused"},
	{OutcomeUnknown, 0, "outcome unknown at the remote key's provider: it may have signed, nothing is repeated"},
	{WrongToken, 401, "wrong token"},
	{ScopeLacking, 403, "token lacks the scope"},
	{AddressNotAllowed, 403, "address not allowed for this token"},
	{WrongAPIKey, 401, "wrong account or API key"},
	{SecurityLevel, 403, "the certificate's security level asks for more than the call presents"},
	{LimitReached, 429, "rate limit or a token's own limit reached"},
	{AdminOnly, 403, "for administrators only"},
	{TooManyCodes, 423, "too many wrong codes: the signer's page is locked"},
	{NotFound, 404, "no such record"},
	{MalformedID, 400, "malformed id"},
	{UnknownAction, 404, "unknown actionType"},
	{NotReady, 409, "not ready: the record is not DONE"},
	{Deleted, 410, "file deleted at the end of its retention"},
	{WrongState, 409, "the certificate's state does not allow this"},
	{StillRunning, 409, "idempotent request still running"},
	{KeyReused, 422, "idempotency key used with another body"},
	{BadQuery, 422, "a query parameter is wrong"},
	{BadLatitude, 422, "latitude must be between -90 and 90"},
	{BadLongitude, 422, "longitude must be between -180 and 180"},
	{BadCoordinate, 422, "latitude or longitude missing or not a number"},
	{UnknownSemester, 422, "semester unknown or not loaded"},
	{NoPublication, 503, "no publication loaded"},
	{BadLookup, 422, "geometry, format, nearest, bbox, points, surface or zone wrong"},
	{PublicationRefused, 422, "publication refused"},
	{NoProduct, 404, "certificate product not available"},
	{BadField, 422, "a field of the purchase is wrong"},
	{NoIdentification, 422, "this identification is not configured"},
	{NotTheApplicant, 422, "the person identified is not the applicant"},
	{IdentityRefused, 422, "the identity provider refused, or the person gave up"},
	{SignerDeclined, 0, "a signer declined"},
	{SignersLate, 0, "not everybody signed in time"},
	{SigningCancelled, 0, "cancelled by whoever asked"},
	{BadSigners, 422, "signers empty, or one of them wrong"},
	{NoCredit, 402, "insufficient credit in wallet"},
	{BadDocuments, 422, "inputDocuments required, or one of them cannot be read"},
	{BadSignatureType, 422, "invalid signatureType"},
	{BadOption, 422, "invalid options member"},
	{NoUsername, 422, "certificateUsername required"},
	{NoPassword, 422, "certificatePassword required"},
	{NoOTP, 422, "certificateOtp required"},
	{BadVerifyDocument, 422, "verify: inputDocument required or not base64"},
	{BadVerifyDate, 422, "verify: verifyOnDate is not YYYY-MM-DD"},
	{BadPDFPassword, 422, "verify: wrong or missing pdfEncryptionPassword"},
	{BadDetachedContent, 422, "verify: detachedContent is not base64"},
	{CheckClosed, 403, "the page for checking documents is switched off"},
	{NoSigners, 422, "signers missing"},
	{CallbackURL, 422, "callback.url missing or malformed"},
	{CallbackURLRefused, 422, "callback.url is not http(s), or its host is refused"},
	{CallbackHeaders, 422, "callback.headers is not an object"},
	{CallbackHeaderKey, 422, "callback.headers: a key over 256 characters"},
	{CallbackHeaderValue, 422, "callback.headers: a value is not a string"},
	{CallbackHeadersSize, 422, "callback.headers: over 2 kB in all"},
	{CallbackCustom, 422, "callback.custom over 512 bytes"},
	{CallbackRetry, 422, "callback.retry outside 0..5"},
}

// Status is the HTTP status of a code; a code that is not in the table is an
// internal error.
func Status(code Code) int {
	i := slices.IndexFunc(Table, func(r Row) bool { return r.Code == code })
	if i < 0 || Table[i].Status == 0 {
		return 500
	}
	return Table[i].Status
}

// Meaning is what a code means, "" for one that is not in the table.
func Meaning(code Code) string {
	i := slices.IndexFunc(Table, func(r Row) bool { return r.Code == code })
	if i < 0 {
		return ""
	}
	return Table[i].Meaning
}
