package textcalls

import "strings"

// Limits on what a reader holds and does.
const (
	mostHeld  = 1 << 20  // bytes held back
	mostCalls = 64       // in an answer
	mostWork  = 32 << 20 // bytes looked at again
	oftenHeld = 512      // up to here, what is held is looked at with every piece
	mostLead  = 1024     // blanks before an answer
)

// Out is what can be handed out.
type Out struct{ Text, Reasoning string }

// Reader reads one answer. Create one with NewReader.
type Reader struct {
	grammar  grammar
	tools    []Tool
	bare     bool // the answer may still be nothing but JSON
	channels *channels
	held     []byte
	lead     string // blank text before anything else
	next     int    // how much must be held before it is looked at again
	work     int
	off      bool
	place    place
	begun    bool // something visible was handed out
}

// NewReader returns a reader of a form for calls of the tools that were offered. If bare isn't set, an answer that is
// nothing but JSON is never a call, as where JSON was asked for.
func NewReader(form Form, tools []Tool, bare bool) *Reader {
	r := &Reader{grammar: form.grammar(), tools: tools}
	r.bare = bare && r.grammar.whole
	if form == GPTOSS {
		r.channels = &channels{tools: tools}
	}
	return r
}

// Add takes the next piece of the text and returns what can't become a call any more.
func (r *Reader) Add(piece string) Out {
	if r.off {
		return Out{Text: piece}
	}
	r.held = append(r.held, piece...)
	if len(r.held) < r.next && len(r.held) <= mostHeld {
		return Out{}
	}
	out, _ := r.read(false)
	if r.next = 0; len(r.held) > oftenHeld {
		r.next = len(r.held) + len(r.held)/8
	}
	if len(r.held) > mostHeld || r.work > mostWork {
		out.Text += r.Off().Text
	}
	return out
}

// Off ends the reading: what is held back is text, and so is all that follows.
func (r *Reader) Off() Out {
	r.off = true
	text := r.lead + string(r.held)
	r.lead, r.held = "", nil
	return Out{Text: text}
}

// End returns the calls of the answer, and what of it was still held back.
func (r *Reader) End() (Out, []Call) {
	if r.off {
		if r.channels != nil {
			return Out{}, r.channels.calls // those before
		}
		return Out{}, nil
	}
	out, calls := r.read(true)
	if len(calls) == 0 {
		out.Text += r.lead
	}
	r.lead = ""
	return out, calls
}

func (r *Reader) read(final bool) (Out, []Call) {
	if r.channels != nil {
		out, calls, rest := r.channels.read(string(r.held), final)
		r.held = append(r.held[:0], rest...)
		r.work += len(rest)
		return out, calls
	}
	var out strings.Builder
	text, calls := r.scan(string(r.held), final, &out)
	r.held = append(r.held[:0], text...)
	r.work += len(text)
	return Out{Text: out.String()}, calls
}

// scan hands out what is certain, and returns what is not.
func (r *Reader) scan(text string, final bool, out *strings.Builder) (rest string, calls []Call) {
	if r.bare {
		lead := strings.TrimLeft(text, blank)
		if lead == "" && !final {
			return text, nil
		}
		calls, v := bareJSON(lead, final, r.tools)
		switch v {
		case done:
			return "", calls
		case more:
			return text, nil
		case no:
		}
		r.bare = false
	}
	for text != "" {
		at, mark := r.mark(text)
		if at < 0 {
			keep := 0
			if !final {
				keep = beginning(text, r.grammar.marks)
			}
			r.hand(text[:len(text)-keep], out)
			return text[len(text)-keep:], nil
		}
		r.hand(text[:at], out)
		text = text[at:]
		v := no
		if r.place.stands() == meant {
			calls, v = r.block(text, final)
		}
		switch v {
		case done:
			return "", calls
		case more:
			return text, nil
		case no:
		}
		r.hand(text[:len(mark)], out)
		text = text[len(mark):]
		if r.work += len(mark); r.work > mostWork {
			r.hand(text, out)
			r.off = true
			return "", nil
		}
	}
	return "", nil
}

// hand hands text out. Blank text before everything else waits: it doesn't belong before a call.
func (r *Reader) hand(text string, out *strings.Builder) {
	r.place.see(text)
	if !r.begun && len(r.lead)+len(text) <= mostLead && strings.TrimLeft(text, blank) == "" {
		r.lead += text
		return
	}
	r.begun = true
	out.WriteString(r.lead)
	out.WriteString(text)
	r.lead = ""
}

// mark finds the first mark in a text.
func (r *Reader) mark(text string) (at int, mark string) {
	for from := 0; len(r.grammar.marks) > 0; from++ {
		next := strings.IndexAny(text[from:], "<[")
		if next < 0 {
			break
		}
		from += next
		if m := r.starts(text[from:]); m != "" {
			return from, m
		}
	}
	return -1, ""
}

// starts returns the mark that a text begins with; "" if none.
func (r *Reader) starts(text string) string {
	for _, m := range r.grammar.marks {
		if strings.HasPrefix(text, m) {
			return m
		}
	}
	return ""
}

// beginning returns how many bytes at the end of a text may be the beginning of a mark.
func beginning(text string, marks []string) int {
	most := 0
	for _, m := range marks {
		for n := min(len(text), len(m)-1); n > most; n-- {
			if strings.HasSuffix(text, m[:n]) {
				most = n
			}
		}
	}
	return most
}

// block reads the calls at the beginning of a text. They end the answer, or are none.
func (r *Reader) block(text string, final bool) ([]Call, verdict) {
	r.work += len(text)
	var all []Call
	for {
		calls, n, v := r.grammar.one(text, final, r.tools)
		if v != done {
			return nil, v
		}
		if all = append(all, calls...); len(all) > mostCalls {
			return nil, no
		}
		text = afterEnds(text[n:])
		switch {
		case text == "" && final:
			return all, done
		case text == "":
			return nil, more
		case r.starts(text) != "":
		case !final && (beginning(text, r.grammar.marks) == len(text) || beginsEnd(text)):
			return nil, more
		default:
			return nil, no
		}
	}
}

// blank are the characters between calls.
const blank = " \t\r\n"

// ends are what models write at the end of an answer, and what some servers leave there.
var ends = [...]string{
	"<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|end|>", "<|return|>", "<|call|>", "</s>",
	"<｜end▁of▁sentence｜>",
}

// afterEnds returns what stands behind blanks and marks of the end.
func afterEnds(text string) string {
	for {
		text = strings.TrimLeft(text, blank)
		rest := text
		for _, end := range ends {
			rest = strings.TrimPrefix(rest, end)
		}
		if len(rest) == len(text) {
			return text
		}
		text = rest
	}
}

// beginsEnd reports whether a text is the beginning of a mark of the end.
func beginsEnd(text string) bool {
	for _, end := range ends {
		if strings.HasPrefix(end, text) {
			return true
		}
	}
	return false
}
