package server

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// Client is an application that may ask holders for their consent. The operator
// registers it.
type Client struct {
	ID        string    `json:"client_id"`
	Name      string    `json:"name"`
	Redirects []string  `json:"redirect_uris"` // compared as they are
	Public    bool      `json:"public"`        // it has no secret, and proves itself by PKCE alone
	CreatedAt time.Time `json:"createdAt"`

	secret []byte // its hash
}

// maxName bounds the name of a client, which holders read.
const maxName = 100

// AddClient registers a client. Its secret is known only now.
func (s *Service) AddClient(ctx context.Context, name string, redirects []string, public bool) (*Client, string, error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > maxName {
		return nil, "", fmt.Errorf("a client has a name of at most %d bytes", maxName)
	}
	if len(redirects) == 0 {
		return nil, "", errors.New("a client has at least one redirect URI")
	}
	for _, r := range redirects {
		if !goodRedirect(r) {
			return nil, "", fmt.Errorf("%q is no redirect URI: it is absolute, has no fragment, and is http only on this machine", r)
		}
	}
	c := &Client{ID: store.NewID(), Name: name, Redirects: redirects, Public: public, CreatedAt: s.config.Now().UTC().Truncate(time.Millisecond)}
	secret := ""
	if !public {
		secret = newSecret("csk_")
		c.secret = s.hash(secret)
	}
	text, err := json.Marshal(redirects)
	if err != nil {
		return nil, "", err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `insert into csc_clients (id, name, redirects, secret, mac, created_at) values ($1, $2, $3, $4, $5, $6)`,
			c.ID, c.Name, string(text), c.secret, s.markClient(c), store.Millis(c.CreatedAt))
		if err != nil {
			return err
		}
		return Applications.Write(ctx, tx, s.audit, c.ID)
	})
	if err != nil {
		return nil, "", fmt.Errorf("csc: store client: %w", err)
	}
	return c, secret, nil
}

// goodRedirect judges a redirect URI: RFC 6749, 3.1.2 and RFC 8252, 7.
func goodRedirect(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || !u.IsAbs() || strings.ContainsAny(raw, "# \"'<>;,\r\n\t") || u.User != nil || len(raw) > maxText {
		return false
	}
	switch u.Scheme {
	case "https":
		return u.Hostname() != ""
	case "http":
		return u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
	case "javascript", "data", "file", "blob", "about", "vbscript", "view-source":
		return false
	}
	return true
}

// markClient authenticates a row of csc_clients.
func (s *Service) markClient(c *Client) []byte {
	sum := s.master.MAC("csc client", fmt.Appendf(nil, "%q %q %q %x %d", c.ID, c.Name, c.Redirects, c.secret, store.Millis(c.CreatedAt)))
	return sum[:]
}

// Applications are the clients, as the audit log keeps track of them.
var Applications = &audit.Register{
	Kind: "csc-client", Table: "csc_clients", Key: "id", Name: "client",
	Select: `select id, mac from csc_clients`,
	Scan: func(row store.Row) (*audit.Registered, error) {
		r, mac := &audit.Registered{}, []byte(nil)
		err := row.Scan(&r.ID, &mac)
		r.Traits = []any{mac}
		return r, err
	},
}

const selectClient = `select id, name, redirects, secret, mac, created_at from csc_clients `

func (s *Service) scanClient(row store.Row) (*Client, error) {
	c := &Client{}
	var text string
	var mac []byte
	var created int64
	if err := row.Scan(&c.ID, &c.Name, &text, &c.secret, &mac, &created); err != nil {
		return nil, err
	}
	c.Public, c.CreatedAt = c.secret == nil, store.Time(created)
	if err := json.Unmarshal([]byte(text), &c.Redirects); err != nil || !hmac.Equal(mac, s.markClient(c)) {
		return nil, fmt.Errorf("csc: the row of client %s is not as it was written", c.ID)
	}
	return c, nil
}

// Clients lists those that are registered.
func (s *Service) Clients(ctx context.Context) ([]*Client, error) {
	rows, err := s.db.Read().Query(ctx, selectClient+`order by id`)
	return store.All("csc: list clients", rows, err, s.scanClient)
}

// Client is one that is registered.
func (s *Service) Client(ctx context.Context, id string) (*Client, error) {
	c, err := s.scanClient(s.db.Read().QueryRow(ctx, selectClient+`where id = $1`, id))
	if errors.Is(err, store.ErrNoRows) {
		return nil, Invalid("Invalid parameter client_id")
	}
	return c, err
}

// RemoveClient ends a client, and whatever it holds.
func (s *Service) RemoveClient(ctx context.Context, id string) error {
	if _, err := s.Client(ctx, id); err != nil {
		return fmt.Errorf("there is no client %q", id)
	}
	var holds []grantOf
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		for _, statement := range []string{`delete from csc_clients where id = $1`, `delete from csc_codes where client_id = $1`, `delete from csc_requests where client_id = $1`} {
			if _, err := tx.Exec(ctx, statement, id); err != nil {
				return err
			}
		}
		if err := Applications.Remove(ctx, tx, s.audit, "", id); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `select account_id, certificate_id from csc_refresh where client_id = $1
			union select t.account_id, c.certificate_id from csc_tokens c join tokens t on t.id = c.token_id where c.client_id = $1`, id)
		holds, err = store.All("csc: list grants", rows, err, func(row store.Row) (g grantOf, err error) {
			g.client = id
			return g, row.Scan(&g.account, &g.certificate)
		})
		return err
	})
	for _, g := range holds {
		err = errors.Join(err, s.endAll(ctx, g))
	}
	return err
}

// Login judges who a client says to be at the token endpoint.
func (s *Service) Login(ctx context.Context, id, secret string) (*Client, error) {
	refuse := func(text string) error {
		f := fault.New(fault.WrongToken, "%s", text).Because(InvalidClient)
		f.Status = http.StatusUnauthorized
		return f
	}
	if id == "" {
		return nil, Invalid("Missing parameter client_id")
	}
	c, err := s.Client(ctx, id)
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return nil, refuse("Invalid parameter client_id")
	case err != nil:
		return nil, err
	case c.Public && secret == "":
	case secret == "":
		return nil, refuse("Client authorization required")
	case c.Public || !hmac.Equal(s.hash(secret), c.secret):
		return nil, refuse("Invalid parameter client_secret")
	}
	return c, nil
}

// returns finds the client that a request names, and judges where the answer may
// go. What is wrong here is not told to that place.
func (s *Service) returns(ctx context.Context, id, redirect string) (*Client, error) {
	if id == "" {
		return nil, Invalid("Missing parameter client_id")
	}
	if redirect == "" {
		return nil, Invalid("Missing parameter redirect_uri")
	}
	c, err := s.Client(ctx, id)
	if err == nil && !slices.Contains(c.Redirects, redirect) {
		err = Invalid("Invalid parameter redirect_uri")
	}
	return c, err
}
