package xmldom

import (
	"fmt"

	"github.com/antchfx/xpath"

	"rogito.dev/rogito/internal/limits"
)

// CheckXPath returns the syntax error of an expression, if any. Any prefix is accepted: the
// document declares them.
func CheckXPath(expr string) (err error) {
	if len(expr) > limits.XPathLength {
		return fmt.Errorf("%w: XPath of %d characters", ErrLimit, len(expr))
	}
	defer func() {
		if r := recover(); r != nil { // the library panics on some that it cannot compile
			err = fmt.Errorf("XPath: %v", r)
		}
	}()
	if _, err := xpath.Compile(expr); err != nil {
		return fmt.Errorf("XPath: %w", err)
	}
	return nil
}
