package omi_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"rogito.dev/rogito/omi"
)

func Example() {
	dir, err := os.MkdirTemp("", "omi")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	library, err := omi.OpenLibrary(dir)
	if err != nil {
		log.Fatal(err)
	}
	// Nothing was imported: the sample answers.
	zone, ok := library.Current().Active().Lookup(38.6, 17.6)
	fmt.Println(ok, zone.Code(), zone.Description())
	v := zone.Value(0)
	fmt.Println(v.Type, v.Sale.Min/1000, v.Sale.Max/1000)
	// Output:
	// true B1 CENTRO (SAMPLE)
	// Abitazioni civili 2100 2900
}

func ExampleLibrary_Import() {
	dir, err := os.MkdirTemp("", "omi")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	library, err := omi.OpenLibrary(dir)
	if err != nil {
		log.Fatal(err)
	}
	report, err := library.Import(context.Background(), []string{"sample"}, omi.ImportOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Semester, report.Zones, report.Values)
	// Output: 2026/1 5 10
}

func ExampleParseSemester() {
	s, err := omi.ParseSemester("2018/2")
	fmt.Println(s.Year, s.Half, err)
	// Output: 2018 2 <nil>
}
