// Package archival is the built-in tools for archival memory: passages that an agent keeps for search.
//
// Layer 1, below tools: it imports core.
package archival

import (
	"context"
	"slices"
	"strings"
	"time"

	"loci/core"
	"loci/tools/internal/results"
)

// What models are told of the tools.
const (
	InsertDoc = "Keep a text in archival memory, for what is too long or too special for a memory block. Write it so that it " +
		"can be understood alone."
	SearchDoc = "Search archival memory by meaning and words."
)

// maxTags bounds the tags of one passage.
const maxTags = 50

// InsertArgs are the arguments of archival_memory_insert.
type InsertArgs struct {
	Content string   `json:"content" jsonschema:"The text to keep."`
	Tags    []string `json:"tags,omitempty" jsonschema:"Short tags to find it by."`
}

// Insert is archival_memory_insert. The agent's archive is made with its first passage. The terminal's agents read the id and
// what is similar already; to others it returns what the contract's tool does.
func Insert(ctx context.Context, args InsertArgs, env core.ToolEnv) (core.ToolResult, error) {
	tags, err := clean(args.Tags)
	if err != nil {
		return core.ToolResult{}, err
	}
	passage := core.Passage{Text: args.Content, Tags: tags, CreatedAt: env.Now, UpdatedAt: env.Now}
	if strings.TrimSpace(args.Content) == "" {
		return core.ToolResult{}, core.E(core.Invalid, "content is empty: nothing to keep")
	}
	if err := passage.Validate(); err != nil {
		return core.ToolResult{}, err
	}
	passage.ID, passage.Agent, passage.Step, passage.Source = core.NewPassageID(), env.Agent.ID, env.Step, env.Author.Source
	var maybe []core.PassageID
	if env.Agent.Terminal {
		maybe = candidates(ctx, passage.Text, env)
	}
	return core.ToolResult{Keeps: []core.Passage{passage}, Apply: func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
		archive, err := archiveOf(ctx, tx, env)
		if err != nil {
			return core.ToolResult{}, err
		}
		kept, text := passage, "None"
		kept.Archive = archive
		if env.Agent.Terminal {
			also, err := similar(ctx, tx, kept.Text, archive, maybe, env.Now.Location())
			if err != nil {
				return core.ToolResult{}, err
			}
			text = "Kept as " + string(kept.ID) + "." + also
		}
		if err := tx.Passages.Insert(ctx, &kept); err != nil {
			return core.ToolResult{}, err
		}
		return core.ToolResult{Text: text}, nil
	}}, nil
}

// archiveOf returns the agent's archive, made and named after it where it has none.
func archiveOf(ctx context.Context, tx core.ToolEdits, env core.ToolEnv) (core.ArchiveID, error) {
	archive, found, err := tx.Read.Archives.OfAgent(ctx, env.Agent.ID)
	if err != nil || found {
		return archive.ID, err
	}
	archive = core.Archive{
		ID:        core.NewArchiveID(),
		Name:      env.Agent.Name + "'s Archive",
		Embedding: env.Agent.Embedding,
		CreatedAt: env.Now,
		UpdatedAt: env.Now,
	}
	if err := tx.Archives.Create(ctx, &archive); err != nil {
		return "", err
	}
	return archive.ID, tx.Archives.Attach(ctx, env.Agent.ID, archive.ID)
}

// clean trims tags and drops empty and repeated ones.
func clean(tags []string) ([]string, error) {
	var kept []string
	for _, tag := range tags {
		if tag = strings.TrimSpace(tag); tag != "" && !slices.Contains(kept, tag) {
			kept = append(kept, tag)
		}
	}
	if len(kept) > maxTags {
		return nil, core.E(core.Invalid, "%d tags are too many: give at most %d", len(kept), maxTags)
	}
	return kept, nil
}

