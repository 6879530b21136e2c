package providertest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Gemini is what a model of GenerateContent takes and does. The zero value takes every way to think.
type Gemini struct {
	Levels      []string // of thinking; nil: none, unless there is no budget either
	LeastBudget int      // of thinking, in tokens, besides 0 if that turns it off
	MostBudget  int      // 0: it takes none, unless it has no levels either
	Off         bool     // a budget of 0 turns thinking off
	MaxOutput   int
	Lax         bool // it doesn't check that the signature of a call comes back
	NoIDs       bool // its calls have no ids
	NoJSON      bool // it takes no schema of an answer beside tools
}

// GeminiModels are models as the service has them, one of each generation.
func GeminiModels() []Model {
	return []Model{
		{Name: "gemini-3.8-flash", Window: 1_048_576, Gemini: &Gemini{Levels: []string{"low", "medium", "high"}, MaxOutput: 65_536}},
		{Name: "gemini-3-pro-preview", Window: 1_048_576, Gemini: &Gemini{Levels: []string{"low", "high"}, MaxOutput: 65_536}},
		{Name: "gemini-3.5-flash", Window: 1_048_576, Gemini: &Gemini{
			Levels: []string{"minimal", "low", "medium", "high"}, MaxOutput: 65_536,
		}},
		{Name: "gemini-2.5-pro", Window: 1_048_576, Gemini: &Gemini{
			LeastBudget: 128, MostBudget: 32_768, MaxOutput: 65_536, Lax: true, NoIDs: true, NoJSON: true,
		}},
		{Name: "gemini-2.5-flash", Window: 1_048_576, Gemini: &Gemini{
			LeastBudget: 1, MostBudget: 24_576, Off: true, MaxOutput: 65_536, Lax: true, NoIDs: true, NoJSON: true,
		}},
		{Name: "gemini-2.5-flash-lite", Window: 1_048_576, Gemini: &Gemini{
			LeastBudget: 512, MostBudget: 24_576, Off: true, MaxOutput: 65_536, Lax: true, NoIDs: true, NoJSON: true,
		}},
		{Name: "gemma-4-27b-it", Window: 131_072, Gemini: &Gemini{MaxOutput: 8_192, Lax: true, NoIDs: true}},
		{Name: "gemini-embedding-001", Window: 2_048, Embed: true},
	}
}

// gemini returns what a listed model takes; of any other name, everything.
func (s *Server) gemini(name string) Gemini {
	for _, m := range s.Models {
		if m.Name == name && m.Gemini != nil {
			return *m.Gemini
		}
	}
	return Gemini{}
}

// refused is what the service says, in its own words.
type refused string

// Error implements error.
func (r refused) Error() string { return string(r) }

func refusal(format string, args ...any) error { return refused(fmt.Sprintf(format, args...)) }

