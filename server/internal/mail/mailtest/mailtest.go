// Package mailtest is an SMTP server for tests, on this machine.
package mailtest

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"testing"
)

// Letter is a mail that was taken.
type Letter struct {
	From   string
	To     []string
	Text   string // with its headers
	Secure bool   // it came over TLS
	Login  string // what AUTH PLAIN said
}

// Server takes mail.
type Server struct {
	Addr    string
	Letters chan Letter
	// Refuse, where it is set, is what RCPT is answered with.
	Refuse string

	pair     tls.Certificate
	mode     string // starttls, tls, none
	listener net.Listener
}

// Start runs a server in one of the three modes.
func Start(t testing.TB, mode string, pair tls.Certificate) *Server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	s := &Server{Addr: ln.Addr().String(), Letters: make(chan Letter, 10), pair: pair, mode: mode, listener: ln}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *Server) serve(conn net.Conn) {
	defer func() { conn.Close() }()
	l := Letter{}
	if s.mode == "tls" {
		conn, l.Secure = tls.Server(conn, s.tls()), true
	}
	in := textproto.NewReader(bufio.NewReader(conn))
	say := func(format string, args ...any) { fmt.Fprintf(conn, format+"\r\n", args...) }
	say("220 mailtest")
	for {
		line, err := in.ReadLine()
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "EHLO":
			if s.mode == "starttls" && !l.Secure {
				say("250-mailtest")
				say("250 STARTTLS")
				continue
			}
			say("250-mailtest")
			say("250 AUTH PLAIN")
		case "STARTTLS":
			if s.mode != "starttls" {
				say("502 not known")
				continue
			}
			say("220 go on")
			conn, l.Secure = tls.Server(conn, s.tls()), true
			in = textproto.NewReader(bufio.NewReader(conn))
		case "AUTH":
			l.Login = strings.TrimPrefix(rest, "PLAIN ")
			say("235 welcome")
		case "MAIL":
			l.From = rest
			say("250 ok")
		case "RCPT":
			if s.Refuse != "" {
				say("%s", s.Refuse)
				continue
			}
			l.To = append(l.To, rest)
			say("250 ok")
		case "DATA":
			say("354 go on")
			b, _ := io.ReadAll(in.DotReader())
			l.Text = string(b)
			s.Letters <- l
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (s *Server) tls() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{s.pair}, MinVersion: tls.VersionTLS12}
}
