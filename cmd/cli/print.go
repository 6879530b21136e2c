package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"loci/daemon/api"
	"loci/daemon/client"
)

// cancelGrace is how long an interrupted command waits for its run to end before it leaves it to the daemon.
const cancelGrace = 3 * time.Second

const (
	noticesWithin = 2 * time.Second // bounds the reading of an ended run's notices
	noticeEvicted = "evicted"       // messages left the window: daily business, for the curious
)

// turn is one shot: what was asked, what came, and how it is printed.
type turn struct {
	app     *app
	flags   *chatFlags
	began   time.Time
	asked   time.Time
	session api.Session

	text  map[string]string // of the assistant's messages, by id
	order []string
	run   string
	known chan struct{} // closed once run is known
	stop  api.StopReason
	usage api.Usage
	fault *api.Message    // the error_message, if one came
	unfit error           // why no model can be chosen, if none can
	told  map[string]bool // notices that were said, by their text
}

// result is the one object of --output-format json and the last line of stream-json.
type result struct {
	Type           string     `json:"type"`
	Subtype        string     `json:"subtype"`
	IsError        bool       `json:"is_error"`
	DurationMS     int64      `json:"duration_ms"`
	DurationAPIMS  int64      `json:"duration_api_ms"`
	NumTurns       int        `json:"num_turns"`
	Result         string     `json:"result"`
	AgentID        string     `json:"agent_id"`
	AgentName      string     `json:"agent_name"`
	ConversationID string     `json:"conversation_id"`
	Model          string     `json:"model"`
	RunID          string     `json:"run_id"`
	StopReason     string     `json:"stop_reason,omitempty"`
	Usage          usage      `json:"usage"`
	Error          *errorInfo `json:"error,omitempty"`
	*envelope
}

// usage is what a run took; null is what the provider does not report.
type usage struct {
	PromptTokens      int  `json:"prompt_tokens"`
	CompletionTokens  int  `json:"completion_tokens"`
	TotalTokens       int  `json:"total_tokens"`
	StepCount         int  `json:"step_count"`
	CachedInputTokens *int `json:"cached_input_tokens"`
	CacheWriteTokens  *int `json:"cache_write_tokens"`
	ReasoningTokens   *int `json:"reasoning_tokens"`
	ContextTokens     *int `json:"context_tokens,omitempty"`
}

// errorInfo is an error for a script.
type errorInfo struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// envelope is what every line of stream-json carries.
type envelope struct {
	SessionID string `json:"session_id"`
	UUID      string `json:"uuid"`
	Timestamp string `json:"timestamp"`
}

// oneShot sends one prompt and prints the answer.
func (a *app) oneShot(ctx context.Context, f *chatFlags, words []string) error {
	t := &turn{app: a, flags: f, began: time.Now(), text: map[string]string{}, known: make(chan struct{}), told: map[string]bool{}}
	if closedOutput(a.out) {
		a.note("standard output is closed, or thrown away: nobody reads this answer here; loci messages list shows it")
	}
	prompt, err := readPrompt(ctx, words, a.in, a.errOut)
	if err == nil {
		err = t.ask(ctx, prompt)
	}
	return t.finish(err)
}

// ask opens the agent and follows the run to its end.
func (t *turn) ask(ctx context.Context, prompt string) error {
	if t.flags.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, t.flags.timeout, (&fault{
			kind: api.KindTimeout, msg: fmt.Sprintf("it took longer than --timeout %s", t.flags.timeout),
		}).withHint("a longer --timeout, or a smaller question"))
		defer stop()
	}
	c, err := t.app.connect(ctx)
	if err != nil {
		return because(ctx, err)
	}
	s, err := t.app.register(ctx, c, api.ClientPrint, t.flags.open())
	if err != nil {
		return because(ctx, err)
	}
	t.session = s
	if t.flags.model != "" {
		t.session.Model = t.flags.model
	}
	t.announce(ctx, c, prompt)
	if err := t.init(); err != nil {
		return err
	}
	t.asked = time.Now()
	return t.follow(ctx, c, t.request(prompt))
}

