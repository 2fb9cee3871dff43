package pkix

import (
	"crypto"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/corpus"
)

type wycheproof struct {
	Algorithm  string
	TestGroups []struct {
		PublicKeyDer string
		PublicKey    json.RawMessage
		SHA          string
		MgfSha       string
		SLen         int
		Type         string
		Tests        []struct {
			TcID             int `json:"tcId"`
			Comment          string
			Msg, Sig, Result string
			Flags            []string
		}
	}
}

// TestCorpusWycheproof runs every vector. Our stance on `acceptable`: refused when
// it is a matter of encoding (MissingNull, as crypto/rsa), free when it is a
// matter of policy (weak hash or short key), which is not arithmetic.
func TestCorpusWycheproof(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(corpus.Path(t, "pki", "wycheproof"), "*.json"))
	if len(files) == 0 {
		t.Fatal("no vectors")
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), "_test.json"), func(t *testing.T) {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var w wycheproof
			if err := json.Unmarshal(raw, &w); err != nil {
				t.Fatal(err)
			}
			w.run(t, strings.Contains(f, "p1363"))
		})
	}
}

func (w *wycheproof) run(t *testing.T, plain bool) {
	ran := 0
	for _, g := range w.TestGroups {
		der, _ := hex.DecodeString(g.PublicKeyDer)
		pub, alg, err := ParsePublicKey(der)
		if err != nil {
			t.Fatalf("key: %v", err)
		}
		s := Scheme{Plain: plain}
		s.Hash = hashByName(strings.Replace(g.SHA, "SHA-", "SHA", 1))
		if s.Hash == 0 {
			s.Hash = hashByName(g.SHA)
		}
		switch {
		case strings.Contains(w.Algorithm, "PSS"):
			s.Kind, s.Salt = PSS, g.SLen
			s.MGF = hashByName(strings.Replace(g.MgfSha, "SHA-", "SHA", 1))
			if s.MGF == 0 {
				s.MGF = hashByName(strings.Replace(g.MgfSha, "SHA-", "SHA-", 1))
			}
		case strings.HasPrefix(w.Algorithm, "RSA"):
			s.Kind = RSA
		case w.Algorithm == "EDDSA":
			s, _ = SchemeOf(alg, 0)
		default:
			s.Kind = ECDSA
		}
		for _, c := range g.Tests {
			msg, _ := hex.DecodeString(c.Msg)
			sig, _ := hex.DecodeString(c.Sig)
			err := s.Verify(pub, msg, sig)
			if errors.Is(err, ErrUnsupported) {
				t.Fatalf("%d: %v", c.TcID, err)
			}
			ran++
			got := err == nil
			switch c.Result {
			case "valid":
				if !got {
					t.Errorf("%d %s %v: refused", c.TcID, c.Comment, c.Flags)
				}
			case "invalid":
				if got {
					t.Errorf("%d %s %v: accepted", c.TcID, c.Comment, c.Flags)
				}
			default:
				for _, flag := range c.Flags {
					if flag == "MissingNull" && got {
						t.Errorf("%d %s: accepted without NULL", c.TcID, c.Comment)
					}
				}
			}
		}
	}
	if ran == 0 {
		t.Fatal("no vector ran")
	}
}

// hashByName is the inverse of HashName.
func hashByName(name string) crypto.Hash {
	for h := crypto.MD5; h <= crypto.BLAKE2b_512; h++ {
		if HashName(h) == name {
			return h
		}
	}
	return 0
}
