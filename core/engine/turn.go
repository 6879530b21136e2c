package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"loci/core"
	"loci/core/memory"
	"loci/core/rules"
)

// turn is the state of a run while its lane executes it. Everything that the next step needs is in the store, so that a
// restart can go on from the last saved step; what stands here is a copy, brought up to date after each commit.
type turn struct {
	e       *Engine
	j       *job
	run     core.Run
	agent   core.Agent
	policy  core.Policy // towards this model
	conv    core.Conversation
	choice  Choice
	env     core.Env
	pinned  prompt // what is sent: system, tools and their schema as pinned; blocks and bound tools as attached now
	archive core.ArchiveID
	rows    []core.InContext // the open rows, message 0 left out
	input   []*core.Message  // what enters with the first successful step: the run's input, then what joins it
	cutTo   map[core.MessageID]int
	history []core.ToolReturn // returns of this run
	step    *core.Step
	prefix  string               // hash of the prefix that is sent
	moved   bool                 // the pin moved and is stored with the next commit
	raise   map[core.BlockID]int // versions the window shows once the input entered
	ratio   float64              // true tokens to estimated ones, as the provider last reported
	started time.Time
}

// ending is why a run ends. A nil ending goes on.
type ending struct {
	reason core.StopReason
	err    error
	saved  bool // the commit of the last step ended the run already
	leave  bool // a shutdown leaves the run for the next start
}

// execute runs a job to its end and returns the events that tell of it. It is called by the job's lane only, or for a run
// that never got its turn.
func (e *Engine) execute(j *job) []core.Event {
	t := &turn{e: e, j: j, run: j.run, step: j.step, ratio: 1, cutTo: map[core.MessageID]int{}}
	t.run.Input = slices.Clone(j.run.Input)
	end := t.guarded()
	if isShutdown(j.ctx) && !end.saved && t.run.Background {
		end.leave = true
	}
	return t.finish(end)
}

// guarded keeps a panic from crossing the package.
func (t *turn) guarded() (end ending) {
	defer func() {
		if v := recover(); v != nil {
			t.e.cfg.Logger.Error("run panicked", logRun(t.run.ID), logAny("panic", v), logStack())
			end = ending{reason: core.StopError, err: core.E(core.Internal, "the run failed inside of Loci").WithHint("the daemon's log has the details: `loci daemon logs`")}
		}
	}()
	ctx, cancel := context.WithTimeoutCause(t.j.ctx, t.deadline(), core.ErrDeadline)
	defer cancel()
	if end := t.prepare(ctx); end != nil {
		return *end
	}
	for {
		if end := t.oneStep(ctx); end != nil {
			return *end
		}
	}
}

func (t *turn) deadline() time.Duration {
	if d := t.run.Config.Deadline; d > 0 {
		return d
	}
	return t.e.cfg.Deadline
}

// prepare loads what the run needs, chooses the model, decides whether the pin moves and readies the input.
func (t *turn) prepare(ctx context.Context) *ending {
	t.started = t.e.cfg.Clock()
	if err := t.load(ctx); err != nil {
		return t.broken(ctx, err)
	}
	if ctx.Err() != nil {
		return t.broken(ctx, context.Cause(ctx))
	}
	t.openLog()
	if err := t.chooseModel(ctx); err != nil {
		return t.broken(ctx, err)
	}
	if err := t.decidePin(ctx); err != nil {
		return t.broken(ctx, err)
	}
	if !t.run.Delivered {
		if err := t.readyInput(ctx); err != nil {
			return t.broken(ctx, err)
		}
	}
	return nil
}

func (t *turn) load(ctx context.Context) error {
	s := t.e.cfg.Store
	var err error
	if t.agent, err = s.Agents().Get(ctx, t.run.Agent); err != nil {
		return err
	}
	if t.conv, err = s.Conversations().Get(ctx, t.run.Conversation); err != nil {
		return err
	}
	if t.rows, err = t.e.window(ctx, &t.conv); err != nil {
		return err
	}
	for _, r := range t.rows {
		if r.Message.Run == t.run.ID {
			t.history = append(t.history, r.Message.Returns...)
		}
	}
	t.env = t.e.envOf(t.j.env)
	return nil
}

