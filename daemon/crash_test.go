package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/daemon/config"
	"loci/providers/providertest"
)

// The variables by which the test's own binary is told to be a daemon, and how often to kill one.
const (
	crashChild  = "LOCI_CRASH_CHILD"
	crashRounds = "LOCI_CRASH_ROUNDS"
)

// TestMain lets the test's binary be the daemon that is killed.
func TestMain(m *testing.M) {
	if os.Getenv(crashChild) != "" {
		os.Exit(beDaemon())
	}
	os.Exit(m.Run())
}

func beDaemon() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	p, err := config.FindPaths(config.OSEnv)
	if err != nil {
		return 2
	}
	l, err := config.Load(p.Config, config.OSEnv, nil)
	if err != nil {
		return 2
	}
	d, err := Open(ctx, Config{Paths: p, Settings: l.Config, Version: "test", Environ: config.OSEnv})
	if err != nil {
		return 3
	}
	if d.Run(ctx) != nil || d.Close() != nil {
		return 4
	}
	return 0
}

// TestCrashLosesNothing kills the daemon, as a power cut would end it, at random moments of plain, streamed,
// background and tool-calling runs of several agents at once. After each it must come up again with everything that it
// had acknowledged. LOCI_CRASH_ROUNDS says how often.
func TestCrashLosesNothing(t *testing.T) {
	t.Parallel()
	rounds, seed := 3, uint64(time.Now().UnixNano())
	if n, err := strconv.Atoi(os.Getenv(crashRounds)); err == nil {
		rounds = n
	}
	t.Logf("%d rounds, seed %d", rounds, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p, _ := home(t)
	model := providertest.NewServer(t)
	w := &crashWorld{t: t, paths: p, model: model, env: append(os.Environ(), crashChild+"=1", "LOCI_HOME="+p.Home,
		"OPENAI_API_KEY=key", "OPENAI_BASE_URL="+model.V1(), "OLLAMA_HOST=http://127.0.0.1:9", "LOCI_SHUTDOWN_GRACE=100ms")}
	for round := range rounds {
		w.round(round, time.Duration(15+random.IntN(400))*time.Millisecond)
	}
	child := w.start()
	w.check("at the end")
	if err := child.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		t.Errorf("the last daemon: %v", err)
	}
	t.Logf("%d messages and inputs were acknowledged, %d edits checked", w.acknowledged, w.edits)
	if w.acknowledged == 0 || w.edits == 0 {
		t.Error("nothing was acknowledged before a crash: the test saw nothing")
	}
}

// crashWorld is what the test knows the daemon to have acknowledged.
type crashWorld struct {
	t     *testing.T
	paths config.Paths
	model *providertest.Server
	env   []string

	mu           sync.Mutex // guards what is below
	agents       []*crashAgent
	acknowledged int
	edits        int
}

type crashAgent struct {
	id       string
	messages map[string]bool   // ids that were announced whole
	runs     map[string]string // accepted runs → a word of their input
}

func (w *crashWorld) start() *exec.Cmd {
	w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = w.env
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = cmd.Process.Kill() })
	c := w.client()
	w.until("the daemon is ready", func() bool {
		s, err := c.Status(w.t.Context())
		return err == nil && s.Ready && s.PID == cmd.Process.Pid
	})
	return cmd
}

func (w *crashWorld) client() *client.Client {
	c := client.New(client.Options{Socket: w.paths.Socket, Version: "test"})
	w.t.Cleanup(c.Close)
	return c
}