// SearchArgs are the arguments of archival_memory_search.
type SearchArgs struct {
	Query    string   `json:"query" jsonschema:"What to look for."`
	Tags     []string `json:"tags,omitempty" jsonschema:"Only passages with these tags."`
	TagMatch string   `json:"tag_match_mode,omitempty" enum:"any,all" jsonschema:"Whether any (default) or all of the tags must be there."`
	TopK     *int     `json:"top_k,omitempty" jsonschema:"How many results, default 5."`
	Start    string   `json:"start_datetime,omitempty" jsonschema:"Only from this date or time on, e.g. 2026-11-23."`
	End      string   `json:"end_datetime,omitempty" jsonschema:"Only up to this date (that day included) or time."`
}

type passageResult struct {
	ID        core.PassageID     `json:"id"`
	Timestamp string             `json:"timestamp"`
	Content   string             `json:"content"`
	Tags      []string           `json:"tags"`
	Relevance *results.Relevance `json:"relevance,omitempty"`
}

// Search is archival_memory_search. An empty query lists the newest passages within the other bounds.
func Search(ctx context.Context, args SearchArgs, env core.ToolEnv) (core.ToolResult, error) {
	limit, err := results.Limit("top_k", args.TopK)
	if err != nil {
		return core.ToolResult{}, err
	}
	hits, err := find(ctx, args, limit, env)
	if err != nil {
		return core.ToolResult{}, err
	}
	return write(hits, env)
}

// find searches the agent's archive.
func find(ctx context.Context, args SearchArgs, limit int, env core.ToolEnv) (hits core.Results[core.PassageHit], err error) {
	from, until, err := results.Range(args.Start, args.End, env.Now.Location())
	if err != nil {
		return hits, err
	}
	tags, err := clean(args.Tags)
	if err != nil {
		return hits, err
	}
	archive, has, err := env.Read.Archives.OfAgent(ctx, env.Agent.ID)
	if err != nil {
		return hits, err
	}
	if !has {
		return hits, nil
	}
	filter := core.PassageFilter{
		Archives: []core.ArchiveID{archive.ID},
		Tags:     tags,
		AllTags:  args.TagMatch == "all",
		From:     from,
		Until:    until,
	}
	return match(ctx, env, core.SearchQuery{Text: args.Query, Limit: limit, Today: env.Now}, filter)
}

func match(
	ctx context.Context,
	env core.ToolEnv,
	query core.SearchQuery,
	filter core.PassageFilter,
) (found core.Results[core.PassageHit], err error) {
	if strings.TrimSpace(query.Text) != "" {
		return env.Search.Passages(ctx, query, filter)
	}
	newest, err := env.Read.Passages.List(ctx, filter, core.Page{Limit: query.Limit, Desc: true})
	if err != nil {
		return found, err
	}
	for _, p := range newest {
		found.Hits = append(found.Hits, core.PassageHit{Passage: p})
	}
	return found, nil
}

func write(hits core.Results[core.PassageHit], env core.ToolEnv) (core.ToolResult, error) {
	if len(hits.Hits) == 0 {
		text := "No results found."
		if hits.Partial {
			text += " " + results.Partial
		}
		return core.ToolResult{Text: text}, nil
	}
	list := make([]passageResult, 0, len(hits.Hits))
	for _, h := range hits.Hits {
		f := passageResult{
			ID:        h.Passage.ID,
			Timestamp: h.Passage.CreatedAt.In(env.Now.Location()).Format(time.RFC3339),
			Content:   h.Passage.Text,
			Tags:      h.Passage.Tags,
		}
		if f.Tags == nil {
			f.Tags = []string{}
		}
		f.Relevance = results.Why(h.Score, h.Words, h.Why, hits.Partial)
		list = append(list, f)
	}
	list, err := results.Fit(list, env.MaxReturn)
	if err != nil {
		return core.ToolResult{}, err
	}
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = string(f.ID)
	}
	for _, f := range list {
		f.Relevance.Among(ids)
	}
	text, err := results.JSON(list)
	if err != nil {
		return core.ToolResult{}, err
	}
	return core.ToolResult{Text: text}, nil
}
