package main

import (
	"crypto"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // time zones where the machine has none

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/jades"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/trust"
	"rogito.dev/rogito/tsp"
	"rogito.dev/rogito/xades"
)

func init() {
	add(groupFiles, "sign", "sign files", func() any { return &signCommand{} })
	add(groupFiles, "augment", "raise signatures to T, LT or LTA", func() any { return &augmentCommand{} })
}

// raiseFlags say how far to raise a signature, and with whose help.
type raiseFlags struct {
	TSA     []string `placeholder:"URL" help:"time-stamping authority; several are asked in order"`
	TSAUser string   `placeholder:"NAME" help:"user name at the authority (password in ROGITO_TSA_PASSWORD)"`
	Trust   []string `type:"path" placeholder:"PEM" help:"trust anchor, where chains may end"`
	Hash    string   `enum:"SHA256,SHA384,SHA512" default:"SHA256" help:"${enum}"`
	networkFlags
	PDFPassword string `type:"path" name:"pdf-password-file" placeholder:"FILE" help:"file with the password of encrypted PDFs"`
}

var hashes = map[string]crypto.Hash{"SHA256": crypto.SHA256, "SHA384": crypto.SHA384, "SHA512": crypto.SHA512}

// parseLevel knows LTV as well: LT with VRI entries.
func parseLevel(s string) (level ades.Level, vri bool) {
	vri = s == "LTV"
	level, _ = ades.ParseLevel(strings.TrimSuffix(s, "V")) // the flag takes no others
	return level, vri
}

func (f raiseFlags) stamper(s *session) *tsp.Client {
	c := &tsp.Client{Retries: 2, Timeout: 10 * time.Second}
	password, _ := s.getenv("ROGITO_TSA_PASSWORD")
	for _, u := range f.TSA {
		c.Servers = append(c.Servers, tsp.Server{URL: u, Username: f.TSAUser, Password: password})
	}
	return c
}

// checkTSA makes sure that authorities have addresses.
func (f raiseFlags) checkTSA() error {
	for _, u := range f.TSA {
		if err := webAddress("--tsa", u); err != nil {
			return err
		}
	}
	return nil
}

func (f raiseFlags) sources() (*trust.Gatherer, error) {
	client, err := f.client()
	if err != nil {
		return nil, err
	}
	store := &trust.Store{Client: client}
	return &trust.Gatherer{Store: store}, addAnchors(store, f.Trust)
}

type signCommand struct {
	keyFlags
	raiseFlags
	output
	visibleFlags
	Format        string   `enum:"auto,cades,pades,xades,jades,pkcs1" default:"auto" help:"${enum}; auto: by content"`
	Serialization string   `enum:"flattened,general,compact" default:"flattened" help:"form of a JSON signature (jades): ${enum}; compact at level B only"`
	Packaging     string   `enum:"auto,attached,detached,enveloped,enveloping,internally-detached,asic-s,asic-e" default:"auto" help:"${enum}"`
	Level         string   `enum:"B,T,LT,LTA,LTV" default:"B" help:"${enum}"`
	PSS           bool     `name:"pss" help:"RSASSA-PSS in place of PKCS#1 v1.5"`
	Parallel      bool     `help:"add a signature beside those in a p7m or container"`
	Counter       bool     `help:"sign the signatures of a p7m or a JSON signature in place of its content"`
	Together      bool     `help:"one signature over all files: ASiC-E, or detached with --format jades --packaging detached"`
	Commitment    string   `placeholder:"NAME" help:"what the signer means: proof-of-origin, -receipt, -delivery, -sender, -approval, -creation, or an object identifier"`
	Content       bool     `name:"content-timestamp" help:"time-stamp the content before it is signed (needs --tsa)"`
	AsIs          bool     `name:"as-is" help:"refuse a PDF that would have to be written anew before it is signed"`
	Files         []string `arg:"" name:"file" help:"files, or folders of files, to sign"`
}

