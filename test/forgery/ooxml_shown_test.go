package forgery

import (
	"fmt"
	"strings"
)

// properties are documents that show properties, which Office does not sign: LibreOffice 7.4 puts
// their values in place of the signed text, and so does Word for controls and in headers.
func (m *materials) properties(good, bad func(string, archive)) {
	const doc, root, core, custom = "word/document.xml", "_rels/.rels", "docProps/core.xml", "docProps/custom.xml"
	control := func(store, path, props, text string) string {
		return fmt.Sprintf(`<w:sdt><w:sdtPr><w:dataBinding w:xpath="%s" w:storeItemID="%s"/>%s</w:sdtPr><w:sdtContent><w:p><w:r><w:t>%s</w:t></w:r></w:p></w:sdtContent></w:sdt>`, path, store, props, text)
	}
	simple := func(code, text string) string {
		return fmt.Sprintf(`<w:p><w:fldSimple w:instr=" %s "><w:r><w:t>%s</w:t></w:r></w:fldSimple></w:p>`, code, text)
	}
	char := func(kind string) string { return `<w:r><w:fldChar w:fldCharType="` + kind + `"/></w:r>` }
	field := func(text string, code ...string) string {
		return `<w:p>` + char("begin") + `<w:r><w:instrText>` + strings.Join(code, `</w:instrText></w:r><w:r><w:instrText>`) + `</w:instrText></w:r>` +
			char("separate") + `<w:r><w:t>` + text + `</w:t></w:r>` + char("end") + `</w:p>`
	}
	const coreStore, appStore = "{6C3C8BC8-F283-45AE-878A-BAB7291924A1}", "{6668398D-A668-4E3E-A5EB-62B293D839F1}"
	title := "/ns1:coreProperties[1]/ns0:title[1]"
	for _, c := range []struct{ name, body, part, value string }{
		{"title in a control", control(coreStore, title, "", "Pay 100"), core, "Pay 100"},
		{"title in a control, otherwise cased", control(strings.ToLower(coreStore), title, "", "Pay 100"), core, "Pay 100"},
		{"title in a placeholder", control(coreStore, title, "<w:showingPlcHdr/>", "[Title]"), core, ""},
		{"title in a field", simple("TITLE", "Pay 100"), core, "Pay 100"},
		{"title in a field in pieces", field("Pay 100", " TI", `TLE \* Upper `), core, "pay 100"},
		{"title as a property", field("Pay 100", ` DOCPROPERTY "Title"  \* MERGEFORMAT `), core, "Pay 100"},
		{"company in a control", control(appStore, "/ns0:Properties[1]/ns0:Company[1]", "", "Pay 100"), "docProps/app.xml", "Pay 100"},
		{"property of the user", simple("DOCPROPERTY Amount", "Pay 100"), custom, "Pay 100"},
		{"property in a field in another", field(field("Pay 100", ` DOCPROPERTY "Amount"`), ` IF 1 = 1 `), custom, "Pay 100"},
	} {
		plain, what := word()
		plain = plain.change(doc, replaced("</w:body>", c.body+"</w:body>")).change(root, replaced("</Relationships>", `<Relationship Id="rId8" Type="`+relBase+`extended-properties" Target="docProps/app.xml"/>`+
			`<Relationship Id="rId9" Type="`+relBase+`custom-properties" Target="docProps/custom.xml"/></Relationships>`))
		fill := func(x *member, value string) {
			switch x.name {
			case core:
				x.data = []byte(`<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>` + value + `</dc:title></cp:coreProperties>`)
			case custom:
				x.data = []byte(`<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/custom-properties"><property pid="2" name="amount"><v:lpwstr xmlns:v="urn:v">` + value + `</v:lpwstr></property></Properties>`)
			default:
				x.data = []byte(`<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties"><Company>` + value + `</Company></Properties>`)
			}
		}
		plain = plain.with(-1, member{name: "docProps/app.xml", data: []byte("<Properties/>")}).with(-1, member{name: custom, data: []byte("<Properties/>")})
		plain = plain.change(c.part, func(x *member) { fill(x, c.value) })
		signed := m.office(plain, what)
		good("shown: "+c.name, signed)
		bad("shown: "+c.name+", another value", signed.change(c.part, func(x *member) { fill(x, "Pay 900") }))
	}
}
