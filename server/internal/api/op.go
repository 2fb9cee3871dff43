package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
)

// Op says what an operation is called, who may call it and what it may answer.
type Op struct {
	Method  string
	Path    string // as chi spells it: /signatures/{id}/{actionType}
	ID      string // operationId: lower camel case, unique
	Tag     string // the group in the reference
	Summary string // one line
	Text    string // more, in Markdown

	Public     bool // no authentication
	Basic      bool // e-mail and API key are as good as a token
	Admin      bool // administrators only: else 131
	Idempotent bool // an Idempotency-Key is honoured
	FormOnly   bool // the body is multipart, and JSON will not do
	NoEnvelope bool // the data is the whole answer: no envelope
	NoContent  bool // there is no data: 204
	Gzip       bool // large answers are compressed for those who accept it
	Hidden     bool // not in the document

	MaxBody    int64          // bytes; zero takes the server's limit
	Timeout    time.Duration  // zero takes the server's
	BadField   fault.Code     // the code for a member of the wrong type; 100
	Source     []string       // X-Data-Source of every answer, refusals too
	Form       any            // a multipart body is as good as a JSON one: a struct whose members are its parts
	Aliases    []string       // members and parameters that are known and not in the document
	Examples   []Example      // bodies that the sandbox takes, the simplest first
	Produces   []string       // media types of Reply.Content, for the document
	Formats    map[string]any // media types that a parameter asks for in place of JSON: a value of each
	Errors     []fault.Code   // codes of the table it may answer, for the document
	Deprecated bool

	// Refuse says a refusal in the form of another protocol; nil: the envelope.
	Refuse func(*fault.Error) (status int, body any)
}

// Handler is a whole operation: what was asked in, what is answered out.
type Handler[In, D any] func(ctx context.Context, in *In) (Reply[D], error)

// Register adds an operation. In is a struct whose fields say where they come
// from: `path:"id"`, `query:"limit"`, `header:"Accept"` (strings, booleans,
// numbers, ID, pointers to them where absence matters, []string), checked
// against the tags required, default, enum, minimum and maximum; and a field
// Body: a struct, decoded from JSON, or an Upload. D is the type of data in
// the envelope.
func Register[In, D any](a *API, op Op, h Handler[In, D]) {
	RegisterReplayable(a, op, h, nil)
}

// RegisterReplayable is Register for an operation that makes a record. When an
// Idempotency-Key comes again, replay shows the record as it is now.
func RegisterReplayable[In, D any](a *API, op Op, h Handler[In, D], replay Replay[D]) {
	bind := bindingOf[In]()
	bind.known, bind.query = knowledgeOf[In](a, &op), bind.queryNames(&op)
	run := func(c *call, r *http.Request) (Answer, error) {
		in := new(In)
		unknownInQuery(c, r.URL.RawQuery, bind.query)
		if err := bind.params(r, in); err != nil {
			return Answer{}, err
		}
		sum, err := bind.body(a, c, r, &op, in)
		if err != nil {
			return Answer{}, err
		}
		begin := c.start
		if r.Body != http.NoBody { // the clock starts when the body is there: a slow line is no slow server
			begin = time.Now()
		}
		ctx, cancel := context.WithDeadline(r.Context(), begin.Add(a.timeout(&op)))
		defer cancel()
		if !op.Idempotent || r.Header.Get("Idempotency-Key") == "" {
			return seal(h(ctx, in))
		}
		r = r.WithContext(ctx)
		first := func(ctx context.Context) (Answer, error) { return seal(h(ctx, in)) }
		again := func(ctx context.Context, r idempotency.Replay) (Answer, error) { return seal(replay(ctx, r)) }
		if replay == nil {
			again = nil
		}
		return a.once(r, &op, sum, first, again)
	}
	a.add(op, run)
	document[In, D](a, op)
}

// RegisterRaw adds an operation that reads its query itself; In only describes it. It is
// meant for what is answered from memory: no time limit is set on it.
func RegisterRaw[In, D any](a *API, op Op, h func(ctx context.Context, r *http.Request) (Reply[D], error)) {
	query := bindingOf[In]().queryNames(&op)
	a.add(op, func(c *call, r *http.Request) (Answer, error) {
		unknownInQuery(c, r.URL.RawQuery, query)
		return seal(h(r.Context(), r))
	})
	document[In, D](a, op)
}

type runner func(c *call, r *http.Request) (Answer, error)

func (a *API) add(op Op, run runner) {
	segment := firstSegment(op.Path)
	h := func(c *call, r *http.Request) {
		c.route = op.Path
		defer c.close()
		if op.Source != nil {
			c.Header()["X-Data-Source"] = op.Source
		}
		if !op.Public {
			c.Header()["Cache-Control"] = noStore
			caller, err := a.admit(r, &op, segment)
			if err != nil {
				a.failAs(c, r, &op, err)
				return
			}
			c.caller = caller
		}
		ans, err := run(c, r)
		if err != nil {
			a.failAs(c, r, &op, err)
			return
		}
		if op.NoContent {
			c.WriteHeader(http.StatusNoContent)
			return
		}
		a.write(c, r, &op, ans)
	}
	a.ops = append(a.ops, op)
	a.Know(op.Path)
	routed := func(_ http.ResponseWriter, r *http.Request) { h(callFrom(r.Context()), r) }
	a.router.MethodFunc(op.Method, op.Path, routed)
	if op.Method != http.MethodGet {
		return
	}
	a.router.MethodFunc(http.MethodHead, op.Path, routed)
	if strings.Contains(op.Path, "{") {
		a.router.MethodFunc(op.Method, op.Path+"/", routed) // clients send an empty last part, as of /signatures/{id}/{actionType}
	}
}

// Operations are all that were registered.
func (a *API) Operations() []Op { return slices.Clone(a.ops) }

// Segment is the first segment of the path, which scopes name.
func (o *Op) Segment() string { return firstSegment(o.Path) }

// Timeout is what one request may take, once its body is there.
func (a *API) Timeout() time.Duration { return a.opts.Timeout }

func (a *API) timeout(op *Op) time.Duration {
	if op.Timeout > 0 {
		return op.Timeout
	}
	return a.opts.Timeout
}

// admit asks the gate who calls and whether they may.
func (a *API) admit(r *http.Request, op *Op, segment string) (*account.Caller, error) {
	if a.opts.Gate == nil {
		return nil, fault.New(fault.Unavailable, "accounts are not available")
	}
	caller, err := a.opts.Gate.Authenticate(r.Context(), r, op.Basic)
	if err != nil {
		return nil, err
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if !a.opts.Gate.Allows(caller, method, r.Host, segment) {
		return nil, fault.New(fault.ScopeLacking, "the token lacks the scope %s:%s/%s", method, r.Host, segment)
	}
	if op.Admin && !caller.Admin {
		return nil, fault.New(fault.AdminOnly, "this call is for administrators only")
	}
	return caller, nil
}

func firstSegment(path string) string {
	s, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return s
}