func (signCommand) Help() string {
	return example(`Signs each file on its own: PDF as PAdES, XML as XAdES, everything else as CAdES, unless told
otherwise. The results stand beside the files: NAME-signed.pdf, NAME-signed.xml, NAME.p7m, NAME.p7s,
NAME.asice, NAME.asics, NAME.sig, NAME.json, NAME.jws. One failure does not stop the rest; the exit code tells (3).

A PDF without signatures that is damaged, or that readers could take in two ways, is written anew with
the same pages and everything in it, and the copy is signed; a line says so.`,
		"rogito sign --key me.p12 --password-file pin.txt contract.pdf",
		"rogito sign --key me.p12 --level LTA --tsa https://tsa.example/tsr --out signed/ invoices/",
		"rogito sign --key me.p12 --visible 1,50,700 --reason Approval contract.pdf",
		"rogito sign --key me.p12 --format jades --packaging detached --together order.json terms.pdf")
}

func (c *signCommand) Run(s *session) error {
	id, err := c.keyFlags.open(s)
	if err != nil {
		return err
	}
	defer id.close()
	o, err := c.options(s, id)
	if err != nil {
		return err
	}
	if c.Together {
		return c.together(s, id, o)
	}
	return c.each(s, c.Files, func(name string, f *sourceFile) (string, func(io.Writer) error) {
		in := rogito.File(name, f)
		o := o
		o.Time = time.Now()
		return signedName(name, o.Form(in)), func(w io.Writer) error {
			signed, err := rogito.Sign(s.ctx, in, w, id.key, o)
			if errors.Is(err, ades.ErrNotFound) && c.Visible != "" && c.Field == "" {
				return fmt.Errorf("--visible %s: %s", c.Visible, strings.TrimPrefix(err.Error(), "pades: "))
			}
			if err != nil {
				return locked(err, o.PAdES.Password)
			}
			if len(signed.Anew) > 0 {
				s.notef("%s: written anew before it was signed: %s", name, signed.Anew[0])
			}
			for _, r := range signed.Remarks {
				s.notef("%s: signed, but %s", name, r.Text)
			}
			for _, r := range c.idle(signed.Form) {
				s.notef("%s: signed, but %s", name, r)
			}
			return nil
		}
	})
}

// idle says which flags did nothing for a file, since they are for PDF.
func (c *signCommand) idle(form rogito.Form) (remarks []string) {
	if form.Format == ades.PAdES {
		return nil
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"--visible", c.Visible != ""},
		{"--reason", c.Reason != ""},
		{"--location", c.Location != ""},
		{"--contact", c.Contact != ""},
		{"--field", c.Field != ""},
		{"--certify", c.Certify != 0},
		{"--lock", len(c.Lock) > 0},
	} {
		if f.set {
			remarks = append(remarks, f.name+" does nothing here: it is for PDF, and this became "+string(form.Format))
		}
	}
	return remarks
}

// together signs all files in one container.
func (c *signCommand) together(s *session, id *identity, o rogito.Options) error {
	files, err := expand(c.Files)
	if err != nil {
		return err
	}
	var in rogito.Input
	for _, p := range files {
		f, err := s.open(p.path)
		if err != nil {
			return err
		}
		defer f.Close()
		in.Files = append(in.Files, ades.File{Name: baseOf(p.path), Source: f})
	}
	o.Time = time.Now()
	switch {
	case c.Format != "jades":
		o.Format, o.ASiC, o.CAdES, o.XAdES, o.PAdES = ades.ASiCE, asic.Options{CAdES: c.Format == "cades"}, cades.Options{}, xades.Options{}, pades.Options{}
	case !o.JAdES.Detached:
		return errors.New("jades signs several files together only with --packaging detached")
	}
	to := c.place(files[0].path, "signed."+o.Form(in).Extension, true)
	err = writeFile(to, c.Force, func(w io.Writer) error {
		_, err := rogito.Sign(s.ctx, in, w, id.key, o)
		return err
	})
	if err != nil {
		return err
	}
	if !c.JSON {
		files = files[:1] // its place is printed once
	}
	for _, f := range files {
		c.made(s, f.path, []string{to}, nil)
	}
	return nil
}

// signedName is the usual name of a signed file.
func signedName(name string, form rogito.Form) string {
	if !form.InPlace {
		return name + "." + form.Extension
	}
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + "-signed" + ext
}

