package authority

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/server/internal/store"
)

// Handler serves what certificates point to, below /pki/, and the time-stamp
// authority at /tsa.
func (a *Authority) Handler() *http.ServeMux {
	mux := http.NewServeMux()
	cert := func(c *x509.Certificate, asPEM bool) http.HandlerFunc {
		if asPEM {
			return static("application/x-pem-file", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
		}
		return static("application/pkix-cert", c.Raw)
	}
	mux.Handle("GET /pki/root.pem", cert(a.root.Certificate, true))
	mux.Handle("GET /pki/root.crt", cert(a.root.Certificate, false))
	mux.Handle("GET /pki/ca.pem", cert(a.issuing.Certificate, true))
	mux.Handle("GET /pki/ca.crt", cert(a.issuing.Certificate, false))
	mux.Handle("GET /pki/tsa.pem", cert(a.unit.Certificate, true))
	mux.Handle("GET /pki/audit.pub", static("text/plain; charset=utf-8", []byte(a.auditKey+"\n")))
	mux.Handle("GET /pki/ca.crl", a.crlHandler("ca", a.issuing))
	mux.Handle("GET /pki/root.crl", a.crlHandler("root", a.root))
	mux.HandleFunc("POST /pki/ocsp", a.ocspPost)
	mux.HandleFunc("GET /pki/ocsp/{request...}", a.ocspGet)
	mux.HandleFunc("GET /pki/cps", a.statement)
	mux.HandleFunc("GET /pki/pds", a.statement)
	mux.Handle("POST /tsa", http.HandlerFunc(a.stamper.ServeHTTP))
	return mux
}

func static(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body) // the client may be gone
	}
}

const statementText = `The certificates of this authority are issued by %s.
%s
They are used by the Rogito server at %s. Revocation is answered at %s and %s.
`

// statement is the practice and disclosure statement, in a few plain words.
func (a *Authority) statement(w http.ResponseWriter, _ *http.Request) {
	what := "They are advanced certificates of an authority that is not supervised: they are not qualified."
	if a.config.Sandbox {
		what = "This is a SANDBOX: they bind nobody, whatever statements they carry."
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, statementText, a.config.Name, what, a.config.PublicURL, a.statusURL("/pki/ocsp"), a.statusURL("/pki/ca.crl"))
}

const maxOCSPRequest = 16 << 10

func (a *Authority) ocspPost(w http.ResponseWriter, r *http.Request) {
	der, err := io.ReadAll(io.LimitReader(r.Body, maxOCSPRequest))
	if err != nil {
		der = nil
	}
	a.ocspAnswer(w, r, der)
}

func (a *Authority) ocspGet(w http.ResponseWriter, r *http.Request) {
	text, err := url.PathUnescape(r.PathValue("request"))
	if err != nil || len(text) > maxOCSPRequest {
		text = ""
	}
	der, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(text, " ", "+"))
	if err != nil {
		der = nil
	}
	a.ocspAnswer(w, r, der)
}

func (a *Authority) ocspAnswer(w http.ResponseWriter, r *http.Request, der []byte) {
	w.Header().Set("Content-Type", "application/ocsp-response")
	answer, err := a.OCSP(r.Context(), der)
	if err != nil {
		answer = ca.Unsuccessful(3) // tryLater
	}
	_, _ = w.Write(answer) // the client may be gone
}

// OCSP answers an encoded request; a malformed one gets its answer too.
func (a *Authority) OCSP(ctx context.Context, der []byte) ([]byte, error) {
	req, err := ca.ParseOCSPRequest(der)
	if err != nil || len(req.Certificates) == 0 || len(req.Certificates) > 20 {
		return ca.Unsuccessful(1), nil
	}
	now := a.config.Now().Truncate(time.Second)
	// No NextUpdate: newer information is always to be had, and a suspension
	// counts at once.
	times := ca.OCSP{ThisUpdate: now, ProducedAt: now, ArchiveCutoff: a.root.Certificate.NotBefore}
	var trouble error
	answer, err := a.responder.Answer(req, times, func(id ca.CertID) ca.Status {
		if !id.Matches(a.issuing.Certificate) {
			return ca.Status{Unknown: true}
		}
		st, err := a.status(ctx, id.Serial)
		trouble = errors.Join(trouble, err)
		return st
	})
	if trouble != nil {
		return nil, trouble
	}
	return answer, err
}

const (
	crlLife  = 7 * 24 * time.Hour
	crlFresh = time.Hour
)

