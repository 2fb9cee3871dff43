// Package http serves the API of the Cloud Signature Consortium, versions 1.0.4.0
// and 2.0.0.2, under /csc/v1 and /csc/v2, and the OAuth flow beside it: others sign
// with the keys that are held here. The clauses named are those of the
// specification, version 2.0.0.2, unless it says otherwise.
//
// Every value and every document becomes a record by the one pipeline of
// signatures. Answers and errors have the form of the specification. Both
// versions take the names of both: clients exist that change only the address.
package http

import (
	"context"
	"crypto"
	"errors"
	"math/big"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	cscserver "rogito.dev/rogito/server/internal/csc/server"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/upload"
)

// Stamper gives time-stamps.
type Stamper interface {
	ades.Stamper
	// StampNonce is Stamp with a nonce that the token will hold; nil: any, or none.
	StampNonce(ctx context.Context, hash crypto.Hash, digest []byte, nonce *big.Int) ([]byte, error)
}

// Service answers.
type Service struct {
	Auth         *cscserver.Service
	Signing      *signing.Service
	Certificates *enroll.Service
	Stamper      Stamper
	PublicURL    string
	Name, Region string // what info says
	MaxDocuments int64  // bytes of the documents of one signDoc, before and after
}

// method is one of a version.
type method struct {
	name   string
	serve  func(s *Service, ctx context.Context, c *call) (object, error)
	v2     bool // not in version 1
	public bool
	empty  bool // answers 204
}

func methods() []method {
	return []method{
		{name: "info", serve: (*Service).info, public: true},
		{name: "auth/revoke", serve: (*Service).revoke, empty: true},
		{name: "credentials/list", serve: (*Service).list},
		{name: "credentials/info", serve: (*Service).credential},
		{name: "credentials/authorize", serve: (*Service).authorize},
		{name: "credentials/extendTransaction", serve: (*Service).extend},
		{name: "signatures/signHash", serve: (*Service).signHash},
		{name: "signatures/signDoc", serve: (*Service).signDoc, v2: true},
		{name: "signatures/timestamp", serve: (*Service).timestamp, v2: true},
	}
}

// methodsOf are the names that info lists.
func methodsOf(version int) (names []string) {
	for _, m := range methods() {
		if version == 2 || !m.v2 {
			names = append(names, m.name)
		}
	}
	names = append(names, "oauth2/authorize", "oauth2/token", "oauth2/revoke")
	if version == 2 {
		names = append(names, "oauth2/pushed_authorize")
	}
	return names
}

// object is an answer.
type object = map[string]any

type input struct {
	Authorization string `header:"Authorization"`
	Body          api.Upload[object]
}

type publicInput struct {
	Body api.Upload[object] `required:"false"`
}

// timeout of a call: a hundred signatures with time-stamps and revocation data
// take longer than most.
const timeout = 10 * time.Minute

// Register adds the operations of both versions, and mounts the OAuth flow.
func Register(a *api.API, s *Service) {
	for version, base := range map[int]string{1: "/csc/v1/", 2: "/csc/v2/"} {
		for _, m := range methods() {
			if version == 1 && m.v2 {
				continue
			}
			op := api.Op{
				Method: http.MethodPost, Path: base + m.name, Hidden: true, NoEnvelope: true, NoContent: m.empty, Public: m.public,
				Timeout: timeout, Refuse: func(f *fault.Error) (int, any) { return failure(version, f) },
			}
			if m.public {
				api.Register(a, op, func(ctx context.Context, in *publicInput) (api.Reply[object], error) {
					c := &call{version: version, spool: in.Body.Spool}
					if in.Body.Value != nil {
						if err := c.read(in.Body.Object()); err != nil {
							return api.Reply[object]{}, err
						}
					}
					return found(m.serve(s, ctx, c))
				})
				continue
			}
			api.Register(a, op, func(ctx context.Context, in *input) (api.Reply[object], error) {
				c := &call{version: version, spool: in.Body.Spool, secret: in.Authorization}
				if err := c.read(in.Body.Object()); err != nil {
					return api.Reply[object]{}, err
				}
				var err error
				if c.bearer, err = s.Auth.Bearer(ctx, account.CallerFrom(ctx)); err != nil {
					return api.Reply[object]{}, err
				}
				return found(m.serve(s, ctx, c))
			})
		}
		a.Mount(base+"*", http.HandlerFunc(unknown), http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete)
	}
	s.mountOAuth(a)
}