// announce says on standard error what a person should know before the answer.
func (t *turn) announce(ctx context.Context, c *client.Client, prompt string) {
	s, w := t.session, t.app.errOut
	t.announceModel(ctx, c)
	t.warnOfCut(ctx, c, prompt)
	if t.flags.newAgent {
		fmt.Fprintf(w, "loci: made agent %s (%s); talk to it again with --agent %s\n", oneLine(s.AgentName), s.AgentID, quoteArg(s.AgentName))
	}
	if t.flags.conversation == api.OpenNew {
		fmt.Fprintf(w, "loci: made conversation %s; go on with --conversation %s\n", s.ConversationID, s.ConversationID)
	}
	if s.PendingRun != "" {
		fmt.Fprintf(w, "loci: %s is still busy with %s; this waits for it\n", oneLine(s.AgentName), s.PendingRun)
	}
}

// announceModel says who answers, with which model, and what is to be known about that. Where none can be chosen it
// is the run that says why.
func (t *turn) announceModel(ctx context.Context, c *client.Client) {
	s := t.session
	choice, err := c.Model(ctx, s.AgentID, t.flags.model)
	if err == nil {
		t.app.note(s.AgentName + " answers with " + s.Model)
		t.tell(choice.Notice)
	}
	t.unfit = err
	switch {
	case t.flags.model != "": // the session speaks of the agent's own model
		if len(choice.UnbuiltKeys) > 0 {
			t.tell(unbuiltNote(choice.UnbuiltKeys))
		}
	case !strings.Contains(choice.Notice, s.Notice):
		t.tell(s.Notice)
	}
}

// tell says a notice once: the same one may come before the run and with it.
func (t *turn) tell(line string) {
	if line == "" || t.told[line] {
		return
	}
	t.told[line] = true
	t.app.note(line)
}

const (
	shortPrompt   = 4 << 10 // letters that fit every window: nothing is looked up for less
	letterToken   = 4       // letters to a token, for an estimate
	promptPercent = 40      // of the window, about what one prompt may take
)

// warnOfCut says that the model will read a part of the prompt only. It is an estimate: the run's stream does not tell.
func (t *turn) warnOfCut(ctx context.Context, c *client.Client, prompt string) {
	letters := utf8.RuneCountInString(prompt)
	if letters <= shortPrompt {
		return
	}
	g, err := c.Agent(ctx, t.session.AgentID)
	if err != nil {
		return // the run will say what is wrong
	}
	if window := windowOf(ctx, c, g); tooLongFor(letters, window) {
		t.app.note(fmt.Sprintf("the prompt is longer than what fits into %d tokens; the model reads its beginning, the whole is kept", window))
	}
}

// tooLongFor says whether a prompt of so many letters is more than its share of a window of tokens.
func tooLongFor(letters, window int) bool {
	return window > 0 && letters/letterToken > window*promptPercent/100
}

// request is the body of the send.
func (t *turn) request(prompt string) api.StreamingRequest {
	req := api.StreamingRequest{}
	req.Messages = []api.Input{api.UserInput(prompt, uuid.NewString())}
	req.MaxSteps = api.PtrTo(t.flags.maxSteps)
	req.OverrideModel = api.PtrTo(t.flags.model)
	req.IncludeCompactionMessages = new(true)
	return req
}

// follow reads the run's messages. When ctx ends, the run is cancelled and gets a moment to end properly, so that
// what it said is kept and shown.
func (t *turn) follow(ctx context.Context, c *client.Client, req api.StreamingRequest) error {
	reading, stopReading := context.WithCancel(context.WithoutCancel(ctx))
	defer stopReading()
	ended := make(chan struct{})
	defer close(ended)
	interrupted := context.AfterFunc(ctx, func() { t.cancel(c, ended, stopReading) })
	defer interrupted()

	target := client.Target{AgentID: t.session.AgentID, ConversationID: t.session.ConversationID}
	for m, err := range c.Stream(reading, target, req) {
		if err != nil {
			return because(ctx, err)
		}
		if err := t.take(m); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return because(ctx, ctx.Err())
	}
	t.tellNotices(ctx, c)
	return t.outcome()
}

