package offline

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"loci/core"
)

// scene is a request as this model reads it.
type scene struct {
	req    core.ChatRequest
	tools  map[string]map[string]bool // offered tools and the arguments in their schemas
	input  string                     // what the user says in this turn
	notice string                     // what the program says, if the user doesn't speak
	clock  clock
	blocks []*block
	before []*block // the blocks as they were before this turn's own edits
	done   []deed   // calls made in this turn, with their returns

	passages []string      // what reminders recall
	thread   []userMessage // what the user said earlier in the window
	stored   []string      // what our own calls wrote to blocks, in the whole window
}

// userMessage is an earlier message of the user.
type userMessage struct {
	text  string
	clock clock
}

// deed is a call made in this turn, and its result.
type deed struct {
	name   string
	args   map[string]any
	ret    string
	failed bool
}

// arg returns a string argument.
func (d deed) arg(name string) string { s, _ := d.args[name].(string); return s }

// maxThread limits how many messages before the turn are read.
const maxThread = 400

func newScene(req core.ChatRequest) *scene {
	s := &scene{req: req, tools: map[string]map[string]bool{}}
	for _, t := range req.Tools {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		_ = json.Unmarshal(t.Parameters, &schema) // a schema we cannot read names no arguments
		names := map[string]bool{}
		for name := range schema.Properties {
			names[name] = true
		}
		s.tools[t.Name] = names
	}
	start := s.readTurn()
	s.readThread(start)
	return s
}

func (s *scene) offers(tool string) bool {
	_, ok := s.tools[tool]
	return ok && s.req.Choice.Mode != core.ChoiceNone
}

// readTurn finds what is being asked, and returns the index of the turn's first message.
func (s *scene) readTurn() int {
	msgs := s.req.Messages
	last := -1
	for i := len(msgs) - 1; i >= 0 && last < 0; i-- {
		if msgs[i].Role == core.ChatUser && !automatic(msgs[i].Text) {
			last = i
		}
	}
	answered := last >= 0 && slices.ContainsFunc(msgs[last+1:], func(m core.ChatMessage) bool {
		return m.Role == core.ChatAssistant && len(m.Calls) == 0
	})
	if last < 0 || answered {
		for i := len(msgs) - 1; i > last && msgs[i].Role != core.ChatAssistant; i-- {
			if msgs[i].Role == core.ChatReminder || msgs[i].Role == core.ChatUser {
				s.notice = msgs[i].Text
			}
		}
		return len(msgs)
	}
	first := last
	for first > 0 && (msgs[first-1].Role == core.ChatReminder || msgs[first-1].Role == core.ChatUser && !automatic(msgs[first-1].Text)) {
		first--
	}
	var parts []string
	for _, m := range msgs[first : last+1] {
		if m.Role == core.ChatUser {
			c, text := cutPreface(unwrap(m.Said()))
			if !c.at.IsZero() {
				s.clock = c
			}
			parts = append(parts, text)
		}
	}
	s.input = strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD")
	s.readDeeds(msgs[last+1:])
	return first
}

func (s *scene) readDeeds(msgs []core.ChatMessage) {
	at := map[string]int{}
	for _, m := range msgs {
		for _, c := range m.Calls {
			args, err := core.ParseArguments(c.Arguments)
			if err != nil {
				args = map[string]any{}
			}
			at[c.ID] = len(s.done)
			s.done = append(s.done, deed{name: c.Name, args: args})
		}
		for _, r := range m.Returns {
			if i, ok := at[r.CallID]; ok {
				s.done[i].ret = unpack(r.Text)
				s.done[i].failed = r.IsError || strings.HasPrefix(s.done[i].ret, "Error") ||
					strings.HasPrefix(s.done[i].ret, "[ToolConstraintError]")
			}
		}
	}
}

