package omi

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// csvHead names the columns of WriteCSV like the API.
var csvHead = []string{
	"semester", "region", "province_code", "municipality", "cadastral_code", "omi_zone", "description", "property_type", "property_type_code", "condition", "prevalent",
	"sale_min", "sale_max", "sale_surface", "rent_min", "rent_max", "rent_surface", "source",
}

// WriteCSV writes the quotations of zones as a table, with a line for each type of property and
// condition. Unquoted values are empty. A text that a spreadsheet would take for a formula is
// prefixed by an apostrophe.
func WriteCSV(w io.Writer, zones []Zone) error {
	out := csv.NewWriter(w)
	_ = out.Write(csvHead) // Flush returns the error
	for _, z := range zones {
		m := z.Municipality()
		for i := range z.Values() {
			v := z.Value(i)
			row := []string{
				z.Index().Semester().String(), m.Region, m.Province, m.Name, m.CadastralCode, z.Code(), z.Description(), v.Type, strconv.Itoa(v.TypeCode), v.Condition, strconv.FormatBool(v.Prevalent),
			}
			row = append(row, cells(v.Sale, v.SaleQuoted)...)
			row = append(append(row, cells(v.Rent, v.RentQuoted)...), Attribution)
			for i, cell := range row {
				if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
					row[i] = "'" + cell
				}
			}
			_ = out.Write(row) // Flush returns the error
		}
	}
	out.Flush()
	return out.Error()
}

func cells(r Range, quoted bool) []string {
	if !quoted {
		return []string{"", "", ""}
	}
	return []string{string(appendMilli(nil, r.Min)), string(appendMilli(nil, r.Max)), r.Surface.String()}
}

// String is gross, net or nothing.
func (s Surface) String() string {
	switch s {
	case Gross:
		return "gross"
	case Net:
		return "net"
	}
	return ""
}
