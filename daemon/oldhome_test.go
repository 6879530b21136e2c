package daemon

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/coretest"
	"loci/daemon/api"
	"loci/daemon/client"
	"loci/providers"
	"loci/providers/offline"
	"loci/providers/providertest"
)

// openedHome is the old home, opened by this program.
type openedHome struct {
	t      *testing.T
	old    oldHome
	dir    string
	server *providertest.Server
	c      *client.Client
}

// oldAddress are the models of the old home's server: a run is taken up only where its provider is still at its address,
// and the server of the test has another port.
type oldAddress struct {
	core.Models
	url string
}

func (m oldAddress) Moved(core.Env) map[string]string {
	return m.Models.Moved(secrets(oldVariables(m.url)))
}

func secrets(vars []string) core.Env {
	return func(name string) (core.Secret, bool) {
		v, ok := environ(vars...)(name)
		return core.Secret(v), ok
	}
}

func openOldHome(t *testing.T) *openedHome {
	t.Helper()
	p, settings := home(t)
	h := &openedHome{t: t, dir: t.TempDir(), server: oldModel(t)}
	h.old = unpackOldHome(t, h.dir)
	if err := os.Rename(filepath.Join(h.dir, "home", "data"), p.Data); err != nil {
		t.Fatal(err)
	}
	h.relocate(filepath.Join(p.Data, "loci.db"))
	since := time.Since(h.old.At) - time.Minute
	start(t, Config{
		Paths: p, Settings: settings, Environ: environ(oldVariables(h.server.URL)...), RecallWait: time.Minute,
		Clock:  func() time.Time { return time.Now().Add(-since) },
		Models: oldAddress{providers.New(providers.Config{Offline: offline.New()}), h.old.Model},
	})
	h.c = client.New(client.Options{Socket: p.Socket, Version: "test"})
	t.Cleanup(h.c.Close)
	return h
}

// relocate leads the mirror and the followed directory to where the fixture was unpacked.
func (h *openedHome) relocate(facts string) {
	h.t.Helper()
	db, err := sql.Open("sqlite", "file:"+facts)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range []string{
		`UPDATE mirrors SET path = replace(path, $1, $2)`,
		`UPDATE folders SET data = replace(data, $1, $2) WHERE mirrored`,
	} {
		result, err := db.ExecContext(h.t.Context(), statement, h.old.Dir, h.dir)
		if err != nil {
			h.t.Fatal(err)
		}
		if n, err := result.RowsAffected(); err != nil || n != 1 {
			h.t.Fatalf("%s: %d rows, %v", statement, n, err)
		}
	}
}

// sentMessages are the messages of a request, as they stood on the wire.
func sentMessages(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	var body struct{ Messages, Input []json.RawMessage }
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range slices.Concat(body.Messages, body.Input) {
		var line bytes.Buffer
		if err := json.Compact(&line, m); err != nil {
			t.Fatal(err)
		}
		out = append(out, line.String())
	}
	return out
}

// stepsOf are the recorded steps of an agent, oldest first.
func (h *openedHome) stepsOf(agent string) []oldStep {
	return slices.DeleteFunc(slices.Clone(h.old.Steps), func(s oldStep) bool { return s.Agent != agent })
}

// say sends a message to an agent and returns the answer and, of a language model, the first request.
func (h *openedHome) say(agent, text string) (answer string, wire json.RawMessage) {
	h.t.Helper()
	before := len(h.server.Requests())
	answer = say(h.t, h.c, api.Session{AgentID: h.old.Agents[agent]}, text)
	for _, r := range h.server.Requests()[before:] {
		if len(r.Tools) > 0 {
			return answer, r.Body
		}
	}
	return answer, nil
}

// beginsWith checks that the window of a request begins with that of an old step.
func (h *openedHome) beginsWith(what string, wire json.RawMessage, old oldStep) {
	h.t.Helper()
	before, now := sentMessages(h.t, old.Wire), sentMessages(h.t, wire)
	if len(now) <= len(before) {
		h.t.Errorf("%s: %d messages are sent, the old step had %d", what, len(now), len(before))
		return
	}
	if diff := cmp.Diff(before, now[:len(before)]); diff != "" {
		h.t.Errorf("%s: the window was sent otherwise (-old +new):\n%s", what, diff)
	}
}

