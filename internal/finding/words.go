package finding

import "strings"

// words are what a value of the kind {word} may be: ours, in English.
var words = map[string]string{
	"signature":                       "firma",
	"an OpenPGP signature":            "una firma OpenPGP",
	"a signed JAR file":               "un file JAR firmato",
	"a signed Android package (APK)":  "un pacchetto Android firmato (APK)",
	"a signed program (Authenticode)": "un programma firmato (Authenticode)",
	"a signed script (Authenticode)":  "uno script firmato (Authenticode)",
	"a COSE signature":                "una firma COSE",
	"an SD-JWT":                       "un SD-JWT",
	"a pass for a wallet (pkpass)":    "un pass per wallet (pkpass)",
	"a signed NuGet package":          "un pacchetto NuGet firmato",
	"content":                         "contenuto",
	"reference":                       "riferimento",
	"time-stamp":                      "marca temporale",
	"time-stamp imprint":              "impronta della marca temporale",
	"revocation data":                 "dati di revoca",
	"sig-and-refs":                    "firma e riferimenti",
	"refs-only":                       "soli riferimenti",
	"archive":                         "archiviazione",
	"evidence-record":                 "evidence record",
	"document":                        "documento",
	"container":                       "contenitore",
	"detached":                        "separata",
}

// synopses are the building blocks of EN 319 102-1, and what else findings are
// about, in a few words.
var synopses = map[string][2]string{
	"FC": {"Format", "Formato"}, "ISC": {"Identification of the signing certificate", "Identificazione del certificato di firma"},
	"XCV": {"Certificate validation", "Validazione del certificato"}, "CV": {"Cryptographic verification", "Verifica crittografica"},
	"SAV": {"Signature acceptance", "Accettazione della firma"}, "VTS": {"Time-stamps", "Marche temporali"},
	"gathering": {"Validation data", "Dati di validazione"}, "sandbox": {"Test certificate", "Certificato di prova"},
}

// Synopsis is what a building block is called.
func Synopsis(lang, block string) string {
	if lang == "it" {
		return synopses[block][1]
	}
	return synopses[block][0]
}

// CertificateOf is the word for the certificate of the named subject.
func CertificateOf(name string) string { return certificateOf + name }

const certificateOf = "certificate of "

func word(lang, value string) string {
	if lang != "it" {
		return value
	}
	if name, ok := strings.CutPrefix(value, certificateOf); ok {
		return "certificato di " + name
	}
	if w, ok := words[value]; ok {
		return w
	}
	return value
}
