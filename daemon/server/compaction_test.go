package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/compact"
	"loci/daemon/api"
)

const herons = "They spoke of herons."

// talkative is a model with long answers that summarises in three words.
func talkative(_ context.Context, _ int, req core.ChatRequest) []any {
	last := req.Messages[len(req.Messages)-1]
	if strings.HasSuffix(req.CacheKey, "-summary") ||
		last.Role == core.ChatReminder && strings.Contains(last.Text, "the summary that will take the place") {
		return []any{herons}
	}
	return []any{strings.Repeat("many words ", 100)}
}

// untilCompacted sends until the answer tells of a compaction, and returns that answer.
func untilCompacted(t *testing.T, send func() []api.Message) []api.Message {
	t.Helper()
	for range 40 {
		msgs := send()
		for _, m := range msgs {
			if m.MessageType == api.MessageSummary || m.MessageType == api.MessageUser {
				return msgs
			}
		}
	}
	t.Fatal("nothing was ever compacted")
	return nil
}

// only returns the one message of a type.
func only(t *testing.T, msgs []api.Message, kind api.MessageType) api.Message {
	t.Helper()
	var found []api.Message
	for _, m := range msgs {
		if m.MessageType == kind {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d messages of type %s: %v", len(found), kind, identities(msgs))
	}
	return found[0]
}

type packed struct {
	Type    string               `json:"type"`
	Message string               `json:"message"`
	Time    string               `json:"time"`
	Stats   *api.CompactionStats `json:"compaction_stats"`
}

func unpacked(t *testing.T, m api.Message) packed {
	t.Helper()
	var p packed
	if err := json.Unmarshal([]byte(m.Content.String()), &p); err != nil {
		t.Fatalf("%v: %s", err, m.Content.String())
	}
	return p
}

func TestACompactionIsToldAsTheRequestAskedForIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ asked, tokens, stream bool }{
		"asked, whole": {asked: true, stream: true}, "asked, tokens": {asked: true, stream: true, tokens: true},
		"asked, no stream": {asked: true},
		"not asked, whole": {stream: true}, "not asked, tokens": {stream: true, tokens: true}, "not asked, no stream": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, talkative)
			a := f.agent(map[string]any{"context_window_limit": 4000})
			agent := "/v1/agents/" + a.ID
			msgs := untilCompacted(t, func() []api.Message {
				body := with(text(strings.Repeat("some words ", 20)), "include_compaction_messages", c.asked)
				if c.stream {
					return f.call("POST", agent+"/messages/stream", with(body, "stream_tokens", c.tokens)).events()
				}
				return as[api.Response](f.call("POST", agent+"/messages", body)).Messages
			})
			conversation := as[[]api.Message](f.call("GET", "/v1/conversations/"+a.ID+"/messages", nil))
			aware := as[[]api.Message](f.call("GET", agent+"/messages?conversation_id="+a.ID, nil))
			listed := only(t, conversation, api.MessageSummary)
			if diff := cmp.Diff(listed, only(t, aware, api.MessageSummary)); diff != "" {
				t.Errorf("two lists of a conversation differ:\n%s", diff)
			}
			var alert api.Message
			for _, m := range f.messages(a.ID) {
				if m.ID == listed.ID {
					alert = m
				}
			}
			if alert.MessageType != api.MessageUser || alert.OTID != listed.OTID {
				t.Errorf("the agent's list has %+v", alert)
			}
			if listed.Summary != herons || listed.CompactionStats == nil ||
				listed.CompactionStats.MessagesCountAfter >= listed.CompactionStats.MessagesCountBefore {
				t.Errorf("summary %q, %+v", listed.Summary, listed.CompactionStats)
			}
			p := unpacked(t, alert)
			if p.Type != "system_alert" || !strings.Contains(p.Message, herons) || p.Time == "" || p.Stats == nil ||
				p.Stats.Trigger != "post_step_context_check" {
				t.Errorf("alert %+v", p)
			}
			told := alert
			if c.asked {
				told = listed
				event, at := only(t, msgs, api.MessageEvent), map[api.MessageType]int{}
				for i, m := range msgs {
					at[m.MessageType] = i
				}
				if at[api.MessageEvent] > at[api.MessageSummary] || event.ID == "" || event.OTID == "" || event.EventType != "compaction" ||
					event.EventData["trigger"] != "post_step_context_check" || event.EventData["context_window"] != 4000.0 ||
					event.EventData["context_token_estimate"] == nil {
					t.Errorf("event %+v of %v", event, identities(msgs))
				}
			} else if strings.Contains(string(mustJSON(t, msgs)), string(api.MessageEvent)) {
				t.Errorf("an event for one who did not ask: %v", identities(msgs))
			}
			if diff := cmp.Diff(told, only(t, msgs, told.MessageType)); diff != "" {
				t.Errorf("list and answer differ (-list +answer):\n%s", diff)
			}
			run := told.RunID
			if diff := cmp.Diff(told, first(t, as[[]api.Message](f.call("GET", "/v1/runs/"+run+"/messages", nil)), told.ID)); diff != "" {
				t.Errorf("the run's list differs (-list +run):\n%s", diff)
			}
			own := f.call("GET", api.PathRuns+"/"+run+"/events", nil).events()
			if s := only(t, own, api.MessageSummary); s.ID != listed.ID || s.OTID != listed.OTID || s.Summary != herons {
				t.Errorf("our own stream has %+v", s)
			}
			only(t, own, api.MessageEvent)
		})
	}
}