// TestAHomeOfTheFirstProgramComesThrough opens a home that commit 303ec3f made and was killed in, see oldhome_record_test.go.
// It says nothing of how the home is stored today, so that it holds for every later schema.
func TestAHomeOfTheFirstProgramComesThrough(t *testing.T) {
	t.Parallel()
	h := openOldHome(t)
	h.halfRunEnds()
	h.stepsAreReproduced()
	h.windowsGoOn()
	h.isFound()
	h.memoryHasItsPast()
	h.passagesCanBeEdited()
	h.rewinds()
	h.followsFiles()
}

// halfRunEnds: the run that the kill broke off is taken up and ends.
func (h *openedHome) halfRunEnds() {
	h.t.Helper()
	id := h.old.Runs["half"]
	texts := map[string]string{}
	for m, err := range h.c.Events(h.t.Context(), id, 0) {
		if err != nil {
			h.t.Fatal(err)
		}
		if m.MessageType == api.MessageAssistant {
			texts[m.ID] += m.Content.String()
		}
	}
	run, err := h.c.Run(h.t.Context(), id)
	if err != nil || run.Status != api.RunCompleted {
		h.t.Errorf("the half run is %s (%v)", run.Status, err)
	}
	whole := strings.TrimSpace(strings.Repeat("word ", 60))
	for _, text := range texts {
		if text == whole {
			return
		}
	}
	h.t.Errorf("the half run's answers are %q", texts)
}

// stepsAreReproduced: what the old program says that it sent is what this one says.
func (h *openedHome) stepsAreReproduced() {
	h.t.Helper()
	if len(h.old.Steps) < 50 {
		h.t.Errorf("only %d steps were recorded", len(h.old.Steps))
	}
	for _, step := range h.old.Steps {
		sent, err := h.c.StepRequest(h.t.Context(), step.Sent.StepID)
		if err != nil {
			h.t.Error(err)
			continue
		}
		if diff := cmp.Diff(step.Sent, sent); diff != "" {
			h.t.Errorf("a step of %s is told otherwise (-old +new):\n%s", step.Agent, diff)
		}
	}
}

// windowsGoOn: the next message stands behind what the window held, byte for byte.
func (h *openedHome) windowsGoOn() {
	h.t.Helper()
	for _, agent := range []string{"Chat", "Responses", "Ollama", "Small"} {
		answer, wire := h.say(agent, "SAY Still here.")
		if answer != "Still here." {
			h.t.Errorf("%s answers %q", agent, answer)
		}
		steps := h.stepsOf(agent)
		h.beginsWith(agent, wire, steps[len(steps)-1])
		if agent == "Small" && !strings.Contains(string(wire), oldSummary) {
			h.t.Error("the summary is no more in the window")
		}
	}
	if answer, _ := h.say("Offline", "Where do I live?"); !strings.Contains(answer, "Leipzig") {
		h.t.Errorf("the offline model answers %q", answer)
	}
}

// isFound: messages, passages and files are found by words.
func (h *openedHome) isFound() {
	h.t.Helper()
	ctx := h.t.Context()
	coretest.Until(h.t, "a message is not found", func() bool {
		found, _, err := h.c.SearchAgentMessages(ctx, api.SearchAgentMessages{Query: new("Leipzig"), AgentID: new(h.old.Agents["Offline"])})
		return err == nil && len(found) > 0
	})
	coretest.Until(h.t, "a passage is not found", func() bool {
		found, err := h.c.SearchArchival(ctx, h.old.Agents["Chat"], api.SearchArchival{Query: "observatory", Tags: []string{"family"}})
		return err == nil && found.Count > 0 && strings.Contains(found.Results[0].Content, "observatory")
	})
	for query, file := range map[string]string{"ferry leaves nine": "papers/boats.md", "anchor harbour": "shelf/letter.md"} {
		coretest.Until(h.t, file+" is not found", func() bool {
			found, _, err := h.c.SearchFiles(ctx, api.SearchFiles{Query: query, AgentID: new(h.old.Agents["Chat"])})
			return err == nil && len(found) > 0 && found[0].FileName == filepath.Base(file)
		})
	}
}

