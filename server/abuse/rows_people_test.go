package abuse_test

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"rogito.dev/rogito/server"
)

// fillMembers has a person in the console, and one who is invited.
func (x *rowsTried) fillMembers(srv *server.Server) {
	ctx := context.Background()
	link := func(email string) string {
		i, err := srv.ConsoleInvite(ctx, email, "", "reader", "")
		if err != nil {
			x.T.Fatal(err)
		}
		return i.URL[strings.Index(i.URL, "/console/"):]
	}
	x.person = x.Joins(link("in@example.org"), "in@example.org").Visitor
	x.invited = link("out@example.org")
}

// personVisits is a person at a page.
func (x *rowsTried) personVisits() error {
	resp, err := x.person.Client.Get(x.URL + "/console/records")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || strings.Contains(resp.Request.URL.Path, "login") {
		return errors.New("logged out")
	}
	return nil
}

// opensInvitation is a person who was invited.
func (x *rowsTried) opensInvitation() error {
	resp, err := http.Get(x.URL + x.invited)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return errors.New("no invitation")
	}
	return nil
}
