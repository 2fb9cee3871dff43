//go:build !files

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupPeople, "cert", "certificates: buy, list, import, remote, review, suspend, revoke, unlock, otp", func() any { return &certCommand{} })
}

type certCommand struct {
	List    certList   `cmd:"" help:"list certificates"`
	Buy     certBuy    `cmd:"" help:"order a certificate for an account"`
	Import  certImport `cmd:"" help:"take in a key pair from a PKCS#12 file"`
	Remote  certRemote `cmd:"" help:"take a key at a remote provider into use"`
	Review  certReview `cmd:"" help:"show what an identification by video would certify, approve or refuse it"`
	Suspend certChange `cmd:"" help:"put a certificate on hold"`
	Resume  certChange `cmd:"" help:"take a certificate off hold"`
	Revoke  certChange `cmd:"" help:"revoke a certificate for good"`
	Cancel  certChange `cmd:"" help:"give an order up; the price comes back"`
	Unlock  certUnlock `cmd:"" help:"forget the wrong passwords of a username"`
	Otp     certOTP    `cmd:"" name:"otp" help:"sandbox: print the current one-time password of a username"`
}

// Help is the page of the command.
func (certCommand) Help() string {
	return example(`
The operator's side of certificates. What a holder sees (credentials, the code
to scan) is shown on the page behind the certificate's link, once.`,
		"rogito cert list --account anna@example.org",
		"rogito cert review 65c0ffee65c0ffee65c0ffee",
		"rogito cert review 65c0ffee65c0ffee65c0ffee --watch",
		"rogito cert review 65c0ffee65c0ffee65c0ffee --approve",
		"rogito cert remote trust-provider 1b2c3d --kind eseal --account anna@example.org --pin-file pin",
		"rogito cert remote aruba ROSSI_M --password-file delegate.password --delegate ACME --account anna@example.org",
		"rogito cert otp RHI0123456789012")
}

type certList struct {
	dataFlags
	Account string `placeholder:"EMAIL" help:"only those of an account"`
	State   string `help:"only those in a state: NEW, REGISTERING, DONE, …"`
	outcome
}

// Run lists the certificates.
func (c *certList) Run(s *session, srv *server.Server) error {
	list, err := srv.Certificates(s.ctx, c.Account, c.State)
	if err != nil {
		return err
	}
	rows := [][]any{{"ID", "KIND", "STATE", "USERNAME", "EXPIRES", "HOLDER"}}
	for _, l := range list {
		owner := l.Owner
		if l.LabelDiffers {
			owner += " (a label: the certificate is for another name, see --json)"
		}
		rows = append(rows, []any{l.ID, l.Kind, l.State, l.Username, l.ExpireAt.Format(time.DateOnly), owner})
	}
	return c.table(s, list, rows)
}

func printCertificate(s *session, l *server.CertificateInfo, o outcome) error {
	text := fmt.Sprintf("%s  %s  %s", l.ID, l.Kind, l.State)
	if l.Link != "" {
		text += "\n" + l.Link
	}
	return o.report(s, l, "%s", text)
}

type certBuy struct {
	dataFlags
	Email          string `arg:"" help:"account that pays"`
	Kind           string `arg:"" enum:"automatic,otp,eseal" help:"automatic, otp or eseal"`
	Owner          string `arg:"" help:"name of the holder"`
	Identification string `help:"video, spid, cie, cns or signature; absent: whatever the page offers"`
	outcome
}

// Run orders a certificate.
func (c *certBuy) Run(s *session, srv *server.Server) error {
	l, err := srv.BuyCertificate(s.ctx, c.Email, c.Kind, c.Owner, c.Identification)
	if err != nil {
		return err
	}
	return printCertificate(s, l, c.outcome)
}

