package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"
)

const sumsFile = "SHA256SUMS"

// sums writes the checksums of everything that was made, as sha256sum reads
// them, and signs that file.
func (r *release) sums() error {
	made, err := os.ReadDir(r.out) // by name
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, f := range made {
		b, err := os.ReadFile(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(b), f.Name())
	}
	path := filepath.Join(r.out, sumsFile)
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		return err
	}
	fmt.Print(text.String())
	return r.sign(path, text.String())
}

// sign signs with the operator's key. The date in the comment is the release's,
// so that the same key gives the same file.
func (r *release) sign(path, text string) error {
	if r.key == "" {
		fmt.Println("not signed: give a minisign key with MINISIGN_KEY=FILE (and MINISIGN_PASSWORD)")
		return nil
	}
	stored, err := os.ReadFile(r.key)
	if err != nil {
		return err
	}
	var key minisign.PrivateKey
	if minisign.IsEncrypted(stored) {
		key, err = minisign.DecryptKey(os.Getenv("MINISIGN_PASSWORD"), stored)
	} else {
		err = key.UnmarshalText(stored)
	}
	if err != nil {
		return errors.New("the minisign key cannot be opened: is MINISIGN_PASSWORD right?")
	}
	trusted := fmt.Sprintf("timestamp:%d\tfile:%s\thashed", r.date.Unix(), sumsFile)
	signature := minisign.SignWithComments(key, []byte(text), trusted, "signature of Rogito "+r.version)
	return os.WriteFile(path+".minisig", signature, 0o644)
}
