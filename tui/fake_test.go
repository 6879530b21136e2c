package tui

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"loci/daemon/api"
	"loci/daemon/client"
)

// fake is a daemon whose answers are scripted by what it is told.
type fake struct {
	fakeProviders

	window   int // of the model, if larger than the contract shows
	mu       sync.Mutex
	opens    int
	shared   string  // what was last done with a tool
	openErrs []error // for the first calls of Open
	session  api.Session
	history  []api.Message
	agents   []api.AgentState
	threads  []api.Conversation
	models   []api.Model
	blocks   map[string]string
	versions map[string]int
	model    string
	sent     []string
	mode     string // in which the last message or answer was sent
	otids    []string
	sendErrs []error // for the first calls of Send, before the run is known
	follows  []int64 // after which seq_ids runs were followed
	lost     []error // for the first calls of Follow
	runs     int
	cancels  map[string]chan struct{}
	others   map[string][]api.Message // other terminals' runs
	hints    chan api.Change
	broken   chan struct{} // closing it breaks the connection of hints
	pid      int
	sandbox  string // how much of it works
	unknown  string // id of a message that a restore removed
	stopped  error  // why no daemon answers and none is started
	watched  int    // connections of hints

	searches []api.SearchMessages
	spans    []Span
	statuses int                 // how often the status was requested
	found    []api.MessageResult // by every search, if there are any
	reasons  map[string]reason
	partial  api.Partial // of searches
	fakeTimeline
	fakeApprovals
	fakeTrust
	fakeJobs
	fakeQuestions

	compacts   []string
	compactErr error
	measures   atomic.Int32 // of the context
}

func newFake() *fake {
	return &fake{
		session: api.Session{Client: "client-1", AgentID: "agent-1", ConversationID: "agent-1", AgentName: "Ada", Model: "openai/gpt-4o"},
		agents:  []api.AgentState{agent("agent-1", "Ada"), agent("agent-2", "Bob 漢字")},
		threads: []api.Conversation{{ID: "conv-1", AgentID: "agent-1", Summary: api.PtrTo("tea in Kyōto")}},
		models: []api.Model{
			{Handle: api.PtrTo("openai/gpt-4o"), ContextWindow: 128000}, {Handle: api.PtrTo("offline/loci"), ContextWindow: 32000},
		},
		blocks:   map[string]string{"human": "Name: Ada\nLikes tea.", "persona": "I remember."},
		versions: map[string]int{}, cancels: map[string]chan struct{}{}, others: map[string][]api.Message{},
		hints: make(chan api.Change, 8), broken: make(chan struct{}), pid: 1,
	}
}

func agent(id, name string) api.AgentState {
	return api.AgentState{ID: id, Name: name, Model: api.PtrTo("openai/gpt-4o"), LLMConfig: api.LLMConfig{ContextWindow: 127_000}}
}

func (f *fake) Open(_ context.Context, o api.Open) (api.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opens++
	if len(f.openErrs) > 0 {
		err := f.openErrs[0]
		f.openErrs = f.openErrs[1:]
		return api.Session{}, err
	}
	s := f.session
	if o.Agent == api.OpenNew {
		s.AgentID, s.ConversationID, s.AgentName = "agent-3", "agent-3", o.Name
	}
	s.RecallCount, s.Status = len(f.history), api.Status{PID: f.pid, Sandbox: f.sandbox}
	return s, nil
}

func (f *fake) Status(ctx context.Context) (api.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.statuses++
	if f.stopped != nil && !client.IsUnasked(ctx) && errors.Is(f.stopped, client.ErrStopped) {
		f.stopped, f.pid = nil, f.pid+1
	}
	return api.Status{PID: f.pid}, f.stopped
}

func (f *fake) Agents(context.Context) ([]api.AgentState, error) { return f.agents, nil }

func (f *fake) Agent(_ context.Context, id string) (api.AgentState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.agents {
		if a.ID == id {
			if id == f.session.AgentID && f.model != "" {
				model := f.model // a copy: the chat reads it without our lock
				a.Model = &model
			}
			return a, nil
		}
	}
	return api.AgentState{}, &client.Error{Kind: api.KindNotFound, Message: "no agent " + id}
}

