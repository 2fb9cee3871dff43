package remote_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/arss"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/soap"
	"rogito.dev/rogito/server/internal/sws"
	"rogito.dev/rogito/test/providers/fake"
)

// services are one of each kind, with a client.
func service(t *testing.T, kind string) (*fake.Service, remote.Accounts) {
	t.Helper()
	s, err := fake.Start(kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, client(t, s, time.Minute)
}

func client(t *testing.T, s *fake.Service, patience time.Duration) remote.Accounts {
	t.Helper()
	wire := soap.Config{Name: "far", Endpoint: remote.Endpoint{URL: s.URL(), CA: s.CA(), Timeout: patience}}
	var p remote.Accounts
	var err error
	if s.Kind == fake.ARSS {
		p, err = arss.New(arss.Config{Config: wire, Domain: fake.Domain})
	} else {
		p, err = sws.New(wire)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func device(t *testing.T, s *fake.Service, actor, kind string, change ...func(*fake.Device)) *fake.Device {
	t.Helper()
	d, err := s.Add(actor, kind, change...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func digests(n int) (all [][]byte) {
	for range n {
		b := make([]byte, sha256.Size)
		_, _ = rand.Read(b)
		all = append(all, b)
	}
	return all
}

// numbers are the codes of records, as the contract has them.
var numbers = map[remote.Kind]string{
	remote.Refused: "121", remote.Unreached: "121", remote.Unusable: "112", remote.Unknown: "122", remote.Credentials: "110", remote.Code: "116", remote.Locked: "111",
}

// sign signs digests, and says what became of each.
func sign(ctx context.Context, p remote.Accounts, l remote.Login, list [][]byte) (ends []string) {
	end := func(err error) string {
		var said *remote.Error
		switch {
		case err == nil:
			return "DONE"
		case errors.As(err, &said):
			return numbers[said.Kind]
		}
		return err.Error()
	}
	all := func(err error) []string { return slices.Repeat([]string{end(err)}, len(list)) }
	key, err := p.Open(ctx, l)
	if err != nil {
		return all(err)
	}
	defer key.Close(ctx)
	values, err := key.Sign(ctx, remote.Request{Hash: crypto.SHA256, Digests: list, Expect: len(list), Before: func(context.Context) error { return nil }})
	if err != nil {
		return all(err)
	}
	for _, v := range values {
		ends = append(ends, end(v.Err))
	}
	return ends
}

func login(s *fake.Service, d *fake.Device) remote.Login {
	l := remote.Login{ID: d.Name, Password: d.Password, Delegate: d.Delegate, DelegatePassword: d.DelegatePassword, Coded: d.OTP}
	if d.OTP {
		l.OTP = s.Code(d.Name)
	}
	return l
}

// Every oddity of both services ends as it has to, and nothing is sent twice.
func TestOddities(t *testing.T) {
	for _, kind := range []string{fake.ARSS, fake.SWS} {
		s, _ := service(t, kind)
		p := client(t, s, 1500*time.Millisecond)
		plain, coded := device(t, s, "good", "automatic"), device(t, s, "good", "otp")
		list := fake.Of(kind)
		if len(list) < 40 {
			t.Errorf("%s: %d oddities", kind, len(list))
		}
		for _, o := range list {
			t.Run(kind+"/"+o.Name, func(t *testing.T) {
				s.Forget()
				s.Switch(o)
				d := plain
				if o.OTP {
					d = coded
				}
				ends := sign(t.Context(), p, login(s, d), digests(max(1, o.Docs)))
				want := strings.Fields(o.Want)
				if strings.Contains(o.Want, " of ") {
					good := 0
					for _, e := range ends {
						if e == "DONE" {
							good++
						}
					}
					if strconv.Itoa(good) != want[0] {
						t.Errorf("%v, want %s", ends, o.Want)
					}
				} else {
					for _, e := range ends {
						if !slices.Contains(want, e) {
							t.Errorf("%v, want %s", ends, o.Want)
						}
					}
				}
				if again := s.Repeated(); len(again) > 0 {
					t.Errorf("sent again: %v", again)
				}
				for _, c := range s.Complaints() {
					t.Errorf("the service complains: %s", c)
				}
			})
		}
	}
}

// Keys of every kind sign, one digest and several, and leave no session open.
func TestKinds(t *testing.T) {
	for _, kind := range []string{fake.ARSS, fake.SWS} {
		s, p := service(t, kind)
		delegate := func(d *fake.Device) {
			d.Password, d.Delegate, d.DelegatePassword = "", "delegate", "Secret-of-delegate"
		}
		devices := map[string]*fake.Device{"automatic": device(t, s, "good", "automatic"), "eseal": device(t, s, "rsa3072", "eseal"), "otp": device(t, s, "good", "otp")}
		if kind == fake.ARSS {
			devices["delegate"] = device(t, s, "good", "automatic", delegate)
		}
		for name, d := range devices {
			for _, n := range []int{1, 2, 100} {
				s.Forget()
				for _, end := range sign(t.Context(), p, login(s, d), digests(n)) {
					if end != "DONE" {
						t.Errorf("%s, %s, %d digests: %s", kind, name, n, end)
						break
					}
				}
				if len(s.Made()) != n || s.OpenSessions() != 0 || len(s.Complaints()) > 0 {
					t.Errorf("%s, %s: %d of %d values, %d sessions open, %v", kind, name, len(s.Made()), n, s.OpenSessions(), s.Complaints())
				}
				if calls := len(s.Calls()); kind == fake.SWS && calls > 3 {
					t.Errorf("%s: %d calls for %d digests", name, calls, n)
				}
			}
		}
	}
}

// A one-time password lasts for digests that come later, where it was said that
// they would; and a used or wrong one does not sign.
func TestLater(t *testing.T) {
	for _, kind := range []string{fake.ARSS, fake.SWS} {
		s, p := service(t, kind)
		d := device(t, s, "good", "otp")
		l := login(s, d)
		key, err := p.Open(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			values, err := key.Sign(t.Context(), remote.Request{Hash: crypto.SHA256, Digests: digests(2), Expect: 2, More: true, Before: func(context.Context) error { return nil }})
			if err != nil || values[0].Err != nil || values[1].Err != nil {
				t.Errorf("%s, round %d: %v %v", kind, i, err, values)
			}
		}
		key.Close(t.Context())
		if s.OpenSessions() != 0 {
			t.Errorf("%s: a session is open", kind)
		}
		if ends := sign(t.Context(), p, l, digests(1)); ends[0] != "116" {
			t.Errorf("%s: a used code: %v", kind, ends)
		}
		l.Device = 9
		if ends := sign(t.Context(), p, l, digests(1)); ends[0] != "116" {
			t.Errorf("%s: a code of another device: %v", kind, ends)
		}
	}
}

// A service that adds no DigestInfo is found out by its first value, and remembered.
func TestBareDigests(t *testing.T) {
	for _, kind := range []string{fake.ARSS, fake.SWS} {
		s, p := service(t, kind)
		s.Bare = true
		d := device(t, s, "good", "automatic")
		for i, n := range []int{2, 1, 3} {
			s.Forget()
			for _, end := range sign(t.Context(), p, login(s, d), digests(n)) {
				if end != "DONE" {
					t.Errorf("%s, round %d: %s", kind, i, end)
				}
			}
			if most := n + map[bool]int{true: n}[i == 0]; len(s.Sent()) > most || len(s.Repeated()) > 0 {
				t.Errorf("%s, round %d: %d digests were sent for %d", kind, i, len(s.Sent()), n)
			}
		}
	}
}

// Codes are sent only to holders with a telephone.
func TestSendCode(t *testing.T) {
	for _, kind := range []string{fake.ARSS, fake.SWS} {
		s, p := service(t, kind)
		d := device(t, s, "good", "otp")
		if err := p.SendCode(t.Context(), remote.Login{ID: d.Name, Password: d.Password, Coded: true}); err != nil || len(s.CodesSent()) != 1 {
			t.Errorf("%s: %v, %v", kind, err, s.CodesSent())
		}
		err := p.SendCode(t.Context(), remote.Login{ID: d.Name, Password: "wrong-password", Coded: true})
		var said *remote.Error
		if !errors.As(err, &said) || said.Kind != remote.Credentials || strings.Contains(err.Error(), "wrong-password") {
			t.Errorf("%s: a wrong password: %v", kind, err)
		}
		if words, err := p.Hello(t.Context()); err != nil || words == "" {
			t.Errorf("%s: %q %v", kind, words, err)
		}
	}
}

// Who has several devices has to say which.
func TestSeveralDevices(t *testing.T) {
	s, p := service(t, fake.SWS)
	d := device(t, s, "good", "otp", func(d *fake.Device) { d.IDs = []int{7, 8} })
	l := login(s, d)
	if ends := sign(t.Context(), p, l, digests(1)); ends[0] != "116" || len(s.Sent()) > 0 {
		t.Errorf("no device: %v", ends)
	}
	l.Device = 8
	if ends := sign(t.Context(), p, l, digests(1)); ends[0] != "DONE" {
		t.Errorf("the second device: %v", ends)
	}
}

// A provider that cannot be reached has signed nothing.
func TestUnreached(t *testing.T) {
	for _, kind := range []string{fake.ARSS, fake.SWS} {
		s, p := service(t, kind)
		d := device(t, s, "good", "automatic")
		key, err := p.Open(t.Context(), login(s, d))
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		_, _ = p.Hello(t.Context()) // idle connections notice that the provider is gone
		values, err := key.Sign(t.Context(), remote.Request{Hash: crypto.SHA256, Digests: digests(1), Before: func(context.Context) error { return nil }})
		if err == nil {
			err = values[0].Err
		}
		var said *remote.Error
		if !errors.As(err, &said) || said.Kind != remote.Unreached {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
