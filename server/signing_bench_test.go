package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/yardstick"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/api/apitest"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/enrol"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// hundredKB is a PDF of about 100 KB.
func hundredKB() []byte {
	noise := make([]byte, 36_000)
	_, _ = rand.Read(noise)
	return enrol.TextPDF("Bench", strings.ReplaceAll(fmt.Sprintf("%x", noise), "00", "\n"))
}

// Synchronous PAdES-B of a 100 KB PDF over HTTP with durable records, on both
// engines, beside the library alone in the same run: of-library is the ratio of
// the rates, with 32 clients, whose work is in it too.
func BenchmarkSynchronousPAdES(b *testing.B) {
	pdf := hundredKB()
	for _, alg := range []string{"RSA2048", "P256"} {
		library := 0.0
		b.Run(alg+"/library", func(b *testing.B) { library = benchLibrary(b, alg, pdf) })
		for _, engine := range []string{"sqlite", "postgres"} {
			b.Run(alg+"/"+engine, func(b *testing.B) {
				if rate := benchHTTP(b, engine, alg, pdf); library > 0 {
					b.ReportMetric(rate/library, "of-library")
				}
			})
		}
	}
}

func benchHTTP(b *testing.B, engine, alg string, pdf []byte) (rate float64) {
	cfg := testDefaults()
	cfg.Listen, cfg.Data, cfg.Limits.Reserve, cfg.Log.Level = "127.0.0.1:0", b.TempDir(), -1, "error"
	if engine == "postgres" {
		cfg.Database = storetest.Postgres(b)
	}
	kind := map[string]string{"RSA2048": "automatic", "P256": "eseal"}[alg]
	ready, ended := make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		ended <- server.Run(ctx, cfg, server.Streams{Out: io.Discard, Err: io.Discard, Ready: func(u string) { ready <- u }})
	}()
	defer func() { stop(); <-ended }()
	var url string
	select {
	case url = <-ready:
	case err := <-ended:
		b.Fatal(err)
	}
	box := server.ReadSandbox(cfg.Data)
	c := box.Certificates[kind]
	body, err := json.Marshal(m{"inputDocuments": b64(pdf), "certificateUsername": c.Username, "certificatePassword": c.Password})
	if err != nil {
		b.Fatal(err)
	}
	request := fmt.Appendf(nil, "POST /EU-QES_%s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		kind, box.Token, len(body), body)
	addr := strings.TrimPrefix(url, "http://")
	drive(b, addr, request, `"state":"DONE"`, 1) // the key is derived once
	b.SetBytes(int64(len(pdf)))
	before := yardstick.Processor()
	drive(b, addr, request, `"state":"DONE"`, b.N)
	rate = float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "signatures/s")
	b.ReportMetric(float64((yardstick.Processor()-before).Microseconds())/float64(b.N)/1000, "cpu-ms")
	return rate
}

func benchLibrary(b *testing.B, alg string, pdf []byte) (rate float64) {
	key, err := keys.Generate(alg)
	if err != nil {
		b.Fatal(err)
	}
	tpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, key.Public(), key)
	if err != nil {
		b.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(pdf)))
	before := yardstick.Processor()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			var out bytes.Buffer
			o := rogito.Options{SignParams: ades.SignParams{Certificate: cert, Time: time.Now()}}
			if _, err := rogito.Sign(b.Context(), rogito.File("", bytes.NewReader(pdf)), &out, key, o); err != nil {
				b.Fatal(err)
			}
		}
	})
	rate = float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "signatures/s")
	b.ReportMetric(float64((yardstick.Processor()-before).Microseconds())/float64(b.N)/1000, "cpu-ms")
	return rate
}

// A batch of 1,000 documents with a key at a provider on loopback, 100 in a call,
// beside one with a key of the same kind that is here; of-local is the ratio of
// the rates.
func BenchmarkRemoteBatch(b *testing.B) {
	for _, alg := range []string{"RSA2048", "P256"} {
		p := newProvider(b, "1")
		local := 0.0
		b.Run(alg+"/local", func(b *testing.B) { local = benchBatch(b, alg, nil) })
		b.Run(alg+"/remote", func(b *testing.B) {
			if rate := benchBatch(b, alg, p); local > 0 {
				b.ReportMetric(rate/local, "of-local")
			}
		})
	}
}

func benchBatch(b *testing.B, alg string, p *farProvider) (rate float64) {
	cfg := testDefaults()
	cfg.Listen, cfg.Data, cfg.Limits.Reserve, cfg.Log.Level = "127.0.0.1:0", b.TempDir(), -1, "error"
	if p != nil {
		p.Configure("client_credentials")(&cfg)
	}
	kind := map[string]string{"RSA2048": "automatic", "P256": "eseal"}[alg]
	ready, ended := make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		ended <- server.Run(ctx, cfg, server.Streams{Out: io.Discard, Err: io.Discard, Ready: func(u string) { ready <- u }})
	}()
	defer func() { stop(); <-ended }()
	var url string
	select {
	case url = <-ready:
	case err := <-ended:
		b.Fatal(err)
	}
	box := server.ReadSandbox(cfg.Data)
	c := box.Certificates[kind]
	if p != nil {
		srv, err := server.Open(ctx, cfg)
		if err != nil {
			b.Fatal(err)
		}
		far, err := srv.AddRemote(ctx, box.Email, server.RemoteKey{Provider: "far", Kind: kind, ID: map[string]string{"RSA2048": "rsa", "P256": "seal"}[alg], Password: "1234"})
		srv.Close()
		if err != nil {
			b.Fatal(err)
		}
		c.Username, c.Password = far.Username, far.Password
	}
	docs := make([]string, 1000)
	for i := range docs {
		docs[i] = b64(fmt.Appendf(nil, "%d %s", i, strings.Repeat("text ", 2000)))
	}
	sign := func(docs []string) {
		body := m{"inputDocuments": docs, "certificateUsername": c.Username, "certificatePassword": c.Password, "options": m{"batch": true}}
		a, err := apitest.Send(ctx, http.DefaultClient, "POST", url+"/EU-QES_"+kind, body, "Authorization", "Bearer "+box.Token)
		if err != nil || !bytes.Contains(a.Body, []byte(`"state":"DONE"`)) {
			b.Fatalf("%v %.300s", err, a.Body)
		}
	}
	sign(docs[:1]) // the key is derived once
	before := yardstick.Processor()
	b.ResetTimer()
	for range b.N {
		sign(docs)
	}
	rate = float64(b.N*len(docs)) / b.Elapsed().Seconds()
	b.ReportMetric(float64((yardstick.Processor()-before).Microseconds())/float64(b.N*len(docs))/1000, "cpu-ms")
	b.ReportMetric(rate, "signatures/s")
	return rate
}
