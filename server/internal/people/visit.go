package people

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
)

// Find is of Page.
func (s *Service) Find(ctx context.Context, record, secret string) (*Visit, error) {
	none := fault.New(fault.NotFound, "no such page")
	if len(record) != 24 || len(secret) < 40 || len(secret) > 80 {
		return nil, none
	}
	r, err := s.Signing.ByID(ctx, record)
	if errors.Is(err, fault.NotFound) {
		return nil, none
	}
	if err != nil {
		return nil, err
	}
	var found *ledger.Person
	for _, p := range r.Persons {
		if subtle.ConstantTimeCompare([]byte(p.Secret), []byte(secret)) == 1 {
			found = p
		}
	}
	if found == nil {
		return nil, none
	}
	return &Visit{Record: r, Person: found}, nil
}

// Now is of Page.
func (s *Service) Now(ctx context.Context, v *Visit, shown Browsers) (*Now, error) {
	r, p, o, now := v.Record, v.Person, v.Record.Options.People, s.config.Now()
	n := &Now{State: p.State, Over: r.State.Final() || p.State.Final(), Signed: r.State == ledger.Done && r.Signed != nil && !r.Signed.Deleted()}
	if n.Over || !p.Acts() {
		return n, nil
	}
	if n.Turn = IsDue(r, p); !n.Turn {
		for _, other := range r.Persons {
			if other.Acts() && !other.State.Final() && other.Order < p.Order {
				n.Before++
			}
		}
		return n, nil
	}
	if n.Pending = p.Pending(); n.Pending {
		return n, nil
	}
	n.Codes, n.Sent = missing(p, shown), nil
	for _, channel := range sentOf(p, now) {
		if slices.Contains(n.Codes, channel) {
			n.Sent = append(n.Sent, channel)
		}
	}
	if len(n.Codes) > 0 {
		if c := p.Codes[n.Codes[0]]; c != nil && len(c.Sent) >= codeSends {
			if again := c.Sent[len(c.Sent)-codeSends].Add(time.Hour); again.After(now) {
				n.SendAgain = again
			}
		}
	}
	if now.Before(p.Locked) {
		n.Locked = p.Locked
	}
	if !identified(p, shown) {
		n.Identify = slices.Clone(p.Identification)
	}
	if editable(p) {
		n.EditName, n.EditEmail, n.EditMobile = mayRename(r, p), o.Editable.Email, o.Editable.Mobile
	}
	if p.Role == ledger.RoleSigner {
		n.Typed, n.Drawn = true, slices.Contains(o.Modes, "drawn")
		if n.Certificate = p.Username; n.Certificate != "" {
			n.OTP = strings.HasPrefix(n.Certificate, "RHI")
		}
	}
	n.MustRead = o.MustRead && !s.hasRead(r, p)
	n.MaySign = len(n.Codes) == 0 && len(n.Identify) == 0 && n.Locked.IsZero() && !n.MustRead
	n.MayDecline = o.Decline
	return n, nil
}

// editable: before the first code only.
func editable(p *ledger.Person) bool {
	return len(p.Codes) == 0 && p.Proof == nil && p.State != ledger.PersonAuthenticated
}

// mayRename: an identification is compared with the name that was asked for.
func mayRename(r *ledger.Record, p *ledger.Person) bool {
	return r.Options.People.Editable.Name && len(p.Identification) == 0
}

func (s *Service) hasRead(r *ledger.Record, p *ledger.Person) bool {
	if len(p.Shown) != r.Documents() {
		return false
	}
	return !slices.ContainsFunc(p.Shown, func(d ledger.Shown) bool { return !d.Last })
}

// Documents is of Page.
func (s *Service) Documents(v *Visit) []Document {
	r := v.Record
	if r.State == ledger.WaitValidation || r.State == ledger.Error {
		return nil
	}
	var all []Document
	for i := range r.Documents() {
		f := r.Current(i)
		if f == nil || f.Deleted() {
			return nil
		}
		d := Document{Index: i, SHA256: f.SHA256, Size: f.Size, Name: fmt.Sprintf("%d.pdf", i+1)}
		if i < len(r.Inputs) && r.Inputs[i].Label != "" && r.Documents() == len(r.Inputs) {
			d.Name = r.Inputs[i].Label
		}
		all = append(all, d)
	}
	return all
}

// Open is of Page.
func (s *Service) Open(ctx context.Context, v *Visit, index int) (ades.Source, io.Closer, error) {
	if index < 0 || index >= len(s.Documents(v)) {
		return nil, nil, fault.New(fault.NotFound, "no such document")
	}
	b, err := s.Blobs.For(v.Record.Owner()).Open(ctx, v.Record.Current(index).Blob)
	if err != nil {
		return nil, nil, fmt.Errorf("people: open document: %w", err)
	}
	if err := v.Record.Current(index).Holds(b); err != nil {
		return nil, nil, err
	}
	return b, b, nil
}

