package archival

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"loci/core"
	"loci/core/search"
	"loci/tools/internal/results"
)

// TerminalSearchDoc tells the models of the terminal's agents what archival_memory_search does.
const TerminalSearchDoc = SearchDoc + " A small top_k shows more of each."

// TerminalSearchArgs are the arguments of archival_memory_search for the terminal's agents.
type TerminalSearchArgs struct {
	Query    string   `json:"query" jsonschema:"What to look for."`
	Tags     []string `json:"tags,omitempty" jsonschema:"Only with these tags."`
	TagMatch string   `json:"tag_match_mode,omitempty" enum:"any,all" jsonschema:"any (default) or all of the tags."`
	TopK     *int     `json:"top_k,omitempty" jsonschema:"How many, default 5."`
	Start    string   `json:"start_datetime,omitempty" jsonschema:"Only from this date or time on."`
	End      string   `json:"end_datetime,omitempty" jsonschema:"Only up to this date, included, or time."`
	Order    string   `json:"order,omitempty" enum:"relevance,time" jsonschema:"time: oldest first."`
}

// How much of the passages is shown, in characters. Few results are shown longer, so that a passage can be read before it is
// replaced.
const (
	allChars   = 10_000 // of all of them
	shortChars = 100    // of one before there are fewer instead
	tagChars   = 300    // of the tags of one
)

// terminalResult is a passage found.
type terminalResult struct {
	ID      core.PassageID `json:"id"`
	Time    string         `json:"time"`
	Content string         `json:"content"`
	Tags    []string       `json:"tags,omitempty"`
	Why     string         `json:"why,omitempty"`
}

// TerminalSearch is archival_memory_search for the terminal's agents.
func TerminalSearch(ctx context.Context, args TerminalSearchArgs, env core.ToolEnv) (core.ToolResult, error) {
	limit, err := results.Limit("top_k", args.TopK)
	if err != nil {
		return core.ToolResult{}, err
	}
	found, err := find(ctx, SearchArgs{
		Query: args.Query, Tags: args.Tags, TagMatch: args.TagMatch, Start: args.Start, End: args.End,
	}, limit, env)
	if err != nil {
		return core.ToolResult{}, err
	}
	l := listing{env: env, byTime: args.Order == "time", hits: found.Hits}
	if len(l.hits) == 0 {
		l.notes = append(l.notes, "No results found.")
	}
	l.notes = append(l.notes, results.Unsearched(found.Partial, len(l.hits) > 0 && l.hits[0].Why.NoModel, found.Stalled)...)
	return l.write()
}

// listing are the hits of a search for the terminal's agents.
type listing struct {
	env    core.ToolEnv
	byTime bool
	hits   []core.PassageHit // best first
	notes  []string
}

// write returns as many of the hits as fit, the best ones.
func (l *listing) write() (core.ToolResult, error) {
	if len(l.hits) == 0 {
		return core.ToolResult{Text: strings.Join(l.notes, " ")}, nil
	}
	for n, chars := len(l.hits), allChars/len(l.hits); ; {
		text, err := results.JSON(l.page(n, chars))
		switch {
		case err != nil || results.Fits(text) || n == 1 && chars == shortChars:
			return core.ToolResult{Text: text}, err
		case chars > shortChars: // rather shorter than fewer
			chars = max(chars*3/4, shortChars)
		default:
			n--
		}
	}
}

type page struct {
	Message string           `json:"message,omitempty"`
	Results []terminalResult `json:"results"`
}

// page shows the first n hits, with at most so many characters of each.
func (l *listing) page(n, chars int) page {
	notes := l.notes
	if n < len(l.hits) {
		notes = append(slices.Clip(notes), results.LeftOut)
	}
	hits := slices.Clone(l.hits[:n])
	if l.byTime {
		slices.SortStableFunc(hits, func(a, b core.PassageHit) int { return a.Passage.CreatedAt.Compare(b.Passage.CreatedAt) })
	}
	p := page{Message: strings.Join(notes, " ")}
	for i := range hits {
		h := &hits[i]
		p.Results = append(p.Results, terminalResult{
			ID:      h.Passage.ID,
			Time:    h.Passage.CreatedAt.In(l.env.Now.Location()).Format(time.RFC3339),
			Content: search.Excerpt(h.Passage.Text, slices.Concat(h.Words, h.Why.Also), chars),
			Tags:    few(h.Passage.Tags),
			Why:     results.Reason(h.Words, h.Why, "", ""),
		})
	}
	return p
}

// few returns the first tags, as many as are shown.
func few(tags []string) []string {
	left := tagChars
	for i, tag := range tags {
		if left -= utf8.RuneCountInString(tag); left < 0 {
			return tags[:i]
		}
	}
	return tags
}
