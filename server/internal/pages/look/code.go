package look

import (
	"bytes"
	"encoding/base64"
	"html/template"
	"image/png"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"
)

// Code is the QR code of a text, as a picture in a page. It is empty where the text is
// longer than any code holds: its content is beside it in letters.
func Code(text string) template.URL {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return ""
	}
	const dot = 5 // pixels of a cell
	side := dot * code.Bounds().Dx()
	if code, err = barcode.Scale(code, side, side); err != nil {
		return ""
	}
	var b bytes.Buffer
	if png.Encode(&b, code) != nil {
		return ""
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())) //nolint:gosec // our own bytes
}
