package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"loci/core"
	"loci/core/rules"
)

// cancelledReturn is the return of a call that a person stopped.
const cancelledReturn = "The call was cancelled by the user."

// defaultReturnLimit is how many characters of a return are kept unless the tool says otherwise.
const defaultReturnLimit = 50_000

// maxParallel bounds how many outside calls of one response run at once.
const maxParallel = 8

// decide saves the answer, runs what it called and returns nil when another step follows.
func (t *turn) decide(ctx context.Context, state *rules.State, a *answer) *ending {
	calls := newGate(ctx, t, state).pass(a)
	t.win.tellCalls(ctx, calls)
	for _, p := range calls {
		if p.unasked != nil {
			t.emit(core.Event{Step: t.step.ID, Body: *p.unasked})
		}
	}
	c := t.newCommit(a)
	c.calls, c.state = calls, state
	switch {
	case len(calls) == 0:
		outcome := state.AfterText(a.finish)
		if t.judge(c, outcome, state); c.misfit == "" && c.end == nil {
			c.goOn = t.mayEnd(ctx, outcome, state, a.spoken())
		}
		c.outcome = c.follow(outcome)
		return t.saveStep(ctx, c)
	case slices.ContainsFunc(calls, (*pendingCall).asks): // none runs before somebody answered
		c.outcome = rules.Outcome{Stop: core.StopRequiresApproval}
		return t.saveStep(ctx, c)
	case slices.ContainsFunc(calls, (*pendingCall).outside):
		if err := t.saveCalls(ctx, c); err != nil {
			return brokenOff(ctx, err)
		}
	}
	if err := t.callAll(ctx, calls); err != nil {
		return t.callsStopped(ctx, c, err)
	}
	c.goOn = t.afterCalls(ctx, calls, state)
	end := t.saveStep(ctx, c)
	t.win.hookSaved(ctx, c)
	return end
}

// afterCalls asks the hooks where a turn would end with these calls.
func (t *turn) afterCalls(ctx context.Context, calls []*pendingCall, state *rules.State) (goOn string) {
	if t.e.cfg.Hooks == nil {
		return ""
	}
	if why := halted(calls); why != "" {
		t.emit(core.Event{Body: core.Notice{Kind: NoticeHook, Text: "A hook ends the turn: " + why}})
		return ""
	}
	var done []rules.Done // as far as it is known before the edits of our own tools
	for _, p := range calls {
		if p.call.Dropped {
			continue
		}
		r := core.ToolReturn{Name: p.call.Name, Text: p.result.Text, IsError: p.result.IsError}
		done = append(done, rules.Done{Return: r, Heartbeat: p.beat})
	}
	return t.mayEnd(ctx, state.AfterCalls(done), state, "")
}

// outside reports whether the call acts on the world.
func (p *pendingCall) outside() bool {
	return p.refusal == "" && !p.given && p.tool.Info.Effect == core.EffectOutside
}

// callAll calls the tools. Those that only touch our facts run in order and leave their edits to the save; those with
// outside effects run side by side where each of them says it may, results in call order.
func (t *turn) callAll(ctx context.Context, calls []*pendingCall) error {
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	var kept []core.Passage // each call knows what those before it will store
	for _, p := range calls {
		if p.refusal != "" {
			p.result = core.ToolError(p.refusal)
			continue
		}
		if p.given {
			continue
		}
		parallel := false
		if ps, ok := p.tool.Tool.(core.ParallelSafe); ok && p.tool.Info.Effect == core.EffectOutside {
			parallel = ps.ParallelSafe()
		}
		if parallel {
			env := t.toolEnv(kept)
			group.Go(func() error { return t.callOne(gctx, p, env) })
			continue
		}
		if err := t.callOne(ctx, p, t.toolEnv(kept)); err != nil {
			if werr := group.Wait(); werr != nil {
				return errors.Join(err, werr)
			}
			return err
		}
		kept = append(slices.Clip(kept), p.result.Keeps...)
	}
	if err := group.Wait(); err != nil {
		return err
	}
	t.win.tellCalls(ctx, calls)
	t.bringInstructions(calls)
	return nil
}

func (t *turn) callOne(ctx context.Context, p *pendingCall, env core.ToolEnv) (err error) {
	defer func() {
		if v := recover(); v != nil {
			t.e.cfg.Logger.ErrorContext(ctx, "tool panicked", logRun(t.run.ID), logAny("tool", p.call.Name), logAny("panic", v), logStack())
			p.result, err = core.ToolError("Error executing function "+p.call.Name+": RuntimeError: the tool failed inside of Loci"), nil
		}
	}()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	env.Call, env.Workspace.Paths, env.Workspace.Dirs, env.Workspace.Hosts = p.call.ID, p.paths, p.dirs, p.hosts
	env.Workspace.Uncaged, env.Workspace.Opens = p.uncaged != "", p.opens
	env.Workspace.Settings = p.settings
	if err := t.e.equip(ctx, p, &env); err != nil {
		p.result = core.ToolError("Error executing function " + p.call.Name + ": secrets that the tool would get can't be opened: " +
			err.Error() + ". " + core.HintOf(err))
		return nil
	}
	p.result, err = p.tool.Tool.Call(ctx, p.call, env)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		p.result = p.result.Veiled(env.Veil)
		t.win.hookAfter(ctx, p)
		p.result.Text = env.Veil.Text(p.result.Text) // what a hook said stands in it, too
		err = t.e.keepImages(ctx, p)
	}
	return err
}

