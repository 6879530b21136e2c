package mcpservers

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"loci/core"
	"loci/core/toolbox"
)

// Difference is what a server's tools became since they were last accepted, by their names.
type Difference struct {
	Added, Updated, Deleted []string
	Changes                 []Change // what Updated and Deleted mean, in words
	Left                    []string // what was left out of the server's list, and why
}

// Change is how one tool differs from what was accepted.
type Change struct{ Tool, How string }

// Tools returns the tools of a server, by name.
func (s *Servers) Tools(ctx context.Context, id core.MCPServerID) ([]core.ToolInfo, error) {
	if _, err := s.Get(ctx, id); err != nil {
		return nil, err
	}
	tools, err := s.cfg.Store.MCPServers().Tools(ctx, id)
	if err != nil {
		return nil, err
	}
	bound, err := s.cfg.Box.Tools(ctx, idsOf(tools))
	out := make([]core.ToolInfo, 0, len(bound))
	for i := range bound {
		out = append(out, bound[i].Info)
	}
	return out, err
}

// Offered returns what is kept of the tools of a server, by name.
func (s *Servers) Offered(ctx context.Context, id core.MCPServerID) ([]core.MCPTool, error) {
	return s.cfg.Store.MCPServers().Tools(ctx, id)
}

// Tool returns one of the tools of a server.
func (s *Servers) Tool(ctx context.Context, id core.MCPServerID, tool core.ToolID) (core.ToolInfo, error) {
	all, err := s.Tools(ctx, id)
	if err != nil {
		return core.ToolInfo{}, err
	}
	if i := slices.IndexFunc(all, func(t core.ToolInfo) bool { return t.ID == tool }); i >= 0 {
		return all[i], nil
	}
	return core.ToolInfo{}, core.E(core.NotFound, "the server %s has no tool %s", id, tool)
}

// Check asks a server for its tools and notes what differs. What differs counts once it is accepted.
func (s *Servers) Check(ctx context.Context, id core.MCPServerID) (Difference, error) {
	s.cfg.Client.Renew(id)
	return s.ask(ctx, id, false)
}

// Refresh asks a server for its tools, and accepts what it says.
func (s *Servers) Refresh(ctx context.Context, id core.MCPServerID) (Difference, error) {
	s.cfg.Client.Renew(id)
	return s.ask(ctx, id, true)
}

// ask asks for the tools of a server. Why it can't be had is kept with the server.
func (s *Servers) ask(ctx context.Context, id core.MCPServerID, accept bool) (Difference, error) {
	listing, err := s.listing(ctx, id)
	if err == nil {
		return s.merge(ctx, id, listing, accept)
	}
	fault := []rune(err.Error())
	if len(fault) > core.MaxMCPFault {
		fault = fault[:core.MaxMCPFault]
	}
	kept := s.cfg.Store.Tx(context.WithoutCancel(ctx), func(ctx context.Context, tx core.Store) error {
		one, err := tx.MCPServers().Get(ctx, id)
		if err != nil {
			return err
		}
		one.Fault = string(fault)
		return tx.MCPServers().Put(ctx, &one)
	})
	if kept != nil {
		return Difference{}, kept
	}
	return Difference{}, err
}

func (s *Servers) listing(ctx context.Context, id core.MCPServerID) (core.MCPListing, error) {
	found, err := s.Get(ctx, id)
	if err != nil {
		return core.MCPListing{}, err
	}
	var variables []string
	if s.cfg.Variables != nil && len(found.Needs) > 0 {
		info := core.ToolInfo{Kind: core.ToolMCP, Remote: &core.RemoteTool{Needs: found.Needs}}
		if variables, err = s.cfg.Variables.Env(ctx, "", &info); err != nil {
			return core.MCPListing{}, err
		}
	}
	to, err := s.Target(ctx, id, variables)
	if err != nil {
		return core.MCPListing{}, err
	}
	return s.cfg.Client.List(ctx, to)
}

// Noted keeps what a server said of its tools while it was used.
func (s *Servers) Noted(ctx context.Context, id core.MCPServerID, listing core.MCPListing) error {
	_, err := s.merge(ctx, id, listing, false)
	return err
}

// merge keeps what a server says of its tools, within one transaction.
func (s *Servers) merge(ctx context.Context, id core.MCPServerID, listing core.MCPListing, accept bool) (Difference, error) {
	others, err := s.otherNames(ctx)
	if err != nil {
		return Difference{}, err
	}
	var diff Difference
	var having []core.AgentID
	err = s.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		diff, having = Difference{Left: listing.Left}, nil
		m := merging{
			Servers: s, tx: tx, accept: accept, diff: &diff,
			taken: func(name string) bool { return slices.ContainsFunc(others, same(name)) },
		}
		var err error
		having, err = m.run(ctx, id, listing.Offers)
		return err
	})
	if err == nil && len(having) > 0 {
		s.cfg.Changed(having...)
	}
	return diff, err
}

// same reports of names whether they are taken for a name: models and people hardly tell them apart by their case.
func same(name string) func(other string) bool {
	return func(other string) bool { return strings.EqualFold(name, other) }
}

