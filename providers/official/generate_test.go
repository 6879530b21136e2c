package official

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"loci/providers/providertest"
)

func gemini(t *testing.T, turns ...providertest.Turn) (*providertest.Server, *genai.Client) {
	t.Helper()
	s := providertest.NewServer(t)
	s.Key, s.Models = "key-1", append(providertest.GeminiModels(), s.Models...)
	s.Script(turns...)
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "key-1", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: s.URL},
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func config() *genai.GenerateContentConfig {
	city := &genai.Schema{Type: genai.TypeObject, Required: []string{"city"}, Properties: map[string]*genai.Schema{
		"city": {Type: genai.TypeString, Enum: []string{"Oslo", "Rome"}},
	}}
	return &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("Be brief.", genai.RoleUser),
		Tools:             []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "weather", Parameters: city}}}},
		ThinkingConfig:    &genai.ThinkingConfig{IncludeThoughts: true},
	}
}

func question(text string) *genai.Content { return genai.NewContentFromText(text, genai.RoleUser) }

// joined reads an answer to its end: all parts, and what came last.
func joined(seq iter.Seq2[*genai.GenerateContentResponse, error]) (*genai.Content, *genai.GenerateContentResponse, error) {
	whole, last := &genai.Content{Role: genai.RoleModel}, (*genai.GenerateContentResponse)(nil)
	for r, err := range seq {
		if err != nil {
			return whole, last, err
		}
		last = r
		for _, c := range r.Candidates {
			if c.Content != nil {
				whole.Parts = append(whole.Parts, c.Content.Parts...)
			}
		}
	}
	return whole, last, nil
}

func words(c *genai.Content) string {
	var thoughts, text, calls string
	for _, p := range c.Parts {
		switch {
		case p.FunctionCall != nil:
			calls += fmt.Sprint(p.FunctionCall.ID, " ", p.FunctionCall.Name, p.FunctionCall.Args, len(p.ThoughtSignature) > 0, "; ")
		case p.Thought:
			thoughts += p.Text
		default:
			text += p.Text
		}
	}
	return thoughts + "|" + text + "|" + calls
}

