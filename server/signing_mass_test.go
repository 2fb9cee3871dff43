package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/yardstick"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// Mass signing, on both engines: a thousand requests, a thousand that are answered
// at once and signed later, and how long another account waits for its signature
// while one has a hundred thousand documents waiting. Client and server are one
// process, and so is their processor time.
func TestMassSigning(t *testing.T) {
	if os.Getenv("ROGITO_BENCH") == "" {
		t.Skip("SKIPPED: set ROGITO_BENCH=1 to measure")
	}
	eachEngine(t, func(t *testing.T, s *site) {
		engine := t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]
		row := func(what, format string, args ...any) {
			fmt.Printf("mass: | %s, %s | %s |\n", what, engine, fmt.Sprintf(format, args...))
		}
		const many = 1000
		now, later := massRequest(s, 1, m{}), massRequest(s, 1, m{"asyncSignature": true})
		addr := strings.TrimPrefix(s.URL, "http://")
		send(t, addr, now, `"state":"DONE"`, 32)

		took := stopwatch()
		send(t, addr, now, `"state":"DONE"`, many)
		clock, used := took()
		row("1,000 requests", "%.0f a second of processor, %.0f by the clock", many/used, many/clock)

		took = stopwatch()
		send(t, addr, later, `"state":"WAIT_SIGN"`, many)
		accepted, _ := took()
		for range time.Tick(200 * time.Millisecond) { // asking is work too
			if unsigned(s, 1) == 0 {
				break
			}
		}
		clock, used = took()
		row("1,000 to be signed later", "taken in at %.0f a second by the clock; all signed at %.0f a second of processor, %.0f by the clock", many/accepted, many/used, many/clock)

		other := s.Tenant()
		mine := massRequest(other, 1, m{"asyncSignature": true})
		const asked = 20
		idle := latencies(other, mine, asked)
		large := massRequest(s, many, m{"asyncSignature": true, "batch": true})
		for range 100 { // one after the other: a crowd of them would be told to come again
			send(t, addr, large, `"state":"WAIT_SIGN"`, 1)
		}
		beside, left := latencies(other, mine, asked), unsigned(s, 100)
		if left < 50 {
			t.Errorf("only %d of 100 requests of 1,000 documents were still waiting", left)
		}
		row("another account's signature, nothing waiting", "median %.0f ms, longest %.0f ms", idle[asked/2], idle[asked-1])
		row(fmt.Sprintf("… while %d of 100 requests of 1,000 documents wait", left), "median %.0f ms, longest %.0f ms", beside[asked/2], beside[asked-1])
	})
}

// stopwatch returns the seconds since it was started, of the clock and of the
// processor.
func stopwatch() func() (clock, used float64) {
	began, before := time.Now(), yardstick.Processor()
	return func() (float64, float64) {
		return time.Since(began).Seconds(), (yardstick.Processor() - before).Seconds()
	}
}

// massRequest is a request to sign so many copies of a small PDF.
func massRequest(s *site, copies int, options m) []byte {
	docs := slices.Repeat([]string{b64(sitetest.SamplePDF)}, copies)
	body, err := json.Marshal(s.Body(docs, optionsOf(options)))
	if err != nil {
		s.T.Fatal(err)
	}
	return fmt.Appendf(nil, "POST /EU-QES_automatic HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		s.Box.Token, len(body), body)
}

// unsigned is how many records of the account wait to be signed, up to so many.
func unsigned(s *site, most int) int {
	_, body := s.Raw(http.MethodGet, fmt.Sprintf("/signatures?state=WAIT_SIGN&limit=%d", most), nil)
	if !bytes.Contains(body, []byte(`"success":true`)) {
		s.T.Fatalf("%s", body)
	}
	return bytes.Count(body, []byte(`"state":"WAIT_SIGN"`))
}

// latencies has signatures made later, one after the other, and says how long
// each took in milliseconds, the shortest first.
func latencies(s *site, request []byte, times int) (all []float64) {
	for range times {
		began := time.Now()
		send(s.T, strings.TrimPrefix(s.URL, "http://"), request, `"state":"WAIT_SIGN"`, 1)
		await.Until(s.T, "it is signed", func() bool { return unsigned(s, 1) == 0 })
		all = append(all, float64(time.Since(began).Microseconds())/1000)
	}
	slices.Sort(all)
	return all
}
