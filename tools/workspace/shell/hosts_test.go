//go:build linux

package shell_test

import (
	"slices"
	"testing"
)

// reach are rules that allow some hosts and close others.
type reach struct{ allow, closed []string }

func (r reach) Allows(host string, _ bool) bool { return slices.Contains(r.allow, host) }

func (r reach) Closed(host string) string {
	if slices.Contains(r.closed, host) {
		return "a rule forbids it"
	}
	return ""
}

// Asks says that nobody is asked about what is closed.
func (r reach) Asks(host string) bool { return r.Closed(host) == "" }

func TestALineThatAsksForAHostIsToldWhatWouldOpenIt(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.env.Workspace.Hosts = reach{allow: []string{"open.example"}, closed: []string{"shut.example"}}
	got := p.line("getent hosts open.example && getent hosts registry.example shut.example registry.example")
	p.says(got, "Exit code 2.", "127.9.0.1", "(Hosts that it did not reach: registry.example: no rule allows it; "+
		"shut.example: a rule forbids it. What helps, and only the person can do it: "+
		"loci permissions add allow 'fetch(registry.example)' --folder .)")
	p.is(p.line("getent hosts open.example"),
		"Exit code 0.\n<foreign from=\"open.example\">\n127.9.0.1       open.example\n</foreign>")
	p.env.Workspace.Hosts = nil
	p.is(p.line("getent hosts open.example"), "Exit code 2.")
}