// window returns the open context rows of a conversation, message 0 left out. Only the lane changes them, so that what was
// kept for the same rev is what the store holds.
func (e *Engine) window(ctx context.Context, conv *core.Conversation) ([]core.InContext, error) {
	if rows, ok := e.wins.get(conv.ID, conv.Rev); ok {
		return rows, nil
	}
	rows, err := e.cfg.Store.Messages().Context(ctx, conv.ID)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(rows, func(r core.InContext) bool { return r.Row.Position == 0 }), nil
}

// openLog begins the run's events, unless an earlier attempt did.
func (t *turn) openLog() {
	if t.j.resume {
		return
	}
	events := make([]core.Event, 0, len(t.run.Input))
	for _, m := range t.run.Input {
		events = append(events, inputEvent(m))
	}
	t.emit(events...)
}

func (t *turn) chooseModel(ctx context.Context) error {
	choose := t.e.Choose
	if t.j.resume {
		choose = t.chooseAgain
	}
	choice, err := choose(ctx, t.agent, t.override(), t.env)
	if err != nil {
		return err
	}
	t.choice = choice
	t.e.sizes.note(choice.Handle, choice.Info.ContextWindow)
	policy, _ := core.PolicyOf(t.agent.Type)
	t.policy = effective(policy, choice.Info)
	if choice.Move {
		if err := t.e.moveAgent(ctx, &t.agent, choice.Handle); err != nil {
			return err
		}
	}
	if choice.Notice != "" {
		t.emit(core.Event{Body: core.Notice{Kind: "model", Text: choice.Notice, Data: map[string]any{"model": string(choice.Handle), "why": choice.Why}}})
	}
	return nil
}

// override is the model for this run only: the request's, else the conversation's.
func (t *turn) override() core.Handle {
	if t.run.Config.Model != "" {
		return t.run.Config.Model
	}
	return t.conv.Model
}

// decidePin moves the pin where the rules of the prefix allow it, else loads what is pinned.
func (t *turn) decidePin(ctx context.Context) error {
	s := t.e.cfg.Store
	now, err := t.e.outline(ctx, s, t.agent)
	if err != nil {
		return err
	}
	if archive, ok, err := s.Archives().OfAgent(ctx, t.agent.ID); err != nil {
		return err
	} else if ok {
		t.archive = archive.ID
	}
	changed, gone := newer(now.blocks, t.conv.Shown)
	cold := t.e.cfg.Clock().Sub(t.conv.AskedAt) >= t.choice.Info.CacheTTL
	resumed := t.j.resume && t.run.Delivered
	differs := t.conv.PinKey != now.key || len(changed) > 0 || gone
	if t.conv.PinSystem == "" || !resumed && (!sameAttached(t.conv.PinKey, now.key) || differs && cold) {
		return t.movePin(ctx, now)
	}
	t.pinned, t.prefix = now, t.conv.Prefix
	if t.pinned.system, t.pinned.schema, err = t.e.pinnedTexts(ctx, &t.conv); err != nil {
		return err
	}
	if differs && !resumed && t.room() <= 0 { // with it no request can be sent, so that nobody has it cached; the newest may fit
		return t.movePin(ctx, now)
	}
	t.pinned.tools, err = readTools(t.pinned.schema)
	return err
}

// movePin makes the conversation send the newest prompt from now on.
func (t *turn) movePin(ctx context.Context, now prompt) error {
	if err := t.e.fill(ctx, t.e.cfg.Store, t.agent, &t.conv, &now); err != nil {
		return err
	}
	t.pinned, t.moved = now, true
	now.pin(&t.conv, snapshotHash(core.SnapshotSystem, now.system), snapshotHash(core.SnapshotTools, now.schema))
	t.prefix = t.conv.Prefix
	return nil
}

// readyInput makes the messages that enter with the first successful step: the input with its preface, then one hidden
// record for every block version that the window does not show yet, and one of what is recalled.
func (t *turn) readyInput(ctx context.Context) error {
	zone := t.zone()
	last, folder := t.conv.LastMessageAt, t.conv.LastFolder
	for i := range t.run.Input {
		m := &t.run.Input[i]
		if m.Hidden != core.NotHidden {
			continue // of an earlier attempt: made anew below
		}
		if m.Role == core.RoleUser {
			m.Preface = memory.Preface(m.CreatedAt.In(zone), last, t.run.Client.Workspace, folder)
			last = m.CreatedAt
			if t.run.Client.Workspace != "" {
				folder = t.run.Client.Workspace
			}
		}
		m.Tokens = tokensOf(m)
		t.input = append(t.input, m)
	}
	t.conv.LastFolder = folder
	if err := t.announce(ctx); err != nil {
		return err
	}
	t.recall(ctx)
	return nil
}

