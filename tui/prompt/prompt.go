// Package prompt is where a person writes: an editor of several lines with
// history, a queue of messages that wait for the agent, and the completion of
// slash commands. It is a plain struct that takes keys and returns what they
// mean; it sends nothing itself.
//
// Promise: no key but those that delete text on purpose ever destroys what was
// typed or queued. Escape only closes what it opened.
package prompt

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"loci/tui/term"
	"loci/tui/theme"
	"loci/tui/transcript"
)

// Limits of the prompt.
const (
	maxRows    = 12      // the editor is never taller
	listRows   = 7       // of a list of commands
	queueRows  = 3       // of the queue
	foldLines  = 10      // a paste of more lines is folded
	foldChars  = 1500    // or of more characters
	foldBack   = 10_000  // a text that is brought back is folded above this
	maxPaste   = 1 << 20 // bytes of one paste
	maxHistory = 500
)

// Command is a slash command as the completion shows it.
type Command struct {
	Name string // without the slash
	Help string
}

// Event is what a key meant.
type Event int

// The events.
const (
	Ignored Event = iota // not for the prompt
	Edited               // text or cursor changed, or nothing did
	Submit               // what was typed is to be sent: Take it
)

// Prompt is the editor with what belongs to it.
type Prompt struct {
	Queue []string // messages that wait, oldest first

	area     textarea.Model
	theme    theme.Theme
	width    int
	commands []Command

	history []string
	at      int    // position in history; len(history) is the draft
	draft   string // what was typed before the history was entered
	offered string // the text that was given back, as long as nobody touched it
	taken   bool   // a queued message is being edited

	pastes []string // folded pastes by their number

	chosen int  // in the list of commands
	moved  bool // the person chose there
	closed bool // the list was closed by Escape
}

// New returns an empty prompt.
func New(th theme.Theme, commands []Command) *Prompt {
	a := textarea.New()
	a.ShowLineNumbers = false
	a.DynamicHeight = true
	a.MaxHeight, a.MaxWidth, a.MaxContentHeight = maxRows, 0, 10_000
	a.SetVirtualCursor(false)
	a.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("ctrl+j", "alt+enter", "shift+enter"))
	a.KeyMap.Paste = key.NewBinding()
	a.KeyMap.CopySelection = key.NewBinding()
	a.Focus()
	p := &Prompt{area: a, commands: commands, width: 80}
	p.SetTheme(th)
	p.Resize(80, 24)
	return p
}

// SetTheme changes the colours.
func (p *Prompt) SetTheme(th theme.Theme) {
	p.theme = th
	s := p.area.Styles()
	s.Focused = textarea.StyleState{Text: th.Plain, CursorLine: th.Plain, Prompt: th.Accent, Selection: th.Strong.Reverse(true)}
	s.Blurred = s.Focused
	s.Cursor.Blink = true
	p.area.SetStyles(s)
	p.area.SetPromptFunc(2, func(i textarea.PromptInfo) string {
		if i.LineNumber == 0 {
			return transcript.Mark + " "
		}
		return "  "
	})
}

// Resize fits the prompt to a screen.
func (p *Prompt) Resize(width, height int) {
	p.width = width
	p.area.MaxHeight = max(1, min(maxRows, height/3))
	p.area.SetWidth(max(width, 6))
}

// Text is what was typed, with folded pastes in full.
func (p *Prompt) Text() string {
	text := p.area.Value()
	for i, full := range p.pastes {
		text = strings.ReplaceAll(text, pasteName(i, full), full)
	}
	return text
}

// Empty reports whether nothing but spaces was typed.
func (p *Prompt) Empty() bool { return strings.TrimSpace(p.area.Value()) == "" }

// Set replaces what was typed. The caller answers for what was there. A text that
// would be folded if it were pasted is folded.
func (p *Prompt) Set(text string) {
	text = transcript.Clean(text)
	if len(text) > foldBack {
		p.pastes = append(p.pastes, text)
		text = pasteName(len(p.pastes)-1, text)
	}
	p.area.SetValue(text)
	p.area.MoveToEnd()
	p.touched()
}

