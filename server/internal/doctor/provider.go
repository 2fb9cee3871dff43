package doctor

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/internal/pkix"
	csc "rogito.dev/rogito/server/internal/csc/client"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/sentence"
)

// needed are the methods without which nothing can be signed.
var needed = []string{"credentials/list", "credentials/info", "credentials/authorize", "signatures/signHash"}

func adviceFor(p remote.Provider) sentence.Sentence {
	return do("rogito provider test %s says it again; docs/providers.md says what a provider needs", p.Name())
}

// answers says what a provider tells of itself.
func answers(ctx context.Context, p remote.Provider) Finding {
	switch p := p.(type) {
	case *csc.Provider:
		return info(ctx, p)
	case remote.Accounts:
		said, err := p.Hello(ctx)
		if err != nil {
			return bad(adviceFor(p), "%v", err)
		}
		return fine("%s", said)
	}
	return bad(adviceFor(p), "nobody knows how to ask it")
}

// info is what a provider of the Cloud Signature Consortium API tells of itself.
func info(ctx context.Context, p *csc.Provider) Finding {
	about, err := p.Info(ctx)
	if err != nil {
		return bad(adviceFor(p), "%v", err)
	}
	text := sentence.New("%s, protocol %s: version %d is spoken", remote.Clean(about.Name), remote.Clean(about.Specs), about.Version)
	missing := slices.DeleteFunc(slices.Clone(needed), about.Can)
	if len(about.Methods) > 0 && len(missing) > 0 {
		return warn(adviceFor(p), "%s; it does not name %s", text, strings.Join(missing, ", "))
	}
	return fine("%s", text)
}

// Try says how far a provider is walked, beyond what it tells everybody.
type Try struct {
	Login remote.Login // without a name: no key is looked at
	Sign  bool         // one signature over a random digest
}

// Provider walks what a provider of remote keys offers. Of the Cloud Signature
// Consortium API: what it is, a token, the credentials, each of them. Of others:
// whether the service is there, and a key where one is named. Nothing is signed
// unless that is asked for.
func Provider(ctx context.Context, p remote.Provider, try Try) (all []Finding) {
	say := func(part string, f Finding) {
		f.Part = part
		all = append(all, f)
	}
	part := "info"
	named, ok := p.(remote.Accounts)
	if ok {
		part = "service"
	}
	if say(part, answers(ctx, p)); all[0].State == FindingBad {
		return all
	}
	switch {
	case !ok:
		walk(ctx, p.(*csc.Provider), say)
	case try.Login.ID != "":
		account(ctx, named, try, say)
	}
	if try.Sign && !ok {
		say("signature", warn(do("take the key into use (rogito cert remote) and sign a document in a sandbox"), "not tried: at a provider of this kind only a certificate in use signs"))
	}
	return all
}

// account looks at a key that is used with a name and a password, and has a random
// digest signed where that is asked for.
func account(ctx context.Context, p remote.Accounts, try Try, say func(string, Finding)) {
	key, err := p.Open(ctx, try.Login)
	if err != nil {
		say("certificate", bad(adviceFor(p), "%v", err))
		return
	}
	defer key.Close(ctx)
	cert, _ := key.Certificate()
	text := describe(cert)
	if time.Now().After(cert.NotAfter) {
		say("certificate", bad(do("have the provider renew it"), "%s: it has expired", text))
		return
	}
	if say("certificate", fine("%s", text)); !try.Sign {
		return
	}
	digest := make([]byte, sha256.Size)
	_, _ = rand.Read(digest)
	begin := time.Now()
	values, err := key.Sign(ctx, remote.Request{Hash: crypto.SHA256, Digests: [][]byte{digest}, Expect: 1, Before: func(context.Context) error { return nil }})
	if err == nil {
		err = values[0].Err
	}
	if err != nil {
		say("signature", bad(adviceFor(p), "%v", err))
		return
	}
	say("signature", fine("over a random digest, in %d ms; it verifies with the certificate", time.Since(begin).Milliseconds()))
}

// walk looks at token and credentials.
func walk(ctx context.Context, p *csc.Provider, say func(string, Finding)) {
	advice := adviceFor(p)
	if p.Flow() == csc.FlowCode {
		if l, err := p.NewLogin(ctx); err != nil {
			say("login", bad(advice, "%v", err))
		} else {
			address, _, _ := strings.Cut(l.Address, "?")
			say("login", fine("holders log in at %s; the address to register there is %s", address, p.Redirect()))
		}
		return
	}
	session := p.Session()
	if err := session.Login(ctx); err != nil {
		say("token", bad(advice, "%v", err))
		return
	}
	say("token", fine("there is one (%s)", p.Flow()))
	ids, err := session.List(ctx)
	if err != nil {
		say("credentials", warn(do("name a credential yourself: some providers list those of a person only"), "%v", err))
		return
	}
	say("credentials", fine("%d", len(ids)))
	for _, id := range ids {
		c, err := session.Credential(ctx, id)
		if err != nil {
			say("credential "+remote.Clean(id), bad(advice, "%v", err))
			continue
		}
		say("credential "+remote.Clean(id), credential(c))
	}
}

// describe says whose a certificate is, until when, and how qualified it says it is.
func describe(c *pkix.Certificate) string {
	q := "not qualified by its own word"
	if s := c.QcStatements; s != nil && s.Compliance {
		if q = "qualified by its own word"; s.SSCD {
			q += ", on a qualified device"
		}
	}
	return fmt.Sprintf("%s, until %s, %s", c.Subject.CommonName(), c.NotAfter.UTC().Format(time.DateOnly), q)
}

func credential(c *csc.Credential) Finding {
	asks := []string{}
	for name, f := range map[string]csc.Factor{"PIN": c.PIN, "one-time password": c.OTP} {
		if f.Ask {
			asks = append(asks, name)
		}
	}
	slices.Sort(asks)
	text := fmt.Sprintf("%s; asks for %s; %d signatures at once", describe(c.Certificate),
		strings.Join(append(asks, "nothing")[:max(1, len(asks))], " and "), c.Multisign)
	switch {
	case time.Now().After(c.Certificate.NotAfter):
		return bad(do("have the provider renew it"), "%s: it has expired", text)
	case c.Mode == csc.ModeOAuth:
		return bad(do("ask the provider for one with explicit authorization"), "%s: it wants a login for each signature (oauth2code), which a call cannot give", text)
	}
	return fine("%s", text)
}