func first(t *testing.T, msgs []api.Message, id string) api.Message {
	t.Helper()
	for _, m := range msgs {
		if m.ID == id {
			return m
		}
	}
	t.Fatalf("%s is not among %v", id, identities(msgs))
	return api.Message{}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestWhatACompactionTellsIsFilteredByType(t *testing.T) {
	t.Parallel()
	f := newFixture(t, talkative)
	a := f.agent(map[string]any{"context_window_limit": 4000})
	msgs := untilCompacted(t, func() []api.Message {
		return f.call("POST", "/v1/agents/"+a.ID+"/messages/stream", with(text(strings.Repeat("some words ", 20)),
			"include_compaction_messages", true, "include_return_message_types", []string{"summary_message"})).events()
	})
	only(t, msgs[:1], api.MessageSummary)
	if len(msgs) != 3 {
		t.Errorf("stream has %v", identities(msgs))
	}
}

func TestSummarizeAndCompactAnswerWithTheSummaryAndTheCounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, talkative)
	a := f.agent(map[string]any{"compaction_settings": map[string]any{"prompt": "Be short."}})
	conv := as[api.Conversation](f.call("POST", "/v1/conversations/?agent_id="+a.ID, map[string]any{}))
	for _, c := range []struct {
		path, read string
		body       any
	}{
		{"/v1/agents/" + a.ID + "/summarize", a.ID, nil},
		{"/v1/conversations/" + conv.ID + "/compact", conv.ID, map[string]any{"compaction_settings": nil}},
		{"/v1/conversations/default/compact", a.ID, map[string]any{"agent_id": a.ID, "compaction_settings": map[string]any{"mode": "all"}}},
		{
			"/v1/conversations/" + a.ID + "/compact", a.ID,
			map[string]any{
				"compaction_settings": map[string]any{"mode": "self_compact_all", "prompt": "the summary that will take the place"},
			},
		},
	} {
		for range 8 {
			as[api.Response](f.call("POST", "/v1/conversations/"+c.read+"/messages", with(text("tell me of herons"), "streaming", false)))
		}
		window := func() int {
			return len(as[api.Conversation](f.call("GET", "/v1/conversations/"+c.read, nil)).InContextMessageIDs)
		}
		listed := func() int {
			return len(as[[]api.Message](f.call("GET", "/v1/conversations/"+c.read+"/messages?limit=1000", nil)))
		}
		before, all := window(), listed()
		got := as[api.Compaction](f.call("POST", c.path, c.body))
		if want := (api.Compaction{Summary: herons, NumMessagesBefore: before, NumMessagesAfter: window()}); got != want ||
			got.NumMessagesAfter >= got.NumMessagesBefore {
			t.Errorf("%s: %+v, want %+v", c.path, got, want)
		}
		if now := listed(); now != all+1 {
			t.Errorf("%s: %d messages listed, then %d", c.path, all, now)
		}
	}
}