type certImport struct {
	dataFlags
	Email        string `arg:"" help:"account that the certificate will belong to"`
	Kind         string `arg:"" enum:"automatic,otp,eseal" help:"automatic, otp or eseal"`
	File         string `arg:"" type:"existingfile" help:"PKCS#12 file"`
	Username     string `help:"username of the new certificate; made when absent"`
	PasswordFile string `type:"path" placeholder:"FILE" help:"file with the password of the PKCS#12 file (else ROGITO_KEY_PASSWORD, else asked for); it stays the certificate's"`
	outcome
}

// Run imports a key pair.
func (c *certImport) Run(s *session, srv *server.Server) error {
	ask := secret{file: c.PasswordFile, variable: "ROGITO_KEY_PASSWORD", prompt: "password of the PKCS#12 file"}
	password, err := ask.read(s)
	if err != nil {
		return err
	}
	pfx, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	made, err := srv.ImportCertificate(s.ctx, c.Email, c.Kind, pfx, password, c.Username, "")
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s  %s  username %s", made.ID, made.Kind, made.Username)
	if made.TOTPSecret != "" {
		text += "\nsecret for one-time passwords, shown once: " + made.TOTPSecret
	}
	return c.report(s, made, "%s", text)
}

type certRemote struct {
	dataFlags
	Provider   string `arg:"" help:"name of the provider in the configuration (signing.providers)"`
	Credential string `arg:"" help:"key as the provider knows it: a credential (credentialID; rogito provider test lists them), or the username there"`
	Kind       string `enum:"automatic,otp,eseal," default:"" help:"automatic, otp or eseal (default: otp for RHI…, eseal for SHI…, else automatic)"`
	Account    string `placeholder:"EMAIL" help:"account that the certificate will belong to (default: the only one)"`

	PasswordFile         string `aliases:"pin-file" type:"existingfile" placeholder:"FILE" help:"file with the password or PIN of the key, where it has one; with --delegate and no other file, that of the delegate"`
	Delegate             string `placeholder:"USER" help:"who uses the key in place of its holder (ARSS)"`
	DelegatePasswordFile string `type:"existingfile" placeholder:"FILE" help:"file with the delegate's password"`

	outcome
}

// keyKind is the kind of certificate for the name of a key at a provider.
func keyKind(name string) string {
	switch name = strings.ToUpper(name); {
	case strings.HasPrefix(name, "RHI"):
		return "otp"
	case strings.HasPrefix(name, "SHI"):
		return "eseal"
	}
	return "automatic"
}

// Run takes the key into use.
func (c *certRemote) Run(s *session, srv *server.Server) error {
	k := server.RemoteKey{Provider: c.Provider, Kind: cmp.Or(c.Kind, keyKind(c.Credential)), ID: c.Credential, Delegate: c.Delegate}
	var err error
	if k.Password, k.DelegatePassword, err = keyPasswords(c.PasswordFile, c.Delegate, c.DelegatePasswordFile); err != nil {
		return err
	}
	made, err := srv.AddRemote(s.ctx, c.Account, k)
	if err != nil {
		return err
	}
	return c.report(s, made, "%s  %s  username %s\npassword, shown once: %s", made.ID, made.Kind, made.Username, made.Password)
}

type certReview struct {
	dataFlags
	ID      string `arg:"" help:"id of the certificate"`
	Approve bool   `xor:"verdict" help:"the person is who they say"`
	Refuse  bool   `xor:"verdict" help:"they are not: the order is cancelled"`
	Reason  string `help:"why; the holder is told where it is a refusal: a word such as document-expired (docs/identification.md), or your own"`
	Digest  string `placeholder:"HEX" help:"digest of what was shown: nothing else is decided on. Absent: what is shown now"`
	Watch   bool   `xor:"verdict" help:"print a link that shows the video and the photo in a browser, once, and decide nothing"`
	As      string `placeholder:"EMAIL" help:"administrator that --watch logs in (default: the only one)"`
	Save    string `type:"path" placeholder:"DIR" help:"write the video and the photo into a folder, and decide nothing"`
	outcome
}

