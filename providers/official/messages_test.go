package official

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"loci/providers/providertest"
)

func sdk(s *providertest.Server) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("key-1"), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
}

func server(t *testing.T, turns ...providertest.Turn) *providertest.Server {
	t.Helper()
	s := providertest.NewServer(t)
	s.Key, s.Models = "key-1", append(providertest.ClaudeModels(), s.Models...)
	s.Script(turns...)
	return s
}

var tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
	Name: "weather", Description: anthropic.String("Tells the weather."),
	InputSchema: anthropic.ToolInputSchemaParam{
		Properties: map[string]any{"city": map[string]any{"type": "string"}},
		Required:   []string{"city"},
	},
}}}

func ask(model string, messages ...anthropic.MessageParam) anthropic.MessageNewParams {
	mark := anthropic.NewCacheControlEphemeralParam()
	last := messages[len(messages)-1].Content
	if r := last[len(last)-1].OfToolResult; r != nil {
		r.CacheControl = mark
	} else {
		last[len(last)-1].OfText.CacheControl = mark
	}
	return anthropic.MessageNewParams{
		Model: model, MaxTokens: 4096, Messages: messages, Tools: tools,
		System: []anthropic.TextBlockParam{{Text: "Be brief.", CacheControl: mark}},
	}
}

func said(text string) anthropic.MessageParam {
	return anthropic.NewUserMessage(anthropic.NewTextBlock(text))
}

// streamed reads an answer as a stream and puts it together as the SDK does.
func streamed(t *testing.T, c anthropic.Client, p anthropic.MessageNewParams) (anthropic.Message, error) {
	t.Helper()
	var whole anthropic.Message
	stream := c.Messages.NewStreaming(t.Context(), p)
	defer stream.Close()
	for stream.Next() {
		if err := whole.Accumulate(stream.Current()); err != nil {
			t.Errorf("the SDK cannot add %s: %v", stream.Current().RawJSON(), err)
		}
	}
	return whole, stream.Err()
}

func TestTheSDKReadsAnAnswerStreamedAndNot(t *testing.T) {
	t.Parallel()
	turn := providertest.Turn{
		Reasoning: "They ask for the weather.", Text: "Let me <look>.",
		Calls: []providertest.Call{
			{ID: "toolu_1", Name: "weather", Arguments: `{"city":"Oslo"}`}, {ID: "toolu_2", Name: "weather", Arguments: `{"city":"Rome"}`},
		},
	}
	for name, form := range map[string]providertest.Form{
		"as it is": {}, "gzip": {Gzip: true}, "CRLF": {CRLF: true}, "byte by byte": {Bytes: true},
	} {
		s := server(t, turn, turn)
		s.Form = form
		c := sdk(s)
		got, err := streamed(t, c, ask("test-model", said("Weather?")))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.Form = providertest.Form{}
		whole, err := c.Messages.New(t.Context(), ask("test-model", said("Weather?")))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*anthropic.Message{&got, whole} {
			var text string
			for _, b := range m.Content {
				text += b.Type + " " + b.Thinking + b.Text + b.Name + string(b.Input) + "; "
			}
			const want = `thinking They ask for the weather.; text Let me <look>.; tool_use weather{"city":"Oslo"}; tool_use ` +
				`weather{"city":"Rome"}; `
			if text != want || m.StopReason != anthropic.StopReasonToolUse || m.Content[0].Signature == "" || m.Usage.OutputTokens == 0 {
				t.Errorf("%s: %s %s %+v", name, m.StopReason, text, m.Usage)
			}
		}
		if got.Content[0].Signature != whole.Content[0].Signature {
			t.Errorf("%s: two signatures of the same thinking", name)
		}
	}
}

func TestTheSDKSeesTheCacheGrow(t *testing.T) {
	t.Parallel()
	s := server(t)
	c := sdk(s)
	messages := []anthropic.MessageParam{said("SAY one " + strings.Repeat("word ", 100))}
	var before int64
	for i := range 4 {
		m, err := streamed(t, c, ask("claude-sonnet-4-6", messages...))
		if err != nil {
			t.Fatal(err)
		}
		u := m.Usage
		total := u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
		if u.CacheReadInputTokens != before || u.CacheCreationInputTokens != total-before ||
			u.CacheCreation.Ephemeral5mInputTokens != total-before {
			t.Errorf("request %d: %d were sent before, %+v", i, before, u)
		}
		before = total
		messages[len(messages)-1].Content[0].OfText.CacheControl = anthropic.CacheControlEphemeralParam{} // four may stand at once
		messages = append(messages, m.ToParam(), said("SAY more"))
	}
}

