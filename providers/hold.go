package providers

import "loci/core"

// mostServers bounds how many servers are remembered after their callers are gone.
const mostServers = 256

// hold returns the one server for an endpoint, so that everybody who uses it shares its limits, its listing and what its
// wire keeps. It stays open until release.
func (p *Providers) hold(e endpoint) (*server, error) {
	id := e.id()
	s, idle, err := p.take(id, e)
	if idle != nil {
		idle.close()
	}
	return s, err
}

func (p *Providers) take(id string, e endpoint) (s, idle *server, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, core.E(core.Unavailable, "%s is not asked any more: the program is ending", e.row.Title)
	}
	s, ok := p.servers[id]
	if !ok {
		if s, err = p.newServer(e); err != nil {
			return nil, nil, err
		}
		if len(p.servers) >= mostServers {
			idle = p.retire(p.oldest())
		}
		p.servers[id] = s
	}
	s.users++
	s.used = p.cfg.Now()
	return s, idle, nil
}

// release lets go of a server.
func (p *Providers) release(s *server) {
	p.mu.Lock()
	s.users--
	last := s.retired && s.users == 0
	p.mu.Unlock()
	if last {
		s.close()
	}
}

// oldest returns the id of the least recently used server; mu is held.
func (p *Providers) oldest() string {
	var oldest string
	for id, s := range p.servers {
		if oldest == "" || s.used.Before(p.servers[oldest].used) {
			oldest = id
		}
	}
	return oldest
}

// retire forgets a server and returns it if it can be closed now; otherwise its last user closes it. mu is held.
func (p *Providers) retire(id string) *server {
	s := p.servers[id]
	delete(p.servers, id)
	s.retired = true
	if s.users > 0 {
		return nil
	}
	return s
}