// Offer gives a text back for editing, if nothing is being typed. Else it is left
// in the history, where ↑ finds it, and Offer reports false.
func (p *Prompt) Offer(text string) bool {
	if p.area.Value() != "" {
		p.put(text)
		return false
	}
	p.Set(text)
	p.offered = p.area.Value()
	return true
}

// Withdraw leaves an offered text that was not touched to the history, so that
// something else can be typed. It reports whether there was one.
func (p *Prompt) Withdraw() bool {
	if p.offered == "" || p.area.Value() != p.offered {
		return false
	}
	p.put(p.Text())
	p.Set("")
	return true
}

// Take returns what was typed and empties the editor. The text joins the history.
func (p *Prompt) Take() string {
	text := strings.TrimRight(p.Text(), " \n")
	if name, ok := p.completion(); ok {
		text = "/" + name
	}
	p.Remember(text)
	p.area.Reset()
	p.pastes, p.taken = nil, false
	p.touched()
	return text
}

// Remember adds to the history, newest last, and stands at its end.
func (p *Prompt) Remember(texts ...string) {
	p.put(texts...)
	p.at, p.draft = len(p.history), ""
}

// put adds to the history and leaves the person where they are in it.
func (p *Prompt) put(texts ...string) {
	end := p.at == len(p.history)
	for _, t := range texts {
		if strings.TrimSpace(t) == "" || (len(p.history) > 0 && p.history[len(p.history)-1] == t) {
			continue
		}
		p.history = append(p.history, t)
	}
	over := max(0, len(p.history)-maxHistory)
	p.history = p.history[over:]
	if p.at = max(0, p.at-over); end {
		p.at = len(p.history)
	}
}

// Paste inserts a text as one piece. A long one is folded into its name.
func (p *Prompt) Paste(text string) {
	text = transcript.Clean(text[:min(len(text), maxPaste)])
	if strings.Count(text, "\n") >= foldLines || len(text) > foldChars {
		p.pastes = append(p.pastes, text)
		text = pasteName(len(p.pastes)-1, text)
	}
	p.area.InsertString(text)
	p.touched()
}

func pasteName(i int, text string) string {
	if lines := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1; lines > 1 {
		return fmt.Sprintf("[paste %d: %d lines]", i+1, lines)
	}
	return fmt.Sprintf("[paste %d: %d characters]", i+1, utf8.RuneCountInString(text))
}

// Key takes a key.
func (p *Prompt) Key(msg tea.KeyPressMsg) Event {
	if list := p.list(); len(list) > 0 {
		switch msg.String() {
		case "up", "ctrl+p":
			p.chosen, p.moved = (p.chosen+len(list)-1)%len(list), true
			return Edited
		case "down", "ctrl+n":
			p.chosen, p.moved = (p.chosen+1)%len(list), true
			return Edited
		case "tab":
			p.Set("/" + list[p.chosen].Name)
			p.closed = true
			return Edited
		case "esc":
			p.closed = true
			return Edited
		}
	}
	switch msg.String() {
	case "enter":
		if p.Empty() {
			return Edited
		}
		return Submit
	case "up", "ctrl+p":
		if p.older() {
			return Edited
		}
	case "down", "ctrl+n":
		if p.newer() {
			return Edited
		}
	case "tab", "shift+tab", "esc", "pgup", "pgdown":
		return Ignored
	}
	before := p.area.Value()
	p.area, _ = p.area.Update(msg) // its command only blinks a cursor that is not used
	if p.area.Value() != before {
		p.touched()
	}
	return Edited
}

func (p *Prompt) touched() {
	p.chosen, p.moved, p.closed = 0, false, false
	p.offered = ""
}

// queueNext reports whether ↑ takes the newest message of the queue back into
// the editor. One after the other: the second ↑ is not to empty the queue.
func (p *Prompt) queueNext() bool {
	return len(p.Queue) > 0 && (p.Empty() || p.at == len(p.history) && !p.taken)
}

