// Package prompt is where a person writes: a multi-line editor with history, a
// queue of messages waiting for the agent, and completion of slash commands. It
// is a plain struct that takes keys and returns what they mean; it sends
// nothing itself.
//
// Promise: only keys that delete text on purpose ever destroy what was typed or
// queued. Escape only closes what it opened.
package prompt

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"loci/tui/term"
	"loci/tui/theme"
	"loci/tui/transcript"
)

// Limits of the prompt.
const (
	maxRows    = 12      // rows of the editor
	listRows   = 7       // rows of the command list
	queueRows  = 3       // rows of the queue
	foldLines  = 10      // a paste with this many newlines is folded
	foldChars  = 1500    // or of more characters than this
	foldBack   = 10_000  // longer text is folded when it is brought back
	maxPaste   = 1 << 20 // bytes in one paste
	maxHistory = 500
)

// Command is a slash command as the completion shows it.
type Command struct {
	Name string // without the slash
	Help string

	file bool // it is a file
}

// Event is what a key meant.
type Event int

// The events.
const (
	Ignored Event = iota // not for the prompt
	Edited               // the prompt took it; text or cursor may have changed
	Submit               // send what was typed: call Take
)

// Prompt is the editor and everything that goes with it.
type Prompt struct {
	Queue []string // waiting messages, oldest first

	area     textarea.Model
	theme    theme.Theme
	width    int
	commands []Command

	history []string
	at      int    // position in history; len(history) is the draft
	draft   string // what was typed before the history was entered
	offered string // the text that was given back, until somebody touches it
	place   int    // queue position of the message being edited, or none
	from    int    // queue position of the message taken last
	aside   string // text put aside

	pastes []string // folded pastes, by number
	known  []string // pastes that were folded lately: they are folded again when they come back

	files *Files      // that @ completes; nil: not known
	found *foundFiles // for the word at the caret

	chosen int  // in the list
	moved  bool // the person moved the selection
	closed bool // Escape closed the list
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
	p := &Prompt{area: a, commands: commands, width: 80, place: none, from: none}
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

// Text is what was typed, with folded pastes expanded.
func (p *Prompt) Text() string {
	text := p.area.Value()
	for i, full := range p.pastes {
		text = strings.ReplaceAll(text, pasteName(i, full), full)
	}
	return text
}

// Empty reports whether nothing but whitespace was typed.
func (p *Prompt) Empty() bool { return strings.TrimSpace(p.area.Value()) == "" }

// Set replaces what was typed; the old text is the caller's responsibility.
// Text that is too long is folded, as a paste would be.
func (p *Prompt) Set(text string) {
	text = transcript.Clean(text)
	p.pastes = nil
	folded := p.refold(text)
	if len(folded) > foldBack {
		p.pastes = nil
		folded = p.fold(text)
	}
	p.area.SetValue(folded)
	p.area.MoveToEnd()
	p.touched()
}

// Offer gives a text back for editing if nothing is being typed. Otherwise it
// goes into the history, where ↑ finds it, and Offer returns false.
func (p *Prompt) Offer(text string) bool {
	if p.area.Value() != "" {
		p.put(text)
		return false
	}
	p.Set(text)
	p.offered = p.area.Value()
	return true
}

// Withdraw moves an offered text that nobody touched into the history, so that
// something else can be typed. It reports whether there was one.
func (p *Prompt) Withdraw() bool {
	if p.offered == "" || p.area.Value() != p.offered {
		return false
	}
	p.put(p.Text())
	p.Set("")
	return true
}

// Take returns what was typed and empties the editor. The text joins the
// history. After a queued message, what was being typed before comes back.
func (p *Prompt) Take() string {
	text := strings.TrimRight(p.Text(), " \n")
	if name, ok := p.completion(); ok {
		text = "/" + name
	}
	draft := ""
	if p.place != none {
		draft = p.draft
	}
	p.Remember(text)
	p.Set(draft)
	p.from, p.place = p.place, none
	return text
}

// Remember adds to the history, newest last, and moves to its end.
func (p *Prompt) Remember(texts ...string) {
	p.put(texts...)
	p.at, p.draft = len(p.history), ""
}

// put adds to the history without moving the person's position in it.
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

// Paste inserts a text as one piece. A long one is folded into a name.
func (p *Prompt) Paste(text string) {
	text = transcript.Clean(text[:min(len(text), maxPaste)])
	if strings.Count(text, "\n") >= foldLines || len(text) > foldChars {
		p.know(text)
		text = p.fold(text)
	}
	p.area.InsertString(text)
	p.touched()
}

// Key handles a key.
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
			p.take(list[p.chosen])
			return Edited
		case "enter":
			if list[p.chosen].file && list[p.chosen].Name != p.found.word {
				p.take(list[p.chosen])
				return Edited
			}
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
	case "ctrl+s":
		p.swapAside()
		return Edited
	case "tab", "shift+tab", "esc", "pgup", "pgdown":
		return Ignored
	}
	before, caret := p.area.Value(), p.caret()
	p.area, _ = p.area.Update(msg) // the command only blinks a virtual cursor, which we don't use
	p.mend(before, caret)
	if p.area.Value() != before {
		p.touched()
	}
	return Edited
}

// take completes what was typed by an entry of the list.
func (p *Prompt) take(c Command) {
	if c.file {
		p.complete(c.Name)
		return
	}
	p.Set("/" + c.Name)
	p.closed = true
}

// swapAside puts what was typed aside and brings back what was put aside
// earlier.
func (p *Prompt) swapAside() {
	text := p.Text()
	p.Set(p.aside)
	p.aside = text
}

// Aside is the text put aside.
func (p *Prompt) Aside() string { return p.aside }

func (p *Prompt) touched() {
	p.chosen, p.moved, p.closed = 0, false, false
	p.offered = ""
}

// older goes back: through the queue first, then the history.
func (p *Prompt) older() bool {
	if p.area.Line() > 0 || p.area.LineInfo().RowOffset > 0 {
		return false
	}
	if p.queueNext() {
		p.olderQueued()
		return true
	}
	if p.place != none {
		return true // the oldest
	}
	if p.at == 0 {
		return true
	}
	if p.at == len(p.history) {
		p.draft = p.Text()
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
	if p.place != none {
		p.newerQueued()
		return true
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

// Complete sets the commands that are completed.
func (p *Prompt) Complete(commands []Command) { p.commands = commands }

// list is the commands that the slash word matches: an exact name first, then
// prefixes. Behind an @ it is files.
func (p *Prompt) list() []Command {
	text := p.area.Value()
	if strings.Contains(text, "@") {
		var files []Command
		for _, name := range p.matches() {
			files = append(files, Command{Name: name, file: true})
		}
		p.chosen = max(0, min(p.chosen, len(files)-1)) // the caret may have gone to another word
		return files
	}
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

// completion is the command that Enter runs, if the command list is open.
func (p *Prompt) completion() (string, bool) {
	list := p.list()
	if len(list) == 0 || list[0].file {
		return "", false
	}
	return list[min(p.chosen, len(list)-1)].Name, true
}

// View draws the queue, the list and the editor, and returns the caret's
// position.
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
		if list[i].file {
			name = list[i].Name
		}
		if i == p.chosen {
			name = p.theme.Accent.Render("▸ " + name)
		} else {
			name = "  " + name
		}
		rows = append(rows, term.TrimRight(transcript.Short(name+"  "+help, p.width)))
	}
	if len(list) > show {
		rows = append(rows, p.theme.Dim.Render(transcript.Short(fmt.Sprintf("  %d of %d · ↑↓", p.chosen+1, len(list)), p.width)))
	}
	return rows
}