// betaTurn asks on the beta service, which says what it dropped.
func betaTurn(t *testing.T, c anthropic.Client, p anthropic.BetaMessageNewParams) (anthropic.BetaMessage, error) {
	t.Helper()
	p.Model, p.MaxTokens = "claude-opus-5-5", 4096
	p.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaThinkingBindingControls2026_08_01}
	var whole anthropic.BetaMessage
	stream := c.Beta.Messages.NewStreaming(t.Context(), p)
	defer stream.Close()
	for stream.Next() {
		if err := whole.Accumulate(stream.Current()); err != nil {
			t.Error(err)
		}
	}
	return whole, stream.Err()
}

func TestTheSDKMeetsTheBindingOfThinking(t *testing.T) {
	t.Parallel()
	s := server(t)
	for range 4 {
		s.Script(providertest.Turn{Reasoning: "Hm.", Text: "Yes."})
	}
	c := sdk(s)
	system := func(text string) []anthropic.BetaTextBlockParam { return []anthropic.BetaTextBlockParam{{Text: text}} }
	hello := anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("hello"))
	first, err := betaTurn(t, c, anthropic.BetaMessageNewParams{System: system("Be brief."), Messages: []anthropic.BetaMessageParam{hello}})
	if err != nil {
		t.Fatal(err)
	}
	if b := first.Content[0]; b.Type != "thinking" || b.Thinking != "" || b.Signature == "" {
		t.Errorf("by default a thought is signed and not shown: %+v", b)
	}
	more := []anthropic.BetaMessageParam{hello, first.ToParam(), anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("and?"))}
	if m, err := betaTurn(t, c, anthropic.BetaMessageNewParams{System: system("Be brief."), Messages: more}); err != nil ||
		len(m.InputTransformations) != 0 {
		t.Errorf("behind the same prefix: %v, %+v", err, m.InputTransformations)
	}
	_, err = betaTurn(t, c, anthropic.BetaMessageNewParams{System: system("Be long."), Messages: more})
	var e *anthropic.Error
	if !errors.As(err, &e) || e.StatusCode != 400 || !strings.Contains(err.Error(), "bound to a different conversation") {
		t.Errorf("behind another system text: %v", err)
	}
	m, err := betaTurn(t, c, anthropic.BetaMessageNewParams{
		System: system("Be long."), Messages: more,
		Thinking: anthropic.BetaThinkingConfigParamUnion{OfAdaptive: &anthropic.BetaThinkingConfigAdaptiveParam{
			Display: anthropic.BetaThinkingConfigAdaptiveDisplaySummarized,
			BlockBinding: anthropic.BetaThinkingBlockBindingParam{
				PrefixMismatchBehavior: anthropic.BetaThinkingPrefixMismatchBehaviorDropBlock,
			},
		}},
	})
	if err != nil || len(m.InputTransformations) != 1 || m.InputTransformations[0].Reason != "prefix_binding_mismatch" {
		t.Errorf("with drop_block: %v, %+v", err, m.InputTransformations)
	}
	if len(m.Content) == 0 || m.Content[0].Thinking != "Hm." {
		t.Errorf("a thought is shown where it was asked for: %+v", m.Content)
	}
}

