package ledger

import (
	"encoding/json"
	"reflect"
	"testing"

	"rogito.dev/rogito/server/internal/signing/request"
)

// Records that have the usual options store none: what these are is a part of
// every such row, and stays. (serialization came later, with the only format that
// has it: no row of that format is older.)
func TestUsualOptions(t *testing.T) {
	const usual = `{"asyncDocumentsValidation":false,"asyncSignature":false,"level":"B","hashAlgorithm":"SHA256","encryptInAnyCase":false,"page":1,"x":null,"y":null,` +
		`"signerImage":null,"lockFields":null,"withSignatureField":false,"packaging":"","serialization":"flattened","detached":false,"counterSignature":false,"parallelSignature":true,` +
		`"withoutSignatureExclusion":false,"XPathQuery":"","signElement":"","signatureId":"","contentTimestamp":false,"commitment":"","withTimestamp":false,"timestampUrl":"","timestampUsername":"",` +
		`"timestampHashAlgo":"SHA256","timezone":"UTC","batch":false,"askedType":""}`
	if text, err := json.Marshal(usualOptions); err != nil || string(text) != usual {
		t.Errorf("%s, %v", text, err)
	}
	other := usualOptions
	other.Parallel = false
	for _, o := range []request.Options{usualOptions, other} {
		text, err := storedOptions(&o)
		if err != nil || (text == "") != o.Parallel {
			t.Errorf("%q, %v", text, err)
		}
		if got, err := readOptions(text); err != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
}

func TestStoredSigner(t *testing.T) {
	name, empty := "A provider, S.p.A.", ""
	for _, s := range []*Signer{nil, {Provider: "local", QC: "UNKNOWN", SSCD: "NOT_VALID"}, {Provider: "local", TrustProvider: &name, QC: "VALID", SSCD: "VALID"}, {TrustProvider: &empty}} {
		text := storedSigner(s)
		if got, err := readSigner(text); err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	if _, err := readSigner("local"); err == nil {
		t.Error("what nobody wrote is read")
	}
}
