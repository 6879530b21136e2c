package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/go-cmp/cmp"
)

// framework serves operations as the server does: fields are optional unless they say so, unknown keys pass.
func framework() (*http.ServeMux, huma.API) {
	mux := http.NewServeMux()
	config := huma.DefaultConfig("test", "1")
	config.FieldsOptionalByDefault = true
	config.AllowAdditionalPropertiesByDefault = true
	config.CreateHooks = nil
	return mux, humago.New(mux, config)
}

func ask(mux *http.ServeMux, method, target, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func TestTheFrameworkReadsBodiesAsClientsSendThem(t *testing.T) {
	t.Parallel()
	mux, server := framework()
	var create CreateAgent
	huma.Post(server, "/create", func(_ context.Context, in *struct{ Body CreateAgent }) (*struct{ Body AgentState }, error) {
		create = in.Body
		return &struct{ Body AgentState }{AgentState{ID: "agent-1"}}, nil
	})
	var update UpdateAgent
	huma.Patch(server, "/update", func(_ context.Context, in *struct{ Body UpdateAgent }) (*struct{}, error) {
		update = in.Body
		return nil, nil
	})
	var sent ConversationRequest
	huma.Post(server, "/send", func(_ context.Context, in *struct{ Body ConversationRequest }) (*struct{ Body Response }, error) {
		sent = in.Body
		return &struct{ Body Response }{Response{StopReason: StopFor(StopEndTurn)}}, nil
	})

	w := ask(mux, http.MethodPost, "/create", `{"name":"ada","model":null,"llm_config":null,"metadata":null,"tags":null,"retired":1,
		"memory_blocks":[{"label":"human","value":"","limit":null}],"model_settings":{"provider_type":"openai","new_key":1},
		"tool_rules":[{"type":"run_first","tool_name":"x"}]}`)
	if w.Code != http.StatusOK || Val(create.Name) != "ada" || create.Model != nil || len(create.MemoryBlocks) != 1 ||
		create.ModelSettings == nil {
		t.Errorf("create: %d %s %+v", w.Code, w.Body, create)
	}
	var state map[string]json.RawMessage
	if err := json.Unmarshal(w.Body.Bytes(), &state); err != nil {
		t.Fatal(err)
	}
	if string(state["blocks"]) != "[]" || string(state["description"]) != "null" {
		t.Errorf("an empty list is [] and an absent text null: %s", w.Body)
	}

	w = ask(mux, http.MethodPatch, "/update", `{"description":null,"tags":[],"model_settings":{"temperature":0},"hidden":true}`)
	if w.Code >= 300 || !update.Description.Null || !update.Tags.Set || update.Name.Set ||
		Val(update.ModelSettings.Value.Temperature) != 0 ||
		update.ModelSettings.Value.Temperature == nil ||
		!update.Hidden.Value {
		t.Errorf("update: %d %s %+v", w.Code, w.Body, update)
	}

	for _, body := range []string{
		`{"input":"hi"}`, `{"input":[{"type":"text","text":"hi"}]}`,
		`{"messages":[{"role":"user","content":"hi"},{"type":"approval","approve":true,` +
			`"approval_request_id":"message-1"}],"agent_id":null}`,
	} {
		if w := ask(mux, http.MethodPost, "/send", body); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	if len(sent.Messages) != 2 || sent.Messages[0].Kind() != InputMessage || sent.Messages[1].Kind() != InputApproval {
		t.Errorf("sent %+v", sent)
	}
	for path, body := range map[string]string{"/create": `{"memory_blocks":[{"label":"human"}]}`, "/send": `{"input":5}`} {
		if w := ask(mux, http.MethodPost, path, body); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s %s: %d, want 422", path, body, w.Code)
		}
	}
}

func TestTheFrameworkReadsParameters(t *testing.T) {
	t.Parallel()
	mux, server := framework()
	var got ListRuns
	huma.Get(server, "/runs", func(_ context.Context, in *struct{ ListRuns }) (*struct{ Body []Message }, error) {
		got = in.ListRuns
		return &struct{ Body []Message }{[]Message{{MessageType: MessageUser, ID: "message-1", Content: Text("hi")}}}, nil
	})
	w := ask(mux, http.MethodGet, "/runs?agent_ids=a&agent_ids=b&background=false&limit=3&order=asc", "")
	want := ListRuns{Page: Page{Limit: 3, Order: "asc"}, AgentIDs: []string{"a", "b"}, Background: Given(false)}
	if diff := cmp.Diff(want, got); diff != "" || w.Code != http.StatusOK {
		t.Errorf("%d %s %s", w.Code, w.Body, diff)
	}
	if got := strings.TrimSpace(w.Body.String()); got != `[{"id":"message-1","message_type":"user_message","content":"hi"}]` {
		t.Errorf("a list of messages is %s", got)
	}
	if ask(mux, http.MethodGet, "/runs", ""); got.Background.Set {
		t.Error("an absent parameter is set")
	}
	if w := ask(mux, http.MethodGet, "/runs?order=up", ""); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("order=up: %d", w.Code)
	}
}