// Run shows the evidence or takes the decision.
func (c *certReview) Run(s *session, srv *server.Server) error {
	if c.Save != "" {
		return c.save(s, srv)
	}
	shown, err := srv.WaitingCertificate(s.ctx, c.ID)
	if err != nil {
		return err
	}
	if c.Watch {
		link, err := srv.ReviewLink(s.ctx, c.ID, c.As)
		if err != nil {
			return err
		}
		return printLink(s, link, c.outcome)
	}
	decides := c.Approve || c.Refuse
	if c.JSON && !decides {
		return json.NewEncoder(s.stdout).Encode(shown)
	}
	if !c.JSON {
		c.print(s, shown)
	}
	if !decides {
		s.printf("\nLook at the files (--watch: in a browser; --save DIR), then say --approve or --refuse.\n")
		return nil
	}
	if c.Digest == "" {
		c.Digest = shown.Digest
	}
	l, err := srv.ReviewCertificate(s.ctx, c.ID, c.Approve, c.Reason, c.Digest)
	if err != nil {
		return err
	}
	return printCertificate(s, l, c.outcome)
}

// save writes the evidence into a folder.
func (c *certReview) save(s *session, srv *server.Server) error {
	kept, err := srv.Evidence(s.ctx, c.ID)
	if err != nil {
		return err
	}
	paths := []string{}
	for _, f := range kept.Files {
		path := filepath.Join(c.Save, filepath.Base(f.Name))
		if err := saveFile(path, bytes.NewReader(f.Content)); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	return c.report(s, map[string]any{"files": paths}, "%s", strings.Join(paths, "\n"))
}

// print shows everything that an approval certifies, beside the evidence.
func (c *certReview) print(s *session, w *server.ReviewInfo) {
	t := tabwriter.NewWriter(s.text(), 0, 4, 2, ' ', 0)
	printRow(t, "order", w.ID, w.Kind, w.State)
	printRow(t, "account", w.Account)
	printRow(t, "label", w.Owner)
	printRow(t, "identified by", w.Method, "handed in "+w.HandedInAt.UTC().Format(time.DateTime)+" UTC")
	for _, name := range w.Files {
		printRow(t, "file", name)
	}
	printRow(t, "the certificate will say", w.SubjectDN)
	printRow(t, "  commonName", w.CommonName)
	w.Attributes.Each(func(name, value string) { printRow(t, "  "+name, value) })
	for _, name := range w.LeftOut {
		printRow(t, "left out", name)
	}
	printRow(t, "digest", w.Digest)
	_ = t.Flush() // to a terminal or a pipe, which may be gone
	if w.LabelDiffers {
		s.printf("THE LABEL IS NOT THE NAME THAT IS CERTIFIED: hold the name above against the evidence.\n")
	}
	if w.Problem != "" {
		s.printf("It cannot be approved: %s\n", w.Problem)
	}
}

// saveFile makes a new file that only its owner reads.
func saveFile(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

type certChange struct {
	dataFlags
	ID string `arg:"" help:"id of the certificate"`
	outcome
}

// Run does what the word says.
func (c *certChange) Run(s *session, srv *server.Server, k *kong.Context) error {
	l, err := srv.ChangeCertificate(s.ctx, c.ID, k.Selected().Name)
	if err != nil {
		return err
	}
	return printCertificate(s, l, c.outcome)
}

type certUnlock struct {
	dataFlags
	outcome
	Username string `arg:"" help:"username of the certificate"`
}

// Run unlocks a username.
func (c *certUnlock) Run(s *session, srv *server.Server) error {
	n, err := srv.UnlockCertificate(s.ctx, c.Username)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("no certificate has the username %s", c.Username)
	}
	return c.report(s, map[string]any{"username": c.Username, "unlocked": true}, "unlocked")
}

type certOTP struct {
	dataFlags
	Username string `arg:"" help:"username of the certificate"`
	outcome
}

// Run prints the code.
func (c *certOTP) Run(s *session, srv *server.Server) error {
	code, err := srv.OneTimePassword(s.ctx, c.Username)
	if err != nil {
		return err
	}
	return c.report(s, map[string]string{"username": c.Username, "otp": code}, "%s", code)
}
