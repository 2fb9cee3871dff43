package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/hint"
	"rogito.dev/rogito/server/internal/upload"
)

// PeopleRequest is a call that asks people to sign.
type PeopleRequest struct {
	Type               string // SES, AES
	Inputs             []Input
	Title, Description string
	Options            Options
	Callback           *callback.Target
	Signers            []Signer
}

// Signer is a person who is asked to sign, as in the call.
type Signer struct {
	Name, Surname  string
	Email, Mobile  string
	Authentication []string
	Identification []string
	Message        string
	Language       string
	Order          int
	Role           string
	Reference      string
	Username       string // of a certificate of their own
	Place          string // in a template
	Signatures     []Spot
}

// Spot is where a signature is to go.
type Spot struct {
	Page                int
	X, Y, Width, Height float64
	Name, Anchor        string
}

// PeopleRules are what a server offers to people who sign.
type PeopleRules struct {
	Now             func() time.Time
	Expires         time.Duration
	Identifications []string          // without those that a page cannot go through
	Offers          func(string) bool // whether codes can go by a channel
}

// Stored is a template: what a call takes from it.
type Stored struct {
	ID      string
	Inputs  []Input
	Signers map[string]map[string]jsontext.Value // members, by place
	Options map[string]jsontext.Value
}

// Bounds on a request that people sign.
const (
	mostSigners = 50
	mostPlaces  = 50
	mostWords   = 2000
	smsLength   = 160
	codeLength  = 6
	longestLife = 365 * 24 * time.Hour
)

// peopleParser reads one.
type peopleParser struct {
	parser
	rules PeopleRules
	aes   bool
}

// ParsePeople reads the members of a call that asks people to sign. from is the
// template that it names; nil: none.
func (r Parser) ParsePeople(kind string, members map[string]jsontext.Value, from *Stored, spool *upload.Spool, rules PeopleRules) (*PeopleRequest, error) {
	return r.ParsePeopleFiles(kind, members, nil, from, spool, rules)
}

// ParsePeopleFiles is ParsePeople for documents that came as files, in place of the
// member inputDocuments.
func (r Parser) ParsePeopleFiles(kind string, members map[string]jsontext.Value, files []Document, from *Stored, spool *upload.Spool, rules PeopleRules) (*PeopleRequest, error) {
	p := peopleParser{parser: parser{Parser: r, spool: spool, files: files}, rules: rules, aes: kind == AES}
	out := &PeopleRequest{Type: kind}
	var err error
	if out.Signers, err = p.signers(members["signers"], from); err != nil {
		return nil, err
	}
	var words Request
	rest := map[string]jsontext.Value{"title": members["title"], "description": members["description"]}
	if err := p.words(&words, rest); err != nil {
		return nil, err
	}
	out.Title, out.Description = words.Title, words.Description
	if from != nil {
		out.Inputs = from.Inputs
	} else if out.Inputs, err = p.documents(members); err != nil {
		return nil, err
	}
	if out.Options, err = p.options(members["options"], from); err != nil {
		return nil, err
	}
	out.Options.People.Signers = len(out.Signers)
	if from != nil {
		out.Options.People.Template = from.ID
	}
	out.Callback, err = callback.Parse(members["callback"], p.Guard)
	return out, err
}

// documents are those of the call; digests cannot be shown to anybody.
func (p *peopleParser) documents(m map[string]jsontext.Value) ([]Input, error) {
	if len(p.files) > 0 {
		return p.fromFiles()
	}
	docs := m["inputDocuments"]
	if absent(docs) {
		docs = m["inputDocument"]
	}
	if absent(docs) {
		return nil, fault.New(fault.BadDocuments, "inputDocuments is required")
	}
	all, err := p.inputs(docs)
	for i := range all {
		if all[i].From == FromDigest {
			all[i].From = fromBase64 // whatever it is, it is shown: and 32 bytes are no PDF
		}
	}
	return all, err
}