func (a *Authority) crlHandler(name string, issuer ca.Issuer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		crl, err := a.crl(r.Context(), name, issuer)
		if err != nil {
			http.Error(w, "the list is not available", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/pkix-crl")
		_, _ = w.Write(crl) // the client may be gone
	}
}

// crl returns the list, made again when an hour has passed or something was
// revoked since. One call makes it, and others wait for that one.
func (a *Authority) crl(ctx context.Context, name string, issuer ca.Issuer) ([]byte, error) {
	a.listing.Lock()
	defer a.listing.Unlock()
	for {
		var der []byte
		var number, this, next int64
		err := a.db.Read().QueryRow(ctx, `select number, crl, this_update, next_update from authority_crl where name = $1`, name).Scan(&number, &der, &this, &next)
		if err != nil && !errors.Is(err, store.ErrNoRows) {
			return nil, fmt.Errorf("authority: read list: %w", err)
		}
		now := a.config.Now()
		if err == nil && next > store.Millis(now) && this > store.Millis(now.Add(-crlFresh)) && a.listed.signed(der, issuer.Certificate, number, this, next) {
			if lacking, err := a.lacking(ctx, name, der); err != nil || !lacking {
				return der, err
			}
		}
		if der, err = a.newCRL(ctx, name, issuer, number); !errors.Is(err, errListed) {
			return der, err
		}
	}
}

// errListed says that another process has made a list meanwhile.
var errListed = errors.New("authority: somebody else made a list")

// newCRL reads and signs outside of any transaction: with forty thousand revoked
// that takes a second, in which everybody else writes. What is revoked meanwhile
// is lacking, which the next call finds; a list that another process made
// meanwhile stays. Numbers follow the clock: one whose predecessor was taken away
// is larger all the same.
func (a *Authority) newCRL(ctx context.Context, name string, issuer ca.Issuer, number int64) (der []byte, err error) {
	now := a.config.Now().Truncate(time.Second)
	list := ca.List{Number: big.NewInt(max(number+1, now.Unix())), ThisUpdate: now, NextUpdate: now.Add(crlLife), KeepsExpired: a.root.Certificate.NotBefore}
	if name == "ca" {
		if list.Revoked, err = a.revoked(ctx, a.db.Read()); err != nil {
			return nil, err
		}
	}
	if der, err = issuer.CRL(list); err != nil {
		return nil, fmt.Errorf("authority: sign list: %w", err)
	}
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `insert into authority_crl (name, number, crl, this_update, next_update) values ($1, $2, $3, $4, $5)
			on conflict (name) do update set number = $2, crl = $3, this_update = $4, next_update = $5 where authority_crl.number = $6`,
			name, list.Number.Int64(), der, store.Millis(now), store.Millis(now.Add(crlLife)), number)
		if err == nil && n == 0 {
			err = errListed
		}
		return err
	})
	return der, err
}

// lacking says that the audit log has certificates taken back that a list kept in
// the database does not have: an older one was put there.
func (a *Authority) lacking(ctx context.Context, name string, der []byte) (bool, error) {
	if a.Ledger == nil || name != "ca" {
		return false, nil
	}
	logged, err := a.Ledger(ctx, a.db.Read(), "")
	if err != nil {
		return false, err
	}
	on := a.listed.of(der)
	return slices.ContainsFunc(logged, func(l ca.Revoked) bool { return !on[l.Serial.String()] }), nil
}

// listed are the serial numbers on the list that was read last: to read one of
// forty thousand again takes longer than to send it.
type listed struct {
	digest [sha256.Size]byte
	on     map[string]bool
	good   map[string][sha256.Size]byte // the last list of an issuer that was looked at
}

// signed says that a list kept in the database is one of ours, whole, and what
// stands beside it is what it says.
func (l *listed) signed(der []byte, issuer *x509.Certificate, number, this, next int64) bool {
	digest := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %s", number, this, next, der))
	if l.good[string(issuer.Raw)] == digest {
		return true
	}
	list, err := x509.ParseRevocationList(der)
	if err != nil || list.CheckSignatureFrom(issuer) != nil || list.Number == nil || list.Number.Cmp(big.NewInt(number)) != 0 ||
		store.Millis(list.ThisUpdate) != this || store.Millis(list.NextUpdate) != next {
		return false
	}
	if l.good == nil {
		l.good = map[string][sha256.Size]byte{}
	}
	l.good[string(issuer.Raw)] = digest
	return true
}

func (l *listed) of(der []byte) map[string]bool {
	digest := sha256.Sum256(der)
	if l.on != nil && l.digest == digest {
		return l.on
	}
	list, err := x509.ParseRevocationList(der)
	l.digest, l.on = digest, map[string]bool{}
	if err == nil {
		for _, e := range list.RevokedCertificateEntries {
			l.on[e.SerialNumber.String()] = true
		}
	}
	return l.on
}

// revoked are the certificates that the table or the audit log says were taken
// back.
func (a *Authority) revoked(ctx context.Context, q store.Querier) ([]ca.Revoked, error) {
	all, err := a.tableRevoked(ctx, q)
	if err != nil || a.Ledger == nil {
		return all, err
	}
	logged, err := a.Ledger(ctx, q, "")
	known := map[string]bool{}
	for _, r := range all {
		known[r.Serial.String()] = true
	}
	for _, l := range logged {
		if !known[l.Serial.String()] {
			all = append(all, l)
		}
	}
	return all, err
}

// tableRevoked are the revocations in rows that this server wrote. A row from elsewhere cannot
// revoke a certificate of ours, or one that does not exist.
func (a *Authority) tableRevoked(ctx context.Context, q store.Querier) (all []ca.Revoked, err error) {
	rows, err := q.Query(ctx, selectIssued+`where revoked_at > 0 order by revoked_at`)
	return all, store.Each("authority: read revoked", rows, err, func(row store.Row) error {
		r, genuine, err := a.scan(row)
		if err != nil || !genuine {
			return err
		}
		serial, ok := new(big.Int).SetString(r.serial, 10)
		if !ok {
			return fmt.Errorf("serial number %q", r.serial)
		}
		all = append(all, ca.Revoked{Serial: serial, At: store.Time(r.revoked), Reason: r.reason})
		return nil
	})
}
