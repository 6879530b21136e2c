package transcript

import (
	"fmt"
	"strings"
	"time"
)

// Kind says what an item is.
type Kind int

// The kinds of items.
const (
	User      Kind = iota // what the person said
	Assistant             // what the agent said, Markdown
	Reasoning             // what the model thought
	Tool                  // a call with its return
	Notice                // something worth a quiet line
	Failure               // something that went wrong
	Recalled              // a summary of what was said before, or what joined a turn from memory
)

// Item is one thing of a conversation.
type Item struct {
	Kind Kind
	ID   string
	Text string
	Call Call
	Took time.Duration // how long reasoning took, if known
	Note string        // on a user's item: what became of it, as "not delivered"
	Head string        // what stands for a text that is folded; empty: its first words
}

// Mark is what stands left of what a person says.
const Mark = "›"

// Item draws an item as it stands in the scrollback. Open shows what is folded.
func (r *Renderer) Item(it Item, open bool) string {
	th := r.Theme
	switch it.Kind {
	case User:
		return r.user(it)
	case Assistant:
		return r.answer(it.Text)
	case Reasoning:
		return r.reasoning(it, open)
	case Tool:
		row := r.Tool(it.Call)
		if open {
			if d := r.Detail(it.Call); strings.TrimSpace(d) != "" {
				row += "\n" + d
			}
		}
		return row
	case Failure:
		return r.marked(th.Bad.Render("!"), th.Bad.Render, it.Text)
	case Recalled:
		if open {
			return r.marked(th.Dim.Render("↺"), th.Dim.Render, it.Text)
		}
		head := it.Head
		if head == "" {
			head = it.Text
		}
		return Short(th.Dim.Render("↺ "+OneLine(head)), r.Width)
	case Notice:
	}
	return r.marked(th.Dim.Render("·"), th.Dim.Render, it.Text)
}

// Gap reports whether an empty line stands between two items.
func Gap(above, below Kind) bool {
	quiet := func(k Kind) bool { return k == Tool || k == Reasoning || k == Notice }
	return !quiet(above) || !quiet(below)
}

func (r *Renderer) user(it Item) string {
	out := r.marked(r.Theme.Accent.Render(Mark), r.Theme.Strong.Render, it.Text)
	if it.Note != "" {
		out += "\n  " + r.Theme.Warn.Render(it.Note)
	}
	return out
}

// marked sets a mark before the first line and the others under its text.
func (r *Renderer) marked(mark string, style func(...string) string, text string) string {
	lines := strings.Split(wrap(strings.TrimRight(Clean(text), "\n"), min(r.Width-2, readable)), "\n")
	for i, l := range lines {
		if l != "" {
			l = style(l)
		}
		if i == 0 {
			lines[i] = strings.TrimRight(mark+" "+l, " ")
		} else if l != "" {
			lines[i] = "  " + l
		}
	}
	return strings.Join(lines, "\n")
}

func (r *Renderer) answer(text string) string {
	var s Stream
	blocks := append(s.Write(text), s.Close()...)
	var b strings.Builder
	for i, bl := range blocks {
		drawn := r.Markdown(bl)
		if i > 0 {
			b.WriteString("\n")
			if !bl.Tight {
				b.WriteString("\n")
			}
		}
		b.WriteString(drawn)
	}
	return b.String()
}

func (r *Renderer) reasoning(it Item, open bool) string {
	th := r.Theme
	head := "∴ thought"
	if it.Took >= time.Second {
		head += fmt.Sprintf(" for %ds", int(it.Took.Seconds()))
	}
	if !open {
		return th.Dim.Render(Short(head+" · "+OneLine(it.Text), r.Width))
	}
	return th.Dim.Render(head) + "\n" + r.indent(lines(th.Dim.Render, wrap(strings.TrimSpace(Clean(it.Text)), min(r.Width-2, readable))))
}

// Thinking draws reasoning under way as one row: its newest words.
func (r *Renderer) Thinking(text string) string {
	if most := r.Width * 4; len(text) > most {
		text = strings.ToValidUTF8(text[len(text)-most:], "")
	}
	words := OneLine(text)
	head := "∴ "
	room := r.Width - 3
	for room > 0 && len([]rune(words)) > room {
		_, rest, ok := strings.Cut(words, " ")
		if !ok {
			break
		}
		words = rest
	}
	return r.Theme.Dim.Render(Short(head+words, r.Width))
}

// CodeBlocks are the fenced code blocks of a text, without their fences.
func CodeBlocks(text string) []string {
	var (
		out  []string
		code strings.Builder
		mark string
	)
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\r\n")
		switch {
		case mark == "":
			mark = fenceMark(bare)
		case closesFence(bare, mark):
			out, mark = append(out, code.String()), ""
			code.Reset()
		default:
			code.WriteString(line)
		}
	}
	if mark != "" {
		out = append(out, code.String())
	}
	return out
}
