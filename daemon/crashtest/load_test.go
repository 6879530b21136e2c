package crashtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/daemon/ipc"
)

// What clients, and the model, see: the moments near which the daemon is killed.
const (
	evAccepted  = "accepted"       // the first event of a stream, or the answer to an async request
	evRequest   = "model request"  // the model was asked
	evDelta     = "first delta"    // the first piece of an answer
	evLastDelta = "last delta"     // the last word of an answer: the step is saved next
	evCall      = "call delta"     // a piece of a tool call: an edit is saved next
	evReturn    = "tool return"    // an edit was saved
	evStop      = "end of a run"   // its facts are saved, its log is being ended
	evAnswer    = "whole answer"   // to a request that does not stream
	evEdit      = "person's edit"  // of a block
	evPassage   = "person's entry" // in archival memory
	evAgent     = "new agent"
	evCancel    = "cancel" // one was asked for
)

func moments() []string {
	return []string{evAccepted, evRequest, evDelta, evLastDelta, evCall, evReturn, evStop, evAnswer, evEdit, evPassage, evAgent, evCancel}
}

// cast are the agents that one load talks to, and two blocks, each edited by several.
type cast struct {
	plain, tools, legacy string
	seats                []seat
	blocks               []string
}

const (
	model      = "openai/test-model"
	ownBlock   = "notes"
	sharedName = "shared"
	window     = 32000 // tokens: some conversations outgrow it; a turn that did would forget, and repeat, its own first edits
)

// makeCast makes three agents that share a block, with five conversations.
func makeCast(ctx context.Context, c *client.Client, l *ledger) (*cast, error) {
	shared, err := c.CreateBlock(ctx, api.CreateBlock{Label: sharedName, Value: "shared by three"})
	if err != nil {
		return nil, err
	}
	made := &cast{blocks: []string{shared.ID}}
	for _, to := range []struct {
		id   *string
		kind string
	}{{&made.plain, api.AgentLettaV1}, {&made.tools, api.AgentLettaV1}, {&made.legacy, api.AgentMemGPTV2}} {
		a, err := makeAgent(ctx, c, l, to.kind, shared.ID)
		if err != nil {
			return nil, err
		}
		*to.id = a.ID
		for _, b := range a.Blocks {
			if api.Val(b.Label) == ownBlock {
				made.blocks = append(made.blocks, b.ID)
			}
		}
	}
	made.seats = []seat{
		{agent: made.plain, label: ownBlock}, {agent: made.tools, label: ownBlock}, {agent: made.legacy, label: sharedName, legacy: true},
	}
	for _, agent := range []string{made.plain, made.tools} {
		conv, err := c.CreateConversation(ctx, agent, api.CreateConversation{})
		if err != nil {
			return nil, err
		}
		made.seats = append(made.seats, seat{agent: agent, conversation: conv.ID, label: sharedName})
	}
	return made, nil
}

func makeAgent(ctx context.Context, c *client.Client, l *ledger, kind string, blocks ...string) (api.AgentState, error) {
	a, err := c.CreateAgent(ctx, api.CreateAgent{
		Name: new(l.mark("agent")), AgentType: &kind, Model: new(model), BlockIDs: blocks, ContextWindowLimit: new(window),
		MemoryBlocks: []api.CreateBlock{{Label: ownBlock, Value: "its own"}},
		Tools:        []string{"memory_insert", "core_memory_append", "archival_memory_insert", "archival_memory_search"},
	})
	if err == nil {
		l.made(a.ID)
	}
	return a, err
}

// load is what runs against the daemon until it is killed.
type load struct {
	cast   *cast
	ledger *ledger
	from   int // the ledger's length when the load began
	client func() *client.Client
	event  func(name string)

	alive  context.Context //nolint:containedctx // ends with the kill: what is begun before it, not after
	beyond context.Context //nolint:containedctx // outlives the kill: streams that go on by themselves
	wg     sync.WaitGroup
}

// run starts the clients. Each has its own connection and its own seeded choices.
func (l *load) run(rnd *rand.Rand) {
	clients := []func(c *client.Client, r *rand.Rand){
		l.sending(
			plain,
		),
		l.sending(streamed),
		l.sending(background),
		l.sending(stepwise),
		l.sending(async),
		l.sending(plain, streamed, background),
		l.person,
		l.cancelling,
	}
	for _, do := range clients {
		r := rand.New(rand.NewPCG(rnd.Uint64(), rnd.Uint64()))
		l.wg.Go(func() {
			c := l.client()
			defer c.Close()
			if r.IntN(2) == 0 { // else it is an SDK, which registers nothing
				if _, err := c.Register(l.alive, api.Client{Kind: api.ClientScript}); err != nil {
					l.fail("register", err)
				}
			}
			for l.alive.Err() == nil {
				do(c, r)
			}
		})
	}
}

// fail keeps an error that the kill does not explain.
func (l *load) fail(doing string, err error) {
	var e *client.Error
	if err == nil || l.alive.Err() != nil || errors.As(err, &e) && e.Status == 0 {
		return
	}
	l.ledger.fault(fmt.Errorf("%s: %w", doing, err))
}

