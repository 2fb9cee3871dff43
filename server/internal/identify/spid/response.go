package spid

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/spid/saml"
)

// skew is how far the clock of an identity provider may be from ours. Nothing
// is added to the end of an assertion, which lasts for minutes.
const skew = 30 * time.Second

// Request names the request that a Response says it answers.
func (s *SPID) Request(answer url.Values) (string, error) {
	_, d, err := readResponse(answer)
	if err != nil {
		return "", err
	}
	id := strings.Clone(d.Root().Attr("InResponseTo"))
	d.Release()
	if id == "" || len(id) > 128 {
		return "", refuse("request")
	}
	return id, nil
}

// readResponse reads the one SAMLResponse of a form.
func readResponse(answer url.Values) ([]byte, *xmldom.Document, error) {
	if len(answer["SAMLResponse"]) != 1 || len(answer["RelayState"]) > 1 {
		return nil, nil, refuse("malformed")
	}
	raw, err := saml.Decode(answer.Get("SAMLResponse"))
	if err != nil {
		return nil, nil, refuse("malformed")
	}
	d, err := saml.Parse(raw)
	if err != nil {
		return nil, nil, refuse("malformed")
	}
	if !d.Root().Is(saml.Protocol, "Response") {
		d.Release()
		return nil, nil, refuse("malformed")
	}
	return raw, d, nil
}

// judged is a Response while it is judged.
type judged struct {
	*SPID
	st       requested
	provider *provider
	now      time.Time
	signer   *pkix.Certificate // of the assertion

	doc               *xmldom.Document
	response          *xmldom.Node
	status, assertion *xmldom.Node
	level             string
	until             time.Time // the earliest end in the assertion
}

// Finish judges a Response. The order of the checks: its shape, its signatures,
// what it says about itself, its status, and then the assertion, which is the
// element that the signature covers.
func (s *SPID) Finish(ctx context.Context, state []byte, answer url.Values) (*identify.Answer, error) {
	j := &judged{SPID: s, now: s.now()}
	if err := json.Unmarshal(state, &j.st); err != nil {
		return nil, fmt.Errorf("read the state of a SPID request: %w", err)
	}
	raw, d, err := readResponse(answer)
	if err != nil {
		return nil, err
	}
	defer d.Release()
	j.doc, j.response = d, d.Root()
	if j.provider, err = s.provider(ctx, j.st.Provider); err != nil {
		return nil, refuse("provider")
	}
	if relay := answer.Get("RelayState"); relay != "" && relay != j.st.Relay {
		return nil, refuse("request")
	}
	if j.now.After(j.st.Issued.Add(wait)) {
		return nil, refuse("expired")
	}
	for _, step := range []func() error{j.shape, j.signatures, j.envelope, j.outcome, j.checkAssertion} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	proof := &identify.Proof{Method: "spid", Issuer: j.provider.entity, Level: j.level, Request: j.st.ID, At: j.now}
	if proof.Proven, err = j.person(); err != nil {
		return nil, err
	}
	return &identify.Answer{
		Proof: proof, Until: j.until,
		ID: j.provider.entity + " " + strings.Clone(j.assertion.Attr("ID")),
		Files: []identify.File{
			{Name: "response.xml", Content: raw},
			{Name: "request.xml", Content: j.st.Message},
			{Name: "identity-provider.pem", Content: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: j.signer.Raw})},
		},
	}, nil
}

// shape takes the Response apart. There is at most one assertion in the whole
// document, a child of the Response; signatures are children of the two.
func (j *judged) shape() error {
	if len(j.doc.Descendants(saml.Assertion, "EncryptedAssertion")) > 0 {
		return refuse("encrypted")
	}
	err := saml.Take(j.response,
		saml.Part{Space: saml.Assertion, Local: "Issuer", Need: true},
		saml.Part{Space: xmldsig.Space, Local: "Signature"},
		saml.Part{Space: saml.Protocol, Local: "Extensions"},
		saml.Part{Space: saml.Protocol, Local: "Status", Need: true, Into: &j.status},
		saml.Part{Space: saml.Assertion, Local: "Assertion", Into: &j.assertion})
	if err != nil {
		return refuse("malformed")
	}
	assertions, signatures := 0, len(j.response.Children(xmldsig.Space, "Signature"))
	if j.assertion != nil {
		assertions, signatures = 1, signatures+len(j.assertion.Children(xmldsig.Space, "Signature"))
	}
	if len(j.doc.Descendants(saml.Assertion, "Assertion")) != assertions || len(j.doc.Descendants(xmldsig.Space, "Signature")) != signatures ||
		len(j.doc.Descendants(saml.Protocol, "Response")) != 1 {
		return refuse("malformed")
	}
	return nil
}

