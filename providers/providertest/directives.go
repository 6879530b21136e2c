package providertest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"loci/core"
)

// Directives answers from what the last user message says, one directive to a line; other lines are ignored:
//
//	CALL tool {json}      one turn with this call
//	CALL& tool {json}     joins the turn before it: calls in parallel, or text and call after a SAY
//	SAY text              the final text; \n is a newline
//	LONG n                a final text of n words
//	THINK text            reasoning of the next turn
//	SLEEP 50ms            delay before the next turn
//	TOKENS 5ms            delay before each piece from here on
//	FINISH length         finish of the next turn
//	ERROR code[xN] [retry-after=S]   the first N (1) requests for the next turn fail; code is a status, context,
//	                      disconnect, truncate or midstream
//
// What was done is read from the calls after that message; when all is done the answer is DONE, and without any
// directive it is ECHO and the message. Where the tools hold send_message, final text goes out through it.
func (s *Server) Directives(req Request) Turn {
	at := anchor(req.Messages)
	if at < 0 {
		return Turn{Text: "DONE"}
	}
	said := spoken(req.Messages[at].Text)
	plan := parsePlan(said)
	if len(plan) == 0 {
		return throughTool(req, at, Turn{Text: "ECHO: " + lastLine(said)})
	}
	done := 0
	for _, m := range req.Messages[at+1:] {
		done += len(m.Calls)
	}
	for _, step := range plan {
		calls := len(step.turn.Calls)
		if calls > 0 && done >= calls {
			done -= calls
			continue
		}
		if step.fail != nil && s.failsNow(said+step.key, step.times) {
			step.turn.Fail = step.fail
			if step.fail.Broken != "" && step.turn.Text == "" {
				step.turn.Text = "partial"
			}
			return step.turn
		}
		if calls == 0 {
			return throughTool(req, at, step.turn)
		}
		return step.turn
	}
	return throughTool(req, at, Turn{Text: "DONE"})
}

type plannedTurn struct {
	turn  Turn
	fail  *Fail
	times int
	key   string
}

func parsePlan(text string) []plannedTurn {
	var plan []plannedTurn
	var next plannedTurn
	var gap time.Duration
	push := func(t Turn) {
		t.Reasoning, t.Delay, t.Finish, t.TokenDelay = next.turn.Reasoning, next.turn.Delay, next.turn.Finish, gap
		plan = append(plan, plannedTurn{turn: t, fail: next.fail, times: next.times, key: next.key})
		next = plannedTurn{}
	}
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "CALL":
			push(Turn{Calls: []Call{parseCall(rest)}})
		case "CALL&":
			if len(plan) == 0 {
				push(Turn{})
			}
			last := &plan[len(plan)-1].turn
			last.Calls = append(last.Calls, parseCall(rest))
		case "SAY":
			push(Turn{Text: strings.ReplaceAll(rest, `\n`, "\n")})
		case "LONG":
			n, _ := strconv.Atoi(rest)
			push(Turn{Text: strings.TrimSpace(strings.Repeat("word ", n))})
		case "THINK":
			next.turn.Reasoning = rest
		case "SLEEP":
			next.turn.Delay, _ = time.ParseDuration(rest)
		case "TOKENS":
			gap, _ = time.ParseDuration(rest)
		case "FINISH":
			next.turn.Finish = rest
		case "ERROR":
			next.fail, next.times = parseFail(rest)
			next.key = strconv.Itoa(len(plan)) + rest
		}
	}
	if next.fail != nil {
		push(Turn{Text: "DONE"})
	}
	return plan
}

func parseCall(rest string) Call {
	name, args, _ := strings.Cut(rest, " ")
	if !json.Valid([]byte(args)) || args == "" {
		args = "{}"
	}
	return Call{Name: name, Arguments: args}
}

func parseFail(rest string) (*Fail, int) {
	fields := strings.Fields(rest)
	f, times := &Fail{}, 1
	for i, field := range fields {
		after, isRetry := strings.CutPrefix(field, "retry-after=")
		if code, n, ok := strings.Cut(field, "x"); ok && i == 0 { // for example 429x2 or truncatex2
			if count, err := strconv.Atoi(n); err == nil {
				field, times = code, count
			}
		}
		switch {
		case i == 0 && field == "context":
			f.Status, f.Code, f.Message = 400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."
		case i == 0 && slices.Contains([]Broken{Disconnect, Truncate, MidStream}, Broken(field)):
			f.Broken = Broken(field)
		case i == 0:
			f.Status, _ = strconv.Atoi(field)
		case isRetry:
			f.RetryAfter = after
		}
	}
	return f, times
}

func (s *Server) failsNow(key string, times int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures[key]++
	return s.failures[key] <= times
}

// anchor returns the last message that a person wrote: not a reminder or a heartbeat.
func anchor(messages []Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if m.Role != "user" || spoken(m.Text) == "" {
			continue
		}
		return i
	}
	return -1
}

// spoken returns what a person said: without reminders, and out of the envelope of older agents.
func spoken(text string) string {
	for {
		before, rest, found := strings.Cut(text, "<"+core.ReminderTag+">")
		if !found {
			break
		}
		_, after, _ := strings.Cut(rest, "</"+core.ReminderTag+">")
		text = strings.TrimSpace(before + strings.TrimPrefix(after, "\n"))
	}
	var packed struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(text), &packed) == nil && packed.Type != "" {
		if packed.Type != "user_message" {
			return ""
		}
		return packed.Message
	}
	return text
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// throughTool turns a final text into a call of send_message if that is offered and hasn't been called yet.
func throughTool(req Request, at int, t Turn) Turn {
	if !slices.Contains(req.Tools, "send_message") || req.ToolChoice == "none" {
		return t
	}
	for _, m := range req.Messages[at+1:] {
		for _, c := range m.Calls {
			if c.Name == "send_message" {
				return t
			}
		}
	}
	args, err := json.Marshal(object{"message": t.Text})
	if err != nil {
		return t
	}
	t.Text, t.Calls = "", []Call{{Name: "send_message", Arguments: string(args)}}
	return t
}