func (p *peopleParser) signers(v jsontext.Value, from *Stored) ([]Signer, error) {
	if absent(v) {
		return nil, fault.New(fault.NoSigners, "signers is required")
	}
	var list []jsontext.Value
	if v.Kind() != '[' || p.spool.Unmarshal(v, &list) != nil {
		return nil, fault.New(fault.BadSigners, "signers must be a list")
	}
	switch {
	case len(list) == 0:
		return nil, fault.New(fault.BadSigners, "signers is empty")
	case len(list) > mostSigners:
		return nil, fault.New(fault.BadSigners, "signers has %d; at most %d can be asked", len(list), mostSigners)
	}
	out, places, signs := make([]Signer, len(list)), map[string]bool{}, false
	for i, v := range list {
		err := p.signer(v, from, places, &out[i])
		if err != nil {
			return nil, fault.New(fault.BadSigners, "signers[%d]%v", i, err)
		}
		signs = signs || out[i].Role == "signer"
	}
	if from != nil && len(places) != len(from.Signers) {
		for place := range from.Signers {
			if !places[place] {
				return nil, fault.New(fault.BadSigners, "signers: nobody has the place %q of the template", place)
			}
		}
	}
	if !signs {
		return nil, fault.New(fault.BadSigners, "signers: somebody has to sign: one with the role signer")
	}
	return out, nil
}

func emptyList(v jsontext.Value) bool {
	return v.Kind() == '[' && strings.TrimSpace(strings.Trim(strings.TrimSpace(string(v)), "[]")) == ""
}

// signerMembers are as they travel.
type signerMembers struct {
	Name           *string          `json:"name"`
	Surname        *string          `json:"surname"`
	Email          *string          `json:"email"`
	Mobile         *string          `json:"mobile"`
	Authentication []string         `json:"authentication"`
	Identification []string         `json:"identification"`
	Message        *string          `json:"message"`
	Language       *string          `json:"language"`
	Order          *int             `json:"order"`
	Role           *string          `json:"role"`
	Reference      *string          `json:"reference"`
	Username       *string          `json:"certificateUsername"`
	Place          *string          `json:"place"`
	Signatures     []jsontext.Value `json:"signatures"`
}

// signer reads one; what is wrong is said behind its index.
func (p *peopleParser) signer(v jsontext.Value, from *Stored, places map[string]bool, s *Signer) error {
	var members map[string]jsontext.Value
	if v.Kind() != '{' || p.spool.Unmarshal(v, &members) != nil {
		return errors.New(" must be an object")
	}
	if from != nil {
		var place string
		if v := members["place"]; absent(v) || p.spool.Unmarshal(v, &place) != nil {
			return errors.New(".place is required: the template has places")
		}
		kept, known := from.Signers[place]
		switch {
		case !known:
			return fmt.Errorf(".place: the template has no place %q", place)
		case places[place]:
			return fmt.Errorf(".place: %q is taken by another", place)
		}
		places[place] = true
		for name, v := range kept {
			if absent(members[name]) || emptyList(members[name]) { // signatures: clients always send some
				members[name] = v
			}
		}
	}
	var m signerMembers
	for _, one := range []struct {
		name string
		into any
		what string
	}{
		{"name", &m.Name, "a string"},
		{"surname", &m.Surname, "a string"},
		{"email", &m.Email, "a string"},
		{"mobile", &m.Mobile, "a string"},
		{"authentication", &m.Authentication, "a list of email and sms"},
		{"identification", &m.Identification, "a list of names"},
		{"message", &m.Message, "a string"},
		{"language", &m.Language, "a string"},
		{"order", &m.Order, "an integer"},
		{"role", &m.Role, "a string"},
		{"reference", &m.Reference, "a string"},
		{"certificateUsername", &m.Username, "a string"},
		{"place", &m.Place, "a string"},
		{"signatures", &m.Signatures, "a list"},
	} {
		if v := members[one.name]; !absent(v) && p.spool.Unmarshal(v, one.into) != nil {
			return fmt.Errorf(".%s must be %s", one.name, one.what)
		}
	}
	*s = Signer{Language: "browser", Role: "signer"}
	for _, one := range []struct {
		from *string
		into *string
		name string
		most int
		need bool
	}{
		{m.Name, &s.Name, "name", 128, true},
		{m.Surname, &s.Surname, "surname", 128, true},
		{m.Email, &s.Email, "email", 254, false},
		{m.Mobile, &s.Mobile, "mobile", 20, false},
		{m.Message, &s.Message, "message", mostWords, false},
		{m.Language, &s.Language, "language", 16, false},
		{m.Role, &s.Role, "role", 16, false},
		{m.Reference, &s.Reference, "reference", 255, false},
		{m.Username, &s.Username, "certificateUsername", 255, false},
		{m.Place, &s.Place, "place", 64, false},
	} {
		if one.from != nil {
			*one.into = strings.TrimSpace(*one.from)
		}
		switch {
		case one.need && *one.into == "":
			return fmt.Errorf(".%s is required", one.name)
		case utf8.RuneCountInString(*one.into) > one.most:
			return fmt.Errorf(".%s has more than %d characters", one.name, one.most)
		case one.name != "message" && strings.ContainsFunc(*one.into, unicode.IsControl):
			return fmt.Errorf(".%s has characters that nobody can read", one.name)
		}
	}
	put(&s.Order, m.Order)
	s.Authentication, s.Identification = m.Authentication, m.Identification
	if err := p.checkSigner(s); err != nil {
		return err
	}
	if len(m.Signatures) > mostPlaces {
		return fmt.Errorf(".signatures has more than %d places", mostPlaces)
	}
	for i, v := range m.Signatures {
		spot, err := p.spot(v)
		if err != nil {
			return fmt.Errorf(".signatures[%d]%w", i, err)
		}
		s.Signatures = append(s.Signatures, spot)
	}
	return nil
}

