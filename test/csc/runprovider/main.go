// Command runprovider runs the tests' remote signing service by hand:
//
//	go run ./test/csc/runprovider [-redirect URI] [-multisign 100] [-switch FAULT,FAULT]
//	go run ./test/csc/runprovider -faults
//
// It prints what a client's configuration needs and serves until interrupted;
// then it prints what it has to complain about.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"rogito.dev/rogito/test/csc/provider"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "runprovider:", err)
		os.Exit(1)
	}
}

func run() error {
	redirect := flag.String("redirect", "http://127.0.0.1:8080/remote/callback", "the client's redirect URI")
	multisign := flag.Int("multisign", 10, "hashes in one call")
	faults := flag.Bool("faults", false, "list the faults that can be switched on")
	on := flag.String("switch", "", "faults to switch on, separated by commas")
	flag.Parse()
	if *faults {
		for _, f := range provider.Faults {
			fmt.Printf("%-26s %-8s %s\n", f.Name, f.Want, f.About)
		}
		return nil
	}
	p, err := provider.Start()
	if err != nil {
		return err
	}
	defer p.Close()
	p.Client.Redirects = []string{*redirect}
	dir, err := os.MkdirTemp("", "csc-provider")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"ca.pem": string(p.CA()), "root.pem": string(p.PKI.RootPEM()), "secret": p.Client.Secret, "token": p.FixedToken} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	fmt.Printf("url            %s or %s\nclient_id      %s\nca, root.pem, secret, token in %s\nallow_private  %s, %s\n", p.URL(1), p.URL(2), p.Client.ID, dir, p.Address(), p.PKIAddress())
	for _, id := range []string{"rsa", "rsa3072", "p256", "seal", "plain", "rsa-otp", "p256-otp"} {
		p.Change(id, func(c *provider.Credential) { c.Multisign = *multisign })
		c := p.Credential(id)
		fmt.Printf("credential     %-9s PIN %s", id, c.PIN)
		if c.OTP != "" {
			fmt.Printf(" OTP %s (once)", p.Code(id))
		}
		fmt.Println()
	}
	for name := range strings.SplitSeq(*on, ",") {
		if name != "" {
			p.Switch(name)
		}
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	fmt.Printf("%d calls, %d values, %d hashes repeated\n", len(p.Calls("")), p.Signed(), len(p.Repeated()))
	for _, c := range p.Complaints() {
		fmt.Println("complaint:", c)
	}
	return nil
}
