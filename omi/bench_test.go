package omi

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// places are random places over Italy.
func places(n int) [][2]float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	p := make([][2]float64, n)
	for i := range p {
		p[i] = [2]float64{36.6 + rng.Float64()*10.5, 6.6 + rng.Float64()*12}
	}
	return p
}

func BenchmarkLookup(b *testing.B) {
	ix := national(b)
	p := places(1 << 16)
	i := 0
	for b.Loop() {
		ix.Lookup(p[i&0xFFFF][0], p[i&0xFFFF][1])
		i++
	}
}

// BenchmarkLookupPercentiles tells the median and the 99th percentile on random
// places; the clock's own cost is part of each.
func BenchmarkLookupPercentiles(b *testing.B) {
	ix := national(b)
	p := places(1 << 16)
	took := make([]time.Duration, 0, 1<<20)
	for i := 0; b.Loop(); i++ {
		at := p[i&0xFFFF]
		start := time.Now()
		ix.Lookup(at[0], at[1])
		if len(took) < cap(took) {
			took = append(took, time.Since(start))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}

func BenchmarkAnswer(b *testing.B) {
	ix := national(b)
	z, _ := ix.Lookup(45.4642, 9.19)
	buf := make([]byte, 0, 1<<20)
	for name, g := range map[string]Geometry{"none": NoGeometry, "full": FullGeometry, "simplified": SimplifiedGeometry} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf = Answer{Zone: z, Lat: 45.4642, Lng: 9.19, Placed: true}.AppendJSON(buf[:0], g)
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func BenchmarkOpenIndex(b *testing.B) {
	ix := national(b)
	path := nationalLib.Path(ix)
	for b.Loop() {
		if _, err := OpenIndex(path); err != nil {
			b.Fatal(err)
		}
	}
}
