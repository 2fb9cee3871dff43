package spid

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/spid/saml"
)

// wait is how long a person may take at an identity provider.
const wait = 30 * time.Minute

// requested is what Finish has to know of a request. It comes back from the
// store that all servers share.
type requested struct {
	ID       string    `json:"id"`
	Provider string    `json:"provider"`
	Level    int       `json:"level"`
	Issued   time.Time `json:"issued"`
	Relay    string    `json:"relay"`
	Message  []byte    `json:"message"` // the AuthnRequest as it was sent, for the evidence
}

// Start makes a signed AuthnRequest, by HTTP-POST where the identity provider
// takes that, else by HTTP-Redirect. The answer's address is named by its index
// alone: an index beside an address and a binding is refused in production.
func (s *SPID) Start(ctx context.Context, entity string) (*identify.Departure, error) {
	p, err := s.provider(ctx, entity)
	if err != nil {
		return nil, refuse("provider")
	}
	relay := make([]byte, 24)
	_, _ = rand.Read(relay) // never fails
	st := requested{
		ID: saml.NewID(), Provider: p.entity, Level: s.cfg.Level,
		Issued: s.now().Truncate(time.Second), Relay: base64.RawURLEncoding.EncodeToString(relay),
	}
	binding := saml.POST
	if p.sso[binding] == "" {
		binding = saml.Redirect
	}
	at := p.sso[binding]
	entityID := saml.Escape(s.cfg.EntityID)
	message := fmt.Sprintf(`<samlp:AuthnRequest xmlns:samlp="%s" xmlns:saml="%s" ID="%s" Version="2.0" IssueInstant="%s" Destination="%s" ForceAuthn="true" AssertionConsumerServiceIndex="0" AttributeConsumingServiceIndex="0">`+
		`<saml:Issuer Format="%s" NameQualifier="%s">%s</saml:Issuer>`+
		`<samlp:NameIDPolicy Format="%s"></samlp:NameIDPolicy>`+
		`<samlp:RequestedAuthnContext Comparison="minimum"><saml:AuthnContextClassRef>%s</saml:AuthnContextClassRef></samlp:RequestedAuthnContext></samlp:AuthnRequest>`,
		saml.Protocol, saml.Assertion, st.ID, saml.Instant(st.Issued), saml.Escape(at),
		saml.Entity, entityID, entityID, saml.Transient, LevelURI(st.Level))
	d := &identify.Departure{Request: st.ID, URL: at, Until: st.Issued.Add(wait)}
	if binding == saml.POST {
		if st.Message, err = s.signer.Sign(message); err != nil {
			return nil, fmt.Errorf("make a SPID request: %w", err)
		}
		d.Form = map[string]string{"SAMLRequest": base64.StdEncoding.EncodeToString(st.Message), "RelayState": st.Relay}
	} else {
		st.Message = []byte(message)
		if d.URL, err = s.signer.RedirectURL(at, "SAMLRequest", st.Message, st.Relay); err != nil {
			return nil, fmt.Errorf("make a SPID request: %w", err)
		}
	}
	if d.State, err = json.Marshal(st); err != nil {
		return nil, fmt.Errorf("make a SPID request: %w", err)
	}
	return d, nil
}
