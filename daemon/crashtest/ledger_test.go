package crashtest

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"loci/daemon/api"
)

// way is how a message is sent.
type way string

const (
	plain      way = "plain"      // waits for the whole answer
	streamed   way = "streamed"   // foreground, token by token
	background way = "background" // token by token, and resumed when it breaks
	stepwise   way = "stepwise"   // background, message by message
	async      way = "async"      // background, nobody watches
)

func (w way) background() bool { return w == background || w == stepwise || w == async }

// seat is a place to talk: an agent's conversation.
type seat struct {
	agent, conversation string // without a conversation: the default one
	label               string // of the block that is edited from here
	legacy              bool   // a tool-forced agent
}

// piece names a message on the wire.
type piece struct {
	id   string
	kind api.MessageType
	call string // of a tool call
}

// sight is what a watcher of a run has seen.
type sight struct {
	text  map[piece]string
	step  map[piece]string
	whole map[piece]string // announced as whole
	input map[string]string
	stops []api.StopReason
	fault string // what the run's failure said
	last  int64
	void  int // messages that were to be discarded
}

func newSight() *sight {
	return &sight{text: map[piece]string{}, step: map[piece]string{}, whole: map[piece]string{}, input: map[string]string{}}
}

// add takes in one message of a stream; whole says that messages come whole.
func (s *sight) add(m api.Message, whole bool) {
	s.last = max(s.last, m.SeqID)
	switch m.MessageType { //nolint:exhaustive // the others tell nothing that is checked
	case api.MessageUserInput:
		s.input[m.ID] += m.Content.Text
	case api.MessageAssistant, api.MessageReasoning, api.MessageToolCall:
		for p, text := range textsOf(m) {
			s.text[p] += text
			s.step[p] = m.StepID
			if whole {
				s.whole[p] = s.text[p]
			}
		}
	case api.MessageToolReturn:
		for p, text := range textsOf(m) {
			s.text[p], s.whole[p] = text, text
		}
		for p, step := range s.step {
			if step == m.StepID {
				s.whole[p] = s.text[p]
			}
		}
	case api.MessageStopReason:
		s.stops = append(s.stops, m.StopReason)
		if m.StopReason == api.StopEndTurn || m.StopReason == api.StopToolRule {
			maps.Copy(s.whole, s.text)
		}
	case api.MessageError:
		s.fault = m.ErrorType + ": " + m.ErrorText
	case api.MessageNotice:
		if m.Notice.Kind != api.NoticeDiscard {
			return
		}
		id := fmt.Sprint(m.Notice.Data["message_id"])
		of := func(p piece, _ string) bool { return p.id == id }
		maps.DeleteFunc(s.text, of)
		maps.DeleteFunc(s.step, of)
		s.void++
	}
}

// textsOf splits a message, or a piece of one, into what is compared.
func textsOf(m api.Message) map[piece]string {
	p := piece{id: m.ID, kind: m.MessageType}
	out := map[piece]string{}
	switch m.MessageType { //nolint:exhaustive // the others are no part of an answer
	case api.MessageAssistant:
		out[p] = m.Content.Text
	case api.MessageReasoning:
		out[p] = m.Reasoning
	case api.MessageToolCall:
		for _, c := range m.ToolCalls {
			p.call = c.ToolCallID
			out[p] = c.Arguments
		}
	case api.MessageToolReturn:
		for _, r := range m.ToolReturns {
			p.call = r.ToolCallID
			out[p] = r.Status + " " + r.ToolReturn.Text
		}
	}
	return out
}

// sent is one message that was sent, and what its sender was told.
type sent struct {
	seat    seat
	way     way
	mark    string // a word that only its input has
	otid    string
	text    string
	said    string   // how a whole answer ends
	edits   []string // words that its calls put into a block
	keeps   []string // words that its calls put into archival memory
	session bool     // its client has registered: it waits behind other runs and is never refused

	mu       sync.Mutex // guards the fields below
	run      string     // set once it was accepted
	sight    *sight
	told     api.RunStatus // how the run ended, as the daemon answered
	stopped  bool          // a cancel was requested
	status   api.RunStatus // how the run was found
	follower sync.WaitGroup
}

func (s *sent) String() string {
	return fmt.Sprintf("%s message %s (run %s, conversation %s of %s)", s.way, s.mark, s.run, s.seat.conversation, s.seat.agent)
}

func (s *sent) accepted(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = run
}

func (s *sent) runID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// over reports whether the sender knows how the run ended.
func (s *sent) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told != "" || len(s.sight.stops) > 0
}

// ledger is what clients were told. It grows across all kills of a test.
type ledger struct {
	mu       sync.Mutex // guards all fields
	sent     []*sent
	edits    map[string]string // word → block id: a person's acknowledged edits
	passages map[string]string // word → agent: a person's acknowledged passages
	agents   []string          // that were made
	faults   []error           // answers that a kill doesn't explain
	marks    int
}

func newLedger() *ledger { return &ledger{edits: map[string]string{}, passages: map[string]string{}} }

// mark returns a new word; all have the same length, so that none is part of another.
func (l *ledger) mark(kind string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks++
	return fmt.Sprintf("%s%06d", kind, l.marks)
}

func (l *ledger) note(s *sent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, s)
}

func (l *ledger) edited(word, block string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.edits[word] = block
}

func (l *ledger) kept(word, agent string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passages[word] = agent
}

func (l *ledger) made(agent string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agents = append(l.agents, agent)
}

func (l *ledger) fault(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, err)
}

// since returns the messages sent from the nth on.
func (l *ledger) since(n int) []*sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent[n:len(l.sent):len(l.sent)]
}

// active returns a run that its sender is still waiting for, chosen by pick among n.
func (l *ledger) active(from int, pick func(n int) int) *sent {
	var open []*sent
	for _, s := range l.since(from) {
		if s.runID() != "" && !s.over() {
			open = append(open, s)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return open[pick(len(open))]
}

// script words a message: what the model is to do, in its directives.
func (s *sent) script(lines ...string) {
	s.said = "end-of-" + s.mark
	s.text = s.mark + "\n" + strings.Join(append(lines, "SAY an answer of several words that ends with "+s.said), "\n")
}