// Viewed is of Page.
func (s *Service) Viewed(ctx context.Context, v *Visit, documents []Document) error {
	same := len(documents) == len(v.Person.Shown)
	for i := range documents {
		same = same && v.Person.Shown[i].SHA256 == documents[i].SHA256
	}
	if same && v.Person.State != ledger.PersonNew && v.Person.State != ledger.PersonNotified || !IsDue(v.Record, v.Person) || v.Person.Pending() {
		return nil
	}
	r, p, err := s.Signing.ChangePerson(ctx, v.Record.ID, v.Person.ID, func(tx *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		if !IsDue(r, p) || p.Pending() {
			return "", "", nil, nil
		}
		before := p.Shown
		p.Shown = make([]ledger.Shown, len(documents))
		var digests []string
		for i, d := range documents {
			p.Shown[i] = ledger.Shown{SHA256: d.SHA256, Size: d.Size, Last: i < len(before) && before[i].Last}
			digests = append(digests, d.SHA256)
		}
		if v.Language != "" {
			p.Spoken = v.Language
		}
		more := map[string]any{"documents": digests, "address": v.Address}
		if p.State == ledger.PersonNew || p.State == ledger.PersonNotified {
			p.State = ledger.PersonViewed
			return "viewed", "the documents were shown", more, s.Signing.Tell(ctx, tx, r)
		}
		return "viewed", "the documents were shown again, as they are now", more, nil
	})
	if err == nil {
		v.Record, v.Person = r, p
	}
	return err
}

// Read is of Page.
func (s *Service) Read(ctx context.Context, v *Visit, index int) error {
	if index < 0 || index >= len(v.Person.Shown) || v.Person.Shown[index].Last || !IsDue(v.Record, v.Person) {
		return nil
	}
	r, p, err := s.Signing.ChangePerson(ctx, v.Record.ID, v.Person.ID, func(_ *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		if !IsDue(r, p) || p.Pending() || index >= len(p.Shown) || p.Shown[index].Last {
			return "", "", nil, nil
		}
		p.Shown = slices.Clone(p.Shown)
		p.Shown[index].Last = true
		return "read", fmt.Sprintf("the last page of document %d was shown", index), map[string]any{"index": index, "document": p.Shown[index].SHA256, "address": v.Address}, nil
	})
	if err == nil {
		v.Record, v.Person = r, p
	}
	return err
}

// Edit is of Page.
func (s *Service) Edit(ctx context.Context, v *Visit, name, email, mobile string) error {
	name, email, mobile = strings.Join(strings.Fields(name), " "), strings.TrimSpace(email), strings.ReplaceAll(strings.TrimSpace(mobile), " ", "")
	o := v.Record.Options.People.Editable
	r, p, err := s.Signing.ChangePerson(ctx, v.Record.ID, v.Person.ID, func(tx *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		if err := s.open(r, p); err != nil {
			return "", "", nil, err
		}
		var changed []string
		given, surname, two := strings.Cut(name, " ")
		if name != "" && name != p.FullName() {
			if !two || utf8.RuneCountInString(name) > 200 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
				return "", "", nil, badForm("name: given name and surname, separated by a blank")
			}
			if i := strings.LastIndex(name, " "); i > 0 {
				given, surname = name[:i], name[i+1:]
			}
			changed = append(changed, "name")
		}
		if email != "" && email != p.Email {
			if !request.EmailAddress(email) {
				return "", "", nil, badForm("email is not an address")
			}
			changed = append(changed, "email")
		}
		if mobile != "" && mobile != p.Mobile {
			if !request.MobileNumber(mobile) {
				return "", "", nil, badForm("mobile is not a number such as +393331234567")
			}
			changed = append(changed, "mobile")
		}
		for _, what := range changed {
			if !editable(p) || !map[string]bool{"name": mayRename(r, p), "email": o.Email, "mobile": o.Mobile}[what] {
				return "", "", nil, fault.New(fault.WrongState, "the %s cannot be changed now", what)
			}
			switch what {
			case "name":
				p.Name, p.Surname = given, surname
			case "email":
				p.Email = email
			case "mobile":
				p.Mobile = mobile
			}
		}
		if len(changed) == 0 {
			return "", "", nil, nil
		}
		return "edited", "the signer changed: " + strings.Join(changed, ", "), map[string]any{"changed": changed, "address": v.Address}, s.Signing.Tell(ctx, tx, r)
	})
	if err == nil {
		v.Record, v.Person = r, p
	}
	return err
}

// Download is of Page.
func (s *Service) Download(ctx context.Context, v *Visit) (*ledger.Download, error) {
	return s.Signing.Open(ctx, request.Caller{AccountID: v.Record.AccountID, Address: v.Address}, v.Record.ID, ledger.SignedDocument)
}

// Validated is of Page.
func (s *Service) Validated(ctx context.Context, v *Visit) (*ledger.Download, error) {
	if !IsDue(v.Record, v.Person) && !v.Record.State.Final() {
		return nil, errNotNow
	}
	return s.Signing.Open(ctx, request.Caller{AccountID: v.Record.AccountID, Address: v.Address}, v.Record.ID, ledger.ValidatedDocument)
}
