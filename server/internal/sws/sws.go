// Package sws is a client of SWS, the remote signing service of Namirial:
// automatic devices, seals, and devices that a one-time password goes with. It
// gets digests, up to a hundred a call.
package sws

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/soap"
)

const namespace = "http://service.ws.nam/"

// Provider is a client of one service.
type Provider struct {
	*soap.Client
	form remote.Form
}

// New returns a client.
func New(c soap.Config) (*Provider, error) {
	c.Namespace = namespace
	client, err := soap.New(c)
	if err != nil {
		return nil, err
	}
	return &Provider{Client: client}, nil
}

// errorsOf are the numbers of faults that are known: what they are here, and what
// they mean. After none of them can something have been signed; that would be
// remote.Unknown. Others are refusals: getErrors of an installation has them all.
var errorsOf = map[int]struct {
	kind  remote.Kind
	means string
}{
	1:    {remote.Refused, "generic error"},
	4:    {remote.Credentials, "username or password is wrong"},
	44:   {remote.Code, "the one-time password is wrong"},
	69:   {remote.Refused, "the session is over"},
	1001: {remote.Code, "there is no such one-time password device"},
}

// refusal is a fault with the provider's number, or one that says that the request
// is wrong; nil for one that says neither.
func refusal(f *soap.Fault, secrets []string, operation string) *remote.Error {
	exception := soap.Find(f.Detail, "WSException")
	number, err := strconv.Atoi(soap.Word(exception, "error"))
	if err != nil && !f.Unread() {
		return nil
	}
	known := errorsOf[number]
	words := remote.Clean(remote.Hide(cmp.Or(strings.TrimSpace(soap.Word(exception, "message")), strings.TrimSpace(f.Words), known.means, "without a word"), secrets))
	if err == nil {
		words = fmt.Sprintf("%d %s", number, words)
	}
	return remote.Errorf(known.kind, f, "the provider refused (%s): %s", operation, words)
}

// credentials are who calls, in the order of the schema.
func credentials(l remote.Login, device int, otp, session string) soap.Element {
	e := soap.Element{Name: "credentials"}
	if device > 0 {
		e.In = append(e.In, soap.Element{Name: "idOtp", Text: strconv.Itoa(device)})
	}
	for _, one := range [][2]string{{"otp", otp}, {"password", l.Password}, {"sessionKey", session}, {"username", l.ID}} {
		e.In = append(e.In, soap.Text(one[0], one[1])...)
	}
	return e
}

// call calls an operation that signs nothing: whatever fails is a refusal.
func (p *Provider) call(ctx context.Context, l remote.Login, operation string, body ...soap.Element) (*soap.Answer, error) {
	return p.Ask(ctx, operation, body, func(f *soap.Fault) error {
		if no := refusal(f, l.Secrets(), operation); no != nil {
			return no
		}
		return remote.Errorf(remote.Refused, f, "the provider refused (%s): %s", operation, remote.Clean(remote.Hide(f.Words, l.Secrets())))
	})
}

// Hello asks for the state of the service.
func (p *Provider) Hello(ctx context.Context) (string, error) {
	a, err := p.call(ctx, remote.Login{}, "healthCheck")
	if err != nil {
		return "", err
	}
	status := remote.Clean(soap.Word(soap.Find(a.Body, "return"), "globalStatus"))
	if !slices.Contains([]string{"OK", "UP", "GREEN", "TRUE", "HEALTHY"}, strings.ToUpper(status)) {
		return "", remote.Errorf(remote.Refused, nil, "the service says of its own state: %s", cmp.Or(status, "nothing"))
	}
	return "SWS, state " + status, nil
}

// otpDevice is where one-time passwords of a holder come from.
type otpDevice struct {
	id   int
	kind string // SMS, OTP PUSH, OTP GENERATOR
}

func (p *Provider) otpDevices(ctx context.Context, l remote.Login) (all []otpDevice, err error) {
	a, err := p.call(ctx, l, "getOTPList", credentials(l, 0, "", ""))
	if err != nil {
		return nil, err
	}
	for _, one := range soap.All(a.Body, "return") {
		if id, err := strconv.Atoi(soap.Word(one, "idOtp")); err == nil && id > 0 {
			all = append(all, otpDevice{id, strings.ToUpper(soap.Word(one, "type"))})
		}
	}
	return all, nil
}

// device is the one that a code is from: the one that is named, or the only one.
func (p *Provider) device(ctx context.Context, l remote.Login) (int, error) {
	if l.Device > 0 {
		return l.Device, nil
	}
	all, err := p.otpDevices(ctx, l)
	switch {
	case err != nil:
		return 0, err
	case len(all) == 0:
		return 0, remote.Errorf(remote.Code, nil, "the provider knows of no one-time password device of this user")
	case len(all) > 1:
		ids := ""
		for _, d := range all {
			ids += fmt.Sprintf(" %d (%s)", d.id, remote.Clean(d.kind))
		}
		return 0, remote.Errorf(remote.Code, nil, "the user has several one-time password devices: say which in certificateIdOtp:%s", ids)
	}
	return all[0].id, nil
}