func TestGoogleReadsAnAnswerStreamedAndNot(t *testing.T) {
	t.Parallel()
	turn := providertest.Turn{
		Reasoning: "They ask for the weather.", Text: "Let me <look>.",
		Calls: []providertest.Call{
			{ID: "a", Name: "weather", Arguments: `{"city":"Oslo"}`}, {ID: "b", Name: "weather", Arguments: `{"city":"Rome"}`},
		},
	}
	const want = "They ask for the weather.|Let me <look>.|a weathermap[city:Oslo] true; b weathermap[city:Rome] false; "
	for name, form := range map[string]providertest.Form{
		"as it is": {}, "gzip": {Gzip: true}, "CRLF": {CRLF: true}, "byte by byte": {Bytes: true},
	} {
		s, c := gemini(t, turn, turn)
		s.Form = form
		asked := []*genai.Content{question("hi")}
		got, last, err := joined(c.Models.GenerateContentStream(t.Context(), "gemini-3.8-flash", asked, config()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.Form = providertest.Form{}
		whole, err := c.Models.GenerateContent(t.Context(), "gemini-3.8-flash", asked, config())
		if err != nil {
			t.Fatal(err)
		}
		u := last.UsageMetadata
		if words(got) != want || words(whole.Candidates[0].Content) != want || last.Candidates[0].FinishReason != genai.FinishReasonStop ||
			u == nil || u.ThoughtsTokenCount == 0 || u.PromptTokenCount == 0 || u.CandidatesTokenCount == 0 {
			t.Errorf("%s: %s, %s, %+v", name, words(got), words(whole.Candidates[0].Content), u)
		}
		if r := s.Last(); r.System != "Be brief." || !slices.Equal(r.Tools, []string{"weather"}) || r.Model != "gemini-3.8-flash" {
			t.Errorf("%+v", r)
		}
	}
}

func TestGoogleGoesOnOverCallsWithTheirSignatures(t *testing.T) {
	t.Parallel()
	s, c := gemini(t)
	const plan = "THINK one\nCALL weather {\"city\":\"Oslo\"}\nCALL& weather {\"city\":\"Rome\"}\nTHINK two\nSAY done"
	history := []*genai.Content{question(plan)}
	var before int32
	for step := range 3 {
		m, last, err := joined(c.Models.GenerateContentStream(t.Context(), "gemini-3.8-flash", history, config()))
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		u := last.UsageMetadata
		if u.CachedContentTokenCount != before {
			t.Errorf("step %d: %d tokens were sent before, %d are cached", step, before, u.CachedContentTokenCount)
		}
		before = u.PromptTokenCount
		answers := &genai.Content{Role: genai.RoleUser}
		for _, p := range m.Parts {
			if f := p.FunctionCall; f != nil {
				answers.Parts = append(answers.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
					ID: f.ID, Name: f.Name, Response: map[string]any{"output": "sunny"},
				}})
			}
		}
		history = append(history, m)
		if len(answers.Parts) == 0 {
			break
		}
		history = append(history, answers)
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	again := append(slices.Clone(history), question("SAY more"))
	if _, err := c.Models.GenerateContent(t.Context(), "gemini-3.8-flash", again, config()); err != nil {
		t.Errorf("another turn: %v", err)
	}
	if _, err := c.Models.GenerateContent(t.Context(), "gemini-3.5-flash", again, config()); err == nil ||
		!strings.Contains(err.Error(), "Corrupted thought signature") {
		t.Errorf("another model takes the signatures: %v", err)
	}
}

func TestGoogleIsRefusedWhatItsServiceRefuses(t *testing.T) {
	t.Parallel()
	_, c := gemini(t)
	call := func(signature string) *genai.Content {
		return &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
			{FunctionCall: &genai.FunctionCall{Name: "weather", Args: map[string]any{}}, ThoughtSignature: []byte(signature)},
		}}
	}
	response := &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "weather", Response: map[string]any{"output": "x"}}}
	other := &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "clock"}}
	answer := func(parts ...*genai.Part) *genai.Content { return &genai.Content{Role: genai.RoleUser, Parts: parts} }
	hello := question("hello")
	for want, history := range map[string][]*genai.Content{
		"missing a thought_signature":               {hello, call(""), answer(response)},
		"Corrupted thought signature":               {hello, call("not one"), answer(response)},
		"number of function response parts":         {hello, call("x"), answer(response, response)},
		"function response turn comes":              {hello, answer(response)},
		"function call turn comes immediately":      {call("x"), answer(response)},
		"required oneof field":                      {{Role: genai.RoleUser, Parts: []*genai.Part{{Text: ""}}}},
		"number of function response parts is":      {hello, call("x"), question("well?")},
		"Please use a valid role":                   {{Role: "system", Parts: []*genai.Part{{Text: "x"}}}},
		"does not answer call \"weather\"":          {hello, call("x"), answer(other)},
		"contents.parts must not be empty":          {{Role: genai.RoleUser}},
		"GenerateContentRequest.contents: contents": nil,
	} {
		_, err := c.Models.GenerateContent(t.Context(), "gemini-3.8-flash", history, config())
		refusedWith(t, want, err)
	}
	for want, change := range map[string]func(*genai.GenerateContentConfig){
		"only set only one of": func(c *genai.GenerateContentConfig) {
			c.ThinkingConfig = &genai.ThinkingConfig{ThinkingBudget: genai.Ptr[int32](1), ThinkingLevel: genai.ThinkingLevelLow}
		},
		"Thinking level MINIMAL is not supported": func(c *genai.GenerateContentConfig) {
			c.ThinkingConfig = &genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevelMinimal}
		},
		"enum: only allowed for STRING": func(c *genai.GenerateContentConfig) {
			c.Tools[0].FunctionDeclarations[0].Parameters.Properties["city"].Type = genai.TypeInteger
		},
		"should be non-empty for OBJECT": func(c *genai.GenerateContentConfig) {
			c.Tools[0].FunctionDeclarations[0].Parameters.Properties["x"] = &genai.Schema{Type: genai.TypeObject}
		},
		"Invalid function name": func(c *genai.GenerateContentConfig) { c.Tools[0].FunctionDeclarations[0].Name = "9" },
		"only 'enum' and 'date-time'": func(c *genai.GenerateContentConfig) {
			c.Tools[0].FunctionDeclarations[0].Parameters.Properties["x"] = &genai.Schema{Type: genai.TypeString, Format: "uri"}
		},
		"temperature must be in the range": func(c *genai.GenerateContentConfig) { c.Temperature = genai.Ptr[float32](3) },
		"maxOutputTokens value":            func(c *genai.GenerateContentConfig) { c.MaxOutputTokens = 100_000 },
		"Cannot find field":                func(c *genai.GenerateContentConfig) { c.Seed = genai.Ptr[int32](1) },
	} {
		p := config()
		change(p)
		_, err := c.Models.GenerateContent(t.Context(), "gemini-3.8-flash", []*genai.Content{hello}, p)
		refusedWith(t, want, err)
	}
	p := config()
	p.ThinkingConfig = &genai.ThinkingConfig{ThinkingBudget: genai.Ptr[int32](0)}
	_, err := c.Models.GenerateContent(t.Context(), "gemini-2.5-pro", []*genai.Content{hello}, p)
	refusedWith(t, "thinking budget 0 is invalid", err)
	if _, err := c.Models.GenerateContent(t.Context(), "gemini-2.5-flash", []*genai.Content{hello}, p); err != nil {
		t.Error(err)
	}
}

