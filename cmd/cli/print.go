package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"loci/daemon/api"
	"loci/daemon/client"
)

// cancelGrace is how long an interrupted command waits for its run to end before leaving it to the daemon.
const cancelGrace = 3 * time.Second

// noticeEvicted says that messages left the window: routine, shown only when verbose.
const noticeEvicted = "evicted"

// exchange is a one-shot prompt: what was asked, what came back, and how to print it.
type exchange struct {
	app     *app
	flags   *chatFlags
	began   time.Time
	asked   time.Time
	session api.Session

	text   map[string]string // of assistant messages, by id
	order  []string
	run    string
	known  chan struct{} // closed once run is set
	stop   api.StopReason
	usage  api.Usage
	fault  *api.Message        // the error_message, if one came
	mode   string              // the permission mode
	denied []denial            // what only a person could have allowed
	waits  *api.WaitingRequest // what a person has to answer before it goes on
	told   map[string]bool     // notices already shown, by text

	writing *sync.Mutex // held while a line of stream-json is written

	leave   context.CancelCauseFunc // ends the turn: nobody reads its answer
	left    bool                    // nobody reads the answer any more
	written string                  // id of the message at the end of standard output, in the text format
	midLine bool                    // standard output doesn't end with a newline
	wrap    wrapper                 // of what a terminal shows
}

// oneShot sends a prompt and prints the answer.
func (a *app) oneShot(ctx context.Context, f *chatFlags, words []string) error {
	if closedOutput(a.out) {
		return invalid("standard output is closed: nobody could read the answer").withHint("to throw it away: loci -p … >/dev/null")
	}
	defer failBrokenWrites()()
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	if f.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, f.timeout, (&fault{
			kind: api.KindTimeout, msg: fmt.Sprintf("it took longer than --timeout %s", f.timeout),
		}).withHint("a longer --timeout, or a smaller question"))
		defer stop()
	}
	t := newExchange(a, f, leave)
	if f.input == formatStream {
		return t.converse(ctx)
	}
	prompt, err := readPrompt(ctx, words, a.in, a.errOut)
	if err == nil {
		err = t.ask(ctx, prompt)
	}
	return t.finish(err)
}

func newExchange(a *app, f *chatFlags, leave context.CancelCauseFunc) *exchange {
	return &exchange{
		app:   a,
		flags: f,
		began: time.Now(),
		text:  map[string]string{},
		known: make(chan struct{}),
		told:  map[string]bool{},
		leave: leave,

		writing: &sync.Mutex{},
	}
}

// ask opens the agent and follows the run to its end.
func (t *exchange) ask(ctx context.Context, prompt string) error {
	message := api.UserInput(prompt, uuid.NewString())
	if len(t.flags.images) > 0 {
		message.Content.Parts = []api.Part{}
		for _, path := range t.flags.images {
			part, err := client.ImageFile(path)
			if err != nil {
				return err
			}
			message.Content.Parts = append(message.Content.Parts, part)
		}
		message.Content.Parts = append(message.Content.Parts, api.TextPart(prompt))
	}
	c, err := t.open(ctx)
	if err != nil {
		return err
	}
	return t.follow(ctx, c, t.sent(c, message))
}

// open finds or makes the agent, and says who it is.
func (t *exchange) open(ctx context.Context) (*client.Client, error) {
	c, err := t.app.connect(ctx)
	if err != nil {
		return nil, because(ctx, err)
	}
	l, err := t.app.config()
	if err != nil {
		return nil, err
	}
	who := t.flags.who(api.ClientPrint, l, t.flags.open())
	if t.session, err = t.app.registerAs(ctx, c, who); err != nil {
		return nil, because(ctx, err)
	}
	t.mode = who.Mode
	t.announce()
	return c, t.init()
}

// announce tells the person on standard error what to know before the answer.
func (t *exchange) announce() {
	s := t.session
	if s.ModelSure {
		t.announceModel()
	}
	if s.Model != "" { // else the run says which model it has found, or that there is none
		t.tell(s.Notice)
	}
	if t.flags.newAgent {
		t.app.note(fmt.Sprintf("made agent %s (%s); talk to it again with --agent %s", s.AgentName, s.AgentID, quoteArg(s.AgentName)))
	}
	if t.flags.conversation == api.OpenNew {
		t.app.note(fmt.Sprintf("made conversation %s; go on with --conversation %s", s.ConversationID, s.ConversationID))
	}
	if s.PendingRun != "" {
		t.app.note(fmt.Sprintf("%s is still busy with %s; this waits for it", s.AgentName, s.PendingRun))
	}
}

// announceModel says who asks which model, as soon as that is certain: if a provider has to be asked,
// that is when the model first says something.
func (t *exchange) announceModel() {
	if t.session.Model != "" {
		t.tell(t.session.AgentName + " asks " + t.session.Model)
	}
}