// check refuses what the service refuses.
func (g *generateWire) check() error {
	for _, check := range []func() error{g.checkConfig, g.checkTools, g.checkParts, g.checkCalls, g.checkSignatures} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (g *generateWire) checkConfig() error {
	c := g.in.Config
	if c == nil {
		return nil
	}
	if c.Temperature != nil && (*c.Temperature < 0 || *c.Temperature > 2) {
		return refusal("* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].")
	}
	if n := c.MaxOutput; n != nil && (*n < 1 || g.gemini.MaxOutput > 0 && *n > g.gemini.MaxOutput) {
		return refusal("Unable to submit request because it has a maxOutputTokens value of %d but the supported range is from 1 "+
			"(inclusive) to %d (exclusive).", *n, g.gemini.MaxOutput+1)
	}
	if c.JSONSchema != nil && c.MIME != "application/json" {
		return refusal("* GenerateContentRequest.generation_config.response_json_schema: only allowed when mime_type is " +
			"'application/json'")
	}
	if c.MIME == "application/json" && g.gemini.NoJSON && len(g.in.Tools) > 0 {
		return refusal("Function calling with a response mime type: 'application/json' is unsupported")
	}
	return g.checkThinking()
}

func (g *generateWire) checkThinking() error {
	t := g.in.Config.Thinking
	free := g.gemini.Levels == nil && g.gemini.MostBudget == 0
	switch {
	case t == nil:
	case t.Budget != nil && t.Level != "":
		return refusal("You can only set only one of thinking budget and thinking level.")
	case free && g.gemini.MaxOutput > 0:
		return refusal("Thinking is not enabled for models/%s", g.model)
	case free:
	case t.Level != "" && !slices.Contains(g.gemini.Levels, strings.ToLower(t.Level)):
		return refusal("Thinking level %s is not supported for this model. Please retry with other thinking level.",
			strings.ToUpper(t.Level))
	case t.Budget == nil, g.gemini.MostBudget == 0, *t.Budget == -1, *t.Budget == 0 && g.gemini.Off:
	case *t.Budget < g.gemini.LeastBudget || *t.Budget > g.gemini.MostBudget:
		return refusal("The thinking budget %d is invalid. Please choose a value between %d and %d.", *t.Budget,
			g.gemini.LeastBudget, g.gemini.MostBudget)
	}
	return nil
}

// checkParts refuses contents that say nothing.
func (g *generateWire) checkParts() error {
	if len(g.in.Contents) == 0 {
		return refusal("* GenerateContentRequest.contents: contents is not specified")
	}
	all := g.in.Contents
	if g.in.System != nil {
		all = append([]generateContent{{Role: "user", Parts: g.in.System.Parts}}, all...)
	}
	for i, c := range all {
		if c.Role != "user" && c.Role != "model" {
			return refusal("Please use a valid role: user, model.")
		}
		if len(c.Parts) == 0 {
			return refusal("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)
		}
		for j, p := range c.Parts {
			set := btoi(p.Text != nil) + btoi(p.Call != nil) + btoi(p.Response != nil) + btoi(p.Inline != nil)
			blank := p.Text != nil && strings.TrimSpace(*p.Text) == "" && p.Signature == ""
			if set > 1 || set == 0 && p.Signature == "" || blank {
				return refusal("* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one "+
					"initialized field", i, j) //nolint:misspell // as Google spells it
			}
		}
	}
	return nil
}

// checkCalls refuses calls that stand elsewhere than behind a user's turn, and responses that don't answer them one by one.
func (g *generateWire) checkCalls() error {
	var open []generateCall
	for i, c := range g.in.Contents {
		var calls []generateCall
		var answers []generateResponse
		for _, p := range c.Parts {
			if p.Call != nil {
				calls = append(calls, *p.Call)
			}
			if p.Response != nil {
				answers = append(answers, *p.Response)
			}
		}
		if len(calls) > 0 && (c.Role != "model" || i == 0 || g.in.Contents[i-1].Role != "user") {
			return refusal("Please ensure that function call turn comes immediately after a user turn or after a function response " +
				"turn.")
		}
		if len(answers) > 0 && len(open) == 0 {
			return refusal("Please ensure that function response turn comes immediately after a function call turn.")
		}
		if len(answers) != len(open) {
			return refusal("Please ensure that the number of function response parts is equal to the number of function call parts " +
				"of the function call turn.")
		}
		for j, a := range answers {
			if a.Name != open[j].Name || a.ID != open[j].ID || a.Response == nil {
				return refusal("* GenerateContentRequest.contents[%d].parts: function response %q (%s) does not answer call %q (%s)",
					i, a.Name, a.ID, open[j].Name, open[j].ID)
			}
		}
		open = calls
	}
	if len(open) > 0 {
		return refusal("Please ensure that the number of function response parts is equal to the number of function call parts " +
			"of the function call turn.")
	}
	return nil
}

// generateDummy stands for the signature of a call that another model made.
const generateDummy = "skip_thought_signature_validator"

// generateSeal is what a signature is bound to.
type generateSeal struct {
	Model string `json:"m"`
	Part  string `json:"p"`
}

func (g *generateWire) seal(call *generateCall) generateSeal {
	s := generateSeal{Model: g.model, Part: "text"}
	if call != nil {
		var args any
		_ = json.Unmarshal(call.Args, &args) // none, or an object
		raw, _ := json.Marshal(args)         // it was decoded from JSON
		s.Part = digest(call.Name + string(raw))
	}
	return s
}

// sign signs a call, or the text.
func (g *generateWire) sign(call *generateCall) string {
	raw, _ := json.Marshal(g.seal(call)) // plain strings
	return base64.StdEncoding.EncodeToString(raw)
}

// checkSignatures refuses a signature that isn't the part's own, and a step of the current turn whose first call has none.
func (g *generateWire) checkSignatures() error {
	turn := 0
	for i, c := range g.in.Contents {
		if c.Role == "user" && !slices.ContainsFunc(c.Parts, func(p generatePart) bool { return p.Response != nil }) {
			turn = i
		}
	}
	for i, c := range g.in.Contents {
		first := true
		for _, p := range c.Parts {
			if p.Signature != "" && p.Signature != generateDummy {
				var s generateSeal
				raw, err := base64.StdEncoding.DecodeString(p.Signature)
				if err != nil || json.Unmarshal(raw, &s) != nil || s != g.seal(p.Call) {
					return refusal("Corrupted thought signature.")
				}
			}
			if p.Call == nil {
				continue
			}
			if first && i > turn && p.Signature == "" && !g.gemini.Lax {
				return refusal("Function call is missing a thought_signature in functionCall parts. This is required for tools to "+
					"work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function "+
					"call `default_api:%s` , position %d.", p.Call.Name, i)
			}
			first = false
		}
	}
	return nil
}

// useCache reads the longest prefix that was sent before: the service caches by itself.
func (g *generateWire) useCache(body []byte) {
	var in struct { // as it came: what is cached are its tokens
		System   json.RawMessage `json:"systemInstruction"`
		Tools    json.RawMessage `json:"tools"`
		Contents []struct {
			Role  string            `json:"role"`
			Parts []json.RawMessage `json:"parts"`
		} `json:"contents"`
	}
	_ = json.Unmarshal(body, &in) // it was decoded before
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	now := g.server.now()
	h := sha256.New()
	h.Write([]byte(g.model))
	add := func(role string, raw []byte) {
		h.Write([]byte(role + string(raw) + "\x00"))
		g.cache.total += len(raw)/4 + 1
		sum := hex.EncodeToString(h.Sum(nil))
		if e, ok := g.server.cached[sum]; ok && now.Before(e.until) {
			g.cache.read = g.cache.total
		}
		g.server.cached[sum] = cacheEntry{life: 5 * time.Minute}.again(now)
	}
	add("system", in.System)
	add("tools", in.Tools)
	for _, c := range in.Contents {
		for _, p := range c.Parts {
			add(c.Role, p)
		}
	}
}

// generateFunction is a tool.
type generateFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  *generateSchema `json:"parameters"`
	JSONSchema  map[string]any  `json:"parametersJsonSchema"`
}

// generateSchema is the part of OpenAPI's schemas that the service reads.
type generateSchema struct {
	Type          string                     `json:"type"`
	Title         string                     `json:"title"`
	Description   string                     `json:"description"`
	Format        string                     `json:"format"`
	Pattern       string                     `json:"pattern"`
	Nullable      *bool                      `json:"nullable"`
	Enum          []string                   `json:"enum"`
	Items         *generateSchema            `json:"items"`
	Properties    map[string]*generateSchema `json:"properties"`
	Required      []string                   `json:"required"`
	Ordering      []string                   `json:"propertyOrdering"`
	AnyOf         []*generateSchema          `json:"anyOf"`
	Example       any                        `json:"example"`
	MinItems      *int                       `json:"minItems"`
	MaxItems      *int                       `json:"maxItems"`
	MinLength     *int                       `json:"minLength"`
	MaxLength     *int                       `json:"maxLength"`
	MinProperties *int                       `json:"minProperties"`
	MaxProperties *int                       `json:"maxProperties"`
	Minimum       *float64                   `json:"minimum"`
	Maximum       *float64                   `json:"maximum"`
}

var generateName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)