func (c *signCommand) options(s *session, id *identity) (rogito.Options, error) {
	level, vri := parseLevel(c.Level)
	o := rogito.Options{
		SignParams: ades.SignParams{Certificate: id.cert, Chain: id.chain, Hash: hashes[c.Hash], PSS: c.PSS},
		Format:     map[string]ades.Format{"cades": ades.CAdES, "pades": ades.PAdES, "xades": ades.XAdES, "jades": ades.JAdES, "pkcs1": ades.PKCS1}[c.Format],
		Level:      level,
		VRI:        vri,
		Parallel:   c.Parallel,
		Counter:    c.Counter,
	}
	if err := c.checkTSA(); err != nil {
		return o, err
	}
	if c.Commitment != "" {
		id := ades.Commitment(c.Commitment)
		if id == "" {
			id = c.Commitment
		}
		o.Commitments = []string{id}
	}
	switch o.ContentTimestamp = c.Content; {
	case level >= ades.LevelT && len(c.TSA) == 0:
		return o, errors.New("level " + c.Level + " needs a time-stamping authority: --tsa URL")
	case c.Content && len(c.TSA) == 0:
		return o, errors.New("--content-timestamp needs a time-stamping authority: --tsa URL")
	case level >= ades.LevelT || c.Content:
		o.Stamper = c.stamper(s)
	}
	if level >= ades.LevelLT {
		sources, err := c.sources()
		if err != nil {
			return o, err
		}
		o.Gatherer = sources
	}
	var err error
	if o.PAdES, err = c.pdf(s, id.cert.Subject.CommonName); err != nil {
		return o, err
	}
	o.PAdES.AsIs = c.AsIs
	if o.PAdES.Password, err = secretFile(c.PDFPassword); err != nil {
		return o, err
	}
	return o, c.packaging(&o)
}

func (c *signCommand) packaging(o *rogito.Options) error {
	xml := map[string]xades.Packaging{
		"enveloped": xades.Enveloped, "enveloping": xades.Enveloping,
		"detached": xades.Detached, "internally-detached": xades.InternallyDetached,
	}
	switch p := c.Packaging; {
	case c.Format == "jades":
		o.PAdES = pades.Options{}
		o.JAdES.Serialization, _ = jades.ParseSerialization(c.Serialization) // the flag takes no others
		if o.JAdES.Detached = p == "detached"; p != "auto" && p != "attached" && p != "detached" {
			return fmt.Errorf("jades cannot be %s", p)
		}
		if o.JAdES.Serialization == jades.Compact && o.Level > ades.LevelB {
			return errors.New("the compact form of jades goes with level B only")
		}
	case p == "auto":
	case p == "asic-s":
		o.Format, o.ASiC.CAdES = ades.ASiCS, c.Format == "cades"
	case p == "asic-e":
		o.Format, o.ASiC.CAdES = ades.ASiCE, c.Format == "cades"
	case p == "attached" && c.Format != "xades" && c.Format != "pades":
		o.Format = ades.CAdES
	case p == "detached" && c.Format != "xades" && c.Format != "pades":
		o.Format, o.CAdES.Detached = ades.CAdES, true
	case c.Format == "xades" || c.Format == "auto" && p != "attached":
		k, ok := xml[p]
		if !ok {
			return fmt.Errorf("xades cannot be %s", p)
		}
		o.Format, o.XAdES.Packaging = ades.XAdES, k
	default:
		return fmt.Errorf("%s cannot be %s", c.Format, p)
	}
	if o.Format != "" && o.Format != ades.PAdES { // flags for PDF are for those among the files
		o.PAdES = pades.Options{}
	}
	return nil
}

type augmentCommand struct {
	raiseFlags
	output
	Level    string   `enum:"T,LT,LTA,LTV" default:"LTA" help:"${enum}"`
	Detached []string `placeholder:"[NAME=]FILE" help:"content of a detached signature"`
	Files    []string `arg:"" name:"file" help:"signed files, or folders of them"`
}

func (augmentCommand) Help() string {
	return example(`Raises every signature of a file to the level asked for, and renews LTA where it is there already.
The result stands beside the file as NAME-LEVEL.ext.`,
		"rogito augment --level LTA --tsa https://tsa.example/tsr contract-signed.pdf")
}

