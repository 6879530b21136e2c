package reach

import (
	"context"
	"sync"

	"loci/core"
	"loci/core/jobs"
)

// Hosts are those that one program may reach: by rules of permission, or since a person allowed them when they were asked.
type Hosts struct {
	Rules core.HostRules
	Line  jobs.Line
	Seen  func(host string) // of what is reached; nil: nobody wants to know

	mu      sync.Mutex // guards allowed
	allowed map[string]bool
}

// Allows reports whether a host may be reached. What a person allowed when they were asked is named alone.
func (h *Hosts) Allows(host string, named bool) bool {
	h.mu.Lock()
	asked := h.allowed[host]
	h.mu.Unlock()
	if !asked && !h.Rules.Allows(host, named) {
		return false
	}
	h.saw(host)
	return true
}

func (h *Hosts) saw(host string) {
	if h.Seen != nil {
		h.Seen(host)
	}
}

// Closed implements core.HostRules.
func (h *Hosts) Closed(host string) string { return h.Rules.Closed(host) }

// Asks implements core.HostRules.
func (h *Hosts) Asks(host string) bool { return h.Rules.Asks(host) }

// Ask asks a person, as core.JobNetwork says. A rule that asks can't be overcome by one that allows, but this once.
func (h *Hosts) Ask(ctx context.Context, a core.HostAsk) *core.JobRefusal {
	r := &a.Unasked
	if !h.Rules.Asks(a.Host) {
		return r
	}
	why, final := h.Line.Ask(ctx, a, h.Rules.Closed(a.Host) == "")
	if why == "" {
		h.mu.Lock()
		if h.allowed == nil {
			h.allowed = map[string]bool{}
		}
		h.allowed[a.Host] = true
		h.mu.Unlock()
		h.saw(a.Host)
		return nil
	}
	r.Why = why
	if a.Behind != "" {
		r.Why = "its name leads to " + a.Why + "; " + why
	}
	if final {
		r.Rule = ""
	}
	return r
}
