package tui

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"loci/daemon/client"
	"loci/tui/prompt"
)

// quiet is how long, after a text was given back, a key still belongs to what
// the person had begun to type before they saw it.
const quiet = 700 * time.Millisecond

// outbox is what a person wrote that hasn't surely arrived: the prompt with the
// queue of the open conversation, the queues of those that were left, and the
// texts of which nobody knows. Nothing gets lost from it, and nothing is sent
// twice.
type outbox struct {
	prompt  *prompt.Prompt
	ui      *display
	now     func() time.Time
	held    bool                 // the queue waits for the person
	waiting map[Thread][]string  // queues of the conversations we left
	unsure  map[utterance]string // otids of texts that may have arrived
	offered time.Time            // when a text was given back to the prompt
}

// utterance is something that was said in a conversation.
type utterance struct {
	thread Thread
	text   string
}

func newOutbox(p *prompt.Prompt, ui *display, now func() time.Time) *outbox {
	return &outbox{prompt: p, ui: ui, now: now, waiting: map[Thread][]string{}, unsure: map[utterance]string{}}
}

// next takes the oldest message of the queue, unless the queue is held.
func (o *outbox) next() (text string, ok bool) {
	if o.held {
		return "", false
	}
	return o.prompt.Next()
}

// waits reports whether the queue waits for the person.
func (o *outbox) waits() bool { return o.held && len(o.prompt.Queue) > 0 }

// swap stores the queue of a conversation that is left with it, and brings back
// the one of the conversation that is opened. The person says when to send
// that: it has waited a long time.
func (o *outbox) swap(from, to Thread) {
	if n := len(o.prompt.Queue); n > 0 {
		o.waiting[from], o.prompt.Queue = o.prompt.Queue, nil
		what := "a queued message waits"
		if n > 1 {
			what = fmt.Sprintf("%d queued messages wait", n)
		}
		o.ui.notice(what + " there until you come back")
	}
	o.prompt.Queue = o.waiting[to]
	delete(o.waiting, to)
	o.held = len(o.prompt.Queue) > 0
}

// otid picks a message's otid. A text that may already have arrived keeps its
// old one, so that it doesn't arrive twice.
func (o *outbox) otid(t Thread, text string) string {
	return cmp.Or(o.unsure[utterance{t, text}], client.NewOTID())
}

// delivered says that a text has arrived.
func (o *outbox) delivered(t Thread, text string) { delete(o.unsure, utterance{t, text}) }

// undelivered gives back the text of a run that didn't take it. If that isn't
// certain, the text keeps its otid, so that sending it again is harmless.
func (o *outbox) undelivered(thread Thread, t *turn) {
	key, why := utterance{thread, t.input}, "not delivered"
	if delete(o.unsure, key); t.unsure {
		o.unsure[key] = t.otid
		why = "not confirmed, and safe to send again"
	}
	o.giveBack(t.input, why)
}

// giveBack puts a text into the prompt if that is empty, and otherwise where
// the person can find it. It never mixes with what they are typing.
func (o *outbox) giveBack(text, why string) {
	where := "↑ brings it back"
	if o.prompt.Offer(text) {
		where, o.offered = "it is in the prompt again", o.now()
	}
	if why != "" {
		o.ui.notice(why + "; " + where)
	}
}

// keepApart makes room for what is typed or pasted just as a text is given
// back, so that the two don't mix.
func (o *outbox) keepApart() {
	if o.now().Sub(o.offered) < quiet && o.prompt.Withdraw() {
		o.ui.flash = "↑ brings the text back"
	}
}

// unsent is everything that would be lost with the chat.
func (o *outbox) unsent() []string {
	texts := slices.Concat(o.prompt.Queue, []string{o.prompt.Aside(), o.prompt.Text()})
	for _, queue := range o.waiting {
		texts = append(texts, queue...)
	}
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}
