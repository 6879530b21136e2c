// Package recall is the built-in tool that searches an agent's messages, including those that left its window.
//
// Layer 1, below tools: it imports core and core/memory.
package recall

import (
	"context"
	"fmt"
	"strings"
	"time"

	"loci/core"
	"loci/core/memory"
	"loci/tools/internal/results"
)

// SearchDoc tells a model what conversation_search does.
const SearchDoc = "Search what was said before, in all conversations with you, by meaning, words, role and date. Without a query it " +
	"lists the newest messages."

// SearchArgs are the arguments of conversation_search.
type SearchArgs struct {
	Query string   `json:"query,omitempty" jsonschema:"What to look for."`
	Roles []string `json:"roles,omitempty" enum:"user,assistant" jsonschema:"Only messages of these roles."`
	Limit *int     `json:"limit,omitempty" jsonschema:"How many results, default 5."`
	Start string   `json:"start_date,omitempty" jsonschema:"Only from this date on, e.g. 2026-11-23."`
	End   string   `json:"end_date,omitempty" jsonschema:"Only up to this date, that day included."`
}

// spare is how many extra messages are read, since some have nothing to show.
const spare = 20

type answer struct {
	Message string          `json:"message"`
	Results []messageResult `json:"results"`
}

type messageResult struct {
	Timestamp string             `json:"timestamp"`
	TimeAgo   string             `json:"time_ago"`
	Role      core.Role          `json:"role"`
	Content   string             `json:"content,omitempty"`
	Thinking  string             `json:"thinking,omitempty"`
	Relevance *results.Relevance `json:"relevance,omitempty"`

	id string
}

// Search is conversation_search. It doesn't find tool returns, records of the program, or messages of the current turn,
// so a search never finds itself.
func Search(ctx context.Context, args SearchArgs, env core.ToolEnv) (core.ToolResult, error) {
	limit, hits, err := find(ctx, args, env)
	if err != nil {
		return core.ToolResult{}, err
	}
	var list []messageResult
	for _, h := range hits.Hits {
		if f, says := show(h, hits.Partial, env); says && len(list) < limit {
			list = append(list, f)
		}
	}
	return write(list, hits.Partial, env.MaxReturn)
}

// filterOf selects what a search may find.
func filterOf(roles []string, start, end string, env core.ToolEnv) (core.MessageFilter, error) {
	from, until, err := results.Range(start, end, env.Now.Location())
	f := core.MessageFilter{Agent: env.Agent.ID, Roles: speakers(), From: from, Until: until}
	if len(roles) > 0 {
		f.Roles = nil
		for _, role := range roles {
			f.Roles = append(f.Roles, core.Role(role))
		}
	}
	return f, err
}

// speakers are the roles of messages that somebody said.
func speakers() []core.Role { return []core.Role{core.RoleUser, core.RoleAssistant} }

// find returns what matches, with some spare, and how much of it was asked for. Without a query it is the newest.
func find(ctx context.Context, args SearchArgs, env core.ToolEnv) (limit int, found core.Results[core.MessageHit], err error) {
	if limit, err = results.Limit("limit", args.Limit); err != nil {
		return 0, found, err
	}
	filter, err := filterOf(args.Roles, args.Start, args.End, env)
	if err != nil {
		return 0, found, err
	}
	if strings.TrimSpace(args.Query) != "" {
		query := core.SearchQuery{Text: args.Query, Limit: limit + spare, Today: env.Now, But: env.Run}
		found, err = env.Search.Messages(ctx, query, filter)
		return limit, found, err
	}
	newest, err := env.Read.Messages.List(ctx, filter, core.Page{Limit: limit + spare, Desc: true})
	if err != nil {
		return 0, found, err
	}
	for i := range newest {
		found.Hits = append(found.Hits, core.MessageHit{Message: newest[len(newest)-1-i]}) // a page is oldest first
	}
	return limit, found, nil
}

// show returns a message as a result; says is false if it contains nothing that anybody said.
func show(h core.MessageHit, partial bool, env core.ToolEnv) (f messageResult, says bool) {
	m := &h.Message
	content, thinking := said(m, env)
	f = messageResult{
		id:        string(m.ID),
		Timestamp: m.CreatedAt.In(env.Now.Location()).Format(time.RFC3339),
		TimeAgo:   results.Ago(m.CreatedAt, env.Now),
		Role:      m.Role,
		Content:   results.Excerpt(content, h.Words),
	}
	if f.Content == "" {
		f.Thinking = results.Excerpt(thinking, h.Words)
	}
	if f.Content == "" && f.Thinking == "" {
		return messageResult{}, false
	}
	f.Relevance = results.Why(h.Score, h.Words, h.Why, partial)
	return f, true
}

// said returns what a message says, and what was thought with it; nothing of the current turn or of the program's records.
func said(m *core.Message, env core.ToolEnv) (content, thinking string) {
	if m.Run == env.Run && env.Run != "" || m.Role != core.RoleUser && m.Role != core.RoleAssistant {
		return "", ""
	}
	var texts, thoughts []string
	for _, part := range m.Parts(core.DefaultSpeak) {
		switch part.Kind {
		case core.PartUser, core.PartAssistant:
			texts = append(texts, part.Text)
		case core.PartReasoning:
			thoughts = append(thoughts, part.Text)
		case core.PartSystem, core.PartCalls, core.PartReturns, core.PartSummary, core.PartRequest, core.PartAnswer:
		}
	}
	content = strings.Join(texts, "\n")
	if m.Role == core.RoleUser && memory.IsPacked(content) {
		return "", ""
	}
	return content, strings.Join(thoughts, "\n")
}

func write(list []messageResult, partial bool, maxReturn int) (core.ToolResult, error) {
	out := answer{Message: "No results found.", Results: []messageResult{}}
	if len(list) > 0 {
		fitting, err := results.Fit(list, maxReturn)
		if err != nil {
			return core.ToolResult{}, err
		}
		ids := make([]string, len(fitting))
		for i, f := range fitting {
			ids[i] = f.id
		}
		for _, f := range fitting {
			f.Relevance.Among(ids)
		}
		out = answer{Message: fmt.Sprintf("Showing %d results:", len(fitting)), Results: fitting}
	}
	if partial {
		out.Message += " " + results.Partial
	}
	text, err := results.JSON(out)
	if err != nil {
		return core.ToolResult{}, err
	}
	return core.ToolResult{Text: text}, nil
}
