package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"loci/daemon/api"
	"loci/tui/term"
	"loci/tui/transcript"
)

const (
	itemsMost = 2000 // items kept for the transcript
	liveRows  = 5    // rows of the screen left to the live region when a conversation is printed
)

// scrollback is what was said: printed once into the terminal's own scrollback,
// where nothing can be changed any more, and kept for the transcript.
type scrollback struct {
	screen *term.Screen
	render *transcript.Renderer

	items   []transcript.Item
	growing int              // index of the answer that is still being written, or none
	printed bool             // part of the conversation is printed above
	above   int              // how many rows of it, at most a screenful
	last    transcript.Kind  // the last kind printed
	todos   transcript.Todos // the list by which the agent works; nil: it made none
	told    map[string]bool  // notices that are shown only once
}

// none is no index.
const none = -1

func newScrollback(screen *term.Screen) *scrollback {
	return &scrollback{screen: screen, growing: none, told: map[string]bool{}}
}

func (s *scrollback) width() int {
	width, _ := s.screen.Size()
	return width
}

func (s *scrollback) height() int {
	_, height := s.screen.Size()
	return height
}

// reprint prints the last items, as many as it takes to fill the screen above
// the live region.
func (s *scrollback) reprint(items []transcript.Item) {
	drawn := s.lately(items)
	for i, it := range items[len(items)-len(drawn):] {
		s.emit(it.Kind, drawn[i], false)
	}
}

// lately draws the last items. Of the first one the top may not fit: that goes
// into the scrollback, where it can be read.
func (s *scrollback) lately(items []transcript.Item) []string {
	var drawn []string
	rows := 0
	for _, it := range slices.Backward(items) {
		if rows >= s.height()-liveRows {
			break
		}
		text := s.folded(it, s.screenful())
		drawn = append(drawn, text)
		rows += strings.Count(text, "\n") + 2
	}
	slices.Reverse(drawn)
	return drawn
}

// screenful is how many rows of one item are enough where the item isn't what
// the person asked for.
func (s *scrollback) screenful() int { return max(s.height()-liveRows, 4) }

// folded draws an item in most rows, its first and its last, if that saves
// enough. Ctrl+o shows it in full.
func (s *scrollback) folded(it transcript.Item, most int) string {
	hidden := 0
	if lines := strings.SplitAfter(it.Text, "\n"); len(lines) > 4*most { // no need to draw all of it
		hidden = len(lines) - 4*most
		it.Text = strings.Join(lines[:2*most], "") + strings.Join(lines[len(lines)-2*most:], "")
	}
	if bytes := 8 * most * max(s.width(), 20); len(it.Text) > bytes {
		head, tail := it.Text[:bytes/2], it.Text[len(it.Text)-bytes/2:]
		hidden += (len(it.Text) - bytes) / s.width()
		it.Text = strings.ToValidUTF8(head, "") + strings.ToValidUTF8(tail, "")
	}
	rows := strings.Split(s.render.Item(it, false), "\n")
	if len(rows) <= most+most/2 && hidden == 0 {
		return strings.Join(rows, "\n")
	}
	shown := min(len(rows), most-1)
	head := shown * 2 / 3
	tail := shown - head
	hidden += len(rows) - head - tail
	note := transcript.Short(s.render.Theme.Dim.Render(fmt.Sprintf("  … %d more lines (ctrl+o)", hidden)), s.width())
	return strings.Join(append(append(rows[:head:head], note), rows[len(rows)-tail:]...), "\n")
}

// keep adds items to the transcript.
func (s *scrollback) keep(items ...transcript.Item) {
	s.items = append(s.items, items...)
	if list := lastTodos(items); list != nil {
		s.todos = list
	}
	if over := len(s.items) - itemsMost; over > itemsMost/4 && s.growing == none {
		s.items = append([]transcript.Item(nil), s.items[over:]...)
	}
}

// replace keeps other items than before. An answer that is growing comes after
// them.
func (s *scrollback) replace(items []transcript.Item) {
	if at := s.growing; at != none && at < len(s.items) {
		items = append(items, s.items[at])
		s.growing = len(items) - 1
	}
	s.forget()
	s.keep(items...)
}