// tell shows a notice once: the same one may come both before the run and during it.
func (t *exchange) tell(line string) {
	if line == "" || t.told[line] {
		return
	}
	t.told[line] = true
	if t.midLine && samePlace(t.app.out, t.app.errOut) {
		_, _ = io.WriteString(t.app.out, "\n") // the next write of the answer says if it fails
		t.midLine, t.wrap = false, wrapper{}
	}
	t.app.note(line)
}

// request is what all requests of this command have in common.
func (t *exchange) request() api.StreamingRequest {
	req := api.StreamingRequest{}
	req.MaxSteps = api.PtrTo(t.flags.maxSteps)
	req.OverrideModel = api.PtrTo(t.flags.override())
	req.OverrideEffort = api.PtrTo(t.flags.effort)
	req.OverrideResponseFormat = t.flags.form
	req.IncludeCompactionMessages = new(true)
	return req
}

func (t *exchange) target() client.Target {
	return client.Target{AgentID: t.session.AgentID, ConversationID: t.session.ConversationID}
}

// runStream is a run's messages, for as long as they are wanted. Reading them starts it.
type runStream func(context.Context) iter.Seq2[api.Message, error]

// sent is the run that a message starts.
func (t *exchange) sent(c *client.Client, message api.Input) runStream {
	req := t.request()
	req.Messages = []api.Input{message}
	return func(ctx context.Context) iter.Seq2[api.Message, error] { return c.Stream(ctx, t.target(), req) }
}

// follow reads a run's messages. When ctx ends, it cancels the run and gives it a moment to end properly, so that
// what was said so far is kept and shown.
func (t *exchange) follow(ctx context.Context, c *client.Client, messages runStream) error {
	t.asked = time.Now()
	reading, stopReading := context.WithCancel(context.WithoutCancel(ctx))
	defer stopReading()
	ended := make(chan struct{})
	var watching sync.WaitGroup
	defer watching.Wait()
	defer close(ended)
	interrupted := context.AfterFunc(ctx, func() { t.cancel(c, ended, stopReading) })
	defer interrupted()
	watching.Go(func() { t.watchReader(ended) })

	for m, err := range messages(reading) {
		if err != nil {
			return because(ctx, t.refused(reading, c, err))
		}
		if err := t.take(m); err != nil {
			t.left = true
			t.leave(err)
		}
	}
	if ctx.Err() != nil {
		return because(ctx, ctx.Err())
	}
	if t.stop == api.StopRequiresApproval {
		if err := t.lookWhatWaits(reading, c); err != nil {
			return err
		}
	}
	return t.outcome()
}

// routine reports whether a notice is about routine events, shown only when verbose.
func routine(kind string) bool { return kind == noticeEvicted || kind == api.NoticeRecalled }

// watchReader ends the turn once the reader of standard output is gone, even while there is nothing to write.
func (t *exchange) watchReader(ended <-chan struct{}) {
	if readerGone(t.app.out, ended) {
		t.leave(syscall.EPIPE)
	}
}

