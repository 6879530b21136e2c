// Package toolbox is the use cases of tools: listing those there are, keeping those that people write, and running one outside of a
// conversation.
//
// Promises: a tool is described before it is stored, and its source is never run for that; there is one tool of each name, and none
// that people write has the name of a built-in one; whoever had a tool that changes or goes is told, and its conversations are
// compiled anew. A tool that is run here is as confined as in a conversation.
//
// Layer 2: it imports core and core/arguments.
package toolbox

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"loci/core"
	"loci/core/arguments"
)

// Variables are what tools find in their environment.
type Variables interface {
	Env(ctx context.Context, agent core.AgentID, tool *core.ToolInfo) ([]string, error)
	Veil(ctx context.Context, agent core.AgentID) (*core.Veil, error)
}

// Config joins what Tools uses.
type Config struct {
	Store     core.Store
	Box       core.Toolbox
	Maker     core.ToolMaker                 // nil: no tools can be written
	Variables Variables                      // nil: there are none
	Hosts     func() (core.HostRules, error) // which hosts tools reach that are run here; nil: none
	Search    core.Searcher                  // for tools that are run here
	Changed   func(agents ...core.AgentID)   // called after tools of agents changed
	Clock     func() time.Time
}

// Tools are the use cases. Safe for concurrent use.
type Tools struct {
	cfg     Config
	schemas *arguments.Schemas
}

// New returns the use cases on a store.
func New(cfg Config) *Tools { return &Tools{cfg, arguments.NewSchemas(slog.New(slog.DiscardHandler))} }

// Filter selects tools; empty fields select all.
type Filter struct {
	Name         string
	Names        []string
	IDs          []core.ToolID
	Search       string // part of name or description
	Kinds        []core.ToolKind
	ExcludeKinds []core.ToolKind
	BuiltIn      bool // only those that nobody wrote
}

func (f Filter) takes(t core.ToolInfo) bool {
	text := strings.ToLower(t.Spec.Name + "\n" + t.Spec.Description)
	return (f.Name == "" || f.Name == t.Spec.Name) &&
		(len(f.Names) == 0 || slices.Contains(f.Names, t.Spec.Name)) &&
		(len(f.IDs) == 0 || slices.Contains(f.IDs, t.ID)) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, t.Kind)) &&
		!slices.Contains(f.ExcludeKinds, t.Kind) &&
		(!f.BuiltIn || t.Kind.Ours()) &&
		strings.Contains(text, strings.ToLower(f.Search))
}

// Get returns a tool.
func (t *Tools) Get(ctx context.Context, id core.ToolID) (core.ToolInfo, error) {
	found, err := t.cfg.Box.Tools(ctx, []core.ToolID{id})
	if err == nil && len(found) == 0 {
		err = core.E(core.NotFound, "there is no tool %s", id)
	}
	if err != nil {
		return core.ToolInfo{}, err
	}
	return found[0].Info, nil
}

// List returns tools by name, fifty by default.
func (t *Tools) List(ctx context.Context, f Filter, pg core.Page) ([]core.ToolInfo, error) {
	all, err := t.all(ctx, f)
	if err != nil {
		return nil, err
	}
	return pageTools(all, pg, 50)
}

// Count returns how many tools there are.
func (t *Tools) Count(ctx context.Context, f Filter) (int, error) {
	all, err := t.all(ctx, f)
	return len(all), err
}

func (t *Tools) all(ctx context.Context, f Filter) ([]core.ToolInfo, error) {
	bound, err := t.cfg.Box.List(ctx)
	if err != nil {
		return nil, err
	}
	var out []core.ToolInfo
	for _, b := range bound {
		if f.takes(b.Info) {
			out = append(out, b.Info)
		}
	}
	return out, nil
}

// OfAgent returns an agent's tools in the order of attachment, or newest first; ten by default, as the contract has it.
func (t *Tools) OfAgent(ctx context.Context, id core.AgentID, pg core.Page) ([]core.ToolInfo, error) {
	agent, err := t.cfg.Store.Agents().Get(ctx, id)
	if err != nil {
		return nil, err
	}
	tools, err := t.Attached(ctx, agent)
	if err != nil {
		return nil, err
	}
	return pageTools(tools, pg, 10)
}

// Attached returns all tools of an agent in the order of attachment.
func (t *Tools) Attached(ctx context.Context, agent core.Agent) ([]core.ToolInfo, error) {
	bound, err := t.cfg.Box.Tools(ctx, agent.Tools)
	if err != nil {
		return nil, err
	}
	out := make([]core.ToolInfo, 0, len(bound))
	for _, b := range bound {
		out = append(out, b.Info)
	}
	return out, nil
}

// pageTools cuts a page out of a list of tools.
func pageTools(all []core.ToolInfo, pg core.Page, limit int) ([]core.ToolInfo, error) {
	ids := make([]core.ToolID, len(all))
	at := make(map[core.ToolID]core.ToolInfo, len(all))
	for i, t := range all {
		ids[i], at[t.ID] = t.ID, t
	}
	ids, err := core.PageOf(ids, pg, limit)
	out := make([]core.ToolInfo, len(ids))
	for i, id := range ids {
		out[i] = at[id]
	}
	return out, err
}
