package shell

import (
	"slices"
	"strings"

	"loci/core"
)

// lent are variables of the person's without which ssh, and agents for keys, don't find what they need.
var lent = []string{"USER", "LOGNAME", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "GNUPGHOME"}

// uncage gives a line what it needs where the person lets it run: outside, in their home, with no more than its own variables.
func (s *Shell) uncage(p *place, variables []string) {
	p.uncaged = true
	isPath := func(v string) bool { return strings.HasPrefix(v, "PATH=") }
	path := p.env[slices.IndexFunc(p.env, isPath)]
	p.env = []string{
		path, "HOME=" + s.cfg.Home, "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "PAGER=cat",
	}
	for _, name := range lent {
		if s.cfg.Environ == nil {
			break
		}
		if value, ok := s.cfg.Environ(name); ok {
			p.env = append(p.env, name+"="+value)
		}
	}
	p.env = append(p.env, variables...)
}

// bare gives a line the person's own home and git, where nothing mounts others in their place. Its caches stay the project's.
func (s *Shell) bare(p *place) {
	cache := p.mounts[slices.IndexFunc(p.mounts, func(m core.JobMount) bool { return m.Target == cacheInside })].Source
	p.env = slices.DeleteFunc(p.env, func(v string) bool { return strings.HasPrefix(v, "GIT_CONFIG_GLOBAL=") })
	for i, v := range p.env {
		if p.env[i] = strings.ReplaceAll(v, cacheInside, cache); strings.HasPrefix(v, "HOME=") {
			p.env[i] = "HOME=" + s.cfg.Home
		}
	}
}
