package tui

import (
	"strings"
	"time"

	"loci/daemon/api"
	"loci/tui/transcript"
)

// part is what a run is writing at the moment: an answer, reasoning, or
// nothing. An answer's blocks are printed as soon as they are final; reasoning
// once something else is, so that it can still be dropped if the attempt breaks
// off in the call that follows it.
type part struct {
	ui     *display
	now    func() time.Time
	key    string // of the messages it grows by; empty: nothing is open
	kind   transcript.Kind
	since  time.Time
	until  time.Time // when reasoning ended that isn't printed yet
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
	p.until = time.Time{}
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
		p.pause()
		if it := p.thought(); it.Text != "" {
			p.ui.show(it)
		}
	case transcript.User, transcript.Tool, transcript.Notice, transcript.Failure, transcript.Recalled: // these arrive whole
	}
	p.reset()
}

func (p *part) reset() {
	p.key, p.blocks, p.until = "", 0, time.Time{}
	p.ui.endAnswer()
	p.text.Reset()
}

// pause ends what is open, but doesn't print reasoning yet.
func (p *part) pause() {
	if p.key != "" && p.kind != transcript.Reasoning {
		p.close()
	} else if p.until.IsZero() {
		p.until = p.now()
	}
}

// drop forgets reasoning that isn't printed; what is printed stays printed.
func (p *part) drop() {
	if p.key != "" && p.kind == transcript.Reasoning {
		p.reset()
	}
	p.close()
}

// thought is the open reasoning as an item.
func (p *part) thought() transcript.Item {
	return transcript.Item{Kind: transcript.Reasoning, Text: strings.TrimSpace(p.text.String()), Took: p.until.Sub(p.since)}
}

// final is the text whose blocks are printed.
func (p *part) final() string {
	whole := p.text.String()
	return whole[:len(whole)-p.stream.Pending()]
}
