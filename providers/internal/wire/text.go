package wire

import (
	"encoding/json"
	"strings"

	"loci/core"
)

// Splitter takes reasoning out of a text that starts with a <think> block, for servers that leave it there. Text that
// does not start so passes untouched, at once.
type Splitter struct {
	state int  // 0 before, 1 inside, 2 after, 3 after, until the first visible character
	begun bool // some reasoning was returned
	held  string
}

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// Add takes the next piece and returns what is reasoning and what is text.
func (s *Splitter) Add(piece string) (reasoning, text string) {
	if s.state == 2 {
		return "", piece
	}
	s.held += piece
	if s.state == 0 {
		lead := strings.TrimLeft(s.held, " \r\n\t")
		if len(lead) < len(thinkOpen) && strings.HasPrefix(thinkOpen, lead) {
			return "", ""
		}
		if !strings.HasPrefix(lead, thinkOpen) {
			return "", s.release()
		}
		s.state, s.held = 1, lead[len(thinkOpen):]
	}
	if s.state == 1 {
		if !s.begun {
			s.held = strings.TrimLeft(s.held, "\r\n")
		}
		before, after, closed := strings.Cut(s.held, thinkClose)
		if !closed {
			keep := partial(s.held, thinkClose)
			reasoning, s.held = s.held[:len(s.held)-keep], s.held[len(s.held)-keep:]
			s.begun = s.begun || reasoning != ""
			return reasoning, ""
		}
		s.state, s.held, reasoning = 3, after, before
	}
	s.held = strings.TrimLeft(s.held, " \r\n\t")
	if s.held == "" {
		return reasoning, ""
	}
	return reasoning, s.release()
}

// End returns what was held back in doubt.
func (s *Splitter) End() (reasoning, text string) {
	held := s.held
	s.held = ""
	if s.state == 1 {
		return held, ""
	}
	return "", held
}

func (s *Splitter) release() string {
	held := s.held
	s.state, s.held = 2, ""
	return held
}

// partial returns how many bytes at the end of text may be the beginning of mark.
func partial(text, mark string) int {
	for n := min(len(text), len(mark)-1); n > 0; n-- {
		if strings.HasSuffix(text, mark[:n]) {
			return n
		}
	}
	return 0
}

const (
	callOpen  = "<tool_call>"
	callClose = "</tool_call>"
)

// Calls holds back text from the first <tool_call> on, for models whose template makes no calls of them.
type Calls struct{ held string }

// Add takes the next piece and returns the text before any call.
func (c *Calls) Add(piece string) string {
	c.held += piece
	at := strings.Index(c.held, callOpen)
	if at < 0 {
		at = len(c.held) - partial(c.held, callOpen)
	}
	out := c.held[:at]
	c.held = c.held[at:]
	return out
}

// End returns the calls among what was held, or all of it as text if it is not calls to offered tools.
func (c *Calls) End(offered func(name string) bool) (calls []core.ToolCall, text string) {
	rest := c.held
	for {
		_, after, ok := strings.Cut(rest, callOpen)
		if !ok {
			break
		}
		body, next, _ := strings.Cut(after, callClose)
		var call struct {
			Name       string          `json:"name"`
			Arguments  json.RawMessage `json:"arguments"`
			Parameters json.RawMessage `json:"parameters"`
		}
		if json.Unmarshal([]byte(strings.TrimSpace(body)), &call) != nil || !offered(call.Name) {
			return nil, c.held
		}
		args := call.Arguments
		if args == nil {
			args = call.Parameters
		}
		calls = append(calls, core.ToolCall{Name: call.Name, Arguments: Arguments(args)})
		rest = next
	}
	if len(calls) == 0 {
		return nil, c.held
	}
	return calls, ""
}

// Arguments returns the JSON text of arguments that came as an object or as text; "{}" when there are none.
func Arguments(raw json.RawMessage) string {
	s := text(raw)
	if strings.TrimSpace(s) == "" {
		return "{}"
	}
	return s
}