func TestTheSDKIsRefusedWhatNewModelsRefuse(t *testing.T) {
	t.Parallel()
	c := sdk(server(t))
	for what, change := range map[string]func(*anthropic.MessageNewParams){
		"deprecated for this model": func(p *anthropic.MessageNewParams) { p.Temperature = anthropic.Float(.5) },
		"forced tool use": func(p *anthropic.MessageNewParams) {
			p.ToolChoice = anthropic.ToolChoiceUnionParam{OfAny: &anthropic.ToolChoiceAnyParam{}}
		},
		"thinking.type.enabled":  func(p *anthropic.MessageNewParams) { p.Thinking = anthropic.ThinkingConfigParamOfEnabled(2048) },
		"thinking.type.disabled": func(p *anthropic.MessageNewParams) { p.Thinking.OfDisabled = &anthropic.ThinkingConfigDisabledParam{} },
		"maximum of 4 blocks": func(p *anthropic.MessageNewParams) {
			for range 4 {
				p.Messages = append(p.Messages, ask("", said("more")).Messages...)
			}
		},
		"maximum allowed number": func(p *anthropic.MessageNewParams) { p.MaxTokens = 200_000 },
		"without `tool_result`": func(p *anthropic.MessageNewParams) {
			p.Messages = append(p.Messages, anthropic.NewAssistantMessage(anthropic.NewToolUseBlock("toolu_1", map[string]any{},
				"weather")))
		},
	} {
		p := ask("claude-opus-5-5", said("hello"))
		change(&p)
		_, err := streamed(t, c, p)
		var e *anthropic.Error
		if !errors.As(err, &e) || e.StatusCode != 400 || e.Type() != "invalid_request_error" || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestTheSDKReadsHowAnAnswerEnds(t *testing.T) {
	t.Parallel()
	for finish, want := range map[string]anthropic.StopReason{
		"": anthropic.StopReasonEndTurn, "length": anthropic.StopReasonMaxTokens, "refusal": anthropic.StopReasonRefusal,
		"pause_turn": anthropic.StopReasonPauseTurn, "model_context_window_exceeded": anthropic.StopReasonModelContextWindowExceeded,
	} {
		m, err := streamed(t, sdk(server(t, providertest.Turn{Text: "x", Finish: finish, Refusal: "No."})), ask("test-model", said("x")))
		if err != nil || m.StopReason != want || (finish == "refusal") != (m.StopDetails.Explanation == "No.") {
			t.Errorf("%s: %s %+v %v", finish, m.StopReason, m.StopDetails, err)
		}
	}
}

func TestTheSDKReadsEveryError(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 404: "not_found_error", 429: "rate_limit_error",
		500: "api_error", 529: "overloaded_error",
	} {
		_, err := streamed(t, sdk(server(t, providertest.Turn{Fail: &providertest.Fail{Status: status, RetryAfter: "3"}})),
			ask("test-model", said("x")))
		var e *anthropic.Error
		if !errors.As(err, &e) || e.StatusCode != status || string(e.Type()) != kind || e.Response.Header.Get("Retry-After") != "3" {
			t.Errorf("%d: %v", status, err)
		}
	}
	fail := providertest.Turn{Text: "half of", Fail: &providertest.Fail{Broken: providertest.MidStream}}
	_, err := streamed(t, sdk(server(t, fail)), ask("test-model", said("x")))
	var e *anthropic.Error
	if !errors.As(err, &e) || e.Type() != "overloaded_error" {
		t.Errorf("in the stream: %v", err)
	}
	s := server(t)
	s.Key = "another"
	if _, err := streamed(t, sdk(s), ask("test-model", said("x"))); !errors.As(err, &e) || e.StatusCode != http.StatusUnauthorized {
		t.Errorf("a wrong key: %v", err)
	}
}

func TestTheSDKListsModelsOverPages(t *testing.T) {
	t.Parallel()
	s := server(t)
	c := sdk(s)
	pager := c.Models.ListAutoPaging(t.Context(), anthropic.ModelListParams{Limit: anthropic.Int(2)})
	var names []string
	for pager.Next() {
		m := pager.Current()
		names = append(names, m.ID)
		if m.ID == "claude-sonnet-5-5" && (!m.Capabilities.Thinking.Types.BetweenTools.Supported ||
			m.Capabilities.Thinking.Types.Disabled.Supported ||
			!m.Capabilities.Effort.Max.Supported || m.MaxInputTokens != 1_000_000 || m.MaxTokens != 128_000) {
			t.Errorf("%s", m.RawJSON())
		}
	}
	if pager.Err() != nil || len(names) != len(s.Models) || s.Listings() != 4 {
		t.Errorf("%v in %d requests: %v", names, s.Listings(), pager.Err())
	}
}
