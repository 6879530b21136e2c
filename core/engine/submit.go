package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"loci/core"
)

// Submit commits the run with its input, then answers; from then on nothing of it is lost and it belongs to the engine,
// not to the request. A repeat of a request marked Once answers with the run it repeats, any other repeat only while that
// run is active or where the daemon's end was its own.
func (e *Engine) Submit(ctx context.Context, req Request) (core.Run, error) {
	if req.Conversation == "" {
		req.Conversation = core.DefaultConversation(req.Agent)
	}
	if err := req.check(); err != nil {
		return core.Run{}, err
	}
	if req.Config.Model != "" { // an override must resolve before anything is stored
		agent, err := e.cfg.Store.Agents().Get(ctx, req.Agent)
		if err != nil {
			return core.Run{}, err
		}
		if _, err := e.Choose(ctx, agent, req.Config.Model, e.envOf(req.Client.Env)); err != nil {
			return core.Run{}, err
		}
	}
	if err := e.checkImages(ctx, req); err != nil {
		return core.Run{}, err
	}
	if err := e.checkChain(req); err != nil {
		return core.Run{}, err
	}
	l, err := e.enter(ctx, req.Conversation, true)
	if err != nil {
		return core.Run{}, err
	}
	defer e.leave(req.Conversation, l)
	hash := requestHash(req)
	for _, known := range knownAs(hash) {
		if run, ok, err := e.cfg.Store.Runs().FindRequest(ctx, req.Conversation, known); ok || err != nil {
			return run, err
		}
	}
	fresh := e.newRun(req, hash)
	if run, ok := e.repeated(l, fresh.Input); ok {
		return run, nil
	}
	if req.Answer != nil && e.answered(l) {
		return core.Run{}, core.ErrNoneWaits()
	}
	idle, err := e.place(l, req.Queue)
	if err != nil {
		return core.Run{}, err
	}
	j := e.newJob(fresh, req.Client.Env)
	e.mu.Lock()
	e.active[j.run.ID] = j // before the commit, so that who finds the run there can follow it
	e.mu.Unlock()
	run, step, err := e.commitAccept(ctx, j.run, req.Answer, idle)
	return e.accepted(l, j, run, step, err)
}

// repeated returns the active run of a lane whose input has the same otids.
func (e *Engine) repeated(l *lane, input []core.Message) (core.Run, bool) {
	same := func(in, m core.Message) bool { return in.OTID != "" && in.OTID == m.OTID }
	e.mu.Lock()
	defer e.mu.Unlock()
	jobs := l.queue
	if l.current != nil && !l.current.isOver() {
		jobs = append([]*job{l.current}, jobs...)
	}
	for _, j := range jobs {
		if slices.EqualFunc(input, j.run.Input, same) {
			return j.run, true
		}
	}
	return core.Run{}, false
}

// place finds a place for one more run in a lane whose accept token is held: it may begin at once, or where it may wait,
// there is room for it.
func (e *Engine) place(l *lane, mayWait bool) (idle bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	waiting := len(l.queue)
	idle = l.current == nil && waiting == 0
	switch {
	case !idle && !mayWait && (waiting > 0 || !l.current.isOver()):
		return idle, busy(l)
	case waiting >= e.cfg.MaxQueue:
		return idle, full(l, waiting)
	}
	return idle, nil
}

// accepted puts a run into the queue of its lane once it is committed.
func (e *Engine) accepted(l *lane, j *job, run core.Run, step *core.Step, err error) (core.Run, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.forgetLocked(j)
		return core.Run{}, err
	}
	j.run, j.step = run, step
	if e.closed {
		// The shutdown began between the check and the commit: the next start resumes the run, or ends it as failed.
		e.forgetLocked(j)
		if !j.run.Background {
			return core.Run{}, core.ErrShutdown
		}
		return j.run, nil
	}
	e.enqueueLocked(l, j)
	return j.run, nil
}

// checkChain refuses a request that a running run of the same conversation waits for: it would wait for itself for ever.
func (e *Engine) checkChain(req Request) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range req.Chain {
		if j := e.active[id]; j != nil && j.run.Conversation == req.Conversation {
			return core.E(core.Conflict, "agent %s waits for this very answer: it cannot be asked before it has it", req.Agent).
				WithHint("answer with what is known, or send it without waiting")
		}
	}
	return nil
}

// commitAccept stores the run with its input, and its first step as pending when it can begin at once with asking a model.
func (e *Engine) commitAccept(
	ctx context.Context, accepted core.Run, with *Answer, idle bool,
) (run core.Run, step *core.Step, err error) {
	err = e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		run, step = accepted, nil
		conv, err := tx.Conversations().Get(ctx, run.Conversation)
		if err != nil {
			return err
		}
		if conv.Agent != run.Agent {
			return core.E(core.NotFound, "conversation %s does not belong to agent %s", conv.ID, run.Agent)
		}
		if _, err := tx.Agents().Get(ctx, run.Agent); err != nil {
			return err
		}
		if err := admit(ctx, tx, &run, with, idle); err != nil {
			return err
		}
		if idle {
			run.Status, run.StartedAt = core.RunRunning, run.CreatedAt
		}
		if err := tx.Runs().Create(ctx, &run); err != nil {
			return err
		}
		if idle && !answers(&run) {
			step = newStep(&run, 1, e.cfg.Clock())
			if err := tx.Steps().Create(ctx, step); err != nil {
				return err
			}
		}
		if run.Client.Workspace == "" {
			return nil
		}
		return tx.Workspaces().
			Put(ctx, core.Workspace{Path: run.Client.Workspace, Agent: run.Agent, Conversation: run.Conversation, UsedAt: run.CreatedAt})
	})
	if err == nil {
		e.hub.announce(core.Change{Agent: run.Agent, Conversation: run.Conversation, Run: run.ID})
	}
	return run, step, err
}