// announce lets the block versions that the window does not show join the input.
func (t *turn) announce(ctx context.Context) error {
	changed, _ := newer(t.pinned.blocks, t.conv.Shown)
	if len(changed) == 0 {
		return nil
	}
	text, err := t.e.announcement(ctx, changed, t.conv.Shown)
	if err != nil {
		return err
	}
	hidden := t.hidden(core.HiddenBlocks, text)
	t.input = append(t.input, hidden)
	t.raise = map[core.BlockID]int{}
	for _, b := range changed {
		t.raise[b.ID] = b.Version
	}
	return nil
}

// hidden makes a record that joins the turn from outside.
func (t *turn) hidden(kind core.HiddenKind, text string) *core.Message {
	m := &core.Message{
		ID: core.NewMessageID(), Agent: t.agent.ID, Conversation: t.conv.ID, Run: t.run.ID, Role: core.RoleUser, Hidden: kind,
		Content: []core.Content{core.Text(text)}, CreatedAt: t.e.cfg.Clock(),
	}
	m.Tokens = tokensOf(m)
	return m
}

func (t *turn) zone() *time.Location {
	if t.run.Client.Zone != "" {
		if loc, err := time.LoadLocation(t.run.Client.Zone); err == nil {
			return loc
		}
	}
	return t.agent.Location()
}

// announcement words the block versions that a window does not show yet.
func (e *Engine) announcement(ctx context.Context, changed []core.Block, shown map[core.BlockID]int) (string, error) {
	text := ""
	for _, b := range changed {
		value, have := "", shown[b.ID] > 0
		if have {
			v, err := e.cfg.Store.Blocks().Version(ctx, b.ID, shown[b.ID])
			switch {
			case err == nil:
				value = v.Value
			case core.KindOf(err) == core.NotFound:
				have = false
			default:
				return "", err
			}
		}
		if text != "" {
			text += "\n\n"
		}
		text += memory.Announce(b, value, have)
	}
	return text, nil
}

// oneStep asks the model once and does what it asked for. It returns nil when another step follows.
func (t *turn) oneStep(ctx context.Context) *ending {
	if t.step == nil {
		step := newStep(&t.run, t.stepNumber(), t.e.cfg.Clock())
		if err := t.beginStep(ctx, step); err != nil {
			return t.broken(ctx, err)
		}
		t.step = step // only now: the end of the run closes the step that there is
	}
	if err := t.fit(ctx, false); err != nil {
		return t.broken(ctx, err)
	}
	state := t.rules()
	a, err := t.ask(ctx, state)
	if core.KindOf(err) == core.TooLong && !a.said {
		if err = t.fit(ctx, true); err == nil {
			a, err = t.ask(ctx, state)
		}
	}
	if err != nil {
		return t.askFailed(ctx, a, err)
	}
	return t.decide(ctx, state, a)
}

func (t *turn) stepNumber() int {
	n := 0
	for _, r := range t.rows {
		if r.Message.Run == t.run.ID && r.Message.Role == core.RoleAssistant {
			n++
		}
	}
	return n + 1
}

// beginStep records a step as pending, and the run as running, where the acceptance could not.
func (t *turn) beginStep(ctx context.Context, step *core.Step) error {
	return t.e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		run := t.run
		if run.Status == core.RunCreated {
			run.Status, run.StartedAt = core.RunRunning, t.started
			if err := tx.Runs().Update(ctx, &run); err != nil {
				return err
			}
		}
		t.run.Status, t.run.StartedAt = run.Status, run.StartedAt
		return tx.Steps().Create(ctx, step)
	})
}

func (t *turn) maxSteps() int {
	if n := t.run.Config.MaxSteps; n > 0 {
		return n
	}
	return t.e.cfg.MaxSteps
}