func refusedWith(t *testing.T, want string, err error) {
	t.Helper()
	var e genai.APIError
	if !errors.As(err, &e) || e.Code != http.StatusBadRequest || e.Status != "INVALID_ARGUMENT" || !strings.Contains(e.Message, want) {
		t.Errorf("%s: %v", want, err)
	}
}

func TestGoogleReadsHowAnAnswerEnds(t *testing.T) {
	t.Parallel()
	for finish, want := range map[string]genai.FinishReason{
		"": genai.FinishReasonStop, "length": genai.FinishReasonMaxTokens, "content_filter": genai.FinishReasonSafety,
		"RECITATION": genai.FinishReasonRecitation, "MALFORMED_FUNCTION_CALL": genai.FinishReasonMalformedFunctionCall,
	} {
		_, c := gemini(t, providertest.Turn{Text: "x", Finish: finish})
		_, last, err := joined(c.Models.GenerateContentStream(t.Context(), "test-model", []*genai.Content{question("x")}, nil))
		if err != nil || last.Candidates[0].FinishReason != want {
			t.Errorf("%s: %+v %v", finish, last, err)
		}
	}
	_, c := gemini(t, providertest.Turn{Finish: "blocked", Refusal: "PROHIBITED_CONTENT"})
	_, last, err := joined(c.Models.GenerateContentStream(t.Context(), "test-model", []*genai.Content{question("x")}, nil))
	if err != nil || len(last.Candidates) > 0 || last.PromptFeedback.BlockReason != genai.BlockedReasonProhibitedContent {
		t.Errorf("blocked: %+v %v", last, err)
	}
}

func TestGoogleReadsEveryError(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE",
	} {
		_, c := gemini(t, providertest.Turn{Fail: &providertest.Fail{Status: status, RetryAfter: "3"}})
		_, _, err := joined(c.Models.GenerateContentStream(t.Context(), "test-model", []*genai.Content{question("x")}, nil))
		var e genai.APIError
		if !errors.As(err, &e) || e.Code != status || e.Status != want || e.Details[0]["retryDelay"] != "3s" {
			t.Errorf("%d: %v", status, err)
		}
	}
	s, c := gemini(t)
	s.Key = "another"
	_, err := c.Models.GenerateContent(t.Context(), "test-model", []*genai.Content{question("x")}, nil)
	refusedWith(t, "API key not valid", err)
}

func TestGoogleAsksVertexForAModelOfAProject(t *testing.T) {
	t.Parallel()
	s, _ := gemini(t, providertest.Turn{Text: "ok"})
	s.Key = ""
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		Backend: genai.BackendVertexAI, Project: "p", Location: "global", HTTPClient: &http.Client{},
		HTTPOptions: genai.HTTPOptions{BaseURL: s.URL, APIVersion: "v1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const path = "/v1/projects/p/locations/global/publishers/google/models/gemini-3.8-flash:streamGenerateContent"
	m, _, err := joined(c.Models.GenerateContentStream(t.Context(), "gemini-3.8-flash", []*genai.Content{question("x")}, config()))
	if err != nil || words(m) != "|ok|" || s.Last().Path != path {
		t.Errorf("%v, %v at %s", m, err, s.Last().Path)
	}
}

func TestGoogleListsModelsAndEmbeds(t *testing.T) {
	t.Parallel()
	s, c := gemini(t)
	var names []string
	page, err := c.Models.List(t.Context(), &genai.ListModelsConfig{PageSize: 3, QueryBase: genai.Ptr(true)})
	for ; err == nil; page, err = page.Next(t.Context()) {
		for _, m := range page.Items {
			names = append(names, m.Name)
			if m.Name == "models/gemini-3.8-flash" && (m.InputTokenLimit != 1_048_576 || m.OutputTokenLimit != 65_536 || !m.Thinking ||
				!slices.Contains(m.SupportedActions, "generateContent")) {
				t.Errorf("%+v", m)
			}
		}
	}
	if !errors.Is(err, genai.ErrPageDone) || len(names) != len(s.Models) || s.Listings() != 3 {
		t.Errorf("%v in %d requests: %v", names, s.Listings(), err)
	}
	texts := []*genai.Content{question("one"), question("two"), question("one")}
	got, err := c.Models.EmbedContent(t.Context(), "gemini-embedding-001", texts, nil)
	if err != nil || len(got.Embeddings) != 3 {
		t.Fatalf("%+v %v", got, err)
	}
	vector := func(i int) []byte { return fmt.Append(nil, got.Embeddings[i].Values) }
	if bytes.Equal(vector(0), vector(1)) || !bytes.Equal(vector(0), vector(2)) {
		t.Errorf("%+v", got.Embeddings)
	}
}