// signatures: the assertion is signed always, the Response may be; each by a
// certificate of the identity provider that was asked.
func (j *judged) signatures() error {
	certs := j.provider.certs(j.now)
	if len(j.response.Children(xmldsig.Space, "Signature")) > 0 {
		if _, err := saml.CheckSigned(j.doc, j.response, certs); err != nil {
			return refuse("signature")
		}
	}
	if j.assertion == nil {
		return nil
	}
	var err error
	if j.signer, err = saml.CheckSigned(j.doc, j.assertion, certs); err != nil {
		return refuse("signature")
	}
	return nil
}

// envelope checks what the Response says about itself.
func (j *judged) envelope() error {
	r := j.response
	switch {
	case r.Attr("ID") == "" || r.Attr("Version") != "2.0":
		return refuse("malformed")
	case r.Attr("InResponseTo") != j.st.ID:
		return refuse("request")
	case r.Attr("Destination") != j.acs:
		return refuse("destination")
	}
	if err := j.issued(r); err != nil {
		return err
	}
	return j.issuer(r, false)
}

// issued: not before the request, and not in the future.
func (j *judged) issued(n *xmldom.Node) error {
	t, err := saml.Time(n.Attr("IssueInstant"))
	switch {
	case err != nil:
		return refuse("malformed")
	case t.Before(j.st.Issued.Add(-skew)):
		return refuse("expired")
	case t.After(j.now.Add(skew)):
		return refuse("future")
	}
	return nil
}

// issuer is the identity provider that was asked. Its Format is that of an
// entity; on a Response it may be left out.
func (j *judged) issuer(n *xmldom.Node, needFormat bool) error {
	i := n.Child(saml.Assertion, "Issuer")
	v, ok := saml.Value(i)
	if !ok || v != j.provider.entity {
		return refuse("issuer")
	}
	format, ok := i.LookupAttr("", "Format")
	if ok && format != saml.Entity || !ok && needFormat {
		return refuse("issuer")
	}
	return nil
}

var errorCode = regexp.MustCompile(`(?i)\bnr\s?0*([0-9]{1,2})\b`)

// outcome reads the status. The outermost code decides: one inside it only
// says more about a failure.
func (j *judged) outcome() error {
	var code, message *xmldom.Node
	err := saml.Take(j.status,
		saml.Part{Space: saml.Protocol, Local: "StatusCode", Need: true, Into: &code},
		saml.Part{Space: saml.Protocol, Local: "StatusMessage", Into: &message},
		saml.Part{Space: saml.Protocol, Local: "StatusDetail"})
	if err != nil {
		return refuse("malformed")
	}
	if code.Attr("Value") == saml.Success {
		for range code.Elements() {
			return refuse("malformed")
		}
		if j.assertion == nil {
			return refuse("malformed")
		}
		return nil
	}
	text, _ := saml.Value(message)
	if m := errorCode.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		return refuseCode(n)
	}
	return refuse("status")
}

// checkAssertion judges the assertion that signatures has verified.
func (j *judged) checkAssertion() error {
	var subject, conditions, authn *xmldom.Node
	err := saml.Take(j.assertion,
		saml.Part{Space: saml.Assertion, Local: "Issuer", Need: true},
		saml.Part{Space: xmldsig.Space, Local: "Signature", Need: true},
		saml.Part{Space: saml.Assertion, Local: "Subject", Need: true, Into: &subject},
		saml.Part{Space: saml.Assertion, Local: "Conditions", Need: true, Into: &conditions},
		saml.Part{Space: saml.Assertion, Local: "AuthnStatement", Need: true, Into: &authn},
		saml.Part{Space: saml.Assertion, Local: "AttributeStatement", Need: true})
	if err != nil || j.assertion.Attr("ID") == "" || len(j.assertion.Attr("ID")) > 256 || j.assertion.Attr("Version") != "2.0" {
		return refuse("malformed")
	}
	if err := j.issued(j.assertion); err != nil {
		return err
	}
	if err := j.issuer(j.assertion, true); err != nil {
		return err
	}
	if err := j.checkSubject(subject); err != nil {
		return err
	}
	if err := j.checkConditions(conditions); err != nil {
		return err
	}
	return j.checkAuthn(authn)
}

func (j *judged) checkSubject(n *xmldom.Node) error {
	var id, confirmation, data *xmldom.Node
	err := saml.Take(n,
		saml.Part{Space: saml.Assertion, Local: "NameID", Need: true, Into: &id},
		saml.Part{Space: saml.Assertion, Local: "SubjectConfirmation", Need: true, Into: &confirmation})
	if err == nil {
		err = saml.Take(confirmation, saml.Part{Space: saml.Assertion, Local: "SubjectConfirmationData", Need: true, Into: &data})
	}
	if err != nil {
		return refuse("subject")
	}
	name, ok := saml.Value(id)
	if !ok || name == "" || id.Attr("Format") != saml.Transient || id.Attr("NameQualifier") == "" {
		return refuse("subject")
	}
	if sp, ok := id.LookupAttr("", "SPNameQualifier"); ok && sp != j.cfg.EntityID {
		return refuse("subject")
	}
	switch {
	case confirmation.Attr("Method") != saml.Bearer:
		return refuse("subject")
	case data.Attr("Recipient") != j.acs:
		return refuse("destination")
	case data.Attr("InResponseTo") != j.st.ID:
		return refuse("request")
	}
	if _, ok := data.LookupAttr("", "NotBefore"); ok { // it should not be there (SAML Profiles 4.1.4.2), and counts if it is
		if err := j.begins(data); err != nil {
			return err
		}
	}
	return j.ends(data)
}

