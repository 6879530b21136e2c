package tui

import (
	"strings"
	"time"

	"loci/daemon/api"
	"loci/tui/transcript"
)

// part is what a run is writing at the moment: an answer, reasoning, or
// nothing. An answer's blocks are printed as soon as they are final, reasoning
// when it ends.
type part struct {
	ui     *display
	now    func() time.Time
	key    string // of the messages it grows by; empty: nothing is open
	kind   transcript.Kind
	since  time.Time
	text   strings.Builder
	stream transcript.Stream
	blocks int // of the answer, printed so far
}

// grow adds to the open part, or opens another.
func (p *part) grow(kind transcript.Kind, msg *api.Message, text string) {
	key := string(msg.MessageType) + msg.ID + msg.OTID
	if p.key != key {
		p.close()
		p.key, p.kind, p.since = key, kind, p.now()
	}
	if text == "" {
		return
	}
	text = transcript.Clean(text)
	p.text.WriteString(text)
	if kind == transcript.Assistant {
		p.ui.startAnswer(msg.ID)
		p.commit(p.stream.Write(text))
	}
}

// commit prints the blocks of an answer that are final.
func (p *part) commit(blocks []transcript.Block) {
	for _, b := range blocks {
		drawn := p.ui.render.Markdown(b)
		if drawn == "" {
			continue // the end of a fence whose lines are all out
		}
		p.ui.emit(transcript.Assistant, drawn, b.Tight && p.blocks > 0)
		p.blocks++
	}
	p.ui.setAnswer(p.text.String())
}

// close prints the rest of the open part.
func (p *part) close() {
	if p.key == "" {
		return
	}
	switch p.kind {
	case transcript.Assistant:
		p.commit(p.stream.Close())
	case transcript.Reasoning:
		if text := strings.TrimSpace(p.text.String()); text != "" {
			p.ui.show(transcript.Item{Kind: transcript.Reasoning, Text: text, Took: p.now().Sub(p.since)})
		}
	case transcript.User, transcript.Tool, transcript.Notice, transcript.Failure, transcript.Recalled: // these arrive whole
	}
	p.key, p.blocks = "", 0
	p.ui.endAnswer()
	p.text.Reset()
}

// final is the text whose blocks are printed.
func (p *part) final() string {
	whole := p.text.String()
	return whole[:len(whole)-p.stream.Pending()]
}
