package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/providers/providertest"
)

// otherModel is the model of another agent who edits a shared block.
const otherModel = "other-model"

// marks are what says how far a prompt is cached, which moves and is no part of it.
var marks = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

// elements are the parts of a request in the order in which a provider reads them: the system text, each tool, each
// message, as they stood on the wire. Where the system text is a message, it comes behind the tools.
func elements(t *testing.T, r providertest.Request) []string {
	t.Helper()
	var body struct {
		Instructions string            `json:"instructions"`
		System       json.RawMessage   `json:"system"`
		Instruction  json.RawMessage   `json:"systemInstruction"`
		Tools        []json.RawMessage `json:"tools"`
		Messages     []json.RawMessage `json:"messages"`
		Input        []json.RawMessage `json:"input"`
		Contents     []json.RawMessage `json:"contents"`
	}
	if err := json.Unmarshal(marks.ReplaceAll(r.Body, nil), &body); err != nil {
		t.Fatal(err)
	}
	out := []string{body.Instructions + string(body.System) + string(body.Instruction)}
	for _, part := range slices.Concat(body.Tools, body.Messages, body.Input, body.Contents) {
		var line bytes.Buffer
		if err := json.Compact(&line, part); err != nil {
			t.Fatal(err)
		}
		out = append(out, line.String())
	}
	return out
}

// kept is the share of a request's elements with which the next one begins.
func kept(before, after []string) float64 {
	n := 0
	for n < min(len(before), len(after)) && before[n] == after[n] {
		n++
	}
	return float64(n) / float64(len(before))
}

// topics are things that an agent keeps notes on and is asked about; each has words of its own.
func topics() []string {
	return []string{
		"lighthouse", "accordion", "greenhouse", "submarine", "typewriter", "windmill", "observatory", "carousel", "glacier", "saxophone",
		"vineyard", "aquarium", "cathedral", "monastery", "telescope", "locomotive", "beehive", "quarry", "harbour", "tapestry",
	}
}

// acts are the calls with which the watched model answers some turns.
func acts(turn int) []providertest.Call {
	call := func(name string, args map[string]any) []providertest.Call {
		raw, _ := json.Marshal(args) // a map of texts has a JSON form
		return []providertest.Call{{Name: name, Arguments: string(raw)}}
	}
	switch turn % 6 {
	case 1:
		return call("memory_insert", map[string]any{"label": "human", "new_string": fmt.Sprint("remembered in turn ", turn)})
	case 3:
		return call(
			"archival_memory_insert",
			map[string]any{"content": fmt.Sprintf("note of turn %d: the %s was painted again", turn, topics()[turn%20])},
		)
	case 2:
		name := fmt.Sprintf("manuals/%d.md", turn%fileCount)
		return call("open_files", map[string]any{"file_requests": []any{map[string]any{"file_name": name, "offset": turn % 3}}})
	case 4:
		return call("grep_files", map[string]any{"pattern": topics()[turn%20] + " \\w+", "context_lines": 0})
	case 5:
		return call("conversation_search", map[string]any{"query": topics()[(turn+3)%20]})
	}
	return nil
}

// prefixHouse is a daemon with a scripted server, an agent that is watched and one that shares a block with it.
type prefixHouse struct {
	t      *testing.T
	server *providertest.Server
	model  string // the one whose requests are looked at
	c      *client.Client
	own    client.Target
	other  client.Target
	turn   atomic.Int64
}

