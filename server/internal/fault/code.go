package fault

import "strconv"

// Code is the number of an error, as answers and records have it. It is
// an error only so that errors.Is(err, fault.NotFound) can ask for it, and it
// prints as the number.
type Code int

func (c Code) Error() string { return strconv.Itoa(int(c)) }

// The codes, one for each row of Table, which says what they mean.
const (
	ScopesMissing        Code = 70
	BadScopes            Code = 80
	ScopeNotEnabled      Code = 90
	BadBody              Code = 100
	TooLarge             Code = 101
	NoRoute              Code = 102
	UnsupportedMedia     Code = 103
	Internal             Code = 104
	Unavailable          Code = 105
	WrongCredentials     Code = 110
	CertificateLocked    Code = 111
	CertificateNotUsable Code = 112
	NotSignable          Code = 113
	TimestampFailed      Code = 114
	RevocationMissing    Code = 115
	WrongOTP             Code = 116
	FetchFailed          Code = 117
	WrongCertificateKind Code = 118
	SigningFailed        Code = 119
	NotApproved          Code = 120
	ProviderRefused      Code = 121
	OutcomeUnknown       Code = 122
	WrongToken           Code = 125
	ScopeLacking         Code = 126
	AddressNotAllowed    Code = 127
	WrongAPIKey          Code = 128
	SecurityLevel        Code = 129
	LimitReached         Code = 130
	AdminOnly            Code = 131
	TooManyCodes         Code = 132
	NotFound             Code = 140
	MalformedID          Code = 141
	UnknownAction        Code = 142
	NotReady             Code = 143
	Deleted              Code = 144
	WrongState           Code = 145
	StillRunning         Code = 150
	KeyReused            Code = 151
	BadQuery             Code = 160
	BadLatitude          Code = 281
	BadLongitude         Code = 282
	BadCoordinate        Code = 283
	UnknownSemester      Code = 284
	NoPublication        Code = 285
	BadLookup            Code = 286
	PublicationRefused   Code = 287
	NoProduct            Code = 305
	BadField             Code = 310
	NoIdentification     Code = 311
	NotTheApplicant      Code = 312
	IdentityRefused      Code = 313
	SignerDeclined       Code = 314
	SignersLate          Code = 315
	SigningCancelled     Code = 316
	BadSigners           Code = 610
	NoCredit             Code = 611
	BadDocuments         Code = 615
	BadSignatureType     Code = 622
	BadOption            Code = 625
	NoUsername           Code = 635
	NoPassword           Code = 640
	NoOTP                Code = 645
	BadVerifyDocument    Code = 650
	BadVerifyDate        Code = 651
	BadPDFPassword       Code = 652
	BadDetachedContent   Code = 653
	CheckClosed          Code = 654
	NoSigners            Code = 685
	CallbackURL          Code = 704
	CallbackURLRefused   Code = 706
	CallbackHeaders      Code = 708
	CallbackHeaderKey    Code = 709
	CallbackHeaderValue  Code = 710
	CallbackHeadersSize  Code = 711
	CallbackCustom       Code = 730
	CallbackRetry        Code = 740
)