func (t *turn) toolEnv(kept []core.Passage) core.ToolEnv {
	shown := t.win.shownAfter(t.win.conv.Shown, nil)
	return core.ToolEnv{
		Agent:        t.agent,
		Conversation: t.win.conv.ID,
		Run:          t.run.ID,
		Step:         t.step.ID,
		Read:         core.ReadsOf(t.e.cfg.Store),
		Search:       t.e.cfg.Search,
		Now:          t.e.cfg.Clock().In(zoneOf(&t.run, &t.agent)),
		Shown:        shown,
		LineNumbers:  t.policy.LineNumbers,
		MaxReturn:    defaultReturnLimit,
		Files:        core.FileLimitsOf(&t.agent, t.e.prompts.WindowFor(&t.agent)),
		Author: core.Author{
			Kind: core.AuthorAgent, ID: string(t.agent.ID), Step: t.step.ID, Source: t.sources(),
		},
		Chain:    t.run.Chain,
		Kept:     kept,
		Client:   t.run.Client,
		Pictures: t.e.cfg.Pictures,
		Sees:     t.choice.Info.Images,
		Workspace: core.WorkspaceEnv{
			Path: t.run.Client.Workspace, Dir: t.win.dir(), Mode: t.run.Client.Mode,
			Contents: t.e.cfg.Contents, Files: t.e.cfg.Store.Workspaces(),
		},
	}
}

// callsStopped ends a run that was stopped, or broke, while its tools ran. The calls are kept with returns that say so.
func (t *turn) callsStopped(ctx context.Context, c *commit, err error) *ending {
	end := brokenOff(ctx, err)
	if isShutdown(t.j.ctx) && t.run.Background {
		return end // the next start answers the calls
	}
	stopped(c.calls, end)
	c.end = end
	return t.saveStep(context.WithoutCancel(ctx), c)
}

// stopped gives the calls that have no result a return that says why.
func stopped(calls []*pendingCall, end *ending) {
	text := cancelledReturn
	if end.reason != core.StopCancelled {
		text = "The call was stopped: " + end.err.Error()
	}
	for _, p := range calls {
		switch {
		case p.refusal != "":
			p.result = core.ToolError(p.refusal)
		case !p.given && (p.result.Text == "" || p.result.Apply != nil):
			p.result = core.ToolError(text)
		}
	}
}

// finalReturn runs the edit of the call's result, in a savepoint of its own, and returns what the model reads.
func (p *pendingCall) finalReturn(ctx context.Context, tx core.Store) (core.ToolReturn, map[core.BlockID]int, error) {
	result := p.result
	if result.Apply != nil {
		err := tx.Tx(ctx, func(ctx context.Context, sp core.Store) error {
			var err error
			if result, err = p.result.Apply(ctx, core.EditsOf(sp)); err != nil {
				return err
			}
			if result.IsError {
				return errRollback
			}
			return nil
		})
		if err != nil && !errors.Is(err, errRollback) {
			return core.ToolReturn{}, nil, err
		}
	}
	r := core.ToolReturn{
		CallID:  p.call.ID,
		Name:    p.call.Name,
		Text:    p.note + result.Text,
		IsError: result.IsError,
		Stdout:  result.Stdout,
		Stderr:  result.Stderr,
		Passed:  p.passed,
		Hooked:  p.hooked,
		Dir:     result.Dir,
		Images:  p.images,
		Layers:  p.result.Layers,
		Source:  cmp.Or(result.Source, p.result.Source),
		Dropped: p.call.Dropped,
	}
	limit := p.tool.Info.ReturnCharLimit
	if limit == 0 {
		limit = defaultReturnLimit
	}
	shows := result.Shows
	if n := utf8.RuneCountInString(r.Text); n > limit && !p.tool.Info.WholeReturn && !r.IsError {
		r.Text = truncate(r.Text, n, limit)
		shows = nil
	}
	return r, shows, nil
}

// errRollback undoes the edit of a tool that failed; its return is kept.
var errRollback = errors.New("roll back the tool's edit")

// truncate cuts a return in the words that the API's users know.
func truncate(text string, length, limit int) string {
	return fmt.Sprintf(
		"%s... [NOTE: function output was truncated since it exceeded the character limit: %d > %d]",
		string([]rune(text)[:limit]),
		length,
		limit,
	)
}
