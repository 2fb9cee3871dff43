package signatures

import (
	"maps"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/keys"
)

// signExamples are bodies that the sandbox takes, the simplest first.
func signExamples(kind keys.Kind) []api.Example {
	username, password := api.AutomaticUsername, api.AutomaticPassword
	switch kind {
	case keys.OTP:
		username, password = api.OTPUsername, api.OTPPassword
	case keys.ESeal:
		username, password = api.SealUsername, api.SealPassword
	}
	body := func(title string, document any, more map[string]any) map[string]any {
		b := map[string]any{"title": title, "inputDocuments": []any{document}, "certificateUsername": username, "certificatePassword": password}
		if kind == keys.OTP {
			b["certificateOtp"] = api.OTPCode
		}
		maps.Copy(b, more)
		return b
	}
	all := []api.Example{{
		Name: "pdf", Summary: "A PDF, signed inside (PAdES)",
		Value: body("A first signature", map[string]any{"sourceType": "base64", "name": "page.pdf", "payload": []byte(examplePDF)}, nil),
	}}
	if kind == keys.OTP {
		return all // a code works once
	}
	return append(all, api.Example{
		Name: "text", Summary: "A text, inside its signature (CAdES, .p7m)",
		Value: body("A signed text", []byte("Hello from Rogito.\n"), map[string]any{"signatureType": "cades"}),
	}, api.Example{
		Name: "visible", Summary: "A PDF with a visible signature, answered at once and signed later",
		Value: body("A visible signature", map[string]any{"sourceType": "base64", "name": "page.pdf", "payload": []byte(examplePDF)}, map[string]any{
			"options": map[string]any{"asyncSignature": true, "page": 1, "x": 60, "y": 60, "signerImage": map[string]any{"reason": "to show how it looks"}},
		}),
	})
}

// examplePDF is a page with a line on it, as small as a PDF can be.
const examplePDF = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 420 297]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj
4 0 obj<</Length 48>>stream
BT /F 18 Tf 60 150 Td (Hello from Rogito.) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
xref
0 6
0000000000 65535 f 
0000000009 00000 n 
0000000052 00000 n 
0000000101 00000 n 
0000000210 00000 n 
0000000304 00000 n 
trailer<</Size 6/Root 1 0 R>>
startxref
365
%%EOF
`

func buyExamples(kind keys.Kind) []api.Example {
	subject := map[string]any{"givenName": "Ada", "surname": "Rossi", "fiscalCode": "RSSDAA80A41F205B", "country": "IT"}
	if kind == keys.ESeal {
		subject = map[string]any{"organization": "Rossi S.r.l.", "organizationIdentifier": "VATIT-01234567890", "country": "IT"}
	}
	owner := "Ada Rossi"
	if kind == keys.ESeal {
		owner = "Rossi S.r.l."
	}
	return []api.Example{{
		Name: "order", Summary: "For somebody who is known",
		Value: map[string]any{"certificateOwner": owner, "customReference": "order 1", "subject": subject, "keyAlgorithm": "P256", "validityYears": 1},
	}}
}

var (
	passwordExamples = []api.Example{{
		Name: "same", Summary: "The same one again: sign with it as before",
		Value: map[string]any{"old": api.AutomaticPassword, "new": api.AutomaticPassword},
	}}
	reviewExamples = []api.Example{{Name: "refuse", Summary: "A refusal", Value: map[string]any{"approve": false, "reason": "document-unreadable"}}}
	clientExamples = []api.Example{{
		Name: "pem", Summary: "A certificate of a caller",
		Value: map[string]any{"name": "the archive's server", "certificate": exampleCertificate},
	}}
)

// exampleCertificate is self-signed; its key was thrown away.
const exampleCertificate = `-----BEGIN CERTIFICATE-----
MIIBqzCCAVKgAwIBAgIUZb4KMrO9j3CJd97J16SyEDIB4QUwCgYIKoZIzj0EAwIw
IDEeMBwGA1UEAwwVY2FsbGVyIG9mIHRoZSBleGFtcGxlMCAXDTI2MTExNjAzMjMw
NVoYDzIwNTEwNzA4MDMyMzA1WjAgMR4wHAYDVQQDDBVjYWxsZXIgb2YgdGhlIGV4
YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAR2PEzn/JNR34NCOJYbBPuo
UzSlq8E3ayBl7Kf6vdF+m/kkjshkr5/gyEKnM8JPufV3Za8AiL4/BgYC4lZUkPKj
o2gwZjAdBgNVHQ4EFgQU4ZIwEqLHpIy1APh4XKz2IEQF1hwwHwYDVR0jBBgwFoAU
4ZIwEqLHpIy1APh4XKz2IEQF1hwwDwYDVR0TAQH/BAUwAwEB/zATBgNVHSUEDDAK
BggrBgEFBQcDAjAKBggqhkjOPQQDAgNHADBEAiA7HVNJygrSTElO32LAHmz5z3Mq
dqgev3HQvc6ytGsAdgIgKyJPHRUtBO7k8HU8OB8R1YLt181PID+XsRDkMYRnzao=
-----END CERTIFICATE-----
`
