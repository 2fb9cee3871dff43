package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // of the two kinds of images that are taken
	"image/png"
	"time"

	"github.com/boombuler/barcode/qr"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/upload"
)

// Bounds on images: of the file, and of what it unpacks to.
const (
	maxImage  = 10 << 20
	maxPixels = 25_000_000
)

func imageFault(err error) error {
	switch {
	case errors.Is(err, upload.ErrTooLong):
		return fault.New(fault.BadOption, "options.signerImage.image is larger than %d bytes", maxImage)
	case errors.Is(err, upload.ErrBase64):
		return fault.New(fault.BadOption, "options.signerImage.image is not base64")
	}
	return err
}

// fetchImage gets the image that is to be shown, once.
func (x *Set) fetchImage(ctx context.Context) error {
	si := x.record.Options.SignerImage
	if si == nil || si.ImageURL == "" || x.image != nil {
		return nil
	}
	w := x.Spool().Write()
	err := x.Guard.Document(ctx, fetch.Request{URL: si.ImageURL}, fetch.Limits{Bytes: maxImage, Time: x.Fetch.Time}, w)
	var no *fetch.Refused
	var failed *fetch.Failed
	if errors.As(err, &no) || errors.As(err, &failed) || errors.Is(err, fetch.ErrTooLarge) {
		return &ledger.Refusal{Number: fault.FetchFailed, Text: fmt.Sprintf("options.signerImage.imageUrl could not be fetched: %v", err), Err: err}
	}
	if err != nil {
		return err
	}
	err = x.storeImage(ctx, w.Source())
	x.Picture = x.record.Image
	return err
}

// certifyForms is the DocMDP permission that leaves room for further signatures.
const certifyForms = 2

// padesOptions is one for each field that is to be signed, mostly one.
func (x *Set) padesOptions(ctx context.Context, src ades.Source) ([]pades.Options, error) {
	o := &x.record.Options
	base := pades.Options{Password: x.secrets.EncryptionPassword, AnyField: o.WithField}
	if o.Certify {
		base.Certify = certifyForms
	}
	if len(o.LockFields) > 0 {
		base.Lock = &pades.Lock{Fields: o.LockFields}
	}
	si := o.SignerImage
	if si == nil {
		return []pades.Options{base}, nil
	}
	if si.Reason != "" && o.Commitment != "" {
		return nil, &ledger.Refusal{Number: fault.NotSignable, Text: "options.signerImage.reason and options.commitment exclude each other in a PDF (EN 319 142-1): give one"}
	}
	base.Name, base.Reason, base.Location, base.ContactInfo = si.SignerName, si.Reason, si.Location, si.Email
	if si.Visible {
		a, err := x.appearance(si)
		if err != nil {
			return nil, err
		}
		base.Appearance = a
	}
	fields := si.Fields
	if si.AllFields {
		err := limits.Bounded(ctx, x.Memory, func(ctx context.Context) (err error) {
			fields, err = pades.EmptyFields(ctx, src, x.secrets.EncryptionPassword)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(fields) == 0 {
		return spread(base, si.Places), nil
	}
	all := make([]pades.Options, len(fields))
	for i, name := range fields {
		all[i] = base
		all[i].Field, all[i].NewField, all[i].AnyField = name, name, false
	}
	return all, nil
}

// spread is one for each place, or the one where none is named.
func spread(base pades.Options, places []string) []pades.Options {
	var all []pades.Options
	for _, text := range places {
		spot, ok := request.ParsePlace(text)
		if !ok || base.Appearance == nil { // the request was checked; what is not seen has no place
			continue
		}
		one, look := base, *base.Appearance
		look.Page, look.X, look.Y, look.Anywhere = spot.Page, spot.X, spot.Y, false
		if spot.Width > 0 {
			look.Width, look.Height = spot.Width, spot.Height
		}
		one.Appearance = &look
		all = append(all, one)
	}
	if all == nil {
		return []pades.Options{base}
	}
	return all
}

// margin from the upper left corner, where the caller says nothing and the page is
// full.
const margin = 20

func (x *Set) appearance(si *request.SignerImage) (*pades.Appearance, error) {
	o := &x.record.Options
	a := &pades.Appearance{Page: o.Page, X: margin, Y: margin, Width: float64(si.Width), Height: float64(si.Height), Layout: pades.Layout(si.Layout), Language: si.Language, Anywhere: o.X == nil && o.Y == nil}
	var err error
	if a.Zone, err = time.LoadLocation(o.Timezone); err != nil {
		return nil, err // the request was checked
	}
	if o.X != nil {
		a.X = *o.X
	}
	if o.Y != nil {
		a.Y = *o.Y
	}
	if x.image != nil {
		b, err := sourceBytes(x.image, maxImage)
		if err != nil {
			return nil, err
		}
		if err := checkImage(b); err != nil {
			return nil, &ledger.Refusal{Number: fault.NotSignable, Text: "options.signerImage.image " + err.Error()}
		}
		a.Image = b
	}
	if si.QR {
		if a.Code, err = codeOf(x.Check); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// codeOf is the picture of a QR code, with the quiet zone that readers ask for.
func codeOf(address string) ([]byte, error) {
	code, err := qr.Encode(address, qr.M, qr.Auto)
	if err != nil {
		return nil, fmt.Errorf("code of %q: %w", address, err)
	}
	const dot, quiet = 6, 4 // pixels of a cell, cells around the code
	n := code.Bounds().Dx()
	img := image.NewPaletted(image.Rect(0, 0, (n+2*quiet)*dot, (n+2*quiet)*dot), color.Palette{color.White, color.Black})
	for y := range n * dot {
		for x := range n * dot {
			if r, _, _, _ := code.At(x/dot, y/dot).RGBA(); r == 0 {
				img.SetColorIndex(x+quiet*dot, y+quiet*dot, 1)
			}
		}
	}
	var b bytes.Buffer
	err = png.Encode(&b, img)
	return b.Bytes(), err
}

func checkImage(b []byte) error {
	c, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return errors.New("is neither PNG nor JPEG")
	}
	if int64(c.Width)*int64(c.Height) > maxPixels {
		return fmt.Errorf("has %d × %d pixels, more than %d", c.Width, c.Height, maxPixels)
	}
	return nil
}