func TestAnotherModeForOneCompactionBringsItsOwnPrompt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, talkative)
	a := f.agent(map[string]any{"compaction_settings": map[string]any{"prompt": "Be short."}})
	for _, c := range []struct {
		settings map[string]any
		want     string
	}{
		{nil, "Be short."},
		{map[string]any{"mode": "sliding_window", "clip_chars": 100}, "Be short."},
		{map[string]any{"mode": "all"}, compact.Settings{Mode: compact.All}.Instruction()},
		{map[string]any{"mode": "all", "prompt": "One line."}, "One line."},
	} {
		for range 3 { // few enough that one sentence may take their place
			as[api.Response](f.call("POST", "/v1/agents/"+a.ID+"/messages", text("tell me of herons")))
		}
		as[api.Compaction](f.call("POST", "/v1/agents/"+a.ID+"/summarize", map[string]any{"compaction_settings": c.settings}))
		f.model.mu.Lock()
		got := f.model.requests[len(f.model.requests)-1].System
		f.model.mu.Unlock()
		if got != c.want {
			t.Errorf("%v: the summariser was told %q", c.settings, got)
		}
	}
	if s := as[api.AgentState](
		f.call("GET", "/v1/agents/"+a.ID, nil),
	).CompactionSettings; *s.Mode != "sliding_window" ||
		*s.Prompt != "Be short." {
		t.Errorf("the agent's settings became %+v", s)
	}
}

func TestWhatCannotBeCompactedIsRefused(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, g.say)
	a := f.agent(nil)
	unknown := "123e4567-e89b-42d3-8456-426614174000"
	wrong := func(key string, v any) any {
		return map[string]any{"compaction_settings": map[string]any{key: v}}
	}
	summarize := "/v1/agents/" + a.ID + "/summarize"
	for _, c := range []struct {
		path string
		body any
		want int
	}{
		{summarize, nil, http.StatusBadRequest},
		{"/v1/conversations/" + a.ID + "/compact", nil, http.StatusBadRequest},
		{"/v1/conversations/default/compact", nil, http.StatusBadRequest},
		{"/v1/agents/agent-" + unknown + "/summarize", nil, http.StatusNotFound},
		{"/v1/conversations/conv-" + unknown + "/compact", nil, http.StatusNotFound},
		{"/v1/agents/nonsense/summarize", nil, http.StatusUnprocessableEntity},
		{"/v1/conversations/nonsense/compact", nil, http.StatusUnprocessableEntity},
		{summarize, wrong("mode", "magic"), http.StatusUnprocessableEntity},
		{summarize, wrong("clip_chars", "many"), http.StatusUnprocessableEntity},
		{summarize, wrong("model", "noslash"), http.StatusBadRequest},
		{summarize, wrong("sliding_window_percentage", 1.5), http.StatusUnprocessableEntity},
	} {
		if got := f.call("POST", c.path, c.body); got.status != c.want {
			t.Errorf("%s %v: %d, want %d: %s", c.path, c.body, got.status, c.want, got.body)
		}
	}
	run := as[api.Run](f.call("POST", "/v1/agents/"+a.ID+"/messages/async", text("hi")))
	<-g.reached
	if r := f.call("POST", summarize, nil).want(http.StatusConflict); !strings.Contains(string(r.body), run.ID) {
		t.Errorf("busy: %s", r.body)
	}
	close(g.open)
	f.call("POST", "/v1/runs/"+run.ID+"/stream", nil).events()
}

func TestASummariserThatFailsIsAnErrorForWhoAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ context.Context, _ int, req core.ChatRequest) []any {
		if strings.HasSuffix(req.CacheKey, "-summary") {
			return []any{&core.Error{Kind: core.RateLimited, Msg: "slow down", Provider: true}}
		}
		return []any{"ok"}
	})
	a := f.agent(nil)
	for range 8 {
		as[api.Response](f.call("POST", "/v1/agents/"+a.ID+"/messages", text("hi")))
	}
	before := as[api.AgentState](f.call("GET", "/v1/agents/"+a.ID, nil)).MessageIDs
	f.call("POST", "/v1/agents/"+a.ID+"/summarize", nil).want(http.StatusTooManyRequests)
	if diff := cmp.Diff(before, as[api.AgentState](f.call("GET", "/v1/agents/"+a.ID, nil)).MessageIDs); diff != "" {
		t.Errorf("the window changed:\n%s", diff)
	}
}

func TestCompactionSettingsAreCheckedAndCompleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	for body, status := range map[string]int{
		`{"model":"noslash"}`: http.StatusBadRequest, `{"sliding_window_percentage":0}`: http.StatusUnprocessableEntity,
		`{"clip_chars":-1}`: http.StatusUnprocessableEntity,
	} {
		body = `{"compaction_settings":` + body + `}`
		f.call("POST", "/v1/agents", body).want(status)
		f.call("PATCH", "/v1/agents/"+f.agent(nil).ID, body).want(status)
	}
	a := f.agent(nil)
	path := "/v1/agents/" + a.ID
	f.call("POST", "/v1/agents", `{"compaction_settings":{"mode":"magic"}}`).want(http.StatusUnprocessableEntity)
	f.call("PATCH", path, `{"compaction_settings":{"mode":"magic"}}`).want(http.StatusUnprocessableEntity)
	no := false
	settings := func(mode, prompt string, clip int, share float64) *api.CompactionSettings {
		model := "test/model"
		return &api.CompactionSettings{
			Model:                   &model,
			Mode:                    &mode,
			Prompt:                  &prompt,
			ClipChars:               api.Some(clip),
			SlidingWindowPercentage: &share,
			PromptAcknowledgement:   &no,
		}
	}
	plain, self := compact.Settings{}.Instruction(), compact.Settings{Mode: compact.SelfAll}.Instruction()
	unclipped := settings("self_compact_all", self, 0, 0.5)
	unclipped.ClipChars = api.Null[int]()
	if diff := cmp.Diff(settings("sliding_window", plain, 50_000, 0.3), a.CompactionSettings); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		patch string
		want  *api.CompactionSettings
	}{
		{`{"mode":"all","prompt":"Mine.","clip_chars":100}`, settings("all", "Mine.", 100, 0.3)},
		{`{"sliding_window_percentage":0.5}`, settings("all", "Mine.", 100, 0.5)},
		{`{"mode":"self_compact_all"}`, settings("self_compact_all", self, 100, 0.5)},
		{`{"clip_chars":null}`, unclipped},
		{`{"sliding_window_percentage":0.5}`, unclipped},
		{`null`, settings("sliding_window", plain, 50_000, 0.3)},
	} {
		got := as[api.AgentState](f.call("PATCH", path, `{"compaction_settings":`+c.patch+`}`))
		if diff := cmp.Diff(c.want, got.CompactionSettings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.patch, diff)
		}
	}
}

func TestTheContextIsTheSumOfItsParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, talkative)
	a := f.agent(human())
	check := func(summary bool) {
		t.Helper()
		w := as[api.ContextWindow](f.call("GET", "/v1/agents/"+a.ID+"/context", nil))
		sum := w.NumTokensSystem + w.NumTokensCoreMemory + w.NumTokensExternalMemorySummary + w.NumTokensMemoryFilesystem +
			w.NumTokensToolUsageRules +
			w.NumTokensDirectories + w.NumTokensSummaryMemory + w.NumTokensFunctionsDefinitions + w.NumTokensMessages
		if sum != w.ContextWindowSizeCurrent || (w.NumTokensSummaryMemory > 0) != summary ||
			(api.Val(w.SummaryMemory) == herons) != summary {
			t.Errorf("sum %d of %+v", sum, w)
		}
		if ids := as[api.AgentState](
			f.call("GET", "/v1/agents/"+a.ID, nil),
		).MessageIDs; w.NumMessages != len(ids) ||
			len(w.Messages) != len(ids) {
			t.Errorf("%d messages, %d of them shown, %d ids", w.NumMessages, len(w.Messages), len(ids))
		}
	}
	check(false)
	for range 8 {
		as[api.Response](f.call("POST", "/v1/agents/"+a.ID+"/messages", text("tell me of herons")))
	}
	as[api.Block](f.call("PATCH", "/v1/agents/"+a.ID+"/core-memory/blocks/human", map[string]any{"value": "announced to the agent"}))
	as[api.Response](f.call("POST", "/v1/agents/"+a.ID+"/messages", text("and now")))
	check(false)
	as[api.Compaction](f.call("POST", "/v1/agents/"+a.ID+"/summarize", nil))
	check(true)
}
