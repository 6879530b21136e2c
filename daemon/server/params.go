package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

// Path parameters. Their patterns are checked before anything is looked up.
type (
	AgentPath struct {
		AgentID string `path:"agent_id" pattern:"^agent-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
	}
	BlockPath struct {
		BlockID string `path:"block_id" pattern:"^block-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
	}
	ToolPath struct {
		ToolID string `path:"tool_id" pattern:"^tool-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
	}
	RunPath struct {
		RunID string `path:"run_id" pattern:"^run-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
	}
	StepPath struct {
		StepID string `path:"step_id" pattern:"^step-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
	}
	MessagePath struct {
		MessageID string `path:"message_id" pattern:"^message-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
	}
	PassagePath struct {
		PassageID string `path:"memory_id" pattern:"^passage-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
	}
	// AnyPassagePath is a passage named without its agent or archive.
	AnyPassagePath struct {
		PassageID string `path:"passage_id" pattern:"^passage-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
	}
	ArchivePath struct {
		ArchiveID string `path:"archive_id" pattern:"^archive-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
	}
	// ConversationPath is a conversation, or an agent or "default" for an agent's default conversation.
	ConversationPath struct {
		ConversationID string `path:"conversation_id" pattern:"^(conv-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|agent-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|default)$"`
	}
)

func (p AgentPath) id() core.AgentID { return core.AgentID(p.AgentID) }

// body is a response that is a JSON value.
type body[T any] struct{ Body T }

// answer makes a response of a value, or passes the error on.
func answer[T any](v T, err error) (*body[T], error) {
	if err != nil {
		return nil, err
	}
	return &body[T]{Body: v}, nil
}

// list makes a response of a list, converting each entry; an empty one is [].
func list[T, W any](in []T, err error, convert func(T) W) (*body[[]W], error) {
	if err != nil {
		return nil, err
	}
	out := make([]W, 0, len(in))
	for _, v := range in {
		out = append(out, convert(v))
	}
	return &body[[]W]{Body: out}, nil
}

// searchBody is the list of results of a search.
type searchBody[T any] struct {
	Partial api.Partial `header:"Loci-Partial"`
	Body    []T
}

// partly says why a search is partial.
func partly[H any](found core.Results[H]) api.Partial {
	switch {
	case found.Building:
		return api.PartialBuilding
	case found.Stalled != nil:
		return api.PartialStalled(string(found.Stalled.Model), found.Stalled.Since)
	case found.Partial:
		return api.PartialBehind
	}
	return ""
}

// results makes a response of search results, converting each hit.
func results[H, W any](found core.Results[H], err error, convert func(H) []W) (*searchBody[W], error) {
	if err != nil {
		return nil, err
	}
	out := &searchBody[W]{Partial: partly(found), Body: make([]W, 0, len(found.Hits))}
	for _, h := range found.Hits {
		out.Body = append(out.Body, convert(h)...)
	}
	return out, nil
}

// empty is the response of an operation that returns nothing: null.
func empty(err error) (*body[any], error) { return answer[any](nil, err) }

// noContent makes an operation answer with 204 and no body on success.
func noContent(op *huma.Operation) { op.DefaultStatus = http.StatusNoContent }

// pageOf converts the parameters of a list; desc is the list's own default order.
func pageOf(p api.Page, desc bool) core.Page {
	if p.Order != "" {
		desc = p.Order == "desc"
	}
	return core.Page{After: p.After, Before: p.Before, Limit: p.Limit, Desc: desc, OrderBy: p.OrderBy}
}

// timeRange parses the two ends of a range, each from its place in the request. If the end is only a date, that whole
// day is included.
func timeRange(start, from, end, until string, zone *time.Location) (a, b time.Time, err error) {
	if from != "" {
		if a, _, err = api.ParseTime(from, zone); err != nil {
			return a, b, unprocessable(start, "%s", err)
		}
	}
	if until == "" {
		return a, b, nil
	}
	b, dateOnly, err := api.ParseTime(until, zone)
	if err != nil {
		return a, b, unprocessable(end, "%s", err)
	}
	if dateOnly {
		return a, b.AddDate(0, 0, 1), nil
	}
	return a, b.Add(time.Microsecond), nil
}

// searchedRange parses the range in a search's body: dates are days in the agent's time zone, or else in UTC.
func (s *Server) searchedRange(ctx context.Context, agent core.AgentID, from, until *string) (a, b time.Time, err error) {
	zone := time.UTC
	if agent != "" && (from != nil || until != nil) {
		g, err := s.services().Agents.Get(ctx, agent)
		if err != nil && core.KindOf(err) != core.NotFound { // the search itself decides what an absent agent means
			return a, b, err
		}
		if err == nil {
			zone = g.Location()
		}
	}
	return timeRange("body.start_date", api.Val(from), "body.end_date", api.Val(until), zone)
}

// ids converts a list of ids and checks the format of each.
func ids[T ~string](location, prefix string, in []string) ([]T, error) {
	out := make([]T, 0, len(in))
	for _, v := range in {
		if !core.ValidID(prefix, v) {
			return nil, unprocessable(location, "%q is not the id of a %s", v, prefix)
		}
		out = append(out, T(v))
	}
	return out, nil
}

// strs converts a list of names to strings.
func strs[T ~string](in []T) []string {
	out := make([]string, 0, len(in))
	for _, v := range in {
		out = append(out, string(v))
	}
	return out
}

// opt converts a key of a patch.
func opt[T any](o api.Opt[T]) core.Opt[T] {
	return core.Opt[T]{Present: o.Set, Null: o.Null, Value: o.Value}
}

// patched returns the value of a key of a patch; nil if it is absent or null.
func patched[T any](o api.Opt[T]) *T {
	if !o.Set || o.Null {
		return nil
	}
	return &o.Value
}

// optAs converts a key of a patch and its value.
func optAs[T, U any](o api.Opt[T], convert func(T) U) core.Opt[U] {
	out := core.Opt[U]{Present: o.Set, Null: o.Null}
	if out.Set() {
		out.Value = convert(o.Value)
	}
	return out
}

// etag returns the ETag of a block's version.
func etag(b core.Block) string { return `"` + itoa(b.Version) + `"` }

// ifMatch parses the version that a writer has read; 0 if there is none. A tag that no version can have matches
// nothing, and something that isn't a tag at all is a malformed request.
func ifMatch(header string) (int, error) {
	header = strings.TrimSpace(header)
	if header == "" || header == "*" {
		return 0, nil
	}
	tag := strings.TrimPrefix(header, "W/")
	text := strings.TrimSuffix(strings.TrimPrefix(tag, `"`), `"`)
	if len(tag) != len(text)+2 || strings.Contains(text, `"`) {
		return 0, core.E(core.Invalid, "If-Match: %q is not an ETag", clipped(header))
	}
	version := 0
	for _, c := range text {
		if c < '0' || c > '9' || version > 1<<30 {
			version = 0
			break
		}
		version = version*10 + int(c-'0')
	}
	if version == 0 {
		return 0, core.E(core.Precondition, "If-Match: no version of this has the ETag %q", clipped(header))
	}
	return version, nil
}

// clipped shortens a header value before it is quoted.
func clipped(s string) string { return s[:min(len(s), 80)] }
