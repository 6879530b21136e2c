package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"loci/core"
	"loci/core/memory"
	"loci/core/prompt"
	"loci/core/request"
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
	win     window
	choice  Choice
	env     core.Env
	archive core.ArchiveID
	history []core.ToolReturn // returns of this run
	step    *core.Step
	started time.Time
	wentOn  int             // how often hooks kept the turn from ending
	waits   map[string]bool // instructions that the person was told of, since nobody trusts them
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
	t := e.newTurn(j, j.run, j.step)
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
			end = ending{
				reason: core.StopError,
				err: core.E(core.Internal, "the run failed inside of Loci").
					WithHint("the daemon's log has the details: `loci daemon logs`"),
			}
		}
	}()
	deadline := cmp.Or(max(t.run.Config.Deadline, 0), t.e.cfg.Deadline)
	ctx, cancel := context.WithTimeoutCause(t.j.ctx, deadline, core.ErrDeadline)
	defer cancel()
	if end := t.prepare(ctx); end != nil {
		return *end
	}
	for {
		end := t.oneStep(ctx)
		if err := t.relieve(ctx, end); err != nil {
			end = brokenOff(ctx, err)
		}
		if end != nil {
			return *end
		}
	}
}

// prepare loads what the run needs, chooses the model, decides whether the pin moves and readies the input.
func (t *turn) prepare(ctx context.Context) *ending {
	t.started = t.e.cfg.Clock()
	if err := t.load(ctx); err != nil {
		return brokenOff(ctx, err)
	}
	if ctx.Err() != nil {
		return brokenOff(ctx, context.Cause(ctx))
	}
	t.openLog()
	if err := mayGoOn(t); err != nil {
		return brokenOff(ctx, err)
	}
	failed := t.chooseModel(ctx)
	if failed != nil && !answers(&t.run) {
		return brokenOff(ctx, failed)
	}
	if err := t.decidePin(ctx); err != nil {
		return brokenOff(ctx, err)
	}
	if answers(&t.run) { // the calls need no model
		if end := settle(ctx, t); end != nil {
			return end
		}
		if failed != nil {
			return brokenOff(ctx, failed)
		}
	}
	if !t.run.Delivered {
		if err := t.readyInput(ctx); err != nil {
			return brokenOff(ctx, err)
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
	if t.win.conv, err = s.Conversations().Get(ctx, t.run.Conversation); err != nil {
		return err
	}
	if t.win.rows, err = t.e.window(ctx, &t.win.conv); err != nil {
		return err
	}
	if t.history, err = t.e.historyOf(ctx, &t.run, t.j.resume); err != nil {
		return err
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
		if !m.Answers() {
			events = append(events, inputEvent(m))
		}
	}
	for _, n := range t.run.Config.Tells {
		events = append(events, core.Event{Body: n})
	}
	t.emit(events...)
}

func (t *turn) chooseModel(ctx context.Context) error {
	t.policy, _ = core.PolicyOf(t.agent.Type)
	c := t.chooser()
	choose := c.choose
	if t.j.resume {
		choose = c.again
	}
	choice, err := choose(ctx)
	t.env = c.env
	if err != nil && t.fallBack(ctx, err) {
		return nil
	}
	if core.KindOf(err) == core.NotFound {
		return noModelError{err}
	}
	if err != nil {
		return err
	}
	if err := t.givesTokens(&choice); err != nil {
		return err
	}
	t.take(choice)
	if choice.Move {
		if err := t.e.moveAgent(ctx, &t.agent, choice.Handle); err != nil {
			return err
		}
	}
	if choice.Notice == "" && choice.Why == whyAgent && !t.agent.UpdatedAt.Before(t.agent.LastRunAt) {
		choice.Notice = c.unlisted(ctx, choice.Handle) // its first run since somebody chose
	}
	if choice.Notice != "" {
		told := map[string]any{"model": string(choice.Handle), "why": choice.Why}
		t.emit(core.Event{Body: core.Notice{Kind: "model", Text: choice.Notice, Data: told}})
	}
	return nil
}

// decidePin moves the pin where the rules of the prefix allow it, else loads what is pinned.
func (t *turn) decidePin(ctx context.Context) error {
	s := t.e.cfg.Store
	now, err := t.e.prompts.Outline(ctx, s, t.agent, t.win.folder())
	if err != nil {
		return err
	}
	if archive, ok, err := s.Archives().OfAgent(ctx, t.agent.ID); err != nil {
		return err
	} else if ok {
		t.archive = archive.ID
	}
	changed, gone := prompt.Newer(now.Blocks, t.win.conv.Shown)
	cold := t.e.cfg.Clock().Sub(t.win.conv.AskedAt) >= t.choice.Info.CacheTTL
	resumed := t.j.resume && t.run.Delivered || answers(&t.run)
	differs := t.win.conv.PinKey != now.Key || len(changed) > 0 || gone
	if t.win.conv.PinSystem == "" || !resumed && (!prompt.SameAttached(t.win.conv.PinKey, now.Key) || differs && cold) {
		return t.movePin(ctx, now)
	}
	t.win.pinned, t.win.prefix = now, t.win.conv.Prefix
	if t.win.pinned.System, t.win.pinned.Schema, err = t.e.prompts.Pinned(ctx, &t.win.conv); err != nil {
		return err
	}
	if differs && !resumed && t.win.room() <= 0 { // with it no request can be sent, so that nobody has it cached; the newest may fit
		return t.movePin(ctx, now)
	}
	t.win.pinned.Tools, err = request.ReadTools(t.win.pinned.Schema)
	return err
}

// movePin makes the conversation send the newest prompt from now on.
func (t *turn) movePin(ctx context.Context, now prompt.Prompt) error {
	if err := t.e.prompts.Fill(ctx, t.e.cfg.Store, t.agent, &t.win.conv, &now); err != nil {
		return err
	}
	t.win.pinned, t.win.moved = now, true
	now.Pin(&t.win.conv, prompt.Hash(core.SnapshotSystem, now.System), prompt.Hash(core.SnapshotTools, now.Schema))
	t.win.prefix = t.win.conv.Prefix
	return nil
}

// readyInput makes the messages that enter with the first successful step: the input with its preface, then one hidden
// record for every block version that the window does not show yet, one of passages that a person took back, and one of
// what is recalled.
func (t *turn) readyInput(ctx context.Context) error {
	zone := zoneOf(&t.run, &t.agent)
	last, folder := t.win.conv.LastMessageAt, t.win.conv.LastFolder
	for i := range t.run.Input {
		m := &t.run.Input[i]
		if m.Answers() || m.Hidden != core.NotHidden {
			continue // carried out already, or of an earlier attempt: made anew below
		}
		if m.Role == core.RoleUser {
			m.Preface = memory.Preface(m.CreatedAt.In(zone), last, t.run.Client.Workspace, folder)
			last = m.CreatedAt
			if t.run.Client.Workspace != "" {
				folder = t.run.Client.Workspace
			}
		}
		m.Tokens = request.Tokens(m)
		t.win.input = append(t.win.input, m)
	}
	t.win.conv.LastFolder = folder
	if err := t.win.announce(ctx); err != nil {
		return err
	}
	if err := t.tellTakenBack(ctx); err != nil {
		return err
	}
	if err := t.hookInput(ctx); err != nil {
		return err
	}
	t.win.offerSkills()
	t.offerFolders()
	if record := t.e.recall.record(ctx, &t.win, t.archive); record != nil {
		t.win.input = append(t.win.input, record)
		t.emit(core.Event{Body: Recalled(record)})
	}
	return nil
}

// offerSkills lets the client's skills join the input where the window does not show just these.
func (w *window) offerSkills() {
	shown, want := "", memory.Skills(w.run.Config.Skills)
	for i := range w.rows {
		if m := &w.rows[i].Message; m.Hidden == core.HiddenSkills {
			shown = m.PlainText()
		}
	}
	if shown == want || shown == "" && len(w.run.Config.Skills) == 0 {
		return
	}
	w.input = append(w.input, w.hidden(core.HiddenSkills, want))
}

// announce lets the block versions that the window does not show join the input.
func (w *window) announce(ctx context.Context) error {
	changed, _ := prompt.Newer(w.pinned.Blocks, w.conv.Shown)
	if len(changed) == 0 {
		return nil
	}
	text, err := w.prompts.Announcement(ctx, changed, w.conv.Shown)
	if err != nil {
		return err
	}
	hidden := w.hidden(core.HiddenBlocks, text)
	w.input = append(w.input, hidden)
	w.raise = map[core.BlockID]int{}
	for _, b := range changed {
		w.raise[b.ID] = b.Version
	}
	return nil
}

// zoneOf is where the clocks of a run's messages are: the client's zone, else the agent's.
func zoneOf(run *core.Run, agent *core.Agent) *time.Location {
	if run.Client.Zone != "" {
		if loc, err := time.LoadLocation(run.Client.Zone); err == nil {
			return loc
		}
	}
	return agent.Location()
}

// oneStep asks the model once and does what it asked for. It returns nil when another step follows.
func (t *turn) oneStep(ctx context.Context) *ending {
	if t.step == nil {
		step := newStep(&t.run, t.win.stepNumber(), t.e.cfg.Clock())
		if err := t.beginStep(ctx, step); err != nil {
			return brokenOff(ctx, err)
		}
		t.step = step // only now: the end of the run closes the step that there is
	}
	if err := t.win.fit(ctx, t.step.ID, false); err != nil {
		return brokenOff(ctx, err)
	}
	state := t.rules()
	a, err := t.ask(ctx, state)
	if core.KindOf(err) == core.TooLong && !a.said {
		if err = t.win.fit(ctx, t.step.ID, true); err == nil {
			a, err = t.ask(ctx, state)
		}
	}
	if err != nil && t.unread(ctx, a, err) {
		t.takeBack(a, "The answer broke off; the model is asked again.")
		a, err = t.ask(ctx, state)
	}
	if err != nil && t.fellBack(ctx, a, err) {
		if err = t.win.fit(ctx, t.step.ID, false); err == nil {
			a, err = t.ask(ctx, state)
		}
	}
	if err != nil {
		return t.askFailed(ctx, a, err)
	}
	return t.decide(ctx, state, a)
}

// unread reports whether an answer broke off before anybody read a piece of it, so that it may be asked for once more. A
// model that was not even reached is not: whoever asks it has tried again already. A run of whole messages sends them when
// they are saved, and who else watches its pieces is told to drop them. Where a client of ours streams pieces, thoughts and
// unfinished calls count as unread: it prints neither before they are whole. A client of the contract that streams pieces
// would show both attempts.
func (t *turn) unread(ctx context.Context, a *answer, err error) bool {
	var e *core.Error
	if ctx.Err() != nil || t.step.ResponseAt.IsZero() || !errors.As(err, &e) || !e.Provider || e.Detail != nil ||
		e.Kind != core.Unavailable && e.Kind != core.Timeout {
		return false
	}
	return !a.said || !t.run.Config.StreamTokens || !a.spoke && t.run.Client.ID != ""
}

func (w *window) stepNumber() int {
	steps := map[core.StepID]bool{}
	for _, r := range w.rows {
		if m := &r.Message; m.Run == w.run.ID && (m.Role == core.RoleAssistant || m.Asks()) {
			steps[m.Step] = true
		}
	}
	return len(steps) + 1
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

func (t *turn) rules() *rules.State {
	steps := cmp.Or(max(t.run.Config.MaxSteps, 0), t.e.cfg.MaxSteps)
	if t.step != nil && t.step.Run == t.run.ID { // else it is the one that asked for the approval which this run answers
		steps -= t.step.Number
	}
	in := rules.Input{Rules: t.agent.ToolRules, History: ruled(t.history), StepsLeft: steps, Policy: t.policy}
	for _, spec := range t.win.tools() {
		in.Attached = append(in.Attached, spec.Name)
	}
	in.Attached = append(in.Attached, t.win.behind()...)
	_, in.Terminal = prompt.ToolNames(t.win.pinned.Bound)
	return rules.New(in)
}

// parts are what the next request is made from.
func (t *turn) parts(state *rules.State) request.Parts {
	s := request.Parts{
		Info:         t.choice.Info,
		System:       t.win.pinned.System,
		Tools:        t.win.tools(),
		Parallel:     state.Parallel() && t.win.wantsParallel(),
		Settings:     t.win.settings(),
		Window:       core.WindowOf(&t.agent, t.choice.Info),
		Prefix:       t.win.sentPrefix(),
		Conversation: t.win.conv.ID,
		Rows:         t.win.rows,
		Policy:       t.policy,
	}
	_, s.Model, _ = t.choice.Handle.Split()
	s.Offer, s.Choice = t.win.offering(state)
	if t.run.Config.System != "" {
		s.System = t.run.Config.System
	}
	for _, m := range t.win.pendingInput() {
		s.Rows = append(slices.Clip(s.Rows), core.InContext{Row: core.ContextRow{CutTo: t.win.cutTo[m.ID]}, Message: *m})
	}
	return s
}

func (w *window) wantsParallel() bool {
	if p := w.settings().ParallelTools; p != nil {
		return *p
	}
	return true
}

// brokenOff is the ending of a run whose step never reached a model, or could not be saved.
func brokenOff(ctx context.Context, err error) *ending {
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
	case known && e.Detail == core.StopSystemPromptFull:
		return core.StopSystemPromptFull
	case kind == core.Cancelled:
		return core.StopCancelled
	case kind == core.NoCredit:
		return core.StopNoCredits
	case known && e.Detail == core.StopInvalidLLMResponse:
		return core.StopInvalidLLMResponse
	case known && e.Provider:
		return core.StopLLMAPIError
	default:
		return core.StopError
	}
}