var mobileNumber = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

// EmailAddress says that a text is an address that mail can be sent to, and nothing else.
func EmailAddress(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s && a.Name == "" && len(s) <= 254 && !strings.ContainsAny(s, "\r\n")
}

// MobileNumber says that a text is a number in E.164.
func MobileNumber(s string) bool { return mobileNumber.MatchString(s) }

func (p *peopleParser) checkSigner(s *Signer) error { //nolint:gocyclo // a list of what a signer has
	for _, one := range []struct {
		name, value string
		words       []string
	}{{"language", s.Language, []string{"it", "en", "browser"}}, {"role", s.Role, []string{"signer", "approver", "viewer"}}} {
		if !slices.Contains(one.words, one.value) {
			return errors.New("." + hint.OneOf(one.name, one.value, one.words))
		}
	}
	if s.Order < -1000 || s.Order > 1000 {
		return errors.New(".order must be between -1000 and 1000")
	}
	for i, a := range s.Authentication {
		switch {
		case a != "email" && a != "sms":
			return errors.New("." + hint.OneOf("authentication", a, []string{"email", "sms"}))
		case slices.Contains(s.Authentication[:i], a):
			return fmt.Errorf(".authentication names %s twice", a)
		case !p.rules.Offers(a):
			return fmt.Errorf(".authentication: this server sends no codes by %s", a)
		}
	}
	for _, m := range s.Identification {
		if !slices.Contains(p.rules.Identifications, m) {
			return fmt.Errorf(".identification: %q is not offered by this server", m)
		}
	}
	switch {
	case s.Email != "" && !EmailAddress(s.Email):
		return errors.New(".email is not an address")
	case s.Mobile != "" && !MobileNumber(s.Mobile):
		return errors.New(".mobile is not a number in E.164, such as +393331234567")
	case slices.Contains(s.Authentication, "email") && s.Email == "":
		return errors.New(".email is required: a code is to be sent there")
	case slices.Contains(s.Authentication, "sms") && s.Mobile == "":
		return errors.New(".mobile is required: a code is to be sent there")
	case s.Role == "viewer" && s.Email == "" && s.Mobile == "":
		return errors.New(".email is required: a copy is to be sent there")
	case s.Role != "viewer" && len(s.Authentication) == 0 && len(s.Identification) == 0 && s.Username == "":
		return errors.New(".authentication is required, where there is no identification")
	case p.aes && s.Role == "signer" && len(s.Identification) == 0 && s.Username == "":
		return errors.New(".identification is required for EU-AES")
	case slices.Contains(s.Authentication, "sms") && utf8.RuneCountInString(WithCode(s.Message, strings.Repeat("0", codeLength))) > smsLength:
		return fmt.Errorf(".message has more than %d characters with the code", smsLength)
	}
	return nil
}

