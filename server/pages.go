package server

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"rogito.dev/rogito/internal/version"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/api/verification"
	"rogito.dev/rogito/server/internal/pages/check"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/pages/omimap"
)

// mapPerMinute is how many pages and tiles of the map one address may ask for in a minute.
const mapPerMinute = 600

// ConsoleConfig is about the pages for people.
type ConsoleConfig struct {
	Enabled        bool  `yaml:"enabled" doc:"pages for people: /, /check, /map and /console; false: only those of enrolment"`
	PublicCheck    *bool `yaml:"public_check" doc:"anybody may verify a document at /check; null: in a sandbox only"`
	CheckPerMinute int   `yaml:"check_per_minute" doc:"documents that one address (of IPv6: one /64) may have verified at /check in a minute; 0: no limit"`

	SessionIdle time.Duration `yaml:"session_idle" doc:"a browser that is logged in to /console and does nothing for so long is logged out"`
	SessionLife time.Duration `yaml:"session_life" doc:"a browser is logged in for no longer than this, and than its token lives"`
}

// publicCheck says whether anybody may use /check.
func (s *Server) publicCheck() bool {
	if p := s.cfg.Console.PublicCheck; p != nil {
		return *p
	}
	return s.sandboxed
}

// zone is the time zone of pages and reports for people; nil: by their language.
func (s *Server) zone() *time.Location {
	if s.cfg.Timezone == "" {
		return nil
	}
	zone, _ := time.LoadLocation(s.cfg.Timezone) // the configuration was checked
	return zone
}

// sections are those of the site.
var sections = []look.Section{
	{Path: "/check", Name: look.T("Check a signature", "Verifica una firma"), About: look.T("Drop a signed file and read whether you can rely on it, who signed and when. Nothing is kept.", "Trascina un file firmato e leggi se puoi fidarti, chi ha firmato e quando. Nulla viene conservato.")},
	{Path: "/map", Name: look.T("Quotations", "Quotazioni"), About: look.T("Real-estate values of the Agenzia delle Entrate (OMI) by zone, on a map, semester by semester.", "I valori immobiliari dell'Agenzia delle Entrate (OMI) per zona, sulla mappa, semestre per semestre.")},
	{Path: "/console/", Name: look.Same("Console"), About: look.T("Sign documents, find your records, look after certificates and tokens.", "Firma documenti, ritrova le pratiche, gestisci certificati e token.")},
	{Path: "/docs", Name: look.Same("API"), About: look.T("Everything that the pages do, for your own programs.", "Tutto ciò che fanno le pagine, per i tuoi programmi.")},
}

// newSite is the frame that all pages share.
func (s *Server) newSite(a *api.API) *look.Site {
	site := look.NewSite(look.Options{
		Sandbox: s.sandboxed, Version: version.Number, Zone: s.zone(), Secure: strings.HasPrefix(s.cfg.PublicURL, "https:"), Log: s.log, JSON: a.Fail,
	})
	if s.cfg.Console.Enabled {
		site.Sections = sections
	}
	site.Operator = look.Operator{Name: s.cfg.Operator.Name, Privacy: s.cfg.Operator.PrivacyURL, Terms: s.cfg.Operator.TermsURL}
	if name, logo, err := picture(s.cfg.Operator.Logo, "operator"); err != nil {
		s.log.Warn("operator.logo is not shown", "error", err)
	} else if name != "" {
		site.Operator.Logo = name
		site.Add(name, logo)
	}
	site.Artwork = map[string]string{}
	for method, file := range map[string]string{"spid": s.cfg.Identify.SPID.Button, "cie": s.cfg.Identify.CIE.Button} {
		if name, logo, err := picture(file, method+"-button"); err != nil {
			s.log.Warn("identify."+method+".button is not shown", "error", err)
		} else if name != "" {
			site.Artwork[method] = name
			site.Add(name, logo)
		}
	}
	a.Mount("/pages/*", http.HandlerFunc(site.Static))
	return site
}

// maxLogo bounds a picture of the operator's, which pages for private persons show.
const maxLogo = 256 << 10

// picture reads a picture of the operator's, and says what its file is called on the
// pages.
func picture(file, called string) (name string, content []byte, err error) {
	if file == "" {
		return "", nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	if len(b) > maxLogo {
		return "", nil, errors.New("it is larger than 256 kB")
	}
	kinds := map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/svg+xml": ".svg"}
	media := http.DetectContentType(b)
	if bytes.Contains(b[:min(len(b), 1024)], []byte("<svg")) {
		media = "image/svg+xml"
	}
	if kinds[media] == "" {
		return "", nil, errors.New("it is neither PNG, JPEG nor SVG")
	}
	return called + kinds[media], b, nil
}

// mountConsole adds the pages that console.enabled is about, a line or two for
// each package of them.
func (s *Server) mountConsole(a *api.API, site *look.Site) {
	quoted := omimap.New(site, s.publications, s.finder(), mapPerMinute)
	a.Mount("/map", quoted)
	a.Mount("/map/*", quoted)
	console := s.consolePages(a, site)
	pages := &check.Pages{Site: site, Public: s.publicCheck(), SignedIn: console.SignedIn, PerMinute: s.cfg.Console.CheckPerMinute, MaxDocument: s.cfg.Limits.Document}
	pages.Mount(a, s.verification())
}

// verification is the service behind POST /verify and /check.
func (s *Server) verification() *verification.Verify {
	return &verification.Verify{
		Verifier: s.sig.verifier, MaxDocument: s.cfg.Limits.Document, Zone: s.zone(), Producer: "Rogito " + version.Number,
		Seal: s.completion().SealReport, SealJSON: s.completion().SealJSON, Judged: s.metrics.Verified,
	}
}