// otherNames are the names of all tools that no server has, and those that no tool of a server may have.
func (s *Servers) otherNames(ctx context.Context) (names []string, err error) {
	names = []string{core.MoreToolsName, core.NoToolName}
	all, err := s.cfg.Box.List(ctx)
	for i := range all {
		if all[i].Info.Remote == nil {
			names = append(names, all[i].Info.Spec.Name)
		}
	}
	return names, err
}

// merging is one merge.
type merging struct {
	*Servers
	tx     core.Store
	accept bool
	taken  func(name string) bool
	diff   *Difference
}

func (m *merging) run(ctx context.Context, id core.MCPServerID, offers []core.MCPOffer) ([]core.AgentID, error) {
	servers := m.tx.MCPServers()
	one, err := servers.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := servers.Tools(ctx, "")
	if err != nil {
		return nil, err
	}
	var updated, deleted []core.ToolID
	for i := range all {
		t := &all[i]
		if t.Server != id {
			continue
		}
		at := slices.IndexFunc(offers, func(o core.MCPOffer) bool { return o.Remote == t.Remote })
		was := *t
		switch {
		case at < 0 && m.accept:
			deleted = append(deleted, t.ID)
			m.note(&m.diff.Deleted, t.Name, "its server has it no more")
			continue
		case at < 0:
			t.Gone = true
			m.note(&m.diff.Deleted, t.Name, "its server has it no more")
		default:
			t.Gone = false
			how := offers[at].Differs(&t.MCPOffer)
			if t.Now = nil; how != "" && !m.accept {
				t.Now = &offers[at]
			}
			if how != "" {
				m.note(&m.diff.Updated, t.Name, how)
			}
			if how != "" && m.accept {
				t.MCPOffer = offers[at]
				updated = append(updated, t.ID)
			}
			if t.Name == core.MoreToolsName { // an older version let it have that
				t.Name = m.free(&one, t.Remote, all)
				updated = append(updated, t.ID)
			}
		}
		if was.Name != t.Name || was.Gone != t.Gone || was.Hash != t.Hash ||
			(was.Now == nil) != (t.Now == nil) || t.Now != nil && was.Now.Hash != t.Now.Hash {
			if err := servers.PutTool(ctx, t); err != nil {
				return nil, err
			}
		}
	}
	if err := m.add(ctx, &one, all, offers); err != nil {
		return nil, err
	}
	for _, tool := range deleted {
		if err := servers.DeleteTool(ctx, tool); err != nil {
			return nil, err
		}
	}
	if err := m.settle(ctx, &one); err != nil {
		return nil, err
	}
	return m.retell(ctx, updated, deleted)
}

func (m *merging) note(names *[]string, tool, how string) {
	*names = append(*names, tool)
	m.diff.Changes = append(m.diff.Changes, Change{Tool: tool, How: how})
}

// free is a name that a tool of a server can have.
func (m *merging) free(one *core.MCPServer, remote string, all []core.MCPTool) string {
	return NameOf(one.Name, remote, func(name string) bool {
		return m.taken(name) || slices.ContainsFunc(all, func(t core.MCPTool) bool { return same(name)(t.Name) })
	})
}

// add stores the tools that the server did not have before.
func (m *merging) add(ctx context.Context, one *core.MCPServer, all []core.MCPTool, offers []core.MCPOffer) error {
	for _, o := range offers {
		if slices.ContainsFunc(all, func(t core.MCPTool) bool { return t.Server == one.ID && t.Remote == o.Remote }) {
			continue
		}
		t := core.MCPTool{ID: core.NewToolID(), Server: one.ID, ServerName: one.Name, MCPOffer: o}
		t.Name = m.free(one, o.Remote, all)
		if err := m.tx.MCPServers().PutTool(ctx, &t); err != nil {
			return err
		}
		all = append(all, t)
		m.diff.Added = append(m.diff.Added, t.Name)
	}
	return nil
}

// settle keeps that the server answered, and that a person accepted it.
func (m *merging) settle(ctx context.Context, one *core.MCPServer) error {
	if m.accept {
		one.Was = ""
		if err := remember(ctx, m.tx, one); err != nil {
			return err
		}
	}
	one.Fault, one.ListedAt = "", m.cfg.Clock()
	return m.tx.MCPServers().Put(ctx, one)
}

func (m *merging) retell(ctx context.Context, updated, deleted []core.ToolID) ([]core.AgentID, error) {
	now := m.cfg.Clock()
	told, err := toolbox.Retell(ctx, m.tx, now, updated...)
	if err != nil {
		return nil, err
	}
	lost, err := toolbox.Withdraw(ctx, m.tx, now, deleted...)
	return append(told, lost...), err
}

// mostName is how long the name of a tool may be, as services have it.
const mostName = 64

// NameOf is the name of a tool for models: what its server calls it, where that is a name that no other tool has; else with its
// server's name before it, and where that is too long or taken too, with a mark made of both.
func NameOf(server, remote string, taken func(name string) bool) string {
	clean := legal(remote)
	if clean == remote && !taken(clean) && utf8.RuneCountInString(clean) <= mostName {
		return clean
	}
	long := legal(server) + "_" + clean
	if len(long) <= mostName && !taken(long) {
		return long
	}
	for salt := range mostName {
		mark := "_" + markOf(server, remote, salt)
		name := long[:min(len(long), mostName-len(mark))] + mark
		if !taken(name) {
			return name
		}
	}
	return "tool_" + markOf(string(core.NewToolID()), remote, 0)
}
