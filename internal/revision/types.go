package revision

import (
	"slices"

	"rogito.dev/rogito/internal/pdf"
)

// kinds of values, as sets.
type kinds uint

const (
	isName kinds = 1 << iota
	isText
	isInteger
	isNumber
	isBool
	isArray
	isNumbers // an array of numbers
	isRect    // an array of four numbers
	isDict
	isStream
	isAppearance // an appearance: a stream, or a dictionary of streams
)

// annotTypes are the standard's types of the keys of annotations and fields (ISO 32000-2, tables
// 166, 170, 172 to 184, 189, 191, 226, 228, 232). For another type a reader may omit the
// annotation, or everything on its page. Values of fields are judged separately.
var annotTypes = map[pdf.Name]kinds{
	"Type": isName, "Subtype": isName, "FT": isName, "AS": isName, "H": isName, "RT": isName, "IT": isName, "Name": isName, "CP": isName, "Sy": isName,
	"T": isText, "TU": isText, "TM": isText, "NM": isText, "M": isText, "DA": isText, "DS": isText, "Contents": isText, "Lang": isText,
	"CreationDate": isText, "Subj": isText, "State": isText, "StateModel": isText, "OverlayText": isText,
	"RV": isText | isStream, "RC": isText | isStream,
	"Ff": isInteger, "F": isInteger, "Q": isInteger, "MaxLen": isInteger, "TI": isInteger, "StructParent": isInteger, "Rotate": isInteger,
	"CA": isNumber, "ca": isNumber, "LL": isNumber, "LLE": isNumber, "LLO": isNumber,
	"Open": isBool, "Cap": isBool, "Repeat": isBool,
	"Rect": isRect, "RD": isRect, "L": isRect,
	"C": isNumbers, "IC": isNumbers, "CL": isNumbers, "CO": isNumbers, "Vertices": isNumbers, "QuadPoints": isNumbers, "I": isNumbers,
	"Border": isArray, "Opt": isArray, "Kids": isArray, "Path": isArray, "InkList": isArray,
	"LE": isName | isArray, "BM": isName | isArray, "AF": isDict | isArray,
	"P": isDict, "Parent": isDict, "Popup": isDict, "IRT": isDict, "AP": isDict, "MK": isDict, "DR": isDict, "Lock": isDict, "SV": isDict,
	"BS": isDict, "BE": isDict, "OC": isDict, "ExData": isDict, "Measure": isDict,
}

// appearanceTypes are those of an appearance dictionary (table 170).
var appearanceTypes = map[pdf.Name]kinds{"N": isAppearance, "R": isAppearance, "D": isAppearance}

// formTypes are those of the interactive form (table 224) and of its resources.
var (
	formTypes     = map[pdf.Name]kinds{"Fields": isArray, "NeedAppearances": isBool, "SigFlags": isInteger, "CO": isArray, "DR": isDict, "DA": isText, "Q": isInteger}
	resourceTypes = map[pdf.Name]kinds{
		"Font": isDict, "XObject": isDict, "ExtGState": isDict, "ColorSpace": isDict, "Pattern": isDict, "Shading": isDict, "Properties": isDict, "ProcSet": isArray,
	}
	// categoryTypes are those of the resources in each category (table 34).
	categoryTypes = map[pdf.Name]kinds{
		"Font": isDict, "XObject": isStream, "ExtGState": isDict, "ColorSpace": isName | isArray, "Pattern": isDict | isStream, "Shading": isDict | isStream,
		"Properties": isDict,
	}
)

// mistyped finds a key whose value has a type other than the standard's, is unexpectedly indirect,
// or is null, and was not so before. MuPDF draws nothing of a page with an annotation that refers
// to nothing.
func (c *comparison) mistyped(was, is *pdf.Dict, types map[pdf.Name]kinds) (pdf.Name, bool) {
	if is == nil {
		return "", false
	}
	for _, e := range is.Entries {
		want := types[e.Key]
		_, byRef := e.Value.(pdf.Ref)
		null := c.new.isNull(e.Value)
		if (want != 0 && (!c.new.isOf(e.Value, want) || byRef && scalar(c.new, e.Value)) || byRef && null) && !c.equal(c.get(was, e.Key), e.Value, e.Key) {
			return e.Key, true
		}
		if was != nil && !was.Has(e.Key) && null {
			return e.Key, true // some readers treat the key as present
		}
	}
	if _, looks := types["AP"]; looks {
		return c.mistyped(c.old.dict(c.get(was, "AP")), c.new.dict(is.Get("AP")), appearanceTypes)
	}
	return "", false
}

// isOf reports whether a value has one of the types, or is absent.
func (m *model) isOf(o pdf.Object, want kinds) bool {
	v, err := m.doc.Resolve(o)
	if err != nil {
		return false
	}
	switch x := v.(type) {
	case nil:
		return true
	case pdf.Name:
		return want&isName != 0
	case pdf.String:
		return want&isText != 0
	case pdf.Integer:
		return want&(isInteger|isNumber) != 0
	case pdf.Real:
		return want&isNumber != 0
	case pdf.Bool:
		return want&isBool != 0
	case pdf.Array:
		if want&isArray != 0 {
			return true
		}
		if want&(isNumbers|isRect) == 0 || want&isNumbers == 0 && len(x) != 4 {
			return false
		}
		return !slices.ContainsFunc(x, func(o pdf.Object) bool {
			_, ok := m.doc.Number(o)
			return !ok
		})
	case *pdf.Dict:
		if want&isAppearance != 0 {
			for _, e := range x.Entries {
				if v, err := m.doc.Resolve(e.Value); err != nil || !m.isOf(v, isStream) || v == nil && e.Value != nil {
					return false
				}
			}
			return true
		}
		return want&isDict != 0
	case *pdf.Stream:
		return want&(isStream|isAppearance) != 0
	}
	return false
}
