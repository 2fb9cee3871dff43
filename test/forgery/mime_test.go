package forgery

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/cades"
)

func init() { register("mime", makeMIME) }

// mailReader prints the texts that a program for mail shows.
var mailReader = []string{"python3", "-c", `
import email, sys
for p in email.message_from_binary_file(open(sys.argv[1], "rb")).walk():
    if p.get_content_type() in ("text/plain", "text/html"):
        print(p.get_payload(decode=True).decode("latin1"))
`, "@"}

// makeMIME: messages in which other programs find other parts. What is signed is
// untouched; a part of the forger stands where the signed parts are not.
func makeMIME(t *testing.T, m *materials) []specimen {
	var list []specimen
	sign := func(content string) []byte {
		return m.signOne("letter.txt", []byte(content), func(o *rogito.Options) {
			o.Format, o.CAdES = ades.CAdES, cades.Options{Detached: true}
		})
	}
	add := func(want, name, data, shows string) {
		sp := specimen{name: name, data: []byte(data), want: want}
		if shows != "" {
			sp.shows, sp.asks = shows, mailReader
		}
		list = append(list, sp)
	}
	message := smime(entity, sign(entity))
	evil := "Content-Type: text/plain\r\n\r\n" + forgedText + "\r\n"
	// with writes the boundary into the header in another way, delimits the signed
	// parts by ours, and puts a part between theirs before them.
	with := func(parameter, ours, theirs string) string {
		d := strings.Replace(message, `boundary="----B0"`, parameter, 1)
		d = strings.ReplaceAll(d, "\r\n------B0", "\r\n--"+ours)
		return strings.Replace(d, "This is an S/MIME signed message\r\n", "--"+theirs+"\r\n"+evil+"--"+theirs+"--\r\n", 1)
	}
	long := strings.Repeat("Q", 71)
	for name, d := range map[string]string{
		"a blank at the end":              with(`boundary="QQQ "`, "QQQ ", "QQQ"),
		"blanks at the end":               with(`boundary="QQQ   "`, "QQQ   ", "QQQ"),
		"a tabulator at the end":          with("boundary=\"QQQ\t\"", "QQQ\t", "QQQ"),
		"a comment behind":                with(`boundary=QQQ(x)`, "QQQ", "QQQ(x)"),
		"a comment before":                with(`boundary=(x)QQQ`, "QQQ", "(x)QQQ"),
		"twice":                           with(`boundary="QQQ"; boundary="RRR"`, "RRR", "QQQ"),
		"twice, in capitals":              with(`BOUNDARY="QQQ"; boundary="RRR"`, "RRR", "QQQ"),
		"another beside the signed parts": with(`boundary="RRR"; x="y"; boundary*=us-ascii''QQQ`, "QQQ", "RRR"),
		"a parameter that is none":        with(`boundary=QQQ=R`, "QQQ", "QQQ=R"),
		"a blank inside, not quoted":      with(`boundary=QQQ R`, "QQQ", "QQQ R"),
	} {
		add(forged, "boundary: "+name, d, forgedText)
	}
	for name, d := range map[string]string{
		"in pieces":                 with(`boundary*0="QQ"; boundary*1="Q"; boundary="RRR"`, "RRR", "QQQ"),
		"a quoted pair":             with(`boundary="QQ\Q"`, `QQ\Q`, "QQQ"),
		"two quoted pairs":          with(`boundary="\Q\QQ"`, `\Q\QQ`, "QQQ"),
		"too long":                  with(`boundary="`+long+`"`, long, long[:70]),
		"folded":                    with("boundary=\"QQ\r\n Q\"", "QQ Q", "QQQ"),
		"folded with a tabulator":   with("boundary=\"QQ\r\n\tQ\"", "QQ Q", "QQ\tQ"),
		"encoded":                   with(`boundary="=?us-ascii?Q?QQQ?="`, "=?us-ascii?Q?QQQ?=", "QQQ"),
		"encoded by percent signs":  with(`boundary*=us-ascii''Q%51Q; boundary=RRR`, "RRR", "QQQ"),
		"a letter beyond ASCII":     with("boundary=\"QQ\xc3\x84\"", "QQ\xc3\x84", "QQ"),
		"a zero":                    with("boundary=\"QQQ\x00\"", "QQQ\x00", "QQQ"),
		"a quotation mark left out": with(`boundary="QQQ`, "QQQ", `"QQQ`),
		"the end of another, after": message + "--QQQ\r\n" + evil + "--QQQ--\r\n",
		"another, before":           strings.Replace(message, "This is", "--QQQ\r\n"+evil+"--QQQ--\r\nThis is", 1),
		"a charset of its own":      strings.Replace(message, `boundary="----B0"`, `boundary="----B0"; charset=utf-7`, 1),
		"encoded multipart":         "Content-Transfer-Encoding: quoted-printable\r\n" + message,
		"CR CR LF":                  strings.ReplaceAll(message, "------B0\r\n", "------B0\r\r\n"),
		"a header line of CR":       strings.Replace(message, "MIME-Version", "X: y\rContent-Type: text/html\r\r"+forgedText+"\r\nMIME-Version", 1),
		"a zero in the header":      strings.Replace(message, "MIME-Version", "X: y\x00z\r\nMIME-Version", 1),
		"a separator in the header": strings.Replace(message, "MIME-Version", "X: y\x1cContent-Type: text/html\r\nMIME-Version", 1),
		"a field without a name":    ": x\r\n" + message,
	} {
		add(forged, "boundary, other readers: "+name, d, "")
	}
	// The signed text itself has lines that become boundaries.
	cut := "Content-Type: text/plain\r\n\r\n" + contractText + "\r\r--QQQ\r" + strings.ReplaceAll(evil, "\r\n", "\r") + "\r\n"
	add(forged, "line breaks of CR in the signed part", strings.ReplaceAll(strings.Replace(smime(cut, sign(cut)), `"----B0"`, `"QQQ"`, 1), "\r\n------B0", "\r\n--QQQ"), forgedText)

	for name, d := range map[string]string{
		"as it is":                 message,
		"not quoted":               strings.ReplaceAll(strings.Replace(message, `"----B0"`, "B0", 1), "\r\n------B0", "\r\n--B0"),
		"every character":          strings.ReplaceAll(strings.Replace(message, `"----B0"`, `"'()+_,-./:?=9"`, 1), "\r\n------B0", "\r\n--'()+_,-./:?=9"),
		"seventy characters":       strings.ReplaceAll(strings.Replace(message, `"----B0"`, `"`+long[:70]+`"`, 1), "\r\n------B0", "\r\n--"+long[:70]),
		"folded before":            strings.Replace(message, "; boundary", ";\r\n\tboundary", 1),
		"a semicolon at the end":   strings.Replace(message, `"----B0"`, `"----B0";`, 1),
		"padding":                  strings.ReplaceAll(message, "------B0\r\n", "------B0  \r\n"),
		"the type in a line alone": strings.Replace(message, "Content-Type: multipart", "Content-Type:\r\n multipart", 1),
		"a charset":                strings.Replace(message, `boundary="----B0"`, `charset="utf-8"; boundary="----B0"`, 1),
	} {
		add(genuine, "boundary: "+name, d, contractText)
	}

	// openssl signs a text without a header of its own.
	line := contractText + "\r\n"
	add(genuine, "one line without a header", smime(line, sign(line)), contractText)
	for name, text := range map[string]string{
		"two paragraphs":    "This was refused.\r\n\r\n" + forgedText + "\r\n",
		"two lines":         "This was refused.\r\n" + forgedText + "\r\n",
		"a line like one":   "Pay: " + forgedText + "\r\n",
		"lines of CR":       "This was refused.\r\r" + forgedText + "\r\n",
		"a continued line":  " refused\r\n" + forgedText + "\r\n",
		"a page":            "<html>" + forgedText + "\r\n",
		"a header too late": "refused\r\nContent-Type: text/html\r\n\r\n" + forgedText + "\r\n",
		"a blank at first":  "\tContent-Type: text/html\r\n",
	} {
		add(forged, "without a header: "+name, smime(text, sign(text)), "")
	}
	return append(list, byOpenSSL(m)...)
}

// byOpenSSL signs as people do on the command line.
func byOpenSSL(m *materials) []specimen {
	if _, err := exec.LookPath("openssl"); err != nil {
		m.t.Log("SKIPPED: openssl is not installed")
		return nil
	}
	dir := m.t.TempDir()
	key, cert := m.pemFiles(dir)
	in := filepath.Join(dir, "in.txt")
	if err := os.WriteFile(in, []byte(contractText+"\n"), 0o600); err != nil {
		m.t.Fatal(err)
	}
	var list []specimen
	for name, flags := range map[string][]string{"plain": nil, "text": {"-text"}, "binary": {"-binary"}, "opaque": {"-nodetach"}, "CRLF": {"-crlfeol"}} {
		args := append([]string{"cms", "-sign", "-in", in, "-signer", cert, "-inkey", key}, flags...)
		list = append(list, specimen{name: "openssl: " + name, data: m.command("openssl", args...), want: genuine})
	}
	return list
}