func openPrefixHouse(t *testing.T, handle string, variables func(s *providertest.Server) []string) *prefixHouse {
	t.Helper()
	p, settings := home(t)
	provider, model, _ := strings.Cut(handle, "/")
	h := &prefixHouse{t: t, model: model, server: providertest.NewServer(t)}
	h.server.Models = []providertest.Model{{Name: model, Window: 12_000}, {Name: otherModel, Window: 12_000}}
	for _, m := range append(providertest.ClaudeModels(), providertest.GeminiModels()...) {
		if m.Name == model {
			h.server.Models[0].Claude, h.server.Models[0].Gemini = m.Claude, m.Gemini
		}
	}
	h.server.Reply = h.reply
	start(t, Config{Paths: p, Settings: settings, Environ: environ(variables(h.server)...), RecallWait: time.Minute})
	h.c = client.New(client.Options{Socket: p.Socket, Version: "test"})
	t.Cleanup(h.c.Close)
	for _, one := range []struct {
		to    *client.Target
		model string
	}{{&h.other, otherModel}, {&h.own, model}} {
		s, err := h.c.Register(
			t.Context(),
			api.Client{
				Kind:   api.ClientChat,
				Folder: "/f",
				Zone:   "UTC",
				Open:   &api.Open{Agent: api.OpenNew, Model: provider + "/" + one.model},
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		*one.to = client.Target{AgentID: s.AgentID, ConversationID: s.ConversationID}
	}
	for i, topic := range topics() {
		text := fmt.Sprintf("The %s belongs to family number %d and was bought in %d.", topic, i, 1900+i)
		if _, err := h.c.CreatePassage(t.Context(), h.own.AgentID, api.CreatePassage{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	h.share("persona")
	h.manuals(p.Socket)
	return h
}

// fileCount is how many files the watched agent has.
const fileCount = 8

// manuals gives the watched agent a folder with files, as a program would.
func (h *prefixHouse) manuals(socket string) {
	h.t.Helper()
	web := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	defer web.CloseIdleConnections()
	do := func(method, path, kind string, body io.Reader, into any) {
		h.t.Helper()
		req, err := http.NewRequestWithContext(h.t.Context(), method, "http://localhost/v1/"+path, body)
		if err != nil {
			h.t.Fatal(err)
		}
		req.Header.Set("Content-Type", kind)
		resp, err := web.Do(req)
		if err != nil {
			h.t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		raw, err := io.ReadAll(resp.Body)
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil || resp.StatusCode != http.StatusOK {
			h.t.Fatalf("%s %s: %s, %v, %s", method, path, resp.Status, err, raw)
		}
	}
	var folder, agent struct{ ID string }
	do(http.MethodPost, "folders/", "application/json", strings.NewReader(`{"name":"manuals"}`), &folder)
	do(http.MethodPatch, "agents/"+h.own.AgentID+"/folders/attach/"+folder.ID, "application/json", nil, &agent)
	for i := range fileCount {
		var b bytes.Buffer
		form := multipart.NewWriter(&b)
		part, err := form.CreateFormFile("file", fmt.Sprint(i, ".md"))
		if err != nil {
			h.t.Fatal(err)
		}
		for j, topic := range topics() {
			if _, err := fmt.Fprintf(part, "The %s of manual %d has %d doors.\n\n", topic, i, j); err != nil {
				h.t.Fatal(err)
			}
		}
		if err := form.Close(); err != nil {
			h.t.Fatal(err)
		}
		var file struct{ ID string }
		do(http.MethodPost, "folders/"+folder.ID+"/upload", form.FormDataContentType(), &b, &file)
	}
	tick, late := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for done := 0; done < fileCount; {
		var files []struct {
			Status string `json:"processing_status"`
		}
		do(http.MethodGet, "folders/"+folder.ID+"/files", "", nil, &files)
		done = 0
		for _, f := range files {
			if f.Status == "completed" {
				done++
			}
		}
		select {
		case <-tick.C:
		case <-late:
			h.t.Fatalf("after a minute the files are %v", files)
		}
	}
}

// share lets both agents have the watched one's block.
func (h *prefixHouse) share(label string) {
	h.t.Helper()
	ctx := h.t.Context()
	shared, _, err := h.c.AgentBlock(ctx, h.own.AgentID, label)
	if err != nil {
		h.t.Fatal(err)
	}
	theirs, _, err := h.c.AgentBlock(ctx, h.other.AgentID, label)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.c.DetachBlock(ctx, h.other.AgentID, theirs.ID); err != nil {
		h.t.Fatal(err)
	}
	if err := h.c.AttachBlock(ctx, h.other.AgentID, shared.ID); err != nil {
		h.t.Fatal(err)
	}
}

// reply is both models.
func (h *prefixHouse) reply(r providertest.Request) providertest.Turn {
	turn := int(h.turn.Load())
	last := r.Messages[len(r.Messages)-1]
	switch {
	case len(r.Tools) == 0:
		return providertest.Turn{Text: "So far they spoke of buildings and of what belongs to whom."}
	case last.Role == "tool":
		return providertest.Turn{Text: fmt.Sprint("Done in turn ", turn, ".")}
	case r.Model == otherModel:
		args := fmt.Sprintf(`{"label":"persona","new_string":"the other agent was here in turn %d"}`, turn)
		return providertest.Turn{Calls: []providertest.Call{{Name: "memory_insert", Arguments: args}}}
	}
	return providertest.Turn{
		Reasoning: fmt.Sprint("They ask in turn ", turn, "."),
		Text:      fmt.Sprint("This is what I have to say in turn ", turn, "."), Calls: acts(turn),
	}
}

func (h *prefixHouse) say(to client.Target, text string) (run string) {
	h.t.Helper()
	r, err := h.c.Send(h.t.Context(), to, api.StreamingRequest{Request: api.Request{Messages: []api.Input{api.UserInput(text, "")}}})
	if err != nil {
		h.t.Fatalf("turn %d: %v", h.turn.Load(), err)
	}
	if r.StopReason.StopReason != api.StopEndTurn {
		h.t.Fatalf("turn %d ended with %s", h.turn.Load(), r.StopReason.StopReason)
	}
	return r.Usage.RunIDs[0]
}

// watched returns the requests of the watched agent's turns.
func (h *prefixHouse) watched() []providertest.Request {
	return slices.DeleteFunc(h.server.Requests(), func(r providertest.Request) bool { return r.Model != h.model || len(r.Tools) == 0 })
}

// notices returns what the run told of, by kind.
func (h *prefixHouse) notices(run string) (compacted bool, recalled string) {
	h.t.Helper()
	for m, err := range h.c.Events(h.t.Context(), run, 0) {
		switch {
		case err != nil:
			h.t.Fatal(err)
		case m.MessageType == api.MessageSummary:
			compacted = true
		case m.MessageType == api.MessageNotice && m.Notice.Kind == "evicted":
			compacted = true
		case m.MessageType == api.MessageNotice && m.Notice.Kind == api.NoticeRecalled:
			recalled, _ = m.Notice.Data["text"].(string)
		}
	}
	return compacted, recalled
}

// TestOverSixtyTurnsAWirePrefixStays looks at what a provider really gets: while the agent edits its memory, keeps notes,
// is reminded of others, opens and searches files, another agent edits a block of both, each request begins with the one
// before. Only the request after a tool was attached, and those after a compaction, may begin anew.
func TestOverSixtyTurnsAWirePrefixStays(t *testing.T) {
	t.Parallel()
	for name, wire := range map[string]struct {
		handle    string
		variables func(s *providertest.Server) []string
	}{
		"chat": {"openai/test-model", func(s *providertest.Server) []string {
			return []string{"OPENAI_API_KEY", "key", "OPENAI_BASE_URL", s.V1()}
		}},
		"responses": {"xai/test-model", func(s *providertest.Server) []string {
			return []string{"XAI_API_KEY", "key", "XAI_BASE_URL", s.V1()}
		}},
		"ollama": {"ollama/test-model", func(s *providertest.Server) []string { return []string{"OLLAMA_HOST", s.URL} }},
		"messages": {"anthropic/claude-opus-5-5", func(s *providertest.Server) []string {
			return []string{"ANTHROPIC_API_KEY", "key", "ANTHROPIC_BASE_URL", s.URL}
		}},
		"generate": {"google_ai/gemini-3.8-flash", func(s *providertest.Server) []string {
			return []string{"GEMINI_API_KEY", "key", "GOOGLE_GEMINI_BASE_URL", s.URL}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sixtyTurns(t, openPrefixHouse(t, wire.handle, wire.variables), providertest.Wire(name))
		})
	}
}

func sixtyTurns(t *testing.T, h *prefixHouse, wire providertest.Wire) {
	t.Helper()
	turns := 60
	if testing.Short() {
		turns = 20
	}
	type reason struct {
		why  string
		turn int
	}
	anew := map[int]reason{} // the requests that may begin anew, and why: one of a turn
	recalled := 0
	for i := range turns {
		h.turn.Store(int64(i))
		if i%10 == 8 {
			h.say(h.other, "Note that you were here.")
		}
		first := len(h.watched())
		if i == turns/2 {
			tool, err := h.c.Tools(t.Context(), api.ListTools{Name: "memory_rethink"})
			if err != nil || len(tool) != 1 {
				t.Fatalf("no tool to attach: %v", err)
			}
			if err := h.c.AttachTool(t.Context(), h.own.AgentID, tool[0].ID); err != nil {
				t.Fatal(err)
			}
			anew[first] = reason{"a tool was attached", i}
		}
		run := h.say(h.own, fmt.Sprintf("Turn %d: whose is the %s?", i, topics()[(i*7)%20]))
		compacted, text := h.notices(run)
		if compacted {
			for n := first; n <= len(h.watched()); n++ { // one after the last step shows in the next turn
				anew[n] = reason{"a compaction", i}
			}
		}
		if text != "" {
			recalled++
			onlyOnce(t, h.watched()[first], text)
		}
	}
	reqs := h.watched()
	if reqs[0].Wire != wire {
		t.Fatalf("asked by %s", reqs[0].Wire)
	}
	for i := 1; i < len(reqs); i++ {
		share := kept(elements(t, reqs[i-1]), elements(t, reqs[i]))
		if wire == providertest.Messages || wire == providertest.Generate { // here the server itself says what it read from its cache
			share = min(share, float64(reqs[i].CacheRead)/float64(reqs[i-1].Tokens))
		}
		if reqs[i].Dropped > 0 {
			t.Errorf("request %d of %d: %d thoughts no longer fit what stands before them", i, len(reqs), reqs[i].Dropped)
		}
		switch r := anew[i]; {
		case share >= 0.99:
		case r.why != "":
			t.Logf("request %d of %d begins anew, %.0f%% stay: %s", i, len(reqs), 100*share, r.why)
			maps.DeleteFunc(anew, func(_ int, other reason) bool { return other.turn == r.turn })
		default:
			t.Errorf("request %d of %d keeps only %.1f%% of the one before", i, len(reqs), 100*share)
		}
	}
	if n := h.server.Refusals(); n > 0 {
		t.Errorf("%d requests were refused", n)
	}
	whole := string(reqs[len(reqs)-1].Body)
	for _, sign := range []string{"* Opened manuals/", "=== manuals/"} {
		if !slices.ContainsFunc(reqs, func(r providertest.Request) bool { return strings.Contains(string(r.Body), sign) }) {
			t.Errorf("no tool returned %q: the test does not cover files", sign)
		}
	}
	if recalled < turns/6 || !strings.Contains(whole, fmt.Sprint("the other agent was here in turn ", turns-2)) {
		t.Errorf("%d turns recalled something, or the other agent's edit never arrived: the test does not cover it", recalled)
	}
}

// onlyOnce checks that no recalled note stands in a request a second time.
func onlyOnce(t *testing.T, r providertest.Request, record string) {
	t.Helper()
	var whole strings.Builder
	for _, m := range r.Messages {
		whole.WriteString(m.Text + "\n")
	}
	for line := range strings.Lines(record) {
		_, text, ok := strings.Cut(strings.TrimSpace(line), " note: ")
		if ok && strings.Count(whole.String(), text) != 1 {
			t.Errorf("%q stands %d times in one window", text, strings.Count(whole.String(), text))
		}
	}
}