// readThread reads blocks, recalled passages and what was said before the turn.
func (s *scene) readThread(start int) {
	msgs := s.req.Messages
	from := max(0, start-maxThread)
	edits := map[string][]edit{}
	own := map[string]core.ToolCall{}
	compiled, known := compiledAt(s.req.System)
	stale := false          // whether the prompt was compiled after the turn that is being read
	cut := map[string]int{} // how many edits of a block came before this turn's own calls
	acted := false
	for i := from; i < len(msgs); i++ {
		m := msgs[i]
		switch m.Role {
		case core.ChatUser:
			if automatic(m.Text) {
				continue
			}
			c, text := cutPreface(unwrap(m.Said()))
			if at, ok := c.utc(); ok && known {
				stale = compiled.After(at.Add(time.Minute))
			}
			if i < start {
				s.thread = append(s.thread, userMessage{text, c})
			}
			for _, j := range m.Joined {
				s.readReminder(j, stale, edits)
			}
		case core.ChatReminder:
			s.readReminder(m.Text, stale, edits)
		case core.ChatAssistant, core.ChatTool:
			for _, c := range m.Calls {
				own[c.ID] = c
			}
			for _, r := range m.Returns {
				e, ok := ownEdit(own[r.CallID], r.Text)
				if r.IsError || strings.HasPrefix(unpack(r.Text), "Error") || !ok {
					continue
				}
				s.stored = append(s.stored, e.effect)
				if !stale || i >= start {
					edits[e.label] = append(edits[e.label], e)
				}
			}
		}
		acted = acted || i >= start && m.Role == core.ChatAssistant
		if !acted {
			for label, list := range edits {
				cut[label] = len(list)
			}
		}
	}
	s.settleBlocks(edits, cut)
}

// readReminder reads what the program says: of blocks, if the prompt isn't newer, or of what was recalled.
func (s *scene) readReminder(text string, stale bool, edits map[string][]edit) {
	found := announcements(text)
	for _, e := range found {
		if !stale {
			edits[e.label] = append(edits[e.label], e)
		}
	}
	if len(found) == 0 && !strings.Contains(text, "conversation_search") {
		s.passages = append(s.passages, text)
	}
}

// settleBlocks works out every block's current value, and its value before this turn.
func (s *scene) settleBlocks(edits map[string][]edit, cut map[string]int) {
	s.blocks = parseBlocks(s.req.System)
	shown := map[string]bool{}
	for _, b := range s.blocks {
		shown[b.label] = true
	}
	var added []string
	for label, list := range edits {
		if !shown[label] && slices.ContainsFunc(list, func(e edit) bool { return e.announced && e.whole }) {
			added = append(added, label)
		}
	}
	slices.Sort(added)
	for _, label := range added {
		s.blocks = append(s.blocks, &block{label: label})
	}
	for _, b := range s.blocks {
		was := *b
		was.value = newest(b.value, edits[b.label][:cut[b.label]])
		s.before = append(s.before, &was)
		b.value = newest(b.value, edits[b.label])
	}
}

// automatic reports whether the program wrote a user-role message: a heartbeat, a login, an alert.
func automatic(text string) bool {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return false
	}
	var pack struct {
		Type string `json:"type"`
	}
	if json.Unmarshal([]byte(text), &pack) != nil {
		return false
	}
	return pack.Type == "heartbeat" || pack.Type == "login" || pack.Type == "system_alert"
}

// unwrap takes the text out of a packed user message.
func unwrap(text string) string {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return text
	}
	var pack struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(text), &pack) != nil || pack.Type != "user_message" {
		return text
	}
	return pack.Message
}

// unpack takes the text out of a packed tool return.
func unpack(ret string) string {
	if !strings.HasPrefix(strings.TrimSpace(ret), "{") {
		return ret
	}
	var pack struct {
		Status  string  `json:"status"`
		Message *string `json:"message"`
	}
	if json.Unmarshal([]byte(ret), &pack) != nil || pack.Status == "" || pack.Message == nil {
		return ret
	}
	if pack.Status == "Failed" && !strings.HasPrefix(*pack.Message, "Error") {
		return "Error: " + *pack.Message
	}
	return *pack.Message
}

// compiledAt reads when the prompt was compiled, from its metadata.
func compiledAt(prompt string) (time.Time, bool) {
	_, rest, ok := strings.Cut(prompt, "System prompt last recompiled:")
	if !ok {
		return time.Time{}, false
	}
	line, _, _ := strings.Cut(rest, "\n")
	for _, layout := range []string{
		"2006-01-02 03:04:05 PM MST-0700", "2006-01-02 03:04:05 PM UTC-0700", "2006-01-02 15:04:05 UTC-0700", time.RFC3339,
	} {
		if t, err := time.Parse(layout, strings.TrimSpace(line)); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// utc returns the time in a preface, if its zone is unambiguous.
func (c clock) utc() (time.Time, bool) {
	if c.at.IsZero() {
		return time.Time{}, false
	}
	if c.zone == "UTC" || c.zone == "" {
		return c.at, c.zone == "UTC"
	}
	_, rest, ok := strings.Cut(c.zone, "(UTC")
	if !ok {
		return time.Time{}, false
	}
	t, err := time.Parse("-07:00", strings.TrimSuffix(rest, ")"))
	if err != nil {
		return time.Time{}, false
	}
	_, offset := t.Zone()
	return c.at.Add(-time.Duration(offset) * time.Second), true
}