// SendCode has a one-time password sent: by SMS, or to the holder's app.
func (p *Provider) SendCode(ctx context.Context, l remote.Login) error {
	all, err := p.otpDevices(ctx, l)
	if err != nil {
		return err
	}
	of := func(kind string) int {
		i := slices.IndexFunc(all, func(d otpDevice) bool { return strings.Contains(d.kind, kind) && (l.Device <= 0 || d.id == l.Device) })
		if i < 0 {
			return 0
		}
		return all[i].id
	}
	if id := of("SMS"); id > 0 {
		_, err = p.call(ctx, l, "sendOtpBySMS", credentials(l, id, "", ""))
		return err
	}
	if id := of("PUSH"); id > 0 {
		_, err = p.call(ctx, l, "sendOtpByPUSH", credentials(l, id, "", ""), soap.Element{Name: "title", Text: "Rogito"}, soap.Element{Name: "body", Text: "Your code / Il tuo codice"})
		return err
	}
	return remote.Errorf(remote.Code, nil, "no code can be sent: the user has no device for that; an app or a token shows codes by itself")
}

// Open reads the certificate of a device.
func (p *Provider) Open(ctx context.Context, l remote.Login) (remote.Signer, error) {
	a, err := p.call(ctx, l, "getCertificate", credentials(l, 0, "", ""))
	if err != nil {
		return nil, err
	}
	der, err := a.Bytes(soap.Find(a.Body, "return"))
	if err != nil {
		return nil, remote.Errorf(remote.Refused, err, "the provider gives no certificate that can be read")
	}
	s := &signer{p: p, Key: soap.Key{Login: l}}
	if s.Cert, err = remote.Certificate(der); err != nil {
		return nil, err
	}
	return s, remote.CheckKey(s.Cert.PublicKey)
}

// signer is a device, ready to be used. Two calls at once under one session fail
// there: it makes one after another.
type signer struct {
	soap.Key
	p      *Provider
	device int // of the one-time password
}

// Sign has digests signed in one call, under a session where a one-time password
// has to last for further ones.
func (s *signer) Sign(ctx context.Context, r remote.Request) ([]remote.Value, error) {
	hash, err := soap.HashName(r.Hash)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx, r.More || r.Expect > len(r.Digests)); err != nil {
		return nil, err
	}
	for {
		if err := r.Before(ctx); err != nil {
			return nil, err
		}
		values, err := s.list(ctx, hash, r)
		if err != nil {
			return nil, err
		}
		if s.p.form.Other(s.Cert.PublicKey, r.Digests[0], values[0]) {
			continue
		}
		all := make([]remote.Value, len(values))
		for i, v := range values {
			all[i] = s.p.form.Checked(s.Cert.PublicKey, r, r.Digests[i], v)
		}
		return all, nil
	}
}

// ready finds the device of the one-time password, and opens a session where one
// is wanted.
func (s *signer) ready(ctx context.Context, more bool) (err error) {
	switch {
	case !s.Login.Coded || s.InSession():
		return nil
	case s.Spent:
		return soap.UsedUp()
	}
	if s.device, err = s.p.device(ctx, s.Login); err != nil {
		return err
	}
	s.Spent = true
	if !more {
		return nil
	}
	a, err := s.p.call(ctx, s.Login, "openSession", credentials(s.Login, s.device, s.Login.OTP, ""))
	if err != nil {
		return err
	}
	if s.Login.Session = soap.Word(a.Body, "return"); s.Login.Session == "" {
		return remote.Errorf(remote.Refused, nil, "the provider opened no session (openSession)")
	}
	s.Opened = time.Now()
	return nil
}

// list is the one call that signs.
func (s *signer) list(ctx context.Context, hash string, r remote.Request) ([][]byte, error) {
	operation, name := "signPkcs1List", "hashList"
	if len(r.Digests) == 1 {
		operation, name = "signPkcs1", "hash"
	}
	who := credentials(s.Login, s.device, s.Login.OTP, "")
	if s.Login.Session != "" {
		who = credentials(s.Login, 0, "", s.Login.Session)
	}
	body := []soap.Element{who}
	for _, d := range r.Digests {
		sent, err := s.p.form.Of(r.Hash, d)
		if err != nil {
			return nil, err
		}
		body = append(body, soap.Element{Name: name, Text: soap.Base64(sent)})
	}
	body = append(body, soap.Element{Name: "preferences", In: soap.Text("hashAlgorithm", hash)})
	// Once sent, the request is followed to its end even if the caller hangs up.
	a, err := s.p.Call(context.WithoutCancel(ctx), operation, body)
	if err != nil {
		return nil, soap.Signing(err, func(f *soap.Fault) *remote.Error { return refusal(f, s.Login.Secrets(), operation) }, operation)
	}
	return values(a, soap.All(a.Body, "return"), len(r.Digests))
}

func values(a *soap.Answer, list []*xmldom.Node, want int) ([][]byte, error) {
	if len(list) != want {
		return nil, remote.Errorf(remote.Refused, nil, "the provider gave %d values for %d digests", len(list), want)
	}
	all := make([][]byte, want)
	for i, n := range list {
		v, err := a.Bytes(n)
		if err != nil {
			return nil, remote.Errorf(remote.Refused, err, "a signature value of the provider cannot be read")
		}
		all[i] = v
	}
	return all, nil
}

// Close closes the session; one that stays open ends by itself.
func (s *signer) Close(ctx context.Context) {
	if s.Login.Session == "" {
		return
	}
	who := credentials(remote.Login{ID: s.Login.ID}, 0, "", s.Login.Session)
	_, _ = s.p.call(ctx, s.Login, "closeSession", who)
	s.Login.Session = ""
}
