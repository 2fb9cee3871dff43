package omi

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rogito.dev/rogito/internal/atomicfile"
	"rogito.dev/rogito/internal/limits"
)

// AddressReport is what an import of addresses found.
type AddressReport struct {
	Municipalities int `json:"municipalities"`
	Streets        int `json:"streets"`
	Numbers        int `json:"numbers"`
	// WithoutPlace are rows without coordinates in Italy: municipalities have not supplied them for
	// every third street number.
	WithoutPlace int `json:"withoutPlace"`
	Skipped      int `json:"skipped"` // unreadable rows
}

// ImportAddresses reads street numbers with their coordinates from the open data of the Archivio
// nazionale dei numeri civici delle strade urbane (ANNCSU, "indirizzario"), archived or not, and
// replaces the existing ones.
func (l *Library) ImportAddresses(ctx context.Context, paths []string, progress func(done, total int64)) (AddressReport, error) {
	var rep AddressReport
	s, err := openFileSet(ctx, paths)
	if err != nil {
		return rep, err
	}
	defer s.Close()
	if err := os.MkdirAll(l.dir, 0o750); err != nil {
		return rep, err
	}
	err = atomicfile.Write(filepath.Join(l.dir, addressFile), 0o640, func(w io.Writer) error {
		rep, err = readAddresses(ctx, s, w, progress)
		return err
	})
	return rep, err
}

// readAddresses reads every table of a supply and writes its index.
func readAddresses(ctx context.Context, s *fileSet, w io.Writer, progress func(done, total int64)) (AddressReport, error) {
	out := newAddressWriter(w)
	var total, done int64
	for _, src := range s.sources {
		total += src.size
	}
	tables := 0
	for _, src := range s.sources {
		r, err := src.open()
		if err != nil {
			return out.report, s.damaged(src, err)
		}
		err = out.table(&counted{ctx: ctx, r: r, progress: func(n int) error {
			if done += int64(n); done > limits.OMIAddresses {
				return refuse("the files unpack to more than %d GB", limits.OMIAddresses>>30)
			}
			if progress != nil {
				progress(min(done, total), total)
			}
			return nil
		}})
		r.Close()
		switch {
		case errors.Is(err, errNoAddresses):
			continue // a text file beside the table
		case err != nil:
			return out.report, err
		}
		tables++
	}
	if tables == 0 {
		return out.report, refuse("there is no table of street numbers: its first line names CODICE_COMUNE, ODONIMO, CIVICO, COORD_X_COMUNE and COORD_Y_COMUNE")
	}
	return out.report, out.end()
}

// counted reports how much was read, and stops with its context.
type counted struct {
	ctx      context.Context
	r        io.Reader
	progress func(n int) error
}

func (c *counted) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(b)
	if told := c.progress(n); told != nil {
		return n, told
	}
	return n, err
}

// errNoAddresses: a file is not a table of street numbers.
var errNoAddresses = errors.New("omi: no table of street numbers")

// The columns that are used, by their names in the source.
const (
	columnTown = iota
	columnStreet
	columnNumber
	columnExponent
	columnX
	columnY
	columnFirst  // the street's name in the first of two languages
	columnSecond // in the second
	columns
)

var columnNames = [columns]string{"CODICE_COMUNE", "ODONIMO", "CIVICO", "ESPONENTE", "COORD_X_COMUNE", "COORD_Y_COMUNE", "DIZIONE_LINGUA1", "DIZIONE_LINGUA2"}

// table reads one table, whose columns are found by name.
func (a *addressWriter) table(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), limits.OMILine)
	if !lines.Scan() {
		if errors.Is(lines.Err(), bufio.ErrTooLong) {
			return errNoAddresses
		}
		return cmp.Or(lines.Err(), errNoAddresses)
	}
	head := strings.TrimPrefix(text(lines.Bytes()), "\ufeff")
	if !strings.Contains(head, columnNames[columnTown]) {
		return errNoAddresses
	}
	between := slices.MaxFunc([]byte{';', ',', '\t', '|'}, func(x, y byte) int { return strings.Count(head, string(x)) - strings.Count(head, string(y)) })
	names := splitLine(nil, head, between)
	var at [columns]int
	for i, name := range columnNames {
		at[i] = slices.Index(names, name)
		if at[i] < 0 && i < columnFirst && i != columnExponent {
			return refuse("a table of street numbers has no column %s", name)
		}
	}
	row := make([]string, 0, len(names))
	for lines.Scan() {
		row = splitLine(row[:0], text(lines.Bytes()), between)
		err := a.row(func(i int) string {
			if at[i] < 0 || at[i] >= len(row) {
				return ""
			}
			return row[at[i]]
		})
		if err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return refuse("a table of street numbers has a line of more than %d kB", limits.OMILine>>10)
	}
	return lines.Err()
}

// splitLine appends the fields of a line, without surrounding quotation marks and spaces. A
// quotation mark inside is doubled; fields have no line breaks.
func splitLine(row []string, line string, between byte) []string {
	line = strings.TrimSuffix(line, "\r")
	for {
		end := strings.IndexByte(line, between)
		if strings.HasPrefix(line, `"`) {
			for end = 1; end < len(line); end++ {
				if line[end] == '"' {
					if end+1 >= len(line) || line[end+1] != '"' {
						break
					}
					end++
				}
			}
			if rest := strings.IndexByte(line[min(end, len(line)):], between); rest < 0 {
				end = -1
			} else {
				end += rest
			}
		}
		field := line
		if end >= 0 {
			field = line[:end]
		}
		if field = strings.TrimSpace(field); len(field) > 1 && field[0] == '"' && field[len(field)-1] == '"' {
			field = strings.TrimSpace(strings.ReplaceAll(field[1:len(field)-1], `""`, `"`))
		}
		row = append(row, field)
		if end < 0 {
			return row
		}
		line = line[end+1:]
	}
}

// row handles one street number.
func (a *addressWriter) row(field func(int) string) error {
	town, street := field(columnTown), field(columnStreet)
	number, err := strconv.ParseUint(field(columnNumber), 10, 31)
	if !isCadastral(town) || street == "" || len(street) > mostName || err != nil && field(columnNumber) != "" || len(field(columnExponent)) > 32 {
		a.report.Skipped++
		return nil
	}
	lng, okX := degreesOf(field(columnX))
	lat, okY := degreesOf(field(columnY))
	if !okX || !okY || !inItaly(lat, lng) {
		a.report.WithoutPlace++
		return nil
	}
	for _, other := range []string{field(columnFirst), field(columnSecond)} {
		if other != "" && len(street)+len(other) < mostName && !strings.Contains(street, other) {
			street += otherName + other
		}
	}
	return a.add(town, street, civic{
		number: uint32(number), exponent: strings.ToUpper(field(columnExponent)), x: int32(math.Round(lng * 1e6)), y: int32(math.Round(lat * 1e6)),
	})
}

// degreesOf parses degrees with a decimal comma or point.
func degreesOf(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
	return v, err == nil && !math.IsNaN(v) && math.Abs(v) <= 180
}
