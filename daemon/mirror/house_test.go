package mirror

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/engine"
	"loci/core/service"
	"loci/storage"
	"loci/storage/storagetest"
	"loci/tools"
)

// house is a store with one agent, and mirrors that nothing drives but the test.
type house struct {
	t        *testing.T
	ctx      context.Context
	store    *storage.Store
	services *service.Services
	mirrors  *Mirrors
	agent    core.AgentID
	dir      string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	if _, err := FindGit(); err != nil {
		t.Skip(err)
	}
	store, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	box := tools.New()
	eng := engine.New(engine.Config{Store: store, Search: storagetest.Search(store), Log: store.Events(), Tools: box})
	services := service.New(service.Config{Store: store, Search: storagetest.Search(store), Engine: eng, Tools: box})
	t.Cleanup(func() {
		services.Close()
		if err := errors.Join(eng.Shutdown(context.Background()), store.Close()); err != nil {
			t.Error(err)
		}
	})
	h := &house{t: t, ctx: t.Context(), store: store, services: services, dir: filepath.Join(t.TempDir(), "memory")}
	h.agent = h.newAgent()
	h.restart(nil)
	return h
}

func (h *house) newAgent() core.AgentID {
	h.t.Helper()
	now := time.Now()
	a := core.Agent{
		ID:        core.NewAgentID(),
		Name:      "Marvin",
		Type:      core.AgentLettaV1,
		Model:     core.OfflineHandle,
		CreatedAt: now,
		UpdatedAt: now,
	}
	h.ok(h.store.Agents().Create(h.ctx, &a))
	h.ok(
		h.store.Conversations().
			Create(h.ctx, &core.Conversation{ID: core.DefaultConversation(a.ID), Agent: a.ID, CreatedAt: now, UpdatedAt: now}),
	)
	return a.ID
}

// restart is another start of the process: nothing is known but what is stored.
func (h *house) restart(point func(string)) {
	h.mirrors = New(Config{Store: h.store, Services: h.services, Point: point, Every: 5 * time.Millisecond})
}

func (h *house) ok(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("%v (try: %s)", err, core.HintOf(err))
	}
}

func (h *house) block(label, value string) core.Block {
	h.t.Helper()
	b, err := h.services.Blocks.Create(h.ctx, core.Block{Label: label, Value: value})
	h.ok(err)
	_, err = h.services.Agents.AttachBlock(h.ctx, h.agent, b.ID)
	h.ok(err)
	return b
}

func (h *house) set(id core.BlockID, value string) {
	h.t.Helper()
	_, err := h.services.Blocks.Update(h.ctx, id, service.BlockPatch{Value: core.Opt[string]{Present: true, Value: value}}, 0, "")
	h.ok(err)
}

func (h *house) get(id core.BlockID) core.Block {
	h.t.Helper()
	b, err := h.services.Blocks.Get(h.ctx, id)
	h.ok(err)
	return b
}

func (h *house) on() core.MirrorState {
	h.t.Helper()
	s, err := h.mirrors.On(h.ctx, h.agent, h.dir)
	h.ok(err)
	return s
}

func (h *house) sync() core.MirrorState {
	h.t.Helper()
	s, err := h.mirrors.Sync(h.ctx, h.agent)
	h.ok(err)
	return s
}

// ticks looks at both sides some times, as a daemon does from time to time. A mirror that nobody edits rests after four.
func (h *house) ticks(times int) {
	h.t.Helper()
	e, err := h.mirrors.find(h.ctx, h.agent)
	h.ok(err)
	for range times {
		h.mirrors.tick(h.ctx, e)
	}
}

// clashed checks that the edits of both sides are kept: the block's, and the file's beside it.
func (h *house) clashed(s core.MirrorState, id core.BlockID, block, file string) {
	h.t.Helper()
	same(h.t, "notes", []string{"conflict system/human.conflict-1.mdhuman"}, noted(s))
	same(h.t, "the block", block, h.get(id).Value)
	same(h.t, "the conflict", file, h.file("system/human.conflict-1.md"))
}

func (h *house) path(name string) string { return filepath.Join(h.dir, filepath.FromSlash(name)) }

func (h *house) save(name, text string) {
	h.t.Helper()
	h.ok(os.MkdirAll(filepath.Dir(h.path(name)), 0o755))
	h.ok(os.WriteFile(h.path(name), []byte(text), 0o644))
}

func (h *house) file(name string) string {
	h.t.Helper()
	data, err := os.ReadFile(h.path(name))
	h.ok(err)
	return string(data)
}

func (h *house) git(args ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(
		h.ctx,
		"git",
		append([]string{"-C", h.dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, errs.String())
	}
	return strings.TrimSpace(string(out))
}

// noted are the kinds and paths of what a state says.
func noted(s core.MirrorState) []string {
	out := []string{}
	for _, n := range s.Notes {
		out = append(out, string(n.Kind)+" "+n.Path+n.Label)
	}
	return out
}
