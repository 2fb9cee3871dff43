package pdf

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// Float makes a number object, an Integer if possible.
func Float(f float64) Object {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return Integer(f)
	}
	return Real(strconv.FormatFloat(math.Round(f*1e5)/1e5, 'f', -1, 64))
}

// printer writes objects, encrypting strings and stream data if the document is encrypted.
type printer struct {
	buf   []byte
	crypt *crypt
	ref   Ref
}

func (w *printer) object(o Object) error {
	switch x := o.(type) {
	case nil:
		w.buf = append(w.buf, "null"...)
	case Bool:
		w.buf = strconv.AppendBool(w.buf, bool(x))
	case Integer:
		w.buf = strconv.AppendInt(w.buf, int64(x), 10)
	case Real:
		w.buf = append(w.buf, x...)
	case Name:
		w.name(x)
	case String:
		return w.string(x)
	case Ref:
		w.buf = append(w.buf, x.String()...)
	case Array:
		return w.array(x)
	case *Dict:
		return w.dict(x)
	case *Stream:
		return w.stream(x)
	case Raw:
		w.buf = append(w.buf, x...)
	case *Placeholder:
		x.Offset = int64(len(w.buf))
		w.buf = append(w.buf, x.Open...)
		w.buf = append(w.buf, bytes.Repeat([]byte{x.Fill}, x.Size)...)
		w.buf = append(w.buf, x.Close...)
	default:
		return fmt.Errorf("write object of type %T", o)
	}
	return nil
}

func (w *printer) name(n Name) {
	w.buf = append(w.buf, '/')
	for i := range len(n) {
		if c := n[i]; c < '!' || c > '~' || c == '#' || class[c] != classRegular {
			w.buf = fmt.Appendf(w.buf, "#%02X", c)
			continue
		}
		w.buf = append(w.buf, n[i])
	}
}

func (w *printer) string(s String) error {
	b := s.Bytes
	if clear := s.Clear && len(b)%16 != 0; w.crypt != nil && !clear { // a string that was never encrypted stays so
		var err error
		if b, err = w.crypt.seal(w.crypt.str, w.ref, b); err != nil {
			return err
		}
	}
	if s.Hex || w.crypt != nil {
		w.buf = AppendHex(append(w.buf, '<'), b)
		w.buf = append(w.buf, '>')
		return nil
	}
	w.buf = append(w.buf, '(')
	for _, c := range b {
		switch {
		case c == '(' || c == ')' || c == '\\':
			w.buf = append(w.buf, '\\', c)
		case c < ' ' || c > '~':
			w.buf = append(w.buf, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			w.buf = append(w.buf, c)
		}
	}
	w.buf = append(w.buf, ')')
	return nil
}

// AppendHex appends upper-case hexadecimal digits.
func AppendHex(dst, b []byte) []byte {
	return fmt.Appendf(dst, "%X", b)
}

func (w *printer) array(a Array) error {
	w.buf = append(w.buf, '[')
	for i, o := range a {
		if i > 0 {
			w.buf = append(w.buf, ' ')
		}
		if err := w.object(o); err != nil {
			return err
		}
	}
	w.buf = append(w.buf, ']')
	return nil
}

func (w *printer) dict(d *Dict) error {
	signature := d.Has("ByteRange") && w.crypt != nil
	w.buf = append(w.buf, "<<"...)
	for _, e := range d.Entries {
		w.name(e.Key)
		switch e.Value.(type) {
		case Name, String, Array, *Dict:
		default:
			w.buf = append(w.buf, ' ')
		}
		c := w.crypt
		if signature && e.Key == "Contents" {
			w.crypt = nil
		}
		err := w.object(e.Value)
		w.crypt = c
		if err != nil {
			return err
		}
	}
	w.buf = append(w.buf, ">>"...)
	return nil
}

func (w *printer) stream(s *Stream) error {
	data := s.Data
	if w.crypt != nil {
		var err error
		if data, err = w.crypt.seal(w.crypt.streamMethod(s.Dict), w.ref, data); err != nil {
			return err
		}
	}
	d := s.Dict.Clone()
	d.Set("Length", Integer(len(data)))
	if err := w.dict(d); err != nil {
		return err
	}
	w.buf = append(w.buf, "\nstream\n"...)
	w.buf = append(w.buf, data...)
	w.buf = append(w.buf, "\nendstream"...)
	return nil
}
