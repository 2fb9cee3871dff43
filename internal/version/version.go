// Package version has the name and version of this program.
package version

// Number is a version by semver.org; the build sets it. This is the release to
// come.
var Number = "0.1.0-dev"
