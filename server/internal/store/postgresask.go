package store

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// ask adds a query of one row.
func (t *postgresTx) ask(query string, args []any, judge func(Row) error) {
	t.asked = true
	s := statement{query: query, args: args, take: func(r pgx.BatchResults) error { return judge(r.QueryRow()) }}
	if strings.HasPrefix(query, "select ") {
		s.judge = judge
	}
	t.waiting = append(t.waiting, s)
}

// joined makes one statement of queries that follow one another: what permits a
// signature is read from four tables, and a statement costs more than its row.
func (t *postgresTx) joined(all []statement) (out []statement) {
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(s statement) bool { return s.judge == nil })
		if n < 0 {
			n = len(all)
		}
		switch n {
		case 0, 1:
			out, all = append(out, all[0]), all[1:]
		default:
			out, all = append(out, join(all[:n], t.conn.Conn().TypeMap())), all[n:]
		}
	}
	return out
}

var parameter = regexp.MustCompile(`\$\d+`)

// join puts queries side by side. Each is led by a column of its own, which is null
// where it has no row.
func join(asked []statement, types *pgtype.Map) statement {
	var columns, from []string
	var args []any
	for i, s := range asked {
		q := "q" + strconv.Itoa(i)
		query := parameter.ReplaceAllStringFunc(s.query, func(p string) string {
			n, _ := strconv.Atoi(p[1:])
			return "$" + strconv.Itoa(n+len(args))
		})
		columns = append(columns, q+".*")
		from = append(from, "left join (select true as "+q+", t.* from ("+query+") t limit 1) "+q+" on true")
		args = append(args, s.args...)
	}
	query := "select " + strings.Join(columns, ", ") + " from (values (1)) one " + strings.Join(from, " ")
	return statement{query: query, args: args, take: func(r pgx.BatchResults) error {
		rows, err := r.Query()
		if err != nil {
			return err
		}
		defer rows.Close()
		if !rows.Next() {
			return rows.Err()
		}
		fields, values := rows.FieldDescriptions(), rows.RawValues()
		for i, s := range asked {
			next := slices.IndexFunc(fields, func(f pgconn.FieldDescription) bool { return f.Name == "q"+strconv.Itoa(i+1) })
			if next < 0 {
				next = len(fields)
			}
			if err := s.judge(joinedRow{types, fields[:next], values[:next]}); err != nil {
				return err
			}
			fields, values = fields[next:], values[next:]
		}
		rows.Close()
		return rows.Err()
	}}
}

// joinedRow is the row of one of several queries, behind the column that says whether
// there is one.
type joinedRow struct {
	types  *pgtype.Map
	fields []pgconn.FieldDescription
	values [][]byte
}

func (r joinedRow) Scan(dest ...any) error {
	if r.values[0] == nil {
		return ErrNoRows
	}
	for i, to := range dest {
		f := r.fields[i+1]
		if err := r.types.Scan(f.DataTypeOID, f.Format, r.values[i+1], to); err != nil {
			return err
		}
	}
	return nil
}
