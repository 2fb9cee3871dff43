package console_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
)

var linkShown = regexp.MustCompile(`/console/join/[0-9a-f]{24}/[\w-]+`)

// Who has a token gets at the links of people whom the operator invited, where they are
// shown or made anew: what is joined by those is no second pair of eyes for the token.
func TestLinksOfOthersAndFourEyes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	srv := s.OpenServer()
	asked := s.Waiting()
	thief := s.LoggedIn(s.Box.Token)
	invited, err := srv.ConsoleInvite(context.Background(), "boss@example.org", "", "owner", "")
	if err != nil {
		t.Fatal(err)
	}
	link := invited.URL[strings.Index(invited.URL, "/console/"):]
	if p := thief.Get("/console/people"); p.Status != 200 || strings.Contains(p.Text, link) {
		t.Errorf("a token reads the link that the operator has made: %d", p.Status)
	}
	boss := s.Joins(link, "boss@example.org")
	id := strings.Split(link, "/")[3]
	if p := thief.Post("/console/people/"+id+"/again", nil); p.Status != 200 {
		t.Fatalf("%d %s", p.Status, alertOf(p.Text))
	}
	again := linkShown.FindString(thief.Get("/console/people").Text)
	if again == "" {
		t.Fatal("the page does not show the link that it has made")
	}
	for _, p := range []*visitor{s.Joins(again, "boss@example.org").Visitor, boss.Visitor} {
		if got := p.Post("/console/records/"+asked+"/approve", nil); got.Status == 200 && !strings.Contains(got.Path, "login") {
			t.Errorf("the token approves what it asked for, by a link that it made anew: %d at %s", got.Status, got.Path)
		}
	}
}