func (c *augmentCommand) Run(s *session) error {
	if len(c.TSA) == 0 {
		return errors.New("a time-stamping authority is needed: --tsa URL")
	}
	if err := c.checkTSA(); err != nil {
		return err
	}
	level, vri := parseLevel(c.Level)
	r := ades.AugmentOptions{Level: level, VRI: vri, Stamper: c.stamper(s), Hash: hashes[c.Hash]}
	var err error
	if r.Detached, err = detachedFiles(c.Detached); err != nil {
		return err
	}
	if r.Gatherer, err = c.sources(); err != nil {
		return err
	}
	if r.Password, err = secretFile(c.PDFPassword); err != nil {
		return err
	}
	return c.each(s, c.Files, func(name string, f *sourceFile) (string, func(io.Writer) error) {
		ext := filepath.Ext(name)
		r := r
		r.Time = time.Now()
		return strings.TrimSuffix(name, ext) + "-" + c.Level + ext, func(w io.Writer) error { return locked(rogito.Augment(s.ctx, f, w, r), r.Password) }
	})
}

// visibleFlags are what only PDF signatures have.
type visibleFlags struct {
	Visible  string   `placeholder:"PAGE[,X,Y[,W,H]]" help:"show the signature on a page (-1: the last), points from the top left corner; without X,Y where nothing is written"`
	Image    string   `type:"path" placeholder:"FILE" help:"PNG or JPEG in a visible signature"`
	Layout   string   `enum:"beside,above,behind,text,compact,picture" default:"beside" help:"where the picture stands to the text of a visible signature: ${enum}"`
	Text     []string `placeholder:"LINE" help:"lines of a visible signature (default: name, time, reason, location)"`
	Lang     string   `enum:"auto,en,it" default:"auto" help:"language of the text of a visible signature: ${enum}; auto: as LANG says"`
	Reason   string   `placeholder:"TEXT" help:"reason, in the signature"`
	Location string   `placeholder:"TEXT" help:"location, in the signature"`
	Contact  string   `placeholder:"TEXT" help:"contact, in the signature"`
	Timezone string   `placeholder:"ZONE" help:"zone of the time shown, e.g. Europe/Rome; by default that of the machine (TZ)"`
	Field    string   `placeholder:"NAME" help:"sign into this empty field"`
	Certify  int      `placeholder:"1|2|3" help:"certify: 1 no changes, 2 form filling, 3 comments too"`
	Lock     []string `placeholder:"NAME" help:"fields that may not change any more"`
}

func (v visibleFlags) pdf(s *session, name string) (pades.Options, error) {
	o := pades.Options{Name: name, Reason: v.Reason, Location: v.Location, ContactInfo: v.Contact, Field: v.Field, Certify: v.Certify}
	if len(v.Lock) > 0 {
		o.Lock = &pades.Lock{Fields: v.Lock}
	}
	if v.Visible == "" {
		if v.Image != "" || len(v.Text) > 0 {
			s.notef("--image and --text show nothing without --visible PAGE,X,Y")
		}
		return o, nil
	}
	a := &pades.Appearance{X: 36, Y: 36, Width: 164, Height: 45, Layout: pades.Layout(v.Layout), Language: string(s.language(v.Lang)), Lines: v.Text}
	if err := place(a, v.Visible); err != nil {
		return o, err
	}
	var err error
	if a.Zone, err = zoneOf(v.Timezone); err != nil {
		return o, err
	}
	if v.Image != "" {
		if a.Image, err = os.ReadFile(v.Image); err != nil {
			return o, err
		}
	}
	o.Appearance = a
	return o, nil
}

// place reads where a signature shows: a page; and a point; and how large.
func place(a *pades.Appearance, text string) error {
	wrong := fmt.Errorf("--visible %s: want PAGE, PAGE,X,Y or PAGE,X,Y,WIDTH,HEIGHT, such as 1,50,700", text)
	page, rest, more := strings.Cut(text, ",")
	var err error
	if a.Page, err = strconv.Atoi(page); err != nil {
		return wrong
	}
	if !more {
		a.Anywhere = true
		return nil
	}
	numbers := strings.Split(rest, ",")
	if len(numbers) != 2 && len(numbers) != 4 {
		return wrong
	}
	for i, into := range []*float64{&a.X, &a.Y, &a.Width, &a.Height}[:len(numbers)] {
		if *into, err = strconv.ParseFloat(numbers[i], 64); err != nil || math.IsNaN(*into) || math.IsInf(*into, 0) {
			return wrong
		}
	}
	return nil
}