// until asks again and again until the answer is yes.
func (w *crashWorld) until(what string, ask func() bool) {
	w.t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(30 * time.Second)
	for !ask() {
		select {
		case <-ticker.C:
		case <-deadline:
			w.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// round puts load on a daemon and kills it, then looks at what the next one knows.
func (w *crashWorld) round(round int, after time.Duration) {
	w.t.Helper()
	child := w.start()
	w.check(fmt.Sprintf("before round %d", round))
	ctx, cancel := context.WithCancel(w.t.Context())
	var load sync.WaitGroup
	for i, phase := range []func(context.Context, *client.Client, *crashAgent, string) error{w.plain, w.streamed, w.background, w.tools} {
		a := w.newAgent(fmt.Sprintf("crash-%d-%d", round, i))
		load.Go(func() {
			c := client.New(client.Options{Socket: w.paths.Socket, Version: "test"})
			defer c.Close()
			for n := 0; ctx.Err() == nil; n++ {
				if phase(ctx, c, a, fmt.Sprintf("word-%d-%d-%d", round, i, n)) != nil {
					return // killed
				}
			}
		})
	}
	timer := time.NewTimer(after)
	<-timer.C
	if err := child.Process.Kill(); err != nil {
		w.t.Fatal(err)
	}
	_ = child.Wait() // killed
	cancel()
	load.Wait()
}

func (w *crashWorld) newAgent(name string) *crashAgent {
	w.t.Helper()
	yes := "openai/test-model"
	g, err := w.client().CreateAgent(w.t.Context(), api.CreateAgent{
		Name: &name, Model: &yes, MemoryBlocks: []api.CreateBlock{{Label: "human"}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	a := &crashAgent{id: g.ID, messages: map[string]bool{}, runs: map[string]string{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.agents = append(w.agents, a)
	return a
}

func (w *crashWorld) announced(a *crashAgent, messages ...api.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range messages {
		switch m.MessageType { //nolint:exhaustive // only these are stored
		case api.MessageAssistant, api.MessageToolCall, api.MessageToolReturn:
			a.messages[m.ID] = true
			w.acknowledged++
		}
	}
}

func (w *crashWorld) accepted(a *crashAgent, run, word string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if run != "" && a.runs[run] == "" {
		a.runs[run] = word
		w.acknowledged++
	}
}

func crashRequest(text string) api.Request {
	return api.Request{Messages: []api.Input{api.UserInput(text, "")}}
}

// plain waits for whole answers.
func (w *crashWorld) plain(ctx context.Context, c *client.Client, a *crashAgent, word string) error {
	r, err := c.Send(ctx, client.Target{AgentID: a.id}, api.StreamingRequest{Request: crashRequest("SAY " + word)})
	if err == nil {
		w.announced(a, r.Messages...)
	}
	return err
}

// streamed reads whole messages as they come.
func (w *crashWorld) streamed(ctx context.Context, c *client.Client, a *crashAgent, word string) error {
	return w.stream(ctx, c, a, word, "SAY "+word)
}

// tools lets the agent edit its memory on the way.
func (w *crashWorld) tools(ctx context.Context, c *client.Client, a *crashAgent, word string) error {
	return w.stream(ctx, c, a, word, fmt.Sprintf("CALL memory_insert {\"label\":\"human\",\"new_string\":\"%s\"}\nSAY done", word))
}

func (w *crashWorld) stream(ctx context.Context, c *client.Client, a *crashAgent, word, text string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // a stream that broke would be resumed until then
	defer cancel()
	no := false
	for m, err := range c.Stream(ctx, client.Target{AgentID: a.id}, api.StreamingRequest{Request: crashRequest(text), StreamTokens: &no}) {
		if err != nil {
			return err
		}
		if m.MessageType == api.MessageNotice && m.Notice.Kind == api.NoticeBroken {
			return context.Canceled
		}
		w.accepted(a, m.RunID, word)
		w.announced(a, m)
	}
	return nil
}

// background does not wait for answers at all.
func (w *crashWorld) background(ctx context.Context, c *client.Client, a *crashAgent, word string) error {
	r, err := c.SendAsync(ctx, a.id, api.AsyncRequest{Request: crashRequest("SAY " + word)})
	if err != nil {
		return err
	}
	w.accepted(a, r.ID, word)
	w.until("the run is over", func() bool {
		r, err = c.Run(ctx, r.ID)
		return err != nil || !r.Status.Active()
	})
	return err
}

// check compares what the daemon knows with what it acknowledged, and talks to every agent.
func (w *crashWorld) check(when string) {
	w.t.Helper()
	c, ctx := w.client(), w.t.Context()
	w.until("no run is active", func() bool {
		runs, err := c.Runs(ctx, api.ListRuns{Active: true})
		return err == nil && len(runs) == 0
	})
	for _, a := range w.agents {
		messages := w.history(c, a)
		w.checkMessages(when, a, messages)
		w.checkRuns(when, c, a, messages)
		w.checkEdits(when, c, a, messages)
	}
	if len(w.agents) > 0 {
		last := w.agents[len(w.agents)-1]
		if _, err := c.Send(ctx, client.Target{AgentID: last.id}, api.StreamingRequest{Request: crashRequest("SAY still here")}); err != nil {
			w.t.Errorf("%s: %s cannot be talked to: %v", when, last.id, err)
		}
	}
}

// history is all that an agent's list of messages shows.
func (w *crashWorld) history(c *client.Client, a *crashAgent) []api.Message {
	w.t.Helper()
	var all []api.Message
	page := api.Page{Limit: 100, Order: "asc"}
	for {
		some, err := c.Messages(w.t.Context(), a.id, api.ListMessages{Page: page})
		if err != nil {
			w.t.Fatalf("%s is unreadable: %v", a.id, err)
		}
		all = append(all, some...)
		if len(some) == 0 || some[len(some)-1].ID == page.After {
			return all
		}
		page.After = some[len(some)-1].ID
	}
}

// checkMessages: what was announced is there, and every call has its return.
func (w *crashWorld) checkMessages(when string, a *crashAgent, messages []api.Message) {
	w.t.Helper()
	there, returned := map[string]bool{}, map[string]bool{}
	for _, m := range messages {
		there[m.ID] = true
		for _, r := range m.ToolReturns {
			returned[r.ToolCallID] = true
		}
	}
	for id := range a.messages {
		if !there[id] {
			w.t.Errorf("%s: %s of %s was announced and is lost", when, id, a.id)
		}
	}
	for _, m := range messages {
		for _, call := range m.ToolCalls {
			if !returned[call.ToolCallID] {
				w.t.Errorf("%s: the call %s of %s has no return", when, call.ToolCallID, a.id)
			}
		}
	}
}

// checkRuns: the input of an accepted run is in the conversation or still on the run.
func (w *crashWorld) checkRuns(when string, c *client.Client, a *crashAgent, messages []api.Message) {
	w.t.Helper()
	said := func(messages []api.Message, word string) bool {
		return slices.ContainsFunc(messages, func(m api.Message) bool {
			text := m.Content.String()
			return m.MessageType == api.MessageUser && (strings.Contains(text, word+`"`) || strings.HasSuffix(text, word))
		})
	}
	for run, word := range a.runs {
		if said(messages, word) {
			continue
		}
		on, err := c.RunMessages(w.t.Context(), run, api.Page{})
		if err != nil || !said(on, word) {
			w.t.Errorf("%s: the input of %s (%s) is lost: %v", when, run, word, err)
		}
	}
}

// checkEdits: what memory holds was returned as done, once, and the other way round.
func (w *crashWorld) checkEdits(when string, c *client.Client, a *crashAgent, messages []api.Message) {
	w.t.Helper()
	words := map[string]string{} // call → what it writes
	edits := map[string]int{}
	for _, m := range messages {
		for _, call := range m.ToolCalls {
			if i := strings.Index(call.Arguments, "word-"); i >= 0 {
				words[call.ToolCallID] = call.Arguments[i : i+strings.IndexByte(call.Arguments[i:], '"')]
			}
		}
		for _, r := range m.ToolReturns {
			if r.Status == api.StatusSuccess {
				edits[words[r.ToolCallID]]++
			}
		}
	}
	block, _, err := c.AgentBlock(w.t.Context(), a.id, "human")
	if err != nil {
		w.t.Fatalf("%s: memory of %s: %v", when, a.id, err)
	}
	held := map[string]int{}
	for _, line := range strings.Fields(block.Value) {
		held[line]++
	}
	w.edits += len(held)
	for word, n := range edits {
		if held[word] != n {
			w.t.Errorf("%s: %s was returned as written %d times, memory holds it %d times", when, word, n, held[word])
		}
	}
	for word := range held {
		if edits[word] == 0 {
			w.t.Errorf("%s: memory holds %s, no call returned that", when, word)
		}
	}
}
