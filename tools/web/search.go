package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"loci/core"
)

// SearchDoc tells a model what web_search does.
const SearchDoc = "Search the web: titles, addresses and a few lines of each result. fetch reads one of them."

// SearchArgs are the arguments of web_search.
type SearchArgs struct {
	Query string `json:"query" jsonschema:"What to look for."`
	Limit *int   `json:"limit,omitempty" jsonschema:"How many results, default 8, at most 20."`
}

// Bounds of a search.
const (
	usualResults = 8
	mostResults  = 20
	mostQuery    = 400 // characters
	mostSnippet  = 500
	mostListing  = 2 << 20 // bytes of an answer
)

// service is a search service.
type service struct {
	name, key string // key names the variable that holds it
	address   string
	request   func(ctx context.Context, address, key, query string, limit int) (*http.Request, error)
}

// services are those that a key opens, the first that has one counts.
func services() []service {
	return []service{
		{"Brave", "BRAVE_API_KEY", "https://api.search.brave.com/res/v1/web/search", askBrave},
		{"Tavily", "TAVILY_API_KEY", "https://api.tavily.com/search", askTavily},
		{"Exa", "EXA_API_KEY", "https://api.exa.ai/search", askExa},
	}
}

// Variables are the names of the variables that hold keys of search services.
func Variables() []string {
	var names []string
	for _, s := range services() {
		names = append(names, s.key)
	}
	return names
}

// Searches reports whether a search service is set up for whoever brings these variables.
func (c Config) Searches(env core.Env) bool {
	_, _, ok := c.service(env)
	return ok
}

// service is the one to ask: that of the configuration, else the first that there is a key for.
func (c Config) service(env core.Env) (s service, key core.Secret, ok bool) {
	if c.SearXNG != "" {
		return service{name: "SearXNG", address: strings.TrimSuffix(c.SearXNG, "/") + "/search", request: askSearXNG}, "", true
	}
	if env == nil {
		return s, "", false
	}
	for _, s := range services() {
		if key, ok := env(s.key); ok && key != "" {
			return s, key, true
		}
	}
	return s, "", false
}

// Search is the tool web_search.
func (w *Web) Search(ctx context.Context, args SearchArgs, env core.ToolEnv) (core.ToolResult, error) {
	query := strings.TrimSpace(args.Query)
	if query == "" || utf8.RuneCountInString(query) > mostQuery {
		return core.ToolResult{}, core.E(core.Invalid, "query is empty, or has more than %d characters", mostQuery)
	}
	limit := usualResults
	if args.Limit != nil {
		limit = min(max(1, *args.Limit), mostResults)
	}
	s, key, ok := w.cfg.service(env.Client.Env)
	if !ok || w.cfg.Network == nil {
		return core.ToolError("Nothing was searched: no search service is set up. A person sets one up with a key in " +
			strings.Join(Variables(), ", ") + ", or with searxng in the configuration."), nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, errSlow)
	defer cancel()
	results, err := w.results(ctx, s, key, query, limit)
	switch {
	case errors.Is(context.Cause(ctx), errSlow):
		return core.ToolError(fmt.Sprintf("Nothing was found: %s did not answer within %s.", s.name, fetchTime)), nil
	case ctx.Err() != nil:
		return core.ToolResult{}, context.Cause(ctx)
	case err != nil:
		why := err.Error()
		if key != "" {
			why = strings.ReplaceAll(why, key.Reveal(), key.String())
		}
		return core.ToolError("Nothing was found: " + firstWords(why) + "."), nil
	case len(results) == 0:
		return core.ToolResult{Text: s.name + " found nothing for this. Try other words."}, nil
	}
	return listed(s, results), nil
}

// found is one result.
type found struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Content string `json:"content"`     // of Tavily and SearXNG
	Text    string `json:"text"`        // of Exa
	About   string `json:"description"` // of Brave
}

// listed is what the model reads of results.
func listed(s service, results []found) core.ToolResult {
	var b strings.Builder
	for i, r := range results {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, brief(r.Title, 200), brief(r.URL, 500))
		if text := brief(bare(r.Content+r.Text+r.About), mostSnippet); text != "" {
			fmt.Fprintf(&b, "   %s\n", text)
		}
	}
	source := "web search by " + s.name
	return core.ToolResult{Text: core.Foreign(source, b.String()), Source: source}
}

// brief is a text on one line, cut.
func brief(text string, most int) string {
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// bare drops the marks by which services show what was found.
func bare(text string) string {
	return strings.NewReplacer("<strong>", "", "</strong>", "", "<b>", "", "</b>", "", "&#x27;", "'", "&quot;", `"`, "&amp;", "&").
		Replace(text)
}

func (w *Web) results(ctx context.Context, s service, key core.Secret, query string, limit int) ([]found, error) {
	r, err := s.request(ctx, s.address, key.Reveal(), query, limit)
	if err != nil {
		return nil, core.E(core.Invalid, "the address of %s can't be used", s.name)
	}
	r.Header.Set("User-Agent", w.cfg.Agent)
	r.Header.Set("Accept", "application/json")
	resp, err := w.via(&only{host: r.URL.Hostname(), private: w.cfg.SearXNG != ""}).Do(r)
	if err != nil {
		var u *unreached
		if errors.As(err, &u) {
			err = u
		}
		return nil, core.E(core.Unavailable, "%s is not reached: %s", s.name, err.Error())
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, mostListing))
	switch {
	case err != nil:
		return nil, core.E(core.Unavailable, "the answer of %s broke off", s.name)
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, core.E(core.Forbidden, "%s refused (HTTP %d): is its key valid, and is JSON allowed?", s.name, resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, core.E(core.Unavailable, "%s answered with HTTP %d", s.name, resp.StatusCode)
	}
	var answer struct {
		Results []found `json:"results"`
		Web     struct {
			Results []found `json:"results"`
		} `json:"web"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, core.E(core.Unavailable, "the answer of %s is not what it should be", s.name)
	}
	results := append(answer.Results, answer.Web.Results...)
	return results[:min(len(results), limit)], nil
}

// only are the rules of a search: it reaches its service. That of the configuration may be anywhere, since a person wrote it.
type only struct {
	host    string
	private bool
}

func (o *only) Allows(host string, named bool) bool {
	if named {
		return o.private
	}
	return strings.EqualFold(host, o.host)
}

func (o *only) Closed(string) string { return "" }

func (o *only) Asks(string) bool { return false }

func get(ctx context.Context, address string, query url.Values) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+query.Encode(), nil)
}

func post(ctx context.Context, address string, body any) (*http.Request, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}

func askSearXNG(ctx context.Context, address, _, query string, _ int) (*http.Request, error) {
	return get(ctx, address, url.Values{"q": {query}, "format": {"json"}})
}

func askBrave(ctx context.Context, address, key, query string, limit int) (*http.Request, error) {
	r, err := get(ctx, address, url.Values{"q": {query}, "count": {fmt.Sprint(limit)}})
	if err == nil {
		r.Header.Set("X-Subscription-Token", key)
	}
	return r, err
}

func askTavily(ctx context.Context, address, key, query string, limit int) (*http.Request, error) {
	r, err := post(ctx, address, map[string]any{"query": query, "max_results": limit})
	if err == nil {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return r, err
}

func askExa(ctx context.Context, address, key, query string, limit int) (*http.Request, error) {
	r, err := post(ctx, address, map[string]any{
		"query": query, "numResults": limit, "contents": map[string]any{"text": map[string]any{"maxCharacters": mostSnippet}},
	})
	if err == nil {
		r.Header.Set("x-api-key", key)
	}
	return r, err
}