// cancel waits until the run is known and asks the daemon to stop it. If that doesn't end it, cancel stops reading.
func (t *exchange) cancel(c *client.Client, ended <-chan struct{}, stopReading func()) {
	ctx, stop := context.WithTimeout(context.Background(), cancelGrace)
	defer stop()
	defer stopReading()
	select {
	case <-ended:
		return
	case <-ctx.Done():
		return
	case <-t.known:
	}
	if _, err := c.Cancel(ctx, t.session.AgentID, t.run); err != nil {
		t.app.note("the run goes on in the daemon: " + err.Error())
		return
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// because returns the reason a context ended instead of the error that this caused.
func because(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// take records a message, and prints it if the format is line by line.
func (t *exchange) take(m api.Message) error {
	if m.RunID != "" && t.run == "" {
		t.run = m.RunID
		close(t.known)
	}
	switch m.MessageType {
	case api.MessagePing, api.MessageUserInput: // the prompt itself
		return nil
	case api.MessageAssistant:
		t.announceModel()
		if _, known := t.text[m.ID]; !known {
			t.order = append(t.order, m.ID)
		}
		t.text[m.ID] += m.Content.String()
		if err := t.write(m.ID, m.Content.String()); err != nil {
			return err
		}
	case api.MessageNotice:
		t.notice(m.Notice)
	case api.MessageStopReason:
		t.stop = m.StopReason
	case api.MessageUsage:
		if m.Usage != nil {
			t.usage = *m.Usage
		}
	case api.MessageError:
		t.fault = &m
	case api.MessageReasoning, api.MessageHiddenReasoning, api.MessageToolCall, api.MessageApprovalRequest:
		t.announceModel()
	case api.MessageSystem, api.MessageUser, api.MessageToolReturn, api.MessageApprovalResponse, api.MessageSummary,
		api.MessageEvent:
	default: // message types of a newer daemon pass through
	}
	return t.line("message", m)
}

// write writes a piece of the answer at once, in the text format. Each message starts on a new line, after an empty
// one.
func (t *exchange) write(message, text string) error {
	if t.flags.format != formatText || t.left || text == "" || t.flags.form != nil { // a value is printed whole, once it is known to fit
		return nil
	}
	if t.written != "" && t.written != message {
		text = strings.Repeat("\n", 1+map[bool]int{true: 1}[t.midLine]) + text
	}
	t.written, t.midLine = message, !strings.HasSuffix(text, "\n")
	text = t.app.shown(text)
	if width := columnsOf(t.app.out); width > 0 {
		text = t.wrap.wrap(text, width)
		t.midLine = t.wrap.at > 0
	}
	_, err := io.WriteString(t.app.out, text)
	return err
}

// notice says on standard error what happened besides the answer, and drops text from an attempt that was lost.
func (t *exchange) notice(n *api.Notice) {
	if n == nil {
		return
	}
	if id, ok := n.Data["message_id"].(string); ok && n.Kind == api.NoticeDiscard {
		delete(t.text, id)
	}
	text := n.Text
	if model, ok := n.Data["model"].(string); ok && n.Kind == api.NoticeModel && model != "" {
		t.session.Model = model
		t.announceModel()
		if s := t.session.Notice; s != "" { // already said
			text = strings.TrimSpace(strings.ReplaceAll(text, s+".", ""))
		}
	}
	if n.Kind == api.NoticeDenied {
		t.denied = append(t.denied, denialOf(n))
	}
	if !routine(n.Kind) || t.app.verbose() {
		t.tell(text)
	}
}

// answer is the last thing the agent said.
func (t *exchange) answer() string {
	for i := len(t.order) - 1; i >= 0; i-- {
		if s := t.text[t.order[i]]; s != "" {
			return s
		}
	}
	return ""
}

// outcome is the error of a run that didn't end well.
func (t *exchange) outcome() error {
	if t.fault != nil {
		return t.runFault()
	}
	switch t.stop {
	case api.StopEndTurn, api.StopToolRule:
		return errors.Join(t.unformed(), t.deniedFault())
	case api.StopCancelled:
		return &fault{kind: api.KindCancelled, msg: "the run was cancelled"}
	case api.StopMaxSteps:
		return (&fault{kind: kindMaxSteps, msg: "the run stopped after " + counted(t.usage.StepCount, "step") + ", the most it may take"}).
			withHint("a higher --max-steps, or ask the agent to go on")
	case api.StopRequiresApproval:
		return t.waitFault("")
	case api.StopNoCredits:
		return &fault{kind: api.KindNoCredit, msg: "the provider's account has no credit"}
	case api.StopSystemPromptFull:
		return (&fault{kind: api.KindTooLong, msg: "memory and tools alone do not fit the model's context window"}).
			withHint("shorten a memory block, or choose a model with a larger window")
	case "":
		return &fault{kind: api.KindUnavailable, msg: "the stream ended before the run did"}
	case api.StopMaxTokensExceeded:
		return (&fault{kind: kindRunFailed, msg: "the answer was cut: the model wrote as much as it may"}).
			withHint("ask it to go on, or for less")
	case api.StopError, api.StopLLMAPIError, api.StopInvalidLLMResponse, api.StopInvalidToolCall, api.StopNoToolCall:
		return &fault{kind: kindRunFailed, msg: fmt.Sprintf("the run ended with %s", t.stop)}
	default:
		return &fault{kind: kindRunFailed, msg: fmt.Sprintf("the run ended with %s", t.stop)}
	}
}

// runFault is the error reported by the run.
func (t *exchange) runFault() error {
	m := t.fault
	f := &fault{kind: faultKind(m.ErrorType, m.ErrorKind), msg: m.ErrorText}
	if f.msg == "" {
		f.msg = m.ErrorType
	}
	if m.Detail != "" && m.Detail != f.msg {
		f.hint = m.Detail
	}
	if f.hint == "" && f.kind == api.KindUnavailable { // a 500 or 503 from a provider
		f.hint = "try again in a moment, or choose another model with --model; loci doctor says what works"
	}
	return f
}

// faultKind maps an error type of the API to a kind.
func faultKind(wire, kind string) string {
	switch wire {
	case "llm_authentication":
		if kind == api.KindUnavailable {
			return kind // there is no model: nobody was asked
		}
		return api.KindUnauthenticated
	case "llm_rate_limit":
		return api.KindRateLimited
	case "llm_insufficient_credits":
		return api.KindNoCredit
	case "llm_timeout":
		return api.KindTimeout
	case "model_not_found":
		return api.KindNotFound
	case "llm_bad_request":
		if kind == api.KindNotFound { // the provider has no such model
			return kind
		}
		return kindRunFailed // the provider rejected what the daemon sent: the command was fine
	case "llm_error", "llm_unavailable", "llm_connection", "stream_incomplete":
		return api.KindUnavailable
	case "context_window_overflow":
		return api.KindTooLong
	}
	switch kind {
	case "", api.KindInvalid, api.KindNotFound, api.KindConflict: // these concern what the daemon did inside the run: the command was fine
		return api.KindInternal
	}
	return kind
}