// options are those of people and, beside them, those of every signature that have a
// meaning here. All that is wrong is 625.
func (p *peopleParser) options(v jsontext.Value, from *Stored) (Options, error) {
	var members map[string]jsontext.Value
	if !absent(v) && (v.Kind() != '{' || p.spool.Unmarshal(v, &members) != nil) {
		return Options{}, fault.New(fault.BadOption, "options must be an object")
	}
	if members == nil {
		members = map[string]jsontext.Value{}
	}
	if from != nil {
		for name, v := range from.Options {
			if absent(members[name]) {
				members[name] = v
			}
		}
	}
	now := p.rules.Now()
	own := &PeopleOptions{Modes: []string{"typed"}, Editable: EditableData{true, true, true}, Decline: true, ExpiresAt: now.Add(p.rules.Expires).UTC().Truncate(time.Millisecond)}
	read := map[string]func(jsontext.Value) string{
		"ui": func(v jsontext.Value) string { return p.ui(v, &own.UI) }, "signatureMode": func(v jsontext.Value) string { return p.modes(v, &own.Modes) },
		"userEditableData": func(v jsontext.Value) string {
			return p.table("options.userEditableData", v, map[string]any{"name": &own.Editable.Name, "mobile": &own.Editable.Mobile, "email": &own.Editable.Email})
		},
		"signerMustRead": p.flag(&own.MustRead, "signerMustRead"), "decline": p.flag(&own.Decline, "decline"), "merge": p.flag(&own.Merge, "merge"),
		"expiresAt": func(v jsontext.Value) string { return p.expires(v, now, &own.ExpiresAt) },
		"reminders": func(v jsontext.Value) string { return p.reminders(v, &own.Reminders) },
	}
	rest := map[string]jsontext.Value{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		v := members[name]
		if read[name] == nil {
			rest[name] = v
			continue
		}
		if absent(v) {
			continue
		}
		if why := read[name](v); why != "" {
			return Options{}, fault.New(fault.BadOption, "%s", why)
		}
	}
	text, err := json.Marshal(rest)
	if err != nil {
		return Options{}, err
	}
	o, err := parseOptions(text, optionParser{spool: p.spool, check: p.Guard.Check})
	if err != nil {
		return o, err
	}
	if o.Level == "LTV" {
		return o, fault.New(fault.BadOption, "options.level is one of B, T, LT, LTA for signatures of people")
	}
	used := DefaultOptions()
	used.Level, used.Hash, used.Timezone, used.WithTimestamp, used.AsyncValidation, used.Asked, used.People = o.Level, o.Hash, o.Timezone, o.WithTimestamp, true, PAdES, own
	return used, nil
}

func (p *peopleParser) flag(into *bool, name string) func(jsontext.Value) string {
	return func(v jsontext.Value) string {
		return unless(p.spool.Unmarshal(v, into) == nil, "options."+name+" must be true or false")
	}
}

func (p *peopleParser) modes(v jsontext.Value, into *[]string) string {
	var modes []string
	if p.spool.Unmarshal(v, &modes) != nil || len(modes) == 0 || len(modes) > 2 {
		return "options.signatureMode must be a list of typed and drawn"
	}
	for _, m := range modes {
		if m != "typed" && m != "drawn" {
			return hint.OneOf("options.signatureMode", m, []string{"typed", "drawn"})
		}
	}
	*into = modes
	return ""
}

// table reads an object whose members go to booleans, strings or lists.
func (p *peopleParser) table(path string, v jsontext.Value, into map[string]any) string {
	var members map[string]jsontext.Value
	if v.Kind() != '{' || p.spool.Unmarshal(v, &members) != nil {
		return path + " must be an object"
	}
	names := make([]string, 0, len(into))
	for name := range into {
		names = append(names, path+"."+name)
	}
	slices.Sort(names)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		dst, known := into[name]
		switch {
		case !known:
			return hint.Unknown(path+"."+name, names)
		case absent(members[name]):
		case p.spool.Unmarshal(members[name], dst) != nil:
			return path + "." + name + " is of another type"
		}
	}
	return ""
}

var (
	colour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)
	origin = regexp.MustCompile(`^https?://([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(:[0-9]{1,5})?$`)
)