func (f *fake) SetModel(_ context.Context, _, handle string) (warning string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.model = handle
	if strings.HasSuffix(handle, "/unlisted") {
		return "openai does not list \"unlisted\"", nil
	}
	return "", nil
}

func (f *fake) Models(context.Context) ([]api.Model, error) { return f.models, nil }

func (f *fake) Conversations(context.Context, string) ([]api.Conversation, error) {
	return f.threads, nil
}

func (f *fake) CreateConversation(context.Context, string) (api.Conversation, error) {
	return api.Conversation{ID: "conv-new", AgentID: "agent-1"}, nil
}

func (f *fake) Messages(_ context.Context, t Thread, s Span) ([]api.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.unread; err != nil {
		f.unread = nil
		return nil, err
	}
	if t != (Thread{Agent: "agent-1"}) {
		return []api.Message{{MessageType: api.MessageUser, ID: "m", Content: api.Text("words in " + t.Agent + t.Conversation)}}, nil
	}
	if s.After != "" && s.After == f.unknown {
		return nil, &client.Error{Kind: api.KindNotFound, Message: "no message " + s.After}
	}
	f.spans = append(f.spans, s)
	list := slices.Clone(f.history)
	if i := slices.IndexFunc(list, func(m api.Message) bool { return m.ID == s.Before }); s.Before != "" && i >= 0 {
		list = list[:i]
	}
	if i := slices.IndexFunc(list, func(m api.Message) bool { return m.ID == s.After }); s.After != "" && i >= 0 {
		list = list[i+1:]
	}
	if s.Oldest {
		return list[:min(len(list), s.Limit)], nil
	}
	return list[max(0, len(list)-s.Limit):], nil
}

func (f *fake) Context(context.Context, Thread) (api.ContextWindow, error) {
	f.measures.Add(1)
	return api.ContextWindow{
		ContextWindowSizeMax: max(f.window, 128_000), ContextWindowSizeCurrent: 15360, NumMessages: 21, NumTokensSystem: 1200,
		NumTokensCoreMemory:           160,
		NumTokensFunctionsDefinitions: 2000, NumTokensSummaryMemory: 400, NumTokensMessages: 11600,
	}, nil
}

func (f *fake) Compact(_ context.Context, t Thread, mode string) (api.Compaction, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.compacts = append(f.compacts, t.Agent+t.Conversation+" "+mode)
	if f.compactErr != nil {
		return api.Compaction{}, f.compactErr
	}
	f.history = append(f.history, api.Message{MessageType: api.MessageSummary, ID: "message-summary", Summary: "They spoke of tea."})
	return api.Compaction{Summary: "They spoke of tea.", NumMessagesBefore: 21, NumMessagesAfter: 3}, nil
}

func (f *fake) Search(_ context.Context, q api.SearchMessages) ([]api.MessageResult, api.Partial, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.searches = append(f.searches, q)
	if most := api.SearchMost; *q.Limit > most {
		return nil, "", &client.Error{Status: 400, Kind: api.KindInvalid, Message: fmt.Sprintf("a search returns 1 to %d results", most)}
	}
	if f.found != nil {
		return f.found, f.partial, nil
	}
	return []api.MessageResult{
		{MessageType: api.MessageUser, Content: api.Text("I said " + q.Query)},
		{MessageType: api.MessageAssistant, Content: api.Text("It said " + q.Query)},
	}, f.partial, nil
}

func (f *fake) Reasons(context.Context, api.SearchMessages) (map[string]reason, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reasons, nil
}

func (f *fake) Blocks(context.Context, string) ([]api.Block, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return []api.Block{
		{ID: "block-human", Label: api.PtrTo("human"), Value: f.blocks["human"], Limit: 5000},
		{ID: "block-persona", Label: api.PtrTo("persona"), Value: f.blocks["persona"], ReadOnly: true},
	}, nil
}

func (f *fake) Block(_ context.Context, _, label string) (api.Block, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.blocks[label]; !ok {
		return api.Block{}, "", &client.Error{Status: 404, Kind: api.KindNotFound, Message: "agent-1 has no block " + label}
	}
	return api.Block{
		ID: "block-" + label, Label: &label, Value: f.blocks[label], Limit: 5000, ReadOnly: label == "persona",
	}, fmt.Sprint("v", f.versions[label]), nil
}