// forget keeps nothing of what was said, as it was said elsewhere or taken back.
func (s *scrollback) forget() { s.items, s.todos = nil, nil }

// show prints an item and keeps it.
func (s *scrollback) show(it transcript.Item) {
	s.keep(it)
	s.emit(it.Kind, s.render.Item(it, false), false)
}

// returned prints a call again whose return was missing, now that it has arrived.
func (s *scrollback) returned(r api.ToolReturn) {
	for i, it := range slices.Backward(s.items) {
		if it.Kind == transcript.Tool && it.Call.ID == r.ToolCallID && !it.Call.Done {
			finish(&s.items[i].Call, r)
			if list := lastTodos(s.items[i : i+1]); list != nil {
				s.todos = list
			}
			s.emit(transcript.Tool, s.render.Item(s.items[i], false), false)
			return
		}
	}
}

// showSaid prints what a person said, folded if it doesn't fit the screen: they
// know what they pasted, and it must not push everything else away.
func (s *scrollback) showSaid(it transcript.Item) {
	s.keep(it)
	s.emit(it.Kind, s.folded(it, s.screenful()), false)
}

func (s *scrollback) notice(text string) {
	s.show(transcript.Item{Kind: transcript.Notice, Text: text})
}

// noticeOnce shows a notice, unless it was shown before.
func (s *scrollback) noticeOnce(text string) {
	if text != "" && !s.told[text] {
		s.told[text] = true
		s.notice(text)
	}
}

func (s *scrollback) failure(text string) {
	s.show(transcript.Item{Kind: transcript.Failure, Text: text})
}

// farewell prints a notice that only this terminal needs: nobody will open the
// transcript again.
func (s *scrollback) farewell(text string) {
	s.emit(transcript.Notice, s.render.Item(transcript.Item{Kind: transcript.Notice, Text: text}, false), false)
}

// marked prints a line that says how the conversation changed, followed by the
// conversation's end.
func (s *scrollback) marked(text string) {
	ends := ""
	for _, it := range slices.Backward(s.items) {
		if it.Kind == transcript.User || it.Kind == transcript.Assistant {
			ends = "its last words now: " + transcript.Short(transcript.OneLine(it.Text), wordsMost)
			break
		}
	}
	s.notice(text)
	s.notice(cmp.Or(ends, "it is empty now"))
}

// emit prints text of a kind, after an empty line where one belongs.
func (s *scrollback) emit(kind transcript.Kind, text string, tight bool) {
	if s.printed && !tight && transcript.Gap(s.last, kind) {
		s.screen.Print("")
	}
	s.screen.Print(text)
	s.printed, s.last = true, kind
	s.above = min(s.above+strings.Count(text, "\n")+1, s.height())
}

// startAnswer keeps an answer that will grow, unless one is growing already.
func (s *scrollback) startAnswer(id string) {
	if s.growing == none {
		s.growing = len(s.items)
		s.items = append(s.items, transcript.Item{Kind: transcript.Assistant, ID: id})
	}
}

// setAnswer is what the growing answer says so far.
func (s *scrollback) setAnswer(text string) {
	if at := s.growing; at != none && at < len(s.items) {
		s.items[at].Text = text
	}
}

func (s *scrollback) endAnswer() { s.growing = none }

// redraw clears the screen and reprints the end of the conversation in the
// current width and colours. Of an answer that is being written, that is only
// the part which is final.
func (s *scrollback) redraw(final string) {
	s.screen.Clear()
	s.printed, s.above = false, 0
	items := append([]transcript.Item(nil), s.items...)
	if at := s.growing; at != none && at < len(items) {
		items[at].Text = final
		if final == "" {
			items = items[:at]
		}
	}
	s.reprint(items)
}

// answer is the last answer that has a text, if there is one.
func (s *scrollback) answer() string {
	for _, it := range slices.Backward(s.items) {
		if it.Kind == transcript.Assistant && strings.TrimSpace(it.Text) != "" {
			return it.Text
		}
	}
	return ""
}
