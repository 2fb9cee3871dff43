package rogito

import (
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"io"
	"path"
	"strings"

	"rogito.dev/rogito/ades"
)

// Files signed in ways that are not read here are reported by name, since calling them unsigned
// would be wrong. The words are those of report/paper.
const (
	namedPGP    = "an OpenPGP signature"
	namedJAR    = "a signed JAR file"
	namedAPK    = "a signed Android package (APK)"
	namedPE     = "a signed program (Authenticode)"
	namedScript = "a signed script (Authenticode)"
	namedCOSE   = "a COSE signature"
	namedSDJWT  = "an SD-JWT"
	namedPass   = "a pass for a wallet (pkpass)"
	namedNuGet  = "a signed NuGet package"
)

// named names the kind of a signed file that is not judged, or returns "".
func named(src ades.Source) string {
	head := start(src, 64<<10)
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return namedZIP(src)
	case isArmouredPGP(head), isPGP(head), isPGP(unpackedPGP(head)):
		return namedPGP
	case bytes.HasPrefix(head, []byte("MZ")) && isSignedPE(src, head):
		return namedPE
	case bytes.Contains(head, []byte("# SIG # Begin signature block")), bytes.Contains(tail(src, 64<<10), []byte("# SIG # Begin signature block")):
		return namedScript
	case bytes.HasPrefix(head, []byte{0xd2, 0x84}), bytes.HasPrefix(head, []byte{0xd8, 0x62, 0x84}): // tags 18 and 98 (RFC 9052)
		return namedCOSE
	case isSDJWT(head):
		return namedSDJWT
	}
	return ""
}

// isArmouredPGP looks for a line that begins ASCII-armoured OpenPGP (RFC 9580, section 6.2). It
// runs on every file that is not signed, and on the content of signed ones.
func isArmouredPGP(text []byte) bool {
	begin := []byte("-----BEGIN PGP ")
	for {
		at := bytes.Index(text, begin)
		if at < 0 {
			return false
		}
		first := at == 0 || text[at-1] == '\n'
		line, _, _ := bytes.Cut(text[at+len(begin):], []byte("\n"))
		switch string(bytes.TrimRight(line, " \t\r")) {
		case "SIGNED MESSAGE-----", "SIGNATURE-----", "MESSAGE-----":
			if first {
				return true
			}
		}
		text = text[at+len(begin):]
	}
}

// unpackedPGP returns the beginning of the content of a compressed data packet (RFC 9580, section
// 5.6), the usual form of a signed message, or nil.
func unpackedPGP(b []byte) []byte {
	if len(b) < 16 {
		return nil
	}
	var body []byte
	switch {
	case b[0] == 0xa3: // of indeterminate length
		body = b[1:]
	case b[0] == 0xc8 && b[1] >= 224 && b[1] < 255: // with partial body lengths, the first of which is long enough
		body = b[2:]
	default:
		return nil
	}
	var r io.Reader
	switch in := bytes.NewReader(body[1:]); body[0] {
	case 1:
		r = flate.NewReader(in)
	case 2:
		z, err := zlib.NewReader(in)
		if err != nil {
			return nil
		}
		r = z
	case 3:
		r = bzip2.NewReader(in)
	default:
		return nil
	}
	out := make([]byte, 64)
	n, _ := io.ReadFull(r, out)
	return out[:n]
}

// isPGP checks the first packet: a signature or one-pass signature, with a known version, type and
// algorithms (RFC 9580, sections 4.2, 5.2, 5.4).
func isPGP(b []byte) bool {
	if len(b) < 16 || b[0]&0x80 == 0 {
		return false
	}
	tag, body := b[0]>>2&0x0f, b[1:]
	switch {
	case b[0]&0x40 != 0: // new packet format: a length of one, two or five bytes
		tag = b[0] & 0x3f
		switch n := body[0]; {
		case n < 192:
			body = body[1:]
		case n < 224:
			body = body[2:]
		case n == 255:
			body = body[5:]
		default:
			return false
		}
	case b[0]&3 < 3:
		body = body[1<<(b[0]&3):]
	default:
		return false
	}
	const signature, onePass = 2, 4
	kinds := []byte{0x00, 0x01, 0x02}
	known := func(public, hash byte) bool {
		return (public >= 1 && public <= 3 || public == 17 || public == 19 || public == 22 || public >= 25 && public <= 28) && hash >= 1 && hash <= 14
	}
	switch {
	case tag == signature && body[0] == 3:
		return body[1] == 5 && bytes.IndexByte(kinds, body[2]) >= 0
	case tag == signature && body[0] >= 4 && body[0] <= 6:
		return bytes.IndexByte(kinds, body[1]) >= 0 && known(body[2], body[3])
	case tag == onePass && (body[0] == 3 || body[0] == 6):
		return bytes.IndexByte(kinds, body[1]) >= 0 && known(body[3], body[2])
	}
	return false
}

// isSignedPE reports whether a Windows executable has a certificate table.
func isSignedPE(src ades.Source, head []byte) bool {
	const pointer, optional, table = 0x3c, 24, 4 * 8
	if len(head) < pointer+4 {
		return false
	}
	at := int64(binary.LittleEndian.Uint32(head[pointer:]))
	b := make([]byte, optional+112+table+8)
	if n, _ := src.ReadAt(b, at); n < len(b) || !bytes.HasPrefix(b, []byte("PE\x00\x00")) {
		return false
	}
	directories := optional + 96
	if binary.LittleEndian.Uint16(b[optional:]) == 0x20b { // PE32+
		directories += 16
	}
	return binary.LittleEndian.Uint32(b[directories+table+4:]) > 0
}

// isSDJWT reports whether a JWS is followed by disclosures (RFC 9901).
func isSDJWT(head []byte) bool {
	jws, _, ok := bytes.Cut(head, []byte("~"))
	parts := bytes.Split(jws, []byte("."))
	if !ok || len(parts) != 3 {
		return false
	}
	header, err := base64.RawURLEncoding.DecodeString(string(bytes.TrimSpace(parts[0])))
	return err == nil && bytes.HasPrefix(header, []byte("{")) && bytes.Contains(header, []byte(`"alg"`))
}

// namedZIP recognises signed packages by the names of their signature files.
func namedZIP(src ades.Source) string {
	if bytes.Contains(tail(src, 1<<20), []byte("APK Sig Block 42")) {
		return namedAPK
	}
	z, err := zip.NewReader(src, src.Size())
	if err != nil && z == nil {
		return ""
	}
	has := map[string]bool{}
	signed := false
	for _, f := range z.File {
		name := strings.ToUpper(f.Name)
		has[name] = true
		signed = signed || path.Dir(name) == "META-INF" && strings.HasSuffix(name, ".SF")
	}
	switch {
	case signed && has["META-INF/MANIFEST.MF"] && has["ANDROIDMANIFEST.XML"]:
		return namedAPK
	case signed && has["META-INF/MANIFEST.MF"]:
		return namedJAR
	case has["PASS.JSON"] && has["MANIFEST.JSON"] && has["SIGNATURE"]:
		return namedPass
	case has[".SIGNATURE.P7S"] && has["[CONTENT_TYPES].XML"]:
		return namedNuGet
	}
	return ""
}

// tail returns the last n bytes of a document.
func tail(src ades.Source, n int64) []byte {
	n = min(src.Size(), n)
	b := make([]byte, n)
	k, _ := src.ReadAt(b, src.Size()-n)
	return b[:k]
}
