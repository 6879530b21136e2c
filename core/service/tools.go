package service

import (
	"context"
	"slices"
	"strings"

	"loci/core"
)

// Tools are the use cases of tools. The built-in ones are all there are yet.
type Tools struct{ *parts }

// ToolFilter selects tools; empty fields select all.
type ToolFilter struct {
	Name         string
	Names        []string
	IDs          []core.ToolID
	Search       string // part of name or description
	Kinds        []core.ToolKind
	ExcludeKinds []core.ToolKind
}

func (f ToolFilter) takes(t core.ToolInfo) bool {
	text := strings.ToLower(t.Spec.Name + "\n" + t.Spec.Description)
	return (f.Name == "" || f.Name == t.Spec.Name) &&
		(len(f.Names) == 0 || slices.Contains(f.Names, t.Spec.Name)) &&
		(len(f.IDs) == 0 || slices.Contains(f.IDs, t.ID)) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, t.Kind)) &&
		!slices.Contains(f.ExcludeKinds, t.Kind) &&
		strings.Contains(text, strings.ToLower(f.Search))
}

// Get returns a tool.
func (t *Tools) Get(ctx context.Context, id core.ToolID) (core.ToolInfo, error) {
	tools, err := t.checkTools(ctx, []core.ToolID{id})
	if err != nil {
		return core.ToolInfo{}, err
	}
	return tools[0].Info, nil
}

// List returns tools by name, fifty by default.
func (t *Tools) List(ctx context.Context, f ToolFilter, pg core.Page) ([]core.ToolInfo, error) {
	all, err := t.all(ctx, f)
	if err != nil {
		return nil, err
	}
	return pageTools(all, pg, 50)
}

// Count returns how many tools there are.
func (t *Tools) Count(ctx context.Context, f ToolFilter) (int, error) {
	all, err := t.all(ctx, f)
	return len(all), err
}

func (t *Tools) all(ctx context.Context, f ToolFilter) ([]core.ToolInfo, error) {
	bound, err := t.Tools.List(ctx)
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
	agent, err := t.Store.Agents().Get(ctx, id)
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
	bound, err := t.Tools.Tools(ctx, agent.Tools)
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
	ids, err := pageOfList(ids, pg, limit)
	out := make([]core.ToolInfo, len(ids))
	for i, id := range ids {
		out[i] = at[id]
	}
	return out, err
}

// pageOfList cuts a page out of a list of ids that is whole in memory.
func pageOfList[T ~string](all []T, pg core.Page, limit int) ([]T, error) {
	pg, err := page(pg, limit)
	if err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	if pg.Desc {
		slices.Reverse(all)
	}
	at := func(id string) (int, error) {
		i := slices.Index(all, T(id))
		if i < 0 {
			return 0, core.E(core.NotFound, "there is no %s in this list", id)
		}
		return i, nil
	}
	from, to := 0, len(all)
	if pg.After != "" {
		if from, err = at(pg.After); err != nil {
			return nil, err
		}
		from++
	}
	if pg.Before != "" {
		if to, err = at(pg.Before); err != nil {
			return nil, err
		}
	}
	if from >= to {
		return nil, nil
	}
	return all[from:min(to, from+pg.Limit)], nil
}