func (p *peopleParser) ui(v jsontext.Value, ui *UI) string {
	colours := ui.Colours()
	into := map[string]any{
		"sidebarLogo": &ui.SidebarLogo, "hideSidebar": &ui.HideSidebar, "hideHeader": &ui.HideHeader, "hideDownloadValidated": &ui.HideDownloadValidated,
		"hideDownloadSigned": &ui.HideDownloadSigned, "iframeAncestors": &ui.IframeAncestors, "completeUrl": &ui.CompleteURL, "cancelUrl": &ui.CancelURL,
	}
	for name, dst := range colours {
		into[name] = dst
	}
	if why := p.table("options.ui", v, into); why != "" {
		return why
	}
	for _, name := range slices.Sorted(maps.Keys(colours)) {
		if c := *colours[name]; c != "" && !colour.MatchString(c) {
			return "options.ui." + name + " is not a colour such as #1a2b3c"
		}
	}
	if len(ui.IframeAncestors) > 20 {
		return "options.ui.iframeAncestors names more than 20 origins"
	}
	for i, a := range ui.IframeAncestors {
		if a = strings.TrimSuffix(a, "/"); !origin.MatchString(a) {
			return fmt.Sprintf("options.ui.iframeAncestors[%d] is not an origin such as https://example.com", i)
		}
		ui.IframeAncestors[i] = strings.ToLower(a)
	}
	for name, to := range map[string]string{"completeUrl": ui.CompleteURL, "cancelUrl": ui.CancelURL} {
		if to != "" && !pageAddress(to) {
			return "options.ui." + name + " is not an address of a page (http or https)"
		}
	}
	if logo := ui.SidebarLogo; logo != "" && !pageAddress(logo) && !(strings.HasPrefix(logo, "data:image/") && len(logo) <= 200_000) {
		return "options.ui.sidebarLogo is not an address (http or https), nor a picture as data:image/…"
	}
	return ""
}

func pageAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && len(s) <= 2048
}

// Colours are those of a page, by their names.
func (ui *UI) Colours() map[string]*string {
	return map[string]*string{
		"sidebarBackgroundColor": &ui.SidebarBackgroundColor, "sidebarTitleColor": &ui.SidebarTitleColor, "sidebarTextColor": &ui.SidebarTextColor,
		"footerBackgroundColor": &ui.FooterBackgroundColor, "headerBackgroundColor": &ui.HeaderBackgroundColor, "headerTitleColor": &ui.HeaderTitleColor,
		"headerSubtitleColor": &ui.HeaderSubtitleColor, "buttonTextColor": &ui.ButtonTextColor, "buttonTextColorHover": &ui.ButtonTextColorHover,
		"buttonBackgroundColor": &ui.ButtonBackgroundColor, "buttonBackgroundColorHover": &ui.ButtonBackgroundColorHover, "signButtonTextColor": &ui.SignButtonTextColor,
		"signButtonTextColorHover": &ui.SignButtonTextColorHover, "signButtonBackgroundColor": &ui.SignButtonBackgroundColor,
		"signButtonBackgroundColorHover": &ui.SignButtonBackgroundColorHover,
	}
}

// timeForms that a timestamp may have.
var timeForms = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05"}

func (p *peopleParser) expires(v jsontext.Value, now time.Time, into *time.Time) string {
	var s string
	if p.spool.Unmarshal(v, &s) != nil {
		return "options.expiresAt must be a timestamp"
	}
	for _, form := range timeForms {
		at, err := time.Parse(form, s)
		if err != nil {
			continue
		}
		switch {
		case !at.After(now):
			return "options.expiresAt is in the past"
		case at.Sub(now) > longestLife:
			return "options.expiresAt is more than a year away"
		}
		*into = at.UTC().Truncate(time.Millisecond)
		return ""
	}
	return "options.expiresAt is not a timestamp such as 2027-01-31 12:00:00.000+00:00"
}

func (p *peopleParser) reminders(v jsontext.Value, into **Reminders) string {
	r := &Reminders{At: 9}
	if why := p.table("options.reminders", v, map[string]any{"every": &r.Every, "at": &r.At}); why != "" {
		return why
	}
	if r.Every < 1 || r.Every > 365 || r.At < 0 || r.At > 23 {
		return "options.reminders: every is 1 to 365 days, at an hour from 0 to 23"
	}
	*into = r
	return ""
}

// EchoPeople is what a record that people sign shows of its options.
func (o *Options) EchoPeople(stamp func(time.Time) string, achieved string) map[string]any {
	p := o.People
	ui := map[string]any{}
	if text, err := json.Marshal(&p.UI); err == nil {
		_ = json.Unmarshal(text, &ui) // our own
	}
	out := map[string]any{
		"asyncDocumentsValidation": true, "asyncSignature": false, "level": o.Level, "hashAlgorithm": o.Hash, "timezone": o.Timezone, "ui": ui, "signatureMode": p.Modes,
		"userEditableData": p.Editable, "signerMustRead": p.MustRead, "expiresAt": stamp(p.ExpiresAt), "reminders": p.Reminders, "decline": p.Decline, "merge": p.Merge,
		"achievedLevel": nil,
	}
	if achieved != "" {
		out["achievedLevel"] = achieved
	}
	return out
}
