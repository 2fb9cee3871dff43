package spid

import (
	"context"
	"net/http"
	"slices"
	"time"

	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/sentence"
)

// warning is how long before the end of something a check complains.
const warning = 30 * 24 * time.Hour

// Check looks at the certificate, at the metadata (which it reads again) and at
// the identity providers, each of which it calls.
func (s *SPID) Check(ctx context.Context) []identify.Finding {
	now := s.now()
	out := []identify.Finding{ending("SPID certificate", s.certs[0].NotAfter, now), s.notice29()}
	for _, c := range s.certs[1:] {
		out = append(out, ending("SPID further certificate", c.NotAfter, now))
	}
	if len(s.sources) == 0 {
		out = append(out, identify.Finding{Name: "SPID metadata", Detail: sentence.New("identify.spid.idp_metadata names none: SPID is not offered")})
	}
	for _, src := range s.sources {
		l := s.load(ctx, src, true)
		f := identify.Finding{Name: "SPID metadata " + src.at, OK: l.err == nil}
		switch {
		case l.err == nil:
			f.Detail = sentence.New("%d identity providers", len(l.providers))
		case l.read.IsZero():
			f.Detail = sentence.New("never read: %v", l.err)
		default:
			f.Detail = sentence.New("read %s ago, not since: %v", now.Sub(l.read).Round(time.Minute), l.err)
		}
		out = append(out, f)
		for _, p := range l.providers {
			out = append(out, s.checkProvider(ctx, p, now))
		}
	}
	return out
}

func (s *SPID) checkProvider(ctx context.Context, p *provider, now time.Time) identify.Finding {
	f := identify.Finding{Name: "SPID " + p.entity}
	end := p.until
	for _, c := range p.certs(now) { // the last certificate to end counts
		if p.until.IsZero() && c.NotAfter.After(end) {
			end = c.NotAfter
		}
	}
	switch {
	case !p.until.IsZero() && !now.Before(p.until):
		f.Detail = sentence.New("its metadata ended %s", p.until.Format(time.DateOnly))
	case len(p.certs(now)) == 0:
		f.Detail = sentence.New("it has no certificate that is valid now")
	case p.insecureParts:
		f.Detail = sentence.New("it can be reached without TLS only")
	case len(p.sso) == 0:
		f.Detail = sentence.New("it takes requests neither by HTTP-POST nor by HTTP-Redirect")
	default:
		if err := s.reach(ctx, p); err != nil {
			f.Detail = sentence.New("it cannot be reached: %v", err)
			return f
		}
		f = ending(f.Name, end, now)
		f.Detail = sentence.New("it can be reached; %s", f.Detail)
	}
	return f
}

// reach asks for the page that people are sent to. Any answer will do: without
// a request it is mostly an error.
func (s *SPID) reach(ctx context.Context, p *provider) error {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	var at string
	for _, at = range p.sso {
		break
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, at, nil)
	if err != nil {
		return err
	}
	answer, err := s.deps.Client.Do(r)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

func ending(name string, end, now time.Time) identify.Finding {
	f := identify.Finding{Name: name, Detail: sentence.New("valid until %s", end.Format(time.DateOnly)), OK: now.Add(warning).Before(end)}
	switch {
	case !now.Before(end):
		f.Detail = sentence.New("ended %s", end.Format(time.DateOnly))
	case !f.OK:
		f.Detail = sentence.New("valid until %s, which is soon", end.Format(time.DateOnly))
	}
	return f
}

// notice29 holds the certificate against AgID's notice 29: the policy of a
// public or private provider, and the entity's name in the subject.
func (s *SPID) notice29() identify.Finding {
	const (
		uri     = "2.5.4.83"
		public  = "1.3.76.16.4.2.1"
		private = "1.3.76.16.4.3.1"
	)
	c, want := s.certs[0], public
	if s.cfg.Contact.private() {
		want = private
	}
	f := identify.Finding{Name: "SPID certificate, AgID notice 29", OK: true, Detail: sentence.New("policy and name fit")}
	switch {
	case !slices.Contains(c.Policies, want):
		f.OK, f.Detail = false, sentence.New("the policy %s is missing: AgID will not take the metadata", want)
	case c.Subject.Get(uri) != s.cfg.EntityID:
		f.OK, f.Detail = false, sentence.New("the subject's uri (2.5.4.83) is not identify.spid.entity_id: AgID will not take the metadata")
	}
	return f
}