// memoryHasItsPast: blocks hold what they held, and their versions can be brought back.
func (h *openedHome) memoryHasItsPast() {
	h.t.Helper()
	ctx := h.t.Context()
	human, _, err := h.c.AgentBlock(ctx, h.old.Agents["Chat"], "human")
	if err != nil || !strings.Contains(human.Value, "Ada") || !strings.Contains(human.Value, "the light went out") {
		h.t.Errorf("human is %q, %v", human.Value, err)
	}
	persona, _, err := h.c.AgentBlock(ctx, h.old.Agents["Chat"], "persona")
	if err != nil || persona.Value != "I am talkative." {
		h.t.Errorf("persona is %q, %v", persona.Value, err)
	}
	undone, err := h.c.UndoBlock(ctx, persona.ID, api.UndoBlock{}, "")
	if err != nil || undone.Block.Value != "I am terse." {
		h.t.Errorf("undone, persona is %q, %v", undone.Block.Value, err)
	}
	conversations, err := h.c.Conversations(ctx, api.ListConversations{AgentID: h.old.Agents["Chat"]})
	if err != nil || len(conversations) != 1 {
		h.t.Errorf("%d conversations beside the default one, %v", len(conversations), err)
	}
}

// passagesCanBeEdited: what the old program archived has versions from its first edit on.
func (h *openedHome) passagesCanBeEdited() {
	h.t.Helper()
	ctx, agent := h.t.Context(), h.old.Agents["Chat"]
	all, err := h.c.Passages(ctx, agent, api.ListPassages{Search: "observatory"})
	if err != nil || len(all) == 0 {
		h.t.Fatalf("%d passages, %v", len(all), err)
	}
	old := all[0]
	if _, err := h.c.UpdatePassage(ctx, agent, old.ID, api.UpdatePassage{Text: api.Some("The planetarium is closed.")}); err != nil {
		h.t.Fatal(err)
	}
	finds := func(query, text string) {
		h.t.Helper()
		coretest.Until(h.t, query+" does not find it", func() bool {
			found, err := h.c.SearchArchival(ctx, agent, api.SearchArchival{Query: query})
			return err == nil && found.Count > 0 && found.Results[0].Content == text
		})
	}
	finds("planetarium", "The planetarium is closed.")
	if _, err := h.c.UndoPassage(ctx, agent, old.ID, api.UndoPassage{}, ""); err != nil {
		h.t.Fatal(err)
	}
	finds("observatory", old.Text)
}

// rewinds: an agent goes back to an old step, and its window is then what that step sent.
func (h *openedHome) rewinds() {
	h.t.Helper()
	ctx := h.t.Context()
	for agent, n := range map[string]int{"Chat": 5, "Responses": 3, "Ollama": 2, "Small": 8} {
		step := h.stepsOf(agent)[n]
		rewind, err := h.c.Rewind(ctx, api.RewindRequest{StepID: step.Sent.StepID})
		if err != nil {
			h.t.Errorf("rewind %s: %v", agent, err)
			continue
		}
		_, wire := h.say(agent, "SAY Once more.")
		h.beginsWith(agent+", rewound", wire, step)
		if _, err := h.c.UndoRewind(ctx, rewind.ID); err != nil {
			h.t.Errorf("undo the rewind of %s: %v", agent, err)
		}
	}
}

// followsFiles: the mirror and the followed directory go on.
func (h *openedHome) followsFiles() {
	h.t.Helper()
	ctx := h.t.Context()
	if err := os.WriteFile(filepath.Join(h.dir, "shelf", "second.md"), []byte("A telegram of the harbourmaster.\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	coretest.Until(h.t, "the followed directory's new file is not found", func() bool {
		found, _, err := h.c.SearchFiles(ctx, api.SearchFiles{Query: "telegram", AgentID: new(h.old.Agents["Chat"])})
		return err == nil && len(found) > 0 && found[0].FileName == "second.md"
	})
	if _, err := exec.LookPath("git"); err != nil {
		h.t.Logf("the mirror is not looked at: %v", err)
		return
	}
	agent := h.old.Agents["Ollama"]
	if _, err := h.c.SyncMirror(ctx, agent); err != nil {
		h.t.Fatal(err)
	}
	path := filepath.Join(h.dir, "notes", "system", "persona.md")
	if err := os.WriteFile(path, []byte("Edited as a file.\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	state, err := h.c.SyncMirror(ctx, agent)
	if err != nil || state.Error != "" {
		h.t.Fatalf("the mirror says %q, %v", state.Error, err)
	}
	persona, _, err := h.c.AgentBlock(ctx, agent, "persona")
	if err != nil || persona.Value != "Edited as a file." {
		h.t.Errorf("mirrored, persona is %q, %v", persona.Value, err)
	}
}
