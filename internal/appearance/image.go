package appearance

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"

	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/typeface"
)

// ErrImage says that a picture is neither PNG nor JPEG, or is broken.
var ErrImage = errors.New("not a readable PNG or JPEG image")

// Image is a picture that can be put into a PDF.
type Image struct {
	Width, Height int
	jpeg          []byte // kept as it is where PDF can show it
	rgb           []byte // compressed samples otherwise
	alpha         []byte // compressed, nil when all is opaque
}

// ReadImage reads a PNG or JPEG. Its size is known, and refused if it is too
// large, before any pixel is decoded. With pale, its colours are mixed with much
// white, so that text can be read over it. Its pixels are paid for out of the
// budget.
func ReadImage(b []byte, pale bool, budget *limits.Budget) (*Image, error) {
	config, kind, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil || (kind != "png" && kind != "jpeg") {
		return nil, ErrImage
	}
	if config.Width <= 0 || config.Height <= 0 || config.Width > limits.ImagePixels/config.Height {
		return nil, fmt.Errorf("image of %d x %d pixels is over the limit of %d", config.Width, config.Height, limits.ImagePixels)
	}
	pixels := int64(config.Width) * int64(config.Height) * bytesOf(config.ColorModel)
	if err := budget.Spend(pixels); err != nil {
		return nil, err
	}
	defer budget.Return(pixels)
	out := &Image{Width: config.Width, Height: config.Height}
	if kind == "jpeg" && config.ColorModel == color.YCbCrModel && !pale {
		// The whole file is decoded once, so that a broken one is not embedded.
		if _, err := jpeg.Decode(bytes.NewReader(b)); err != nil {
			return nil, ErrImage
		}
		out.jpeg = b
		return out, nil
	}
	decode := png.Decode
	if kind == "jpeg" {
		decode = jpeg.Decode
	}
	img, err := decode(bytes.NewReader(b))
	if err != nil {
		return nil, ErrImage
	}
	out.samples(img, pale)
	return out, nil
}

// bytesOf is what a pixel takes once it is decoded.
func bytesOf(m color.Model) int64 {
	switch m {
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	case color.Gray16Model:
		return 2
	}
	return 4
}

// samples takes the picture apart row by row into colours and transparency.
func (m *Image) samples(img image.Image, pale bool) {
	var rgb, alpha bytes.Buffer
	colours, masks := zlib.NewWriter(&rgb), zlib.NewWriter(&alpha)
	opaque := true
	line, mask := make([]byte, 0, 3*m.Width), make([]byte, 0, m.Width)
	bounds := img.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		line, mask = line[:0], mask[:0]
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			opaque = opaque && c.A == 255
			if pale {
				c.R, c.G, c.B = lighter(c.R), lighter(c.G), lighter(c.B)
			}
			line, mask = append(line, c.R, c.G, c.B), append(mask, c.A)
		}
		colours.Write(line)
		masks.Write(mask)
	}
	colours.Close()
	masks.Close()
	m.rgb = rgb.Bytes()
	if !opaque {
		m.alpha = alpha.Bytes()
	}
}

// lighter mixes a colour with three parts of white.
func lighter(v uint8) uint8 { return uint8(255 - (255-int(v))/4) }

// add writes the picture's objects and returns its XObject.
func (m *Image) add(to typeface.Adder, space pdf.Ref) pdf.Ref {
	dict := m.dict(pdf.Array{pdf.Name("ICCBased"), space})
	if m.jpeg != nil {
		dict.Set("Filter", pdf.Name("DCTDecode"))
		return to.New(&pdf.Stream{Dict: dict, Data: m.jpeg})
	}
	if m.alpha != nil {
		mask := m.dict(pdf.Name("DeviceGray"))
		mask.Set("Filter", pdf.Name("FlateDecode"))
		dict.Set("SMask", to.New(&pdf.Stream{Dict: mask, Data: m.alpha}))
	}
	dict.Set("Filter", pdf.Name("FlateDecode"))
	return to.New(&pdf.Stream{Dict: dict, Data: m.rgb})
}

func (m *Image) dict(space pdf.Object) *pdf.Dict {
	return pdf.NewDict(
		pdf.Name("Type"), pdf.Name("XObject"),
		pdf.Name("Subtype"), pdf.Name("Image"),
		pdf.Name("Width"), pdf.Integer(m.Width),
		pdf.Name("Height"), pdf.Integer(m.Height),
		pdf.Name("ColorSpace"), space,
		pdf.Name("BitsPerComponent"), pdf.Integer(8),
	)
}
