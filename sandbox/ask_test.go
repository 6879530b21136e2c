//go:build linux

package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"loci/core"
)

// asked is a network with a person who allows some of what they are asked.
type asked struct {
	mu      sync.Mutex
	grants  []string
	by      []string // rules
	asks    []core.HostAsk
	allowed []string
}

func (a *asked) network() *core.JobNetwork {
	return &core.JobNetwork{
		Allows: func(host string, named bool) bool {
			a.mu.Lock()
			defer a.mu.Unlock()
			return slices.Contains(a.allowed, host) || !named && slices.Contains(a.by, host)
		},
		Ask: func(_ context.Context, ask core.HostAsk) *core.JobRefusal {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.asks = append(a.asks, ask)
			if slices.Contains(a.grants, ask.Host) {
				a.allowed = append(a.allowed, ask.Host)
				return nil
			}
			return &core.JobRefusal{Host: ask.Host, Why: "the person does not allow it"}
		},
	}
}

func (a *asked) said() string {
	var said []string
	for _, ask := range a.asks {
		said = append(said, strings.TrimSpace(fmt.Sprint(ask.Host, ":", ask.Port, " ", ask.Behind)))
	}
	return strings.Join(said, ", ")
}

func TestAHostThatAPersonAllowsWhileTheLineWaitsIsReached(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/curl")
	w := newWorld(t)
	w.names["other.org"] = public
	a := &asked{grants: []string{"example.com"}}
	out, r := w.run(w.sandbox(), a.network(), `curl -sS https://example.com/a; curl -sS http://example.com/b; curl -sS https://other.org/`)
	if !strings.Contains(out, "served /a") || !strings.Contains(out, "served /b") || strings.Count(out, "served") != 2 {
		t.Errorf("%s %+v", out, r)
	}
	want := []core.JobRefusal{{Host: "other.org", Why: "the person does not allow it"}}
	if slices.Sort(a.allowed); !slices.Equal(r.Refused, want) || !slices.Equal(slices.Compact(a.allowed), []string{"example.com"}) {
		t.Errorf("refused %+v, allowed %v", r.Refused, a.allowed)
	}
}

func TestAPrivateAddressIsAskedAsExactlyThat(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/curl")
	w := newWorld(t)
	w.names["example.com"] = "10.1.2.3"
	for _, grants := range [][]string{nil, {"10.1.2.3"}} {
		a := &asked{grants: grants, by: []string{"example.com"}}
		out, r := w.run(w.sandbox(), a.network(), `curl -sS http://example.com/a`)
		if got := a.said(); got != "10.1.2.3:80 example.com" || !strings.Contains(a.asks[0].Why, "of a private network") {
			t.Errorf("asked %q", got)
		}
		if served := strings.Contains(out, "served"); served != (grants != nil) || (len(r.Refused) == 0) != served {
			t.Errorf("%v: %s %+v", grants, out, r.Refused)
		}
	}
}

func TestThePortOfSSHIsAskedForByTheNameItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const line = `exec 3<>/dev/tcp/example.com/22; printf 'GET /a HTTP/1.0\r\n\r\n' >&3; cat <&3`
	for _, grants := range [][]string{nil, {"example.com"}} {
		a := &asked{grants: grants, by: []string{"example.com"}}
		out, r := w.run(w.sandbox(), a.network(), line)
		if got := a.said(); got != "example.com:22" || strings.Contains(out, "served /a") != (grants != nil) {
			t.Errorf("%v: asked %q: %s %+v", grants, got, out, r.Refused)
		}
	}
}

func TestALineThatEndsWhileAPersonIsAskedTellsIt(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/curl")
	w := newWorld(t)
	n := to()
	n.Ask = func(ctx context.Context, ask core.HostAsk) *core.JobRefusal {
		<-ctx.Done()
		return &core.JobRefusal{Host: ask.Host, Why: "the line did not wait", Rule: ask.Host}
	}
	out, r := w.run(w.sandbox(), n, `curl -sS -m 1 https://example.com/a`)
	if strings.Contains(out, "served") || len(r.Refused) != 1 || r.Refused[0].Why != "the line did not wait" {
		t.Errorf("%s %+v", out, r.Refused)
	}
}
