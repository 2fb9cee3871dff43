package request

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/upload"
)

func parsed(t *testing.T, text string) (Options, error) {
	t.Helper()
	spool := upload.New(t.TempDir(), upload.Limits{})
	t.Cleanup(func() { spool.Close() })
	return parseOptions(jsontext.Value(text), optionParser{spool: spool, check: func(raw string) error {
		if strings.Contains(raw, "private") {
			return errors.New("private address")
		}
		return nil
	}})
}

// A one-time password must have its type, whatever the caller; null means none.
func TestOneTimePasswordHasItsType(t *testing.T) {
	spool := upload.New(t.TempDir(), upload.Limits{})
	t.Cleanup(func() { spool.Close() })
	for _, kind := range []keys.Kind{keys.Automatic, keys.OTP, keys.ESeal} {
		for _, c := range []struct {
			otp, device string
			good        bool
		}{
			{`"123456"`, `null`, true},
			{`"123456"`, `-1`, true},
			{`null`, `null`, kind != keys.OTP},
			{`7`, `null`, false},
			{`{}`, `null`, false},
			{`"123456"`, `"x"`, false},
		} {
			_, err := Parser{Limits: Limits{}.WithDefaults(), Guard: &fetch.Guard{}}.Parse(kind, map[string]jsontext.Value{
				"inputDocuments": jsontext.Value(`"aGVsbG8="`), "certificateUsername": jsontext.Value(`"u"`), "certificatePassword": jsontext.Value(`"p"`),
				"certificateOtp": jsontext.Value(c.otp), "certificateIdOtp": jsontext.Value(c.device),
			}, spool)
			if (err == nil) != c.good {
				t.Errorf("%s, %s and %s: %v", kind, c.otp, c.device, err)
			}
		}
	}
}