// older goes back: into the queue, else into the history.
func (p *Prompt) older() bool {
	if p.area.Line() > 0 || p.area.LineInfo().RowOffset > 0 {
		return false
	}
	if p.queueNext() {
		n := len(p.Queue)
		p.put(p.Text()) // what was being typed is found in the history
		p.Set(p.Queue[n-1])
		p.Queue, p.taken = p.Queue[:n-1], true
		return true
	}
	if p.at == 0 {
		return true
	}
	if p.at == len(p.history) {
		p.draft = p.area.Value()
	}
	p.at--
	p.Set(p.history[p.at])
	return true
}

func (p *Prompt) newer() bool {
	info := p.area.LineInfo()
	if p.area.Line() < p.area.LineCount()-1 || info.RowOffset < info.Height-1 {
		return false
	}
	if p.at >= len(p.history) {
		return false
	}
	if p.at++; p.at == len(p.history) {
		p.Set(p.draft)
		return true
	}
	p.Set(p.history[p.at])
	return true
}

// Next takes the oldest message of the queue.
func (p *Prompt) Next() (string, bool) {
	if len(p.Queue) == 0 {
		return "", false
	}
	text := p.Queue[0]
	p.Queue = p.Queue[1:]
	return text, true
}

// list is what the slash word may become: an exact name first, then prefixes.
func (p *Prompt) list() []Command {
	text := p.area.Value()
	word, slash := strings.CutPrefix(text, "/")
	if !slash || p.closed || strings.ContainsAny(word, " \n/") {
		return nil
	}
	var exact, prefix []Command
	for _, c := range p.commands {
		switch {
		case c.Name == word:
			exact = append(exact, c)
		case strings.HasPrefix(c.Name, word):
			prefix = append(prefix, c)
		}
	}
	return append(exact, prefix...)
}

// completion is the command that Enter means, if it is not what was typed.
func (p *Prompt) completion() (string, bool) {
	list := p.list()
	if len(list) == 0 {
		return "", false
	}
	return list[min(p.chosen, len(list)-1)].Name, true
}

// View draws queue, list and editor, and says where the caret is.
func (p *Prompt) View() (string, *tea.Cursor) {
	var rows []string
	rows = append(rows, p.queueView()...)
	rows = append(rows, p.listView()...)
	above := len(rows)
	for row := range strings.SplitSeq(p.area.View(), "\n") {
		rows = append(rows, term.TrimRight(row))
	}
	cursor := p.area.Cursor()
	if cursor != nil {
		cursor.Y += above
		cursor.X = min(cursor.X, max(p.width-1, 0))
	}
	return strings.Join(rows, "\n"), cursor
}

func (p *Prompt) queueView() []string {
	var rows []string
	for i, q := range p.Queue {
		if i == queueRows-1 && len(p.Queue) > queueRows {
			rows = append(rows, p.theme.Dim.Render(transcript.Short(fmt.Sprintf("⋯ and %d more", len(p.Queue)-i), p.width)))
			break
		}
		rows = append(rows, p.theme.Dim.Render(transcript.Short("⋯ "+transcript.OneLine(q), p.width)))
	}
	if len(rows) > 0 && p.queueNext() && len(p.list()) == 0 {
		rows[len(rows)-1] += p.theme.Dim.Render(transcript.Short("  ↑ edits", p.width-term.Width(rows[len(rows)-1])))
	}
	return rows
}

func (p *Prompt) listView() []string {
	list := p.list()
	if len(list) == 0 {
		return nil
	}
	show := min(listRows, len(list), max(1, p.area.MaxHeight))
	first := min(max(0, p.chosen-show/2), len(list)-show)
	widest := 0
	for _, c := range list {
		widest = max(widest, len(c.Name)+1)
	}
	var rows []string
	for i := first; i < first+show; i++ {
		name := fmt.Sprintf("%-*s", widest, "/"+list[i].Name)
		help := p.theme.Dim.Render(list[i].Help)
		if i == p.chosen {
			name = p.theme.Accent.Render("▸ " + name)
		} else {
			name = "  " + name
		}
		rows = append(rows, transcript.Short(name+"  "+help, p.width))
	}
	return rows
}
