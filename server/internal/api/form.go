package api

import (
	"net/http"
)

// ReadForm reads the body of a page's form into an input, in the bounds of an
// operation with that body: large parts on disk, slow clients not for ever. What
// it was spooled to lives until free is called.
func ReadForm[In any](a *API, r *http.Request) (in *In, free func(), err error) {
	c := callFrom(r.Context())
	in = new(In)
	bind := bindingOf[In]()
	if err := bind.params(r, in); err != nil {
		return in, c.close, err
	}
	_, err = bind.body(a, c, r, &Op{Method: http.MethodPost, FormOnly: true}, in)
	if err != nil {
		err = a.refusal(r, err)
	}
	return in, c.close, err
}

// Write writes a reply as an operation does, for pages whose client asked for
// something else than a page.
func Write[D any](a *API, w http.ResponseWriter, r *http.Request, reply Reply[D], err error) {
	ans, err := seal(reply, err)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	a.write(w, r, &Op{}, ans)
}
