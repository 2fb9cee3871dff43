// Package fake is two remote signing services for tests, ARSS and SWS, as their
// public descriptions and the clients of others show them on the wire. It was
// written before Rogito's client and without it, so that the two can disagree.
//
// It is strict: a request that the description does not allow is refused and
// noted (Complaints). Every digest that was sent to be signed is in its book, and
// so is every value that was made (Sent, Made, Repeated). Its oddities are in
// oddities.go.
package fake

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"rogito.dev/rogito/adestest"
)

// The kinds of service.
const (
	ARSS = "arss"
	SWS  = "sws"
)

// Domain is the domain of the contract (typeOtpAuth) that the ARSS knows.
const Domain = "frTest"

// Device is a key with who may have it used.
type Device struct {
	Name, Password             string
	Delegate, DelegatePassword string // ARSS: who uses it, in place of the holder
	OTP                        bool   // a code is asked for
	IDs                        []int  // SWS: its one-time password devices
	Actor                      *adestest.Actor

	codes []string // accepted once each
	busy  int      // SWS: calls at this moment under a session
}

// Service is one that runs.
type Service struct {
	Kind string
	PKI  *adestest.PKI
	// Bare says that the service pads what it is given as it is, and adds no
	// DigestInfo.
	Bare bool
	// Delay before each answer to a call that signs.
	Delay time.Duration
	// Prepared are values by the digest in hex, for benchmarks.
	Prepared map[string][]byte

	api *httptest.Server
	pki *httptest.Server

	mu         sync.Mutex
	devices    map[string]*Device
	sessions   map[string]string // id: device
	calls      []string
	sent, made []string // digests in hex
	complaints []string
	odd        *Oddity
	seen       int // calls of the operation that the oddity is about
	codesSent  []string
	extra      int
}

// Start starts a service with TLS, and authorities of its own.
func Start(kind string) (*Service, error) {
	pki := httptest.NewUnstartedServer(nil)
	made, err := adestest.New(nil, "http://"+pki.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	pki.Config.Handler = made.Handler()
	pki.Start()
	s := StartOf(kind, made, nil)
	s.pki = pki
	return s, nil
}

// StartOf is Start with certificates of authorities that are there already. Where clients are
// given, it asks for a certificate of one of them.
func StartOf(kind string, pki *adestest.PKI, clients *x509.CertPool) *Service {
	s := &Service{Kind: kind, PKI: pki, devices: map[string]*Device{}, sessions: map[string]string{}}
	s.api = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.api.Config.ErrorLog = log.New(io.Discard, "", 0) // cut connections are the purpose
	if clients != nil {
		s.api.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	}
	s.api.StartTLS()
	return s
}

// Close ends the service.
func (s *Service) Close() {
	s.api.CloseClientConnections()
	s.api.Close()
	if s.pki != nil {
		s.pki.Close()
	}
}

// URL of the service.
func (s *Service) URL() string {
	if s.Kind == ARSS {
		return s.api.URL + "/ArubaSignService/ArubaSignService"
	}
	return s.api.URL + "/SignEngineWeb/sign-services"
}

// CA is the PEM of the certificate that its TLS is trusted by.
func (s *Service) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.api.Certificate().Raw})
}

// Add makes a device for an actor of the cast of adestest, with a key of its own.
// The names are those of the vendors: AHI automatic, SHI seals, RHI with a code.
func (s *Service) Add(actor, kind string, change ...func(*Device)) (*Device, error) {
	s.mu.Lock()
	s.extra++
	n := s.extra
	s.mu.Unlock()
	if !strings.Contains(actor, "#") {
		actor = fmt.Sprintf("%s#%d", actor, n)
	}
	a, err := s.PKI.Enter(actor)
	if err != nil {
		return nil, err
	}
	d := &Device{
		Name: map[string]string{"automatic": "AHI", "eseal": "SHI", "otp": "RHI"}[kind] + fmt.Sprintf("%07d", 1000+n), Password: "Secret-" + random(4),
		Actor: a, OTP: kind == "otp",
	}
	if d.OTP {
		d.IDs = []int{100 + n}
	}
	for _, c := range change {
		c(d)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.devices[d.Name] = d
	return d, nil
}

// Code is a one-time password that a device takes, once.
func (s *Service) Code(device string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.code(s.devices[device])
}

func (s *Service) code(d *Device) string {
	b := make([]byte, 3)
	_, _ = rand.Read(b)
	c := fmt.Sprintf("%06d", (int(b[0])<<16|int(b[1])<<8|int(b[2]))%1000000)
	d.codes = append(d.codes, c)
	return c
}

// takeCode says whether a code is good, once; the lock is held.
func (d *Device) takeCode(c string) bool {
	i := slices.Index(d.codes, c)
	if i >= 0 {
		d.codes = slices.Delete(d.codes, i, i+1)
	}
	return i >= 0
}

// What there is in the book.

// Calls are the operations that were called, in order.
func (s *Service) Calls() []string { return s.copied(&s.calls) }

// Sent are the digests that came to be signed, in hex.
func (s *Service) Sent() []string { return s.copied(&s.sent) }

// Made are the digests over which a value was made.
func (s *Service) Made() []string { return s.copied(&s.made) }

// Complaints are what the description does not allow.
func (s *Service) Complaints() []string { return s.copied(&s.complaints) }

// CodesSent are the devices to which a code was sent.
func (s *Service) CodesSent() []string { return s.copied(&s.codesSent) }

// OpenSessions are those that were not closed.
func (s *Service) OpenSessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

func (s *Service) copied(list *[]string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(*list)
}

// Repeated are the digests that came twice.
func (s *Service) Repeated() (all []string) {
	seen := map[string]bool{}
	for _, d := range s.Sent() {
		if seen[d] {
			all = append(all, d)
		}
		seen[d] = true
	}
	return all
}

// NewPage begins a new page for what was sent; complaints and sessions stay.
func (s *Service) NewPage() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.sent, s.made = nil, nil, nil
}