func (g *generateWire) checkTools() error {
	for i, t := range g.in.Tools {
		for j, f := range t.Functions {
			at := fmt.Sprintf("* GenerateContentRequest.tools[%d].function_declarations[%d]", i, j)
			switch {
			case !generateName.MatchString(f.Name):
				return refusal("%s.name: Invalid function name. Must start with a letter or an underscore.", at)
			case f.Parameters != nil && f.JSONSchema != nil:
				return refusal("%s: parameters and parameters_json_schema are mutually exclusive", at)
			case f.Parameters != nil:
				if err := f.Parameters.check(at + ".parameters"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// check refuses what the service can't read.
func (s *generateSchema) check(at string) error {
	kind, formats := strings.ToUpper(s.Type), map[string][]string{
		"STRING": {"", "enum", "date-time"}, "NUMBER": {"", "float", "double"}, "INTEGER": {"", "int32", "int64"},
		"BOOLEAN": {""}, "ARRAY": {""}, "OBJECT": {""},
	}
	known, ok := formats[kind]
	switch {
	case !ok && len(s.AnyOf) == 0:
		return refusal("%s.type: Invalid value", at)
	case ok && !slices.Contains(known, s.Format):
		return refusal("%s.format: only 'enum' and 'date-time' are supported for STRING type", at)
	case len(s.Enum) > 0 && kind != "STRING":
		return refusal("%s.enum: only allowed for STRING type", at)
	case slices.Contains(s.Enum, ""):
		return refusal("%s.enum: cannot be empty", at)
	case kind == "OBJECT" && len(s.Properties) == 0:
		return refusal("%s.properties: should be non-empty for OBJECT type", at)
	case kind == "ARRAY" && s.Items == nil:
		return refusal("%s.items: missing field.", at)
	}
	for i, name := range s.Required {
		if s.Properties[name] == nil {
			return refusal("%s.required[%d]: property is not defined", at, i)
		}
	}
	for name, p := range s.Properties {
		if err := p.check(at + ".properties[" + name + "]"); err != nil {
			return err
		}
	}
	for i, p := range s.AnyOf {
		if err := p.check(fmt.Sprintf("%s.any_of[%d]", at, i)); err != nil {
			return err
		}
	}
	if s.Items != nil {
		return s.Items.check(at + ".items")
	}
	return nil
}
