package recall

import (
	"context"
	"strings"

	"loci/core"
	"loci/tools/internal/results"
)

// TerminalDoc tells the models of the terminal's agents what conversation_search does.
const TerminalDoc = "Search what was said before, in all conversations with you, by meaning, words, role and date: the best messages, " +
	"with what was said right before or after. Without a query, the newest. For \"how many times\", \"in which order\" or " +
	"\"everything about\", use limit 50 and order time."

// TerminalArgs are the arguments of conversation_search for the terminal's agents.
type TerminalArgs struct {
	Query  string   `json:"query,omitempty" jsonschema:"What to look for."`
	Roles  []string `json:"roles,omitempty" enum:"user,assistant" jsonschema:"Only these."`
	Limit  *int     `json:"limit,omitempty" jsonschema:"How many, default 5; above 10 as short lines."`
	Start  string   `json:"start_date,omitempty" jsonschema:"Only from this date on, e.g. 2026-11-23."`
	End    string   `json:"end_date,omitempty" jsonschema:"Only up to this date, included."`
	Order  string   `json:"order,omitempty" enum:"relevance,time" jsonschema:"time: oldest first."`
	Around string   `json:"around,omitempty" jsonschema:"Id of a result: shows the talk around it instead."`
}

// wideFrom is the limit from which results are short lines: so many whole exchanges would not fit into a return.
const wideFrom = 11

// TerminalSearch is conversation_search for the terminal's agents: hits with the exchange they belong to, by conversation.
func TerminalSearch(ctx context.Context, args TerminalArgs, env core.ToolEnv) (core.ToolResult, error) {
	if args.Around != "" {
		return around(ctx, args, env)
	}
	limit, found, err := find(ctx, SearchArgs{args.Query, args.Roles, args.Limit, args.Start, args.End}, env)
	if err != nil {
		return core.ToolResult{}, err
	}
	l := listing{env: env, wide: limit >= wideFrom, byTime: args.Order == "time"}
	for i := range found.Hits {
		h := &found.Hits[i]
		if text := spoken(&h.Message, env); text != "" {
			if len(l.hits) == limit {
				l.cut = l.wide // who asks for few wants the best, not all
				break
			}
			l.add(*h, text)
		}
	}
	l.notes = results.Unsearched(found.Partial, len(found.Hits) > 0 && found.Hits[0].Why.NoModel, found.Stalled)
	return l.write(ctx)
}

// spoken returns what a message says to search; empty: nothing, or it belongs to the current turn.
func spoken(m *core.Message, env core.ToolEnv) string {
	content, _ := said(m, env)
	return strings.TrimSpace(content)
}