// Forget empties the book and switches oddities off.
func (s *Service) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.sent, s.made, s.complaints, s.codesSent, s.odd, s.seen = nil, nil, nil, nil, nil, nil, 0
	clear(s.sessions)
}

// complain notes what is not allowed; the lock is held.
func (s *Service) complain(format string, args ...any) {
	s.complaints = append(s.complaints, fmt.Sprintf(format, args...))
}

// serve answers one call.
func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/elsewhere") {
		s.mu.Lock()
		s.complain("a redirect was followed")
		s.mu.Unlock()
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 32<<20))
	if err != nil {
		return
	}
	c, words := s.read(r, body)
	s.mu.Lock()
	if c == nil {
		s.complain("%s", words)
		s.mu.Unlock()
		s.write(w, r, &call{op: "unknown"}, fault("Client", words, 0, ""), style{})
		return
	}
	s.calls = append(s.calls, c.op)
	for _, d := range s.digests(c) {
		s.sent = append(s.sent, hex.EncodeToString(d))
	}
	odd := s.odd
	if odd != nil && !slices.Contains(strings.Fields(odd.At), c.op) {
		odd = nil
	}
	if odd != nil {
		if s.seen++; odd.From > s.seen || odd.Times > 0 && s.seen >= odd.From+odd.Times {
			odd = nil
		}
	}
	delay := s.Delay
	s.mu.Unlock()
	if odd != nil && odd.before != nil && odd.before(s, w, r, c) {
		return
	}
	s.mu.Lock()
	a := s.answer(c)
	s.mu.Unlock()
	if len(s.digests(c)) > 0 {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return
		}
	}
	st := style{}
	if odd != nil {
		if odd.after != nil {
			a = odd.after(s, c, a)
		}
		st = odd.style
	}
	s.write(w, r, c, a, st)
}

func (s *Service) answer(c *call) *answer {
	if s.Kind == ARSS {
		return s.arss(c)
	}
	return s.sws(c)
}

// value signs a digest as the service does: PKCS #1 v1.5, for which it makes the
// DigestInfo itself. The lock is held.
func (s *Service) value(d *Device, hash crypto.Hash, digest []byte) ([]byte, error) {
	key, ok := d.Actor.Key.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key of %s is not RSA", d.Name)
	}
	name := hex.EncodeToString(digest)
	s.made = append(s.made, name)
	if v := s.Prepared[name]; v != nil {
		return v, nil
	}
	if s.Bare {
		hash = 0
	}
	s.mu.Unlock() // a device computes beside others
	defer s.mu.Lock()
	return rsa.SignPKCS1v15(nil, key, hash, digest)
}

// Values prepares the values of digests for a device.
func (s *Service) Values(d *Device, hash crypto.Hash, digests [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Prepared == nil {
		s.Prepared = map[string][]byte{}
	}
	for _, one := range digests {
		v, err := rsa.SignPKCS1v15(nil, d.Actor.Key.(*rsa.PrivateKey), hash, one)
		if err != nil {
			return err
		}
		s.Prepared[hex.EncodeToString(one)] = v
	}
	return nil
}

var hashes = map[string]crypto.Hash{"SHA256": crypto.SHA256, "SHA384": crypto.SHA384, "SHA512": crypto.SHA512}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// cut ends the connection of a call without an answer.
func cut(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		if t, ok := c.(*tls.Conn); ok {
			if tcp, ok := t.NetConn().(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			t.NetConn().Close()
			return
		}
		c.Close()
	}
}

// wait waits until the caller has gone.
func wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
	}
}