// sending is a client that sends in some ways, one message after the other.
func (l *load) sending(ways ...way) func(c *client.Client, r *rand.Rand) {
	return func(c *client.Client, r *rand.Rand) {
		s := l.compose(ways[r.IntN(len(ways))], r)
		if s.way == async && !pause(l.alive, r, 120) {
			return // it waits for nothing else, and a queue is bounded
		}
		l.ledger.note(s)
		send(l.alive, l, c, s)
	}
}

// compose words a message: a plain answer, or phases with calls, one after the other or side by side.
func (l *load) compose(w way, r *rand.Rand) *sent {
	s := &sent{way: w, seat: l.cast.seats[r.IntN(len(l.cast.seats))], mark: l.ledger.mark("input"), sight: newSight()}
	if w == async { // goes to default conversations only
		s.seat.conversation = ""
	}
	s.otid = "otid-" + s.mark
	lines := []string{fmt.Sprintf("TOKENS %dus", 500+r.IntN(3000))}
	if r.IntN(4) == 0 && !s.seat.legacy {
		lines = append(lines, "THINK about it for a few words")
	}
	beside := 3
	if s.seat.legacy {
		beside = 1 // such agents call one tool at a time
	}
	for range r.IntN(4) {
		lines = append(lines, s.call("CALL", l.ledger, r))
		for range r.IntN(beside) {
			lines = append(lines, s.call("CALL&", l.ledger, r))
		}
	}
	s.script(lines...)
	if r.IntN(5) == 0 { // fills the window
		s.text = strings.Replace(s.text, "\n", " "+strings.Repeat("filler ", 1200)+"\n", 1)
	}
	return s
}

// call is a directive for one memory edit; its word is found again in the block or in archival memory.
func (s *sent) call(directive string, l *ledger, r *rand.Rand) string {
	beat := ""
	if s.seat.legacy {
		beat = `,"request_heartbeat":true`
	}
	switch r.IntN(5) {
	case 0, 1:
		word := l.mark("keep")
		s.keeps = append(s.keeps, word)
		return fmt.Sprintf(`%s archival_memory_insert {"content":"%s is worth keeping"%s}`, directive, word, beat)
	case 2:
		word := l.mark("edit")
		s.edits = append(s.edits, word)
		return fmt.Sprintf(`%s core_memory_append {"label":"%s","content":"%s was appended"%s}`, directive, s.seat.label, word, beat)
	case 3: // refused by the tool: the turn goes on, and nothing is edited
		word := l.mark("edit")
		s.edits = append(s.edits, word)
		return fmt.Sprintf(`%s memory_insert {"label":"nowhere","new_string":"%s"%s}`, directive, word, beat)
	default:
		word := l.mark("edit")
		s.edits = append(s.edits, word)
		return fmt.Sprintf(`%s memory_insert {"label":"%s","new_string":"%s was inserted"%s}`, directive, s.seat.label, word, beat)
	}
}

func (s *sent) request() api.StreamingRequest {
	return api.StreamingRequest{Request: api.Request{Messages: []api.Input{api.UserInput(s.text, s.otid)}}, IncludePings: new(true)}
}

func (s *sent) target() client.Target {
	return client.Target{AgentID: s.seat.agent, ConversationID: s.seat.conversation}
}

// send sends a message in its way and notes what the daemon says to it.
func send(ctx context.Context, l *load, c *client.Client, s *sent) {
	s.session = c.SessionID() != ""
	switch s.way {
	case plain:
		l.sendPlain(ctx, c, s)
	case async:
		run, err := c.SendAsync(ctx, s.seat.agent, api.AsyncRequest{Request: s.request().Request})
		if err != nil {
			l.fail(s.String(), err)
			return
		}
		s.accepted(run.ID)
		l.event(evAccepted)
	case streamed:
		for m, err := range foreground(ctx, c.Socket(), c.SessionID(), s) {
			if !l.watch(s, m, err, false) {
				return
			}
		}
	case background, stepwise:
		req := s.request()
		req.StreamTokens = new(s.way == background)
		// The stream goes on by itself when the daemon is back, so it is not bound to the daemon's life; the next message
		// of this client waits for it no longer than that life.
		seen := make(chan struct{})
		s.follower.Add(1)
		l.wg.Go(func() {
			defer s.follower.Done()
			defer close(seen)
			whole := s.way == stepwise
			for m, err := range c.Stream(l.beyond, s.target(), req) {
				whole = whole && (m.MessageType != api.MessageNotice || m.Notice.Kind != api.NoticeBroken)
				if !l.watch(s, m, err, whole) {
					return
				}
			}
		})
		select {
		case <-seen:
		case <-ctx.Done():
		}
	}
}

// foreground streams as an SDK does, which our own client never asks for: a stream that ends with its connection.
func foreground(ctx context.Context, socket, session string, s *sent) iter.Seq2[api.Message, error] {
	req := s.request()
	req.Streaming, req.StreamTokens, req.Background = new(true), new(true), new(false)
	path := "/v1/agents/" + s.seat.agent + "/messages/stream"
	if s.seat.conversation != "" {
		path = "/v1/conversations/" + s.seat.conversation + "/messages"
	}
	return func(yield func(api.Message, error) bool) {
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return ipc.Dial(ctx, socket) }}
		defer transport.CloseIdleConnections()
		if err := readForeground(ctx, transport, path, session, req, yield); err != nil {
			yield(api.Message{}, err)
		}
	}
}

