// Command runfake runs a remote signing service of the tests by hand:
//
//	go run ./test/providers/runfake -kind sws [-odd NAME] [-bare]
//	go run ./test/providers/runfake -kind arss -list
//
// It writes a configuration for a server, prints a device of each kind, and serves
// until interrupted; then it prints what it has to complain about.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"rogito.dev/rogito/test/providers/fake"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "runfake:", err)
		os.Exit(1)
	}
}

func run() error {
	kind := flag.String("kind", fake.SWS, "arss or sws")
	odd := flag.String("odd", "", "an oddity to switch on")
	list := flag.Bool("list", false, "list the oddities")
	bare := flag.Bool("bare", false, "add no DigestInfo")
	passed := flag.Bool("passed", false, "callers bring the provider's own usernames (store_credentials: false)")
	flag.Parse()
	if *list {
		for _, o := range fake.Of(*kind) {
			fmt.Printf("%-30s %s\n", o.Name, o.Want)
		}
		return nil
	}
	s, err := fake.Start(*kind)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Bare = *bare
	for _, o := range fake.Of(*kind) {
		if o.Name == *odd {
			s.Switch(o)
		}
	}
	dir, err := os.MkdirTemp("", "fake-provider")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config := fmt.Sprintf("network: {allow_private: [127.0.0.1]}\ntrust: {anchors: [%q]}\nsigning:\n  providers:\n    far:\n      kind: %s\n      url: %s\n      ca: %s\n",
		filepath.Join(dir, "root.pem"), *kind, s.URL(), filepath.Join(dir, "ca.pem"))
	if *kind == fake.ARSS {
		config += "      domain: " + fake.Domain + "\n"
	}
	if *passed {
		config += "      store_credentials: false\n"
	}
	for name, text := range map[string][]byte{"ca.pem": s.CA(), "root.pem": s.PKI.RootPEM(), "rogito.yaml": []byte(config)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	fmt.Println("config  ", filepath.Join(dir, "rogito.yaml"))
	for _, of := range []struct{ actor, kind string }{{"good", "automatic"}, {"good", "otp"}, {"eseal", "eseal"}} {
		d, err := s.Add(of.actor, of.kind)
		if err != nil {
			return err
		}
		fmt.Printf("%-9s %s %s", of.kind, d.Name, d.Password)
		if d.OTP {
			fmt.Printf(" code %s (once)", s.Code(d.Name))
		}
		fmt.Println()
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	fmt.Printf("%d calls, %d digests sent, %d values made, %d repeated, %d sessions open\n", len(s.Calls()), len(s.Sent()), len(s.Made()), len(s.Repeated()), s.OpenSessions())
	for _, c := range s.Complaints() {
		fmt.Println("complaint:", c)
	}
	return nil
}
