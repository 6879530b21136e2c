package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"loci/core"
	"loci/core/search"
)

// Least is from how many tools on, which people wrote or servers bring, a model is offered one in their place.
const Least = 50

// What is shown of a tool that was found.
const (
	mostFound  = 5
	mostNote   = 1000 // characters of its description
	mostSchema = 8000 // bytes of its parameters
	mostQuery  = 1000 // characters of what is searched for
)

// spec is what a model is told, always.
func spec() core.ToolSpec {
	return core.ToolSpec{
		Name: core.MoreToolsName,
		Description: "Find and call your other tools, of which there are many. First search with a few words that say what has to be " +
			"done: you get the names of five tools with their descriptions and parameters. Then call one of them by its name, with its " +
			"arguments.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"search":{"type":"string","description":"Words for what has to be done, to find tools."},` +
			`"call":{"type":"string","description":"The name of the tool to call, as it was found."},` +
			`"arguments":{"type":"object","description":"The arguments of that call, by its parameters.","additionalProperties":true}}}`),
	}
}

// Gather returns what a model is offered of the tools that are attached, and what calls are looked up in: the same, unless there are
// many. Related is that of Rank.
func Gather(bound []core.BoundTool, related func(word string) []search.Relative) (offered, all []core.BoundTool) {
	var behind []core.BoundTool
	for _, t := range bound {
		if t.Info.Kind.Ours() {
			offered = append(offered, t)
		} else {
			behind = append(behind, t)
		}
	}
	if len(behind) < Least {
		return bound, bound
	}
	one := core.BoundTool{
		Info: core.ToolInfo{
			ID: core.BuiltinToolID(core.MoreToolsName), Kind: core.ToolBuiltin, Effect: core.EffectFacts, Spec: spec(),
			Tags: []string{string(core.ToolBuiltin)},
		},
		Tool: &finder{behind: behind, related: related},
	}
	return append(offered, one), append(slices.Clip(bound), one)
}

// finder is the one tool. It finds; calls through it are calls of what was found, and reach it only if they can't be that.
type finder struct {
	behind  []core.BoundTool
	related func(word string) []search.Relative
}

// Spec implements core.Tool.
func (*finder) Spec() core.ToolSpec { return spec() }

// Call implements core.Tool.
func (f *finder) Call(_ context.Context, call core.ToolCall, _ core.ToolEnv) (core.ToolResult, error) {
	var args struct {
		Search string `json:"search"`
		Call   string `json:"call"`
	}
	if json.Unmarshal([]byte(call.Arguments), &args) != nil {
		said := "Error executing function " + core.MoreToolsName + ": TypeError: search and call are texts"
		return core.ToolError(said), nil //nolint:nilerr // the model reads it
	}
	query := strings.TrimSpace(args.Search)
	if args.Call != "" {
		return core.ToolError(fmt.Sprintf("Error executing function %s: NameError: it finds no tool %.100q to call, or its arguments are "+
			"no object. Search for it first; what you are offered beside this tool is called by itself",
			core.MoreToolsName, args.Call)), nil
	}
	if query == "" {
		return core.ToolError("Error executing function " + core.MoreToolsName + ": ValueError: give search or call"), nil
	}
	if utf8.RuneCountInString(query) > mostQuery {
		query = string([]rune(query)[:mostQuery])
	}
	specs := make([]core.ToolSpec, len(f.behind))
	for i := range f.behind {
		specs[i] = f.behind[i].Info.Spec
	}
	found := Rank(specs, query, mostFound, f.related)
	if len(found) == 0 {
		return core.ToolResult{Text: fmt.Sprintf("None of your %d other tools fits these words. Try others that say what has to be done.",
			len(specs))}, nil
	}
	rows := []string{fmt.Sprintf("Tools that may fit, the likeliest first, one on each line; call one with %s:", core.MoreToolsName)}
	for _, i := range found {
		rows = append(rows, row(specs[i]))
	}
	return core.ToolResult{Text: strings.Join(rows, "\n")}, nil
}

// row is a tool as one line of JSON, so that none poses as another.
func row(s core.ToolSpec) string {
	if utf8.RuneCountInString(s.Description) > mostNote {
		s.Description = string([]rune(s.Description)[:mostNote]) + "…"
	}
	if len(s.Parameters) > mostSchema {
		short := struct {
			Type       string            `json:"type"`
			Properties map[string]string `json:"properties"`
			Note       string            `json:"note"`
		}{"object", parameters(s.Parameters), "shortened: the whole schema is too long to be shown"}
		left := mostSchema
		for _, name := range slices.Sorted(maps.Keys(short.Properties)) {
			if left -= len(name) + len(short.Properties[name]); left < 0 {
				delete(short.Properties, name)
			}
		}
		s.Parameters, _ = json.Marshal(short) // texts alone, which can be written
	}
	text, err := json.Marshal(s)
	if err != nil { // its schema is no JSON
		s.Parameters = json.RawMessage(`{}`)
		text, _ = json.Marshal(s)
	}
	return string(text)
}