func (f *fake) UpdateBlock(_ context.Context, _, label, value, etag string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if etag != fmt.Sprint("v", f.versions[label]) {
		return &client.Error{Status: 409, Kind: api.KindConflict, Message: "the block changed"}
	}
	f.versions[label]++
	f.blocks[label] = value
	return nil
}

// What tests ask the fake while its goroutines run.

func (f *fake) heard() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.sent...)
}

func (f *fake) block(label string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blocks[label]
}

func (f *fake) chosen() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.model
}

func (f *fake) tries() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opens
}

func (f *fake) watches() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watched
}

// restart replaces the daemon that hints came from with another.
func (f *fake) restart(pid int) {
	f.mu.Lock()
	f.pid = pid
	broken := f.broken
	f.broken = make(chan struct{})
	f.mu.Unlock()
	close(broken)
}

func (f *fake) edit(label, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.versions[label]++
	f.blocks[label] = value
}

func (f *fake) Cancel(_ context.Context, _ Thread, run string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.cancels[run]; ok {
		close(c)
		delete(f.cancels, run)
	}
	return nil
}

func (f *fake) Follow(_ context.Context, run string, after int64) iter.Seq2[api.Message, error] {
	return func(yield func(api.Message, error) bool) {
		f.mu.Lock()
		list := f.others[run]
		f.follows = append(f.follows, after)
		var err error
		if len(f.lost) > 0 {
			err, f.lost = f.lost[0], f.lost[1:]
		}
		f.mu.Unlock()
		if err != nil {
			yield(api.Message{}, err)
			return
		}
		for _, m := range list {
			m.RunID = run
			if m.SeqID > 0 && m.SeqID <= after {
				continue
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

func (f *fake) Changes(ctx context.Context) iter.Seq2[api.Change, error] {
	return func(yield func(api.Change, error) bool) {
		f.mu.Lock()
		broken := f.broken
		f.watched++
		f.mu.Unlock()
		for {
			select {
			case c := <-f.hints:
				if !yield(c, nil) {
					return
				}
			case <-broken:
				yield(api.Change{}, &client.Error{Kind: api.KindUnavailable, Message: "the connection broke"})
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

func (f *fake) Send(ctx context.Context, t Thread, text, _, otid string) iter.Seq2[api.Message, error] {
	f.mu.Lock()
	f.runs++
	run := fmt.Sprint("run-", f.runs)
	f.sent, f.otids, f.mode = append(f.sent, text), append(f.otids, otid), client.ModeOf(ctx)
	if len(f.sendErrs) > 0 {
		err := f.sendErrs[0]
		f.sendErrs = f.sendErrs[1:]
		f.mu.Unlock()
		return func(yield func(api.Message, error) bool) { yield(api.Message{}, err) }
	}
	if strings.HasPrefix(text, "moved") {
		f.model = "openai/gpt-5"
	}
	if what, ok := strings.CutPrefix(text, "ask "); ok {
		f.waiting = []api.WaitingRequest{waitingRequest(t, what)}
	}
	cancelled := make(chan struct{})
	f.cancels[run] = cancelled
	f.mu.Unlock()
	return func(yield func(api.Message, error) bool) {
		seq := int64(0)
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for _, m := range script(text) {
			if strings.HasPrefix(text, "motley") {
				<-tick.C
			}
			if m.MessageType == cutOff {
				yield(api.Message{}, &client.Error{Kind: api.KindUnavailable, Message: "the daemon did not start"})
				return
			}
			if m.MessageType == waitForever {
				select {
				case <-cancelled:
					yield(api.Message{MessageType: api.MessageStopReason, StopReason: api.StopCancelled, RunID: run}, nil)
				case <-ctx.Done():
				}
				return
			}
			seq++
			m.RunID, m.SeqID = run, seq
			if m.ID == "" {
				m.ID = fmt.Sprint("message-", run)
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

// sentIn is the mode in which the last message or answer was sent.
func (f *fake) sentIn() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mode
}