// tellNotices says what the run has noted: its stream is the contract's, which has no notices.
func (t *turn) tellNotices(ctx context.Context, c *client.Client) {
	if t.run == "" {
		return
	}
	ctx, stop := context.WithTimeout(ctx, noticesWithin)
	defer stop()
	for m, err := range c.Events(ctx, t.run, 0) {
		if err != nil {
			return // the answer is there; a notice that cannot be read does not spoil it
		}
		if m.MessageType == api.MessageNotice && m.Notice != nil && (!routine(m.Notice.Kind) || t.app.verbose()) {
			t.tell(m.Notice.Text)
		}
	}
}

// routine reports whether a notice tells of daily business, for the curious.
func routine(kind string) bool { return kind == noticeEvicted || kind == api.NoticeRecalled }

// cancel asks the daemon to stop the run, once it is known which, and ends the reading if that does not.
func (t *turn) cancel(c *client.Client, ended <-chan struct{}, stopReading func()) {
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

// because prefers the reason why a context ended over the error that this caused.
func because(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// take keeps what a message says and prints it where the format wants lines.
func (t *turn) take(m api.Message) error {
	if m.RunID != "" && t.run == "" {
		t.run = m.RunID
		close(t.known)
	}
	switch m.MessageType {
	case api.MessagePing:
		return nil
	case api.MessageAssistant:
		if _, known := t.text[m.ID]; !known {
			t.order = append(t.order, m.ID)
		}
		t.text[m.ID] += m.Content.String()
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
	case api.MessageSystem, api.MessageUser, api.MessageReasoning, api.MessageHiddenReasoning, api.MessageToolCall,
		api.MessageToolReturn, api.MessageApprovalRequest, api.MessageApprovalResponse, api.MessageSummary,
		api.MessageEvent, api.MessageUserInput:
	default: // a type of a newer daemon passes through
	}
	return t.line("message", m)
}

// notice says on standard error what happened beside the answer, and forgets text of an attempt that was lost.
func (t *turn) notice(n *api.Notice) {
	if n == nil {
		return
	}
	if id, ok := n.Data["message_id"].(string); ok && n.Kind == api.NoticeDiscard {
		delete(t.text, id)
	}
	if model, ok := n.Data["model"].(string); ok && n.Kind == api.NoticeModel && model != "" {
		t.session.Model = model
	}
	t.tell(n.Text)
}

// answer is the last thing the agent said.
func (t *turn) answer() string {
	for i := len(t.order) - 1; i >= 0; i-- {
		if s := t.text[t.order[i]]; s != "" {
			return s
		}
	}
	return ""
}

// outcome is the error of a run that did not end well.
func (t *turn) outcome() error {
	if t.fault != nil {
		return t.runFault()
	}
	switch t.stop {
	case api.StopEndTurn, api.StopToolRule:
		return nil
	case api.StopCancelled:
		return &fault{kind: api.KindCancelled, msg: "the run was cancelled"}
	case api.StopMaxSteps:
		return (&fault{kind: kindMaxSteps, msg: fmt.Sprintf("the run stopped after %d steps, the most it may take", t.usage.StepCount)}).
			withHint("a higher --max-steps, or ask the agent to go on")
	case api.StopRequiresApproval:
		return (&fault{kind: api.KindConflict, msg: "the agent waits for the approval of a tool call"}).withHint("answer it in the chat: loci --agent %s", t.session.AgentID)
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

// runFault is the error that the run reported.
func (t *turn) runFault() error {
	m := t.fault
	f := &fault{kind: faultKind(m.ErrorType, m.ErrorKind), msg: m.ErrorText}
	if kind, hint := explain(t.unfit); t.unfit != nil && f.kind == api.KindInternal {
		f.kind, f.hint = kind, hint // the run's words have no kind for what is no provider's failure
	}
	if f.msg == "" {
		f.msg = m.ErrorType
	}
	if m.Detail != "" && m.Detail != f.msg {
		f.hint = m.Detail
	}
	return f
}

// faultKind is the kind behind an error type of the wire.
func faultKind(wire, kind string) string {
	switch wire {
	case "llm_authentication":
		if kind == api.KindUnavailable {
			return kind // there is none: nobody was asked
		}
		return api.KindUnauthenticated
	case "llm_rate_limit":
		return api.KindRateLimited
	case "llm_insufficient_credits":
		return api.KindNoCredit
	case "llm_timeout":
		return api.KindTimeout
	case "llm_bad_request":
		return kindRunFailed // the provider's no to what the daemon sent: the command was right
	case "llm_error", "llm_unavailable", "llm_connection", "stream_incomplete":
		return api.KindUnavailable
	case "context_window_overflow":
		return api.KindTooLong
	}
	switch kind {
	case "", api.KindInvalid, api.KindNotFound, api.KindConflict: // of what the daemon did inside of the run: the command was right
		return api.KindInternal
	}
	return kind
}

// init is the first line of stream-json.
func (t *turn) init() error {
	s := t.session
	return t.line("system", struct {
		Subtype        string `json:"subtype"`
		AgentID        string `json:"agent_id"`
		AgentName      string `json:"agent_name"`
		ConversationID string `json:"conversation_id"`
		Model          string `json:"model"`
		Folder         string `json:"cwd"`
		PermissionMode string `json:"permission_mode"`
	}{"init", s.AgentID, s.AgentName, s.ConversationID, s.Model, workingFolder(), "standard"})
}

// line writes one line of stream-json, the value flattened into it; other formats have none.
func (t *turn) line(kind string, value any) error {
	if t.flags.format != formatStream {
		return nil
	}
	head, err := json.Marshal(struct {
		Type string `json:"type"`
		*envelope
	}{kind, t.envelope()})
	if err != nil {
		return err
	}
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return writeLine(t.app.out, joinObjects(head, body))
}

// joinObjects makes one JSON object of two, the first of which is not empty.
func joinObjects(a, b json.RawMessage) json.RawMessage {
	if len(b) <= len("{}") {
		return a
	}
	return append(append(a[:len(a)-1:len(a)-1], ','), b[1:]...)
}

func (t *turn) envelope() *envelope {
	return &envelope{SessionID: t.session.AgentID, UUID: uuid.NewString(), Timestamp: time.Now().UTC().Format(time.RFC3339Nano)}
}

// finish prints the answer and passes the error on; in the JSON formats an error is part of the answer too.
func (t *turn) finish(err error) error {
	switch t.flags.format {
	case formatJSON:
		return errors.Join(err, writeJSON(t.app.out, t.result(err)))
	case formatStream:
		r := t.result(err)
		r.envelope = t.envelope()
		return errors.Join(err, writeLine(t.app.out, r))
	}
	if err != nil && t.answer() == "" {
		return err
	}
	_, writeErr := io.WriteString(t.app.out, t.app.shown(withLineEnd(t.answer())))
	return errors.Join(err, writeErr)
}

func withLineEnd(s string) string {
	if len(s) > 0 && s[len(s)-1] == '\n' {
		return s
	}
	return s + "\n"
}

// result sums the turn up.
func (t *turn) result(err error) result {
	now, s := time.Now(), t.session
	r := result{
		Type: "result", Subtype: "success", DurationMS: now.Sub(t.began).Milliseconds(),
		NumTurns: t.usage.StepCount, Result: t.answer(),
		AgentID: s.AgentID, AgentName: s.AgentName, ConversationID: s.ConversationID, Model: s.Model, RunID: t.run,
		StopReason: string(t.stop),
		Usage: usage{
			PromptTokens: t.usage.PromptTokens, CompletionTokens: t.usage.CompletionTokens, TotalTokens: t.usage.TotalTokens,
			StepCount: t.usage.StepCount, CachedInputTokens: t.usage.CachedInputTokens, CacheWriteTokens: t.usage.CacheWriteTokens,
			ReasoningTokens: t.usage.ReasoningTokens, ContextTokens: t.usage.ContextTokens,
		},
	}
	if !t.asked.IsZero() {
		r.DurationAPIMS = now.Sub(t.asked).Milliseconds()
	}
	if err == nil {
		return r
	}
	kind, hint := explain(err)
	r.Subtype, r.IsError = "error", true
	if kind == api.KindCancelled {
		r.Subtype = "interrupted"
	}
	r.Error = &errorInfo{Kind: kind, Message: err.Error(), Hint: hint}
	return r
}
