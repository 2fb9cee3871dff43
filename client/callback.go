package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// ErrCallback means that a callback is not from the server: its signature is wrong or missing, or
// it is older than five minutes.
var ErrCallback = errors.New("rogito: the callback is not signed with this secret, or is too old")

// tolerance is how far the clocks of server and receiver may be apart.
const tolerance = 5 * time.Minute

// VerifyCallback checks the signature of a callback (Standard Webhooks) over its unchanged body.
// Secrets are those of GET /callbacks/secret, whsec_…; one match is enough, so that rotation does
// not break anything.
func VerifyCallback(h http.Header, body []byte, now time.Time, secrets ...string) error {
	id, at := h.Get("webhook-id"), h.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || id == "" || now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return ErrCallback
	}
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) == 0 {
			return errors.New("rogito: the callback's secret is not whsec_ and base64")
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.", id, at)
		mac.Write(body)
		want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for got := range strings.SplitSeq(h.Get("webhook-signature"), " ") {
			if hmac.Equal([]byte(got), []byte(want)) {
				return nil
			}
		}
	}
	return ErrCallback
}

// Delivery is a callback that was checked.
type Delivery struct {
	ID     string          // the same for every attempt: remember it for a while
	Data   json.RawMessage // a record of a signature, or a certificate
	Custom json.RawMessage // what the request gave as Callback.Custom
}

// Signature is the record in a callback of a signature.
func (d *Delivery) Signature() (*Record, error) { return decode[Record](d.Data) }

// Certificate is the content of a callback of an order.
func (d *Delivery) Certificate() (*Certificate, error) { return decode[Certificate](d.Data) }

func decode[D any](b []byte) (*D, error) {
	d := new(D)
	if err := json.Unmarshal(b, d); err != nil {
		return nil, fmt.Errorf("rogito: read the callback: %w", err)
	}
	return d, nil
}

// mostCallback bounds the body of a callback.
const mostCallback = 4 << 20

// ReadCallback reads and checks a callback, of the method JSON or POST with the
// field data. Answer it with 2xx within 30 seconds, else it comes again.
func ReadCallback(r *http.Request, secrets ...string) (*Delivery, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, mostCallback))
	if err != nil {
		return nil, fmt.Errorf("rogito: read the callback: %w", err)
	}
	if err := VerifyCallback(r.Header, body, time.Now(), secrets...); err != nil {
		return nil, err
	}
	d := &Delivery{ID: r.Header.Get("webhook-id")}
	if mt, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mt == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		d.Data, d.Custom = json.RawMessage(form.Get("data")), json.RawMessage(form.Get("custom"))
		return d, err
	}
	var message struct{ Data, Custom json.RawMessage }
	if err := json.Unmarshal(body, &message); err != nil {
		return nil, fmt.Errorf("rogito: read the callback: %w", err)
	}
	d.Data, d.Custom = message.Data, message.Custom
	return d, nil
}