func found(o object, err error) (api.Reply[object], error) { return api.Reply[object]{Data: o}, err }

// unknown answers for methods that are not there (10.1).
func unknown(w http.ResponseWriter, r *http.Request) {
	status, text := http.StatusNotImplemented, "The method is not implemented"
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		status, text = http.StatusMethodNotAllowed, "Methods are called with POST"
	}
	answer(w, status, wire{string(cscserver.InvalidRequest), text})
}

// wire is an error as the specification has it (10.2).
type wire struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// failure says a refusal in the words of a version.
func failure(version int, f *fault.Error) (int, any) {
	status, word, text := f.HTTP(), cscserver.InvalidRequest, f.Text
	var own cscserver.Word
	switch {
	case errors.As(f, &own):
		word = own
	case f.Code == fault.WrongCredentials:
		status, word, text = http.StatusBadRequest, cscserver.InvalidPIN, "The PIN is invalid"
	case f.Code == fault.WrongOTP:
		status, word, text = http.StatusBadRequest, cscserver.InvalidOTP, "The OTP is invalid"
	case f.Code == fault.CertificateLocked:
		status, text = http.StatusBadRequest, "Credential locked"
	case f.Code == fault.CertificateNotUsable:
		status, text = http.StatusBadRequest, "The credential identified by credentialID is disabled: "+f.Text
	case f.Code == fault.TimestampFailed, f.Code == fault.RevocationMissing:
		status, word = http.StatusServiceUnavailable, cscserver.Unavailable
	case f.Code == fault.NotApproved:
		status, word = http.StatusBadRequest, cscserver.AccessDenied
	case f.Code == fault.NotSignable, f.Code == fault.WrongCertificateKind:
		status = http.StatusBadRequest
	case f.Code == fault.SigningFailed:
		status, word = http.StatusInternalServerError, cscserver.ServerError
	case status == http.StatusUnauthorized:
		word = cscserver.InvalidToken
	case status == http.StatusPaymentRequired, status == http.StatusForbidden:
		word = cscserver.AccessDenied
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		word = cscserver.Unavailable
	case status >= http.StatusInternalServerError:
		word = cscserver.ServerError
	case status == http.StatusRequestEntityTooLarge, status == http.StatusUnsupportedMediaType, status == http.StatusRequestTimeout:
	default:
		status = http.StatusBadRequest
	}
	if version == 2 && (word == cscserver.InvalidPIN || word == cscserver.InvalidOTP) {
		word, text = cscserver.InvalidAuthData, "The authentication data is invalid"
	}
	return status, wire{string(word), text}
}

func answer(w http.ResponseWriter, status int, body any) {
	b, _ := json.Marshal(body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client may be gone
}

// call is one request.
type call struct {
	version int
	bearer  *cscserver.Bearer
	secret  string // the Authorization header
	spool   *upload.Spool
	members map[string]jsontext.Value
}

func (c *call) read(members map[string]jsontext.Value, err error) error {
	c.members = members
	return err
}

func signer(ctx context.Context) request.Caller {
	c := account.CallerFrom(ctx)
	return request.Caller{
		AccountID: c.AccountID, TokenID: c.TokenID, RequestID: fault.RequestID(ctx), Address: c.Address.String(), Bound: c.Bound, ClientCertificate: api.PeerFrom(ctx),
	}
}