// Every line of the tables is whole: a type, a meaning, known formats and rules,
// and a default that is among its words.
func TestOptionTables(t *testing.T) {
	for _, table := range [][]Option{OptionTable, ImageTable} {
		for _, o := range table {
			if o.Name == "" || o.Type == "" || o.Doc == "" {
				t.Errorf("%+v has no name, type or meaning", o)
			}
			for _, f := range o.Formats {
				if SignatureType(f).Format() == "" {
					t.Errorf("%s: format %q", o.Name, f)
				}
			}
			if o.rule != "" && o.rule != "hash" && rules[o.rule] == nil {
				t.Errorf("%s: rule %q", o.Name, o.rule)
			}
			if o.Default != "" && o.Enum != nil && !slices.Contains(o.Enum, o.Default) {
				t.Errorf("%s: default %q is none of %v", o.Name, o.Default, o.Enum)
			}
		}
	}
	o, err := parsed(t, `{"signerImage": {}}`)
	if err != nil {
		t.Fatal(err)
	}
	for table, v := range map[*[]Option]any{&OptionTable: &o, &ImageTable: o.SignerImage} {
		for _, row := range *table {
			if is := reflect.ValueOf(v).Elem().Field(row.field).IsZero(); is == (row.Default != "") && row.Type != "object" {
				t.Errorf("%s: default %q, empty %v", row.Name, row.Default, is)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                                        "options must be an object",
		`{"colour": 1}`:                             "options.colour is unknown",
		`{"batch": "yes"}`:                          "options.batch must be true or false",
		`{"level": "X"}`:                            "options.level must be one of B, T, LT, LTA, LTV",
		`{"hashAlgorithm": "SHA1"}`:                 "options.hashAlgorithm must be one of SHA256, SHA384, SHA512",
		`{"page": 0}`:                               "options.page must be an integer from 1 on, or -1 for the last page",
		`{"x": 20001}`:                              "options.x must be a number of points up to 20000",
		`{"timezone": "Mars/Base"}`:                 "options.timezone is not the name of a time zone",
		`{"timestampUrl": "http://private/"}`:       "options.timestampUrl is refused: private address",
		`{"signerImage": {"width": 0}}`:             "options.signerImage.width must be between 1 and 5000",
		`{"signerImage": {"font": "x"}}`:            "options.signerImage.font is unknown",
		`{"signerImage": {"image": 1}}`:             "options.signerImage.image must be a string",
		`{"encryptInAnyCase": true}`:                "options.encryptInAnyCase needs options.encryptionPassword",
		`{"signElement": "a", "XPathQuery": "//b"}`: "options.signElement and options.XPathQuery both say what to sign: give one",
		`{"batch": 1, "asyncSignature": 1}`:         "options.asyncSignature must be true or false", // the first by name
	} {
		_, err := parsed(t, text)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.BadOption || f.Text != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	o, err := parsed(t, `{"lockFields": " a, ,b", "packaging": "detached", "x": null, "y": 1.5, "encryptionPassword": "secret", "signerImage": {"reason": "r"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.LockFields, []string{"a", "b"}) || !o.Detached || o.X != nil || *o.Y != 1.5 || !o.Parallel || o.DocPassword != "secret" ||
		o.SignerImage.Reason != "r" || o.SignerImage.Width != 164 || !o.SignerImage.Visible {
		t.Errorf("%+v", o)
	}
	if list, err := parsed(t, `{"lockFields": ["a", "b"]}`); err != nil || !slices.Equal(list.LockFields, o.LockFields) {
		t.Errorf("a list of fields: %v, %v", list.LockFields, err)
	}
}

func TestEcho(t *testing.T) {
	o, err := parsed(t, `{"encryptionPassword": "secret", "timestampPassword": "secret", "signerImage": {"image": "aGVsbG8="}}`)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{"": 2, "cades": 16, "pades": 20, "xades": 18, "jades": 14, "pkcs1": 5}
	for format, n := range count {
		shown := o.Echo(SignatureType(format), "")
		if len(shown) != n {
			t.Errorf("%q shows %d options, want %d: %v", format, len(shown), n, shown)
		}
		for name, v := range shown {
			if s, _ := v.(string); s == "secret" || name == "encryptionPassword" || name == "timestampPassword" {
				t.Errorf("%s is shown", name)
			}
			if image, ok := v.(map[string]any); ok && image["image"] != nil {
				t.Error("the image is shown")
			}
		}
	}
	if got := o.Echo("pades", "LT")["achievedLevel"]; got != "LT" {
		t.Errorf("level %v", got)
	}
}

func TestLevel(t *testing.T) {
	for text, want := range map[string]ades.Level{
		`{}`: ades.LevelB, `{"withTimestamp": true}`: ades.LevelT, `{"level": "T"}`: ades.LevelT, `{"level": "LT"}`: ades.LevelLT,
		`{"level": "LTV"}`: ades.LevelLT, `{"level": "LTA", "withTimestamp": false}`: ades.LevelLTA,
	} {
		if o, err := parsed(t, text); err != nil || o.TargetLevel() != want {
			t.Errorf("%s: %v, %v", text, o.TargetLevel(), err)
		}
	}
}

// What a JSON signature cannot be is 625, and says why.
func TestJSONSignatures(t *testing.T) {
	for _, c := range []struct {
		options string
		inputs  int
		word    string // of the refusal; empty: there is none
	}{
		{`{}`, 1, ""},
		{`{"serialization": "compact"}`, 1, ""},
		{`{"serialization": "general", "level": "LTA"}`, 1, ""},
		{`{"detached": true}`, 2, ""},
		{`{"batch": true}`, 2, ""},
		{`{"serialization": "compact", "level": "T"}`, 1, "level B"},
		{`{"serialization": "compact", "withTimestamp": true}`, 1, "level B"},
		{`{"serialization": "compact", "counterSignature": true}`, 1, "counter-signature"},
		{`{"packaging": "asic-e"}`, 1, "asic-e"},
		{`{}`, 2, "detached"},
	} {
		o, err := parsed(t, c.options)
		if err != nil {
			t.Fatal(err)
		}
		err = (&Request{Type: "jades", Options: o, Inputs: make([]Input, c.inputs)}).checkJSON()
		if (err != nil) != (c.word != "") || err != nil && !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s of %d: %v", c.options, c.inputs, err)
		}
	}
}
