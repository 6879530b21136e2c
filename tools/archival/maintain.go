package archival

import (
	"context"
	"slices"
	"strings"
	"time"

	"loci/core"
)

// What models are told of the tools.
const (
	ReplaceDoc = "Replace the text of a passage in archival memory, where it is out of date, or to join another one into it."
	DeleteDoc  = "Delete a passage from archival memory that is wrong, no longer true, or said again in another one."
)

// ReplaceArgs are the arguments of archival_memory_replace.
type ReplaceArgs struct {
	ID      string   `json:"id" jsonschema:"Id of the passage, as a search returns it."`
	Content string   `json:"content" jsonschema:"The new text, whole. It must be understood alone."`
	Tags    []string `json:"tags,omitempty" jsonschema:"Its tags from now on; without this they stay."`
}

// Replace is archival_memory_replace. The terminal's agents read what other passage is similar already.
func Replace(ctx context.Context, args ReplaceArgs, env core.ToolEnv) (core.ToolResult, error) {
	tags, err := clean(args.Tags)
	if err != nil {
		return core.ToolResult{}, err
	}
	if strings.TrimSpace(args.Content) == "" {
		return core.ToolResult{}, core.E(core.Invalid, "content is empty: to remove the passage, use archival_memory_delete")
	}
	next := core.Passage{ID: core.PassageID(args.ID), Text: args.Content}
	if err := next.Validate(); err != nil {
		return core.ToolResult{}, err
	}
	var maybe []core.PassageID
	if env.Agent.Terminal {
		maybe = slices.DeleteFunc(candidates(ctx, next.Text, env), func(id core.PassageID) bool { return id == next.ID })
	}
	return core.ToolResult{Keeps: []core.Passage{next}, Apply: func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
		p, err := own(ctx, tx, env, args.ID)
		if err != nil {
			return core.ToolResult{}, err
		}
		also, err := similar(ctx, tx, args.Content, p.Archive, maybe, env.Now.Location())
		if err != nil {
			return core.ToolResult{}, err
		}
		was := p.Text
		p.Text, p.UpdatedAt = args.Content, env.Now
		if args.Tags != nil {
			p.Tags = tags
		}
		if err := tx.Passages.Update(ctx, &p, env.Author); err != nil {
			return core.ToolResult{}, err
		}
		return core.ToolResult{Text: "Replaced " + told(&p, was, env) + also}, nil
	}}, nil
}

// DeleteArgs are the arguments of archival_memory_delete.
type DeleteArgs struct {
	ID string `json:"id" jsonschema:"Id of the passage, as a search returns it."`
}

// Delete is archival_memory_delete.
func Delete(_ context.Context, args DeleteArgs, env core.ToolEnv) (core.ToolResult, error) {
	return core.ToolResult{Apply: func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
		p, err := own(ctx, tx, env, args.ID)
		if err != nil {
			return core.ToolResult{}, err
		}
		if err := tx.Passages.Retire(ctx, p.ID, env.Author); err != nil {
			return core.ToolResult{}, err
		}
		return core.ToolResult{Text: "Deleted " + told(&p, p.Text, env)}, nil
	}}, nil
}

// told says which text it was that changed.
func told(p *core.Passage, was string, env core.ToolEnv) string {
	return string(p.ID) + ", of " + p.CreatedAt.In(env.Now.Location()).Format(time.DateOnly) + ", which said: " + excerpt(was)
}

// own returns a passage of the agent's archive.
func own(ctx context.Context, tx core.ToolEdits, env core.ToolEnv, id string) (core.Passage, error) {
	var list []core.Passage
	archive, has, err := tx.Read.Archives.OfAgent(ctx, env.Agent.ID)
	if err == nil && has {
		filter := core.PassageFilter{Archives: []core.ArchiveID{archive.ID}}
		list, err = tx.Read.Passages.Among(ctx, filter, []core.PassageID{core.PassageID(id)})
	}
	switch {
	case err != nil:
		return core.Passage{}, err
	case len(list) == 1:
		return list[0], nil
	case !core.ValidID("passage", id):
		return core.Passage{}, core.E(core.Invalid, "%q is not the id of a passage: archival_memory_search returns the ids", short(id))
	}
	return core.Passage{}, core.E(core.Invalid, "your archival memory has no passage %s: it may have been deleted, search for it again", id)
}

// short bounds what is quoted of an argument.
func short(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
