package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	csc "rogito.dev/rogito/server/internal/csc/client"
)

// needed are the methods without which nothing can be signed.
var needed = []string{"credentials/list", "credentials/info", "credentials/authorize", "signatures/signHash"}

func adviceFor(p *csc.Provider) string {
	return "rogito provider test " + p.Name() + " says it again; docs/remote-keys.md says what a provider needs"
}

// answers says what a provider tells of itself.
func answers(ctx context.Context, p *csc.Provider) Finding {
	about, err := p.Info(ctx)
	if err != nil {
		return bad(adviceFor(p), "%v", err)
	}
	text := fmt.Sprintf("%s, protocol %s: version %d is spoken", csc.Clean(about.Name), csc.Clean(about.Specs), about.Version)
	missing := slices.DeleteFunc(slices.Clone(needed), about.Can)
	if len(about.Methods) > 0 && len(missing) > 0 {
		return warn(adviceFor(p), "%s; it does not name %s", text, strings.Join(missing, ", "))
	}
	return fine("%s", text)
}

// Provider walks what a provider of remote keys offers: what it is, a token, the
// credentials, each of them.
func Provider(ctx context.Context, p *csc.Provider) (all []Finding) {
	advice := adviceFor(p)
	say := func(part string, f Finding) {
		f.Part = part
		all = append(all, f)
	}
	if say("info", answers(ctx, p)); all[0].State == FindingBad {
		return all
	}
	if p.Flow() == csc.FlowCode {
		if l, err := p.NewLogin(ctx); err != nil {
			say("login", bad(advice, "%v", err))
		} else {
			address, _, _ := strings.Cut(l.Address, "?")
			say("login", fine("holders log in at %s; the address to register there is %s", address, p.Redirect()))
		}
		return all
	}
	session := p.Session()
	if err := session.Login(ctx); err != nil {
		say("token", bad(advice, "%v", err))
		return all
	}
	say("token", fine("there is one (%s)", p.Flow()))
	ids, err := session.List(ctx)
	if err != nil {
		say("credentials", warn("name a credential yourself: some providers list those of a person only", "%v", err))
		return all
	}
	say("credentials", fine("%d", len(ids)))
	for _, id := range ids {
		c, err := session.Credential(ctx, id)
		if err != nil {
			say("credential "+csc.Clean(id), bad(advice, "%v", err))
			continue
		}
		say("credential "+csc.Clean(id), credential(c))
	}
	return all
}

func credential(c *csc.Credential) Finding {
	asks := []string{}
	for name, f := range map[string]csc.Factor{"PIN": c.PIN, "one-time password": c.OTP} {
		if f.Ask {
			asks = append(asks, name)
		}
	}
	slices.Sort(asks)
	q := "not qualified by its own word"
	if s := c.Certificate.QcStatements; s != nil && s.Compliance {
		if q = "qualified by its own word"; s.SSCD {
			q += ", on a qualified device"
		}
	}
	text := fmt.Sprintf("%s, until %s, %s; asks for %s; %d signatures at once", c.Certificate.Subject.CommonName(), c.Certificate.NotAfter.UTC().Format(time.DateOnly), q,
		strings.Join(append(asks, "nothing")[:max(1, len(asks))], " and "), c.Multisign)
	switch {
	case time.Now().After(c.Certificate.NotAfter):
		return bad("have the provider renew it", "%s: it has expired", text)
	case c.Mode == csc.ModeOAuth:
		return bad("ask the provider for one with explicit authorization", "%s: it wants a login for each signature (oauth2code), which a call cannot give", text)
	}
	return fine("%s", text)
}
