package transcript

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Kind is the type of an item.
type Kind int

// The kinds of items.
const (
	User      Kind = iota // what the person said
	Assistant             // what the agent said, Markdown
	Reasoning             // what the model thought
	Tool                  // a call with its return
	Notice                // worth a quiet line
	Failure               // something went wrong
	Recalled              // a summary of earlier messages, or what was recalled from memory
)

// Item is one entry in a conversation.
type Item struct {
	Kind Kind
	ID   string
	Text string
	Call Call
	Took time.Duration // how long reasoning took, if known
	Note string        // on a user's item: what became of it, such as "not delivered"
	Head string        // shown in place of folded text; empty: its first words
}

// Mark is the prefix of what a person says.
const Mark = "›"

// Item draws an item as it appears in the scrollback. Open unfolds what is
// folded.
func (r *Renderer) Item(it Item, open bool) string {
	th := r.Theme
	switch it.Kind {
	case User:
		return r.user(it, open)
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
		switch {
		case open && it.Head == "": // a summary is a model's Markdown
			return th.Dim.Render("↺") + " " + hang(r.quiet(it.Text), 2)
		case open:
			return r.marked(th.Dim.Render("↺"), th.Dim.Render, it.Text)
		}
		head := it.Head
		if head == "" {
			head = it.Text
		}
		return Short(th.Dim.Render("↺ "+OneLine(r.plainText(head))), r.Width)
	case Notice:
	}
	return r.marked(th.Dim.Render("·"), th.Dim.Render, it.Text)
}

// Gap reports whether an empty line goes between two items.
func Gap(above, below Kind) bool {
	quiet := func(k Kind) bool { return k == Tool || k == Reasoning || k == Notice }
	return !quiet(above) || !quiet(below)
}

// user draws what a person said. Of what they sent along, only the heads are shown where it is folded.
func (r *Renderer) user(it Item, open bool) string {
	words, heads := Unfold(it.Text)
	if open {
		words, heads = it.Text, nil
	}
	out := r.marked(r.Theme.Accent.Render(Mark), r.Theme.Strong.Render, words)
	for _, head := range heads {
		out += "\n  " + Short(r.Theme.Dim.Render("+ "+OneLine(head)), r.Width-2)
	}
	if it.Note != "" {
		out += "\n  " + r.Theme.Warn.Render(it.Note)
	}
	return out
}

// marked puts a mark before the first line and indents the rest to match.
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

func (r *Renderer) answer(text string) string { return r.blocks(text, false) }

// blocks draws a Markdown text. In a tight one no empty lines separate blocks.
func (r *Renderer) blocks(text string, tight bool) string {
	s := Stream{md: r.markdown()}
	blocks := append(s.Write(text), s.Close()...)
	var b strings.Builder
	for i, bl := range blocks {
		drawn := r.Markdown(bl)
		if drawn == "" {
			continue
		}
		if i > 0 {
			b.WriteString("\n")
			if !bl.Tight && !tight {
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
		return th.Dim.Render(Short(head+" · "+OneLine(r.plainText(it.Text)), r.Width))
	}
	return th.Dim.Render(head) + "\n" + r.indent(r.quiet(it.Text))
}

// quiet draws Markdown that isn't an answer, two columns narrower and in one dim
// colour.
func (r *Renderer) quiet(text string) string {
	return lines(r.Theme.Dim.Render, ansi.Strip(r.narrowed(2).answer(text)))
}

// Thinking draws reasoning in progress as one row: its latest words.
func (r *Renderer) Thinking(text string) string {
	if most := r.Width * 4; len(text) > most {
		text = strings.ToValidUTF8(text[len(text)-most:], "")
	}
	words := OneLine(r.plainText(text))
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

// CodeBlocks returns the fenced code blocks in a text, without their fences.
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