// admit lets an answer in where something waits for it, and everything else where nothing does. What has to wait for its turn
// is asked again then.
func admit(ctx context.Context, tx core.Store, run *core.Run, with *Answer, idle bool) error {
	if with != nil {
		return with.accept(ctx, tx, run)
	}
	if !idle {
		return nil
	}
	request, waits, err := waiting(ctx, tx, run.Agent, run.Conversation)
	if err == nil && waits {
		err = core.ErrPending(request.ID)
	}
	return err
}

func (e *Engine) newRun(req Request, hash string) core.Run {
	now := e.cfg.Clock()
	run := core.Run{
		ID: core.NewRunID(), Agent: req.Agent, Conversation: req.Conversation, Status: core.RunCreated, Background: req.Background,
		Request: hash, Client: req.Client, Config: req.Config, CreatedAt: now,
	}
	if run.Background {
		run.Config.Moved = e.cfg.Models.Moved(e.envOf(req.Client.Env))
	}
	run.Chain = append(append([]core.RunID{}, req.Chain...), run.ID)
	if req.Answer != nil {
		run.Input = append(run.Input, req.Answer.input(&run))
	}
	for _, in := range req.Input {
		content := in.Content
		if content == nil {
			content = []core.Content{core.Text(in.Text)}
		}
		run.Input = append(run.Input, core.Message{
			ID:           core.NewMessageID(),
			Agent:        req.Agent,
			Conversation: req.Conversation,
			Run:          run.ID,
			Role:         in.Role,
			Name:         in.Name,
			OTID:         in.OTID,
			SenderID:     in.SenderID,
			Content:      content,
			CreatedAt:    now,
		})
	}
	return run
}

// newJob makes the registry's entry of a run; its context is born here and ends with the run.
func (e *Engine) newJob(run core.Run, env core.Env) *job {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &job{run: run, env: env, ctx: ctx, cancel: cancel, done: make(chan struct{}), over: make(chan struct{})}
}

func newStep(run *core.Run, number int, now time.Time) *core.Step {
	return &core.Step{
		ID:           core.NewStepID(),
		Run:          run.ID,
		Agent:        run.Agent,
		Conversation: run.Conversation,
		Number:       number,
		Status:       core.StepPending,
		CreatedAt:    now,
	}
}

// check refuses a request that makes no sense, whatever it finds.
func (r *Request) check() error {
	if r.Answer == nil {
		return checkInput(r.Input)
	}
	if err := r.Answer.check(); err != nil || len(r.Input) == 0 {
		return err
	}
	return checkInput(r.Input)
}

func checkInput(input []Input) error {
	if len(input) == 0 {
		return core.E(core.Invalid, "a request needs at least one message")
	}
	if len(input) > core.MaxInputMessages {
		return core.E(core.TooLarge, "a request may hold at most %d messages", core.MaxInputMessages)
	}
	for _, in := range input {
		m := core.Message{Content: in.Content}
		images := len(m.Images())
		if images > 0 {
			in.Text = m.PlainText()
		}
		switch {
		case images > 0 && in.Role != core.RoleUser:
			return core.E(core.Invalid, "only a user's message holds images")
		case images > core.MaxImages:
			return core.E(core.TooLarge, "a message holds at most %d images", core.MaxImages)
		case in.Role != core.RoleUser && in.Role != core.RoleSystem && in.Role != core.RoleAssistant:
			return core.E(core.Invalid, "an input message has role user, system or assistant, not %q", string(in.Role))
		case !utf8.ValidString(in.Text):
			return core.E(core.Invalid, "the message is not valid UTF-8")
		case strings.TrimSpace(in.Text) == "" && images == 0:
			return core.E(core.Invalid, "the message is empty")
		case utf8.RuneCountInString(in.Text) > core.MaxInputChars:
			return core.E(core.TooLarge, "the message has more than %d characters", core.MaxInputChars)
		}
	}
	return nil
}

// whileActive begins the hash of a plain request. Its otids may be used again once its run has ended, as SDKs do on purpose.
// Where the daemon's end was the run's, its client has not heard what was done: a repeat is told, and runs nothing again.
const whileActive = "active:"

// requestHash names a request by its otids; a request that may repeat them has none.
func requestHash(req Request) string {
	h := sha256.New()
	if a := req.Answer; a != nil {
		if a.OTID == "" || !req.Once { // a plain answer that is given again goes on behind what it allowed
			return ""
		}
		h.Write([]byte(a.OTID + "\n"))
	}
	for _, in := range req.Input {
		if in.OTID == "" {
			return ""
		}
		h.Write([]byte(in.OTID + "\n"))
	}
	hash := hex.EncodeToString(h.Sum(nil))
	if !req.Once {
		return whileActive + hash
	}
	return hash
}

// knownAs returns the hashes under which a request may have come before: a program may repeat one in another way.
func knownAs(hash string) []string {
	if hash == "" {
		return nil
	}
	bare := strings.TrimPrefix(hash, whileActive)
	return []string{bare, whileActive + bare}
}

// isShutdown reports whether a run's context was ended by the end of the daemon.
func isShutdown(ctx context.Context) bool { return errors.Is(context.Cause(ctx), core.ErrShutdown) }
