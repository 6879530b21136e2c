package textcalls

import "strings"

// Marks of gpt-oss: a message has a head, which names its channel and whom it is for, and a body.
const (
	channelMark = "<|channel|>"
	startMark   = "<|start|>"
	messageMark = "<|message|>"
	callMark    = "<|call|>"
	endMark     = "<|end|>"
	returnMark  = "<|return|>"
)

// recipient stands before the name of the tool that a message calls.
const recipient = "to=functions."

// channels reads an answer of gpt-oss whose server shows its marks: what it thinks, says and calls. Any other answer is text.
type channels struct {
	tools []Tool
	state channelState
	raw   string // the head of the message that is open
	tool  string // whom the open message calls
	think bool   // the open message is reasoning
	calls []Call
	// written is what calls were read from: they are text if the answer turns out to be something else.
	written string
	place   place // in the body that is open
	missed  Missed
}

type channelState int

const (
	channelNone  channelState = iota // nothing is known yet
	channelHead                      // in the head of a message
	channelBody                      // in the body of a message that is shown
	channelCall                      // in the arguments of a call
	channelPlain                     // the answer has no channels
)

// read takes what is there and returns what is certain, the calls if that was all, and what is to be held.
func (c *channels) read(text string, final bool) (out Out, calls []Call, rest string) {
	for {
		var again bool
		switch c.state {
		case channelNone:
			text, again = c.begin(text, final)
		case channelHead:
			text, again = c.head(text, final, &out)
		case channelBody:
			text, again = c.body(text, final, &out)
		case channelCall:
			text, again = c.call(text, final, &out)
		case channelPlain:
			out.Text += text
			text = ""
		}
		if !again {
			break
		}
	}
	if !final {
		return out, nil, text
	}
	return out, c.calls, ""
}

// begin looks whether the answer has channels.
func (c *channels) begin(text string, final bool) (rest string, again bool) {
	lead := strings.TrimLeft(text, blank)
	const headless = "commentary " + recipient // some servers take the first mark away
	for _, mark := range []string{channelMark, startMark, headless} {
		switch {
		case strings.HasPrefix(lead, mark):
			c.state = channelHead
			return lead, true
		case !final && strings.HasPrefix(mark, lead):
			return text, false
		}
	}
	c.state = channelPlain
	return text, true
}

// head reads up to the body of a message.
func (c *channels) head(text string, final bool, out *Out) (rest string, again bool) {
	head, rest, found := strings.Cut(text, messageMark)
	switch {
	case found && len(head) <= mostName:
	case !found && !final && len(text) <= mostName+len(messageMark):
		return text, false
	case final && afterEnds(text) == "":
		return "", false
	default:
		c.plain(text, out)
		return text, true
	}
	c.raw, c.tool, c.place = head+messageMark, "", place{}
	c.think = strings.Contains(head, "analysis")
	c.state = channelBody
	if _, to, ok := strings.Cut(head, recipient); ok {
		name, _, _ := strings.Cut(to, " ")
		name, _, _ = strings.Cut(name, "<|")
		name = strings.TrimSpace(name)
		if _, offered := find(c.tools, name); offered {
			c.tool, c.state = name, channelCall
			return rest, true
		}
		if possible(name) {
			c.missed = Missed{Why: NotOffered, Names: []string{name}, Unknown: []string{name}}
		}
		out.Text += c.raw // a call of a tool that there isn't is shown as it came
		c.think = false
	}
	return rest, true
}

// plain takes the rest of the answer, and calls that it goes on behind, as text.
func (c *channels) plain(text string, out *Out) {
	c.state = channelPlain
	switch {
	case len(c.calls) > 0:
		c.missed = Missed{Why: Middle, Names: names(c.calls)}
	case strings.Contains(text, recipient):
		c.missed = Missed{Why: Cut, Text: snippet(text)}
	}
	out.Text += c.written
	c.calls, c.written = nil, ""
}

// body hands out what is said or thought until a mark ends it.
func (c *channels) body(text string, final bool, out *Out) (rest string, again bool) {
	at, mark := bodyEnd(text)
	said := text
	switch {
	case at >= 0:
		said, rest = text[:at], text[at:]
	case !final:
		keep := beginning(text, bodyMarks[:])
		said, rest = text[:len(text)-keep], text[len(text)-keep:]
	}
	if c.think {
		out.Reasoning += said
	} else {
		c.place.see(said)
		out.Text += said
	}
	if at < 0 {
		return rest, false
	}
	if begins := mark == channelMark || mark == startMark; begins && !c.think && c.place.stands() != meant {
		c.place.see(mark)
		out.Text += mark
		return rest[len(mark):], true
	}
	return c.leave(rest, mark)
}

// leave ends a message.
func (c *channels) leave(rest, mark string) (string, bool) {
	c.state = channelHead
	if mark == channelMark || mark == startMark {
		return rest, true
	}
	rest = rest[len(mark):]
	return rest, strings.TrimLeft(rest, blank) != ""
}

// call reads the arguments of a call.
func (c *channels) call(text string, final bool, out *Out) (rest string, again bool) {
	at, mark := bodyEnd(text)
	if at < 0 && !final {
		return text, false
	}
	body := text
	if at >= 0 {
		body, rest = text[:at], text[at:]
	}
	arguments, ok := "{}", true
	if body = strings.TrimSpace(body); body != "" {
		given, valid := mended(body)
		arguments, ok = string(given), valid && given[0] == '{'
	}
	if ok && len(c.calls) < mostCalls {
		c.calls = append(c.calls, Call{c.tool, arguments})
		c.written += c.raw + body + mark
	} else {
		c.missed = Missed{Why: Broken, Text: snippet(c.raw + body)}
		if at < 0 {
			c.missed.Why = Cut
		}
		out.Text += c.raw + body
	}
	if at < 0 {
		c.state = channelHead
		return "", false
	}
	return c.leave(rest, mark)
}

// bodyMarks end the body of a message.
var bodyMarks = [...]string{callMark, endMark, returnMark, startMark, channelMark}

func bodyEnd(text string) (at int, mark string) {
	at = -1
	for _, m := range bodyMarks {
		if i := strings.Index(text, m); i >= 0 && (at < 0 || i < at) {
			at, mark = i, m
		}
	}
	return at, mark
}