// begins: NotBefore is there and has come.
func (j *judged) begins(n *xmldom.Node) error {
	t, err := saml.Time(n.Attr("NotBefore"))
	switch {
	case err != nil:
		return refuse("malformed")
	case t.After(j.now.Add(skew)):
		return refuse("future")
	}
	return nil
}

// ends: NotOnOrAfter is there and still to come.
func (j *judged) ends(n *xmldom.Node) error {
	t, err := saml.Time(n.Attr("NotOnOrAfter"))
	if err != nil {
		return refuse("malformed")
	}
	if !j.now.Before(t) {
		return refuse("expired")
	}
	if j.until.IsZero() || t.Before(j.until) {
		j.until = t
	}
	return nil
}

func (j *judged) checkConditions(n *xmldom.Node) error {
	var audience *xmldom.Node
	err := saml.Take(n,
		saml.Part{Space: saml.Assertion, Local: "AudienceRestriction", Need: true, Into: &audience},
		saml.Part{Space: saml.Assertion, Local: "OneTimeUse"},
		saml.Part{Space: saml.Assertion, Local: "ProxyRestriction"})
	if err != nil {
		return refuse("audience")
	}
	if err := j.begins(n); err != nil {
		return err
	}
	if err := j.ends(n); err != nil {
		return err
	}
	ours := false
	for a := range audience.Elements() {
		v, ok := saml.Value(a)
		if !ok || !a.Is(saml.Assertion, "Audience") {
			return refuse("audience")
		}
		ours = ours || v == j.cfg.EntityID
	}
	if !ours {
		return refuse("audience")
	}
	return nil
}

// checkAuthn: the person proved who they are after we asked for it (ForceAuthn),
// at the level that was asked for or above.
func (j *judged) checkAuthn(n *xmldom.Node) error {
	var about, class *xmldom.Node
	err := saml.Take(n, saml.Part{Space: saml.Assertion, Local: "SubjectLocality"},
		saml.Part{Space: saml.Assertion, Local: "AuthnContext", Need: true, Into: &about})
	if err == nil {
		err = saml.Take(about, saml.Part{Space: saml.Assertion, Local: "AuthnContextClassRef", Need: true, Into: &class})
	}
	at, timeErr := saml.Time(n.Attr("AuthnInstant"))
	v, ok := saml.Value(class)
	if err != nil || timeErr != nil || !ok {
		return refuse("malformed")
	}
	switch {
	case at.After(j.now.Add(skew)):
		return refuse("future")
	case at.Before(j.st.Issued.Add(-skew)):
		return refuse("expired")
	}
	for level := j.st.Level; level <= 3; level++ {
		if v == LevelURI(level) {
			j.level = LevelURI(level)
			return nil
		}
	}
	return refuse("level")
}

// maxLength limits the value of an attribute, in bytes.
const maxLength = 400

// person reads the attributes of the assertion: each once, with one value.
func (j *judged) person() (identify.Attributes, error) {
	var none identify.Attributes
	values := map[string]string{}
	for a := range j.assertion.Child(saml.Assertion, "AttributeStatement").Elements() {
		name := a.Attr("Name")
		if _, twice := values[name]; twice || !a.Is(saml.Assertion, "Attribute") || name == "" {
			return none, refuse("attributes")
		}
		var value *xmldom.Node
		if err := saml.Take(a, saml.Part{Space: saml.Assertion, Local: "AttributeValue", Need: true, Into: &value}); err != nil {
			return none, refuse("attributes")
		}
		v, ok := saml.Value(value)
		if !ok || len(v) > maxLength {
			return none, refuse("attributes")
		}
		values[name] = strings.Clone(v)
	}
	for _, a := range attributes {
		if a.need && values[a.name] == "" {
			return none, refuse("attributes")
		}
	}
	code, tin := strings.CutPrefix(strings.ToUpper(values["fiscalNumber"]), "TINIT-")
	if _, err := time.Parse(time.DateOnly, values["dateOfBirth"]); err != nil || !tin || !identify.FiscalCode(code) {
		return none, refuse("attributes")
	}
	return identify.Attributes{
		GivenName: values["name"], Surname: values["familyName"], FiscalCode: code,
		DateOfBirth: values["dateOfBirth"], Email: values["email"], Mobile: values["mobilePhone"],
	}, nil
}