func (t *turn) rules() *rules.State {
	in := rules.Input{Rules: t.agent.ToolRules, History: t.history, StepsLeft: t.maxSteps() - t.step.Number, Policy: t.policy}
	for _, spec := range t.pinned.tools {
		in.Attached = append(in.Attached, spec.Name)
	}
	_, in.Terminal = toolNames(t.pinned.bound)
	return rules.New(in)
}

// sending is what the next request is made from.
func (t *turn) sending(state *rules.State) sending {
	s := sending{
		info: t.choice.Info, system: t.pinned.system, tools: t.pinned.tools, choice: state.Choice(), parallel: state.Parallel() && t.wantsParallel(),
		settings: t.settings(), window: windowOf(&t.agent, t.choice.Info), prefix: t.prefix, conv: t.conv.ID,
		rows: t.rows, policy: t.policy,
	}
	_, s.model, _ = t.choice.Handle.Split()
	if state.Shrunk() {
		s.offer = state.Offer()
	}
	if t.run.Config.System != "" {
		s.system = t.run.Config.System
	}
	for _, m := range t.pendingInput() {
		s.rows = append(slices.Clip(s.rows), core.InContext{Row: core.ContextRow{CutTo: t.cutTo[m.ID]}, Message: *m})
	}
	return s
}

// settings are the model settings that count: the conversation's own, else the agent's.
func (t *turn) settings() core.ModelSettings {
	if t.conv.Settings != nil {
		return *t.conv.Settings
	}
	return t.agent.Settings
}

func (t *turn) wantsParallel() bool {
	if p := t.settings().ParallelTools; p != nil {
		return *p
	}
	return true
}

func (t *turn) pendingInput() []*core.Message {
	if t.run.Delivered {
		return nil
	}
	return t.input
}

// broken is the ending of a run whose step never reached a model, or could not be saved.
func (t *turn) broken(ctx context.Context, err error) *ending {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &ending{reason: stopReasonOf(err), err: err}
}

// askFailed ends a run whose model call failed or was stopped. What was shown is kept if a person stopped it.
func (t *turn) askFailed(ctx context.Context, a *answer, err error) *ending {
	cause := context.Cause(ctx)
	if cause == nil {
		return &ending{reason: stopReasonOf(err), err: err}
	}
	end := &ending{reason: stopReasonOf(cause), err: cause}
	if errors.Is(cause, core.ErrShutdown) && t.run.Background || !a.said {
		return end
	}
	dropped := a.cut()
	if a.empty() {
		return end
	}
	if err := t.saveInterrupted(context.WithoutCancel(ctx), a, dropped, end); err != nil {
		t.e.cfg.Logger.ErrorContext(ctx, "save interrupted step", logRun(t.run.ID), logErr(err))
		return end
	}
	end.saved = true
	return end
}

// stopReasonOf says in the contract's words why a run with this error ends.
func stopReasonOf(err error) core.StopReason {
	var e *core.Error
	known := errors.As(err, &e)
	switch kind := core.KindOf(err); {
	case known && e.Detail == core.StopOverflow:
		return core.StopOverflow
	case kind == core.Cancelled:
		return core.StopCancelled
	case kind == core.NoCredit:
		return core.StopNoCredit
	case known && e.Detail == core.StopInvalidResponse:
		return core.StopInvalidResponse
	case known && e.Provider:
		return core.StopLLMError
	default:
		return core.StopError
	}
}

// pinnedTexts loads what a conversation is pinned to.
func (e *Engine) pinnedTexts(ctx context.Context, c *core.Conversation) (system, schema string, err error) {
	if _, system, err = e.cfg.Store.Snapshots().Get(ctx, c.PinSystem); err != nil {
		return "", "", err
	}
	_, schema, err = e.cfg.Store.Snapshots().Get(ctx, c.PinTools)
	return system, schema, err
}

// shownAfter is what the window shows once the step's rows are in it.
func (t *turn) shownAfter(base, shows map[core.BlockID]int) map[core.BlockID]int {
	shown := maps.Clone(base)
	if shown == nil {
		shown = map[core.BlockID]int{}
	}
	if !t.run.Delivered {
		for id, v := range t.raise {
			shown[id] = max(shown[id], v)
		}
	}
	for id, v := range shows {
		shown[id] = max(shown[id], v)
	}
	return shown
}