func readForeground(ctx context.Context, rt http.RoundTripper, path, session string, body any, yield func(api.Message, error) bool) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://loci"+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if session != "" {
		req.Header.Set(api.HeaderClient, session)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return &client.Error{Message: err.Error(), Err: err}
	}
	defer func() { _ = resp.Body.Close() }() // closing is how a stream is left
	if resp.StatusCode != http.StatusOK {
		return &client.Error{Status: resp.StatusCode, Message: resp.Status}
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		event, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if bytes.HasPrefix(event, []byte("[DONE]")) {
			return nil
		}
		var m api.Message
		if err := json.Unmarshal(event, &m); err != nil {
			return err
		}
		if !yield(m, nil) {
			return nil
		}
	}
	return &client.Error{Message: "the stream was cut", Err: lines.Err()}
}

func (l *load) sendPlain(ctx context.Context, c *client.Client, s *sent) {
	answer, err := c.Send(ctx, s.target(), s.request())
	var e *client.Error
	if errors.As(err, &e) && e.Status == http.StatusConflict && s.seat.conversation != "" {
		return // the contract refuses a second message to a conversation, and nothing was accepted
	}
	if err != nil {
		l.fail(s.String(), err)
		return
	}
	s.accepted(answer.Usage.RunIDs[0])
	s.mu.Lock()
	for _, m := range answer.Messages {
		s.sight.add(m, true)
	}
	s.sight.stops = append(s.sight.stops, answer.StopReason.StopReason)
	s.mu.Unlock()
	l.event(evAnswer)
}

// watch takes in one message of a stream and says whether to go on.
func (l *load) watch(s *sent, m api.Message, err error, whole bool) bool {
	var e *client.Error
	switch {
	case errors.As(err, &e) && e.Status == http.StatusConflict && s.runID() == "" && !s.session:
		return false // refused, as a stream is without a session while another run goes on
	case err != nil:
		l.fail(s.String(), err)
		return false
	}
	if m.RunID != "" && s.runID() == "" {
		s.accepted(m.RunID)
		l.event(evAccepted)
	}
	s.mu.Lock()
	first := len(s.sight.text) == 0
	s.sight.add(m, whole)
	s.mu.Unlock()
	switch m.MessageType { //nolint:exhaustive // the others are no moments
	case api.MessageAssistant:
		if first {
			l.event(evDelta)
		}
		if strings.Contains(m.Content.Text, s.said) {
			l.event(evLastDelta)
		}
	case api.MessageToolCall:
		l.event(evCall)
	case api.MessageToolReturn:
		l.event(evReturn)
	case api.MessageStopReason:
		l.event(evStop)
	}
	return true
}

// person edits blocks by hand, adds to archival memory, and makes an agent now and then.
func (l *load) person(c *client.Client, r *rand.Rand) {
	ctx := l.alive
	if !pause(ctx, r, 30) {
		return
	}
	switch n := r.IntN(10); {
	case n < 6:
		id := l.cast.blocks[r.IntN(len(l.cast.blocks))]
		block, tag, err := c.Block(ctx, id)
		if err != nil {
			l.fail("read a block", err)
			return
		}
		word := l.ledger.mark("hand")
		_, _, err = c.UpdateBlock(ctx, id, api.UpdateBlock{Value: api.Some(block.Value + "\n" + word + " by hand")}, tag)
		switch {
		case err == nil:
			l.ledger.edited(word, id)
			l.event(evEdit)
		case client.KindOf(err) != api.KindConflict && client.KindOf(err) != api.KindPrecondition:
			l.fail("edit a block", err)
		}
	case n < 9:
		agent, word := l.cast.seats[r.IntN(len(l.cast.seats))].agent, l.ledger.mark("hand")
		if _, err := c.CreatePassage(ctx, agent, api.CreatePassage{Text: word + " was entered by hand"}); err != nil {
			l.fail("add a passage", err)
			return
		}
		l.ledger.kept(word, agent)
		l.event(evPassage)
	default:
		if _, err := makeAgent(ctx, c, l.ledger, api.AgentLettaV1); err != nil {
			l.fail("make an agent", err)
			return
		}
		l.event(evAgent)
	}
}

// cancelling stops a run now and then.
func (l *load) cancelling(c *client.Client, r *rand.Rand) {
	if !pause(l.alive, r, 60) {
		return
	}
	s := l.ledger.active(l.from, r.IntN)
	if s == nil {
		return
	}
	s.mu.Lock()
	s.stopped = true
	run := s.run
	s.mu.Unlock()
	l.event(evCancel)
	statuses, err := c.Cancel(l.alive, s.seat.agent, run)
	if err != nil {
		l.fail("cancel "+s.String(), err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = api.RunStatus(statuses[run])
}
