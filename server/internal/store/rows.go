package store

import (
	"fmt"
	"strconv"
)

// Each has fn see every row of an answer, in order, until fn returns an error.
// It takes what Query returned; an error begins with what was read.
func Each(what string, rows Rows, err error, fn func(Row) error) error {
	if err == nil {
		defer rows.Close()
		for err == nil && rows.Next() {
			err = fn(rows)
		}
		if err == nil {
			err = rows.Err()
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// All is Each for a list; where there are no rows it is empty, not nil.
func All[T any](what string, rows Rows, err error, scan func(Row) (T, error)) ([]T, error) {
	all := []T{}
	err = Each(what, rows, err, func(r Row) error {
		v, err := scan(r)
		all = append(all, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Column scans a row of one column.
func Column[T any](r Row) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

// Values writes the placeholders of several rows: ($1,$2),($3,$4).
func Values(rows, columns int) string {
	b := make([]byte, 0, 5*rows*columns)
	for i := range rows * columns {
		switch {
		case i == 0:
			b = append(b, '(')
		case i%columns == 0:
			b = append(b, "),("...)
		default:
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, '$'), int64(i+1), 10)
	}
	return string(append(b, ')'))
}
