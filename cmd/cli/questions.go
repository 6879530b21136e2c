package cli

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"

	"loci/daemon/client"
)

// inputAnswer is the type of a line that answers what a shell line asks while it runs.
const inputAnswer = "answer"

const (
	// mostAhead is how many lines of standard input are read while a run goes on, to find answers among them.
	mostAhead = 64
	// watchAgain is how long to wait before a broken watch begins again.
	watchAgain = time.Second
)

// desk is where what shell lines ask while they run goes out, and answers come in, beside the messages of --input-format stream-json.
type desk struct {
	exchange *exchange
	client   *client.Client
	stop     context.CancelFunc
	work     sync.WaitGroup
}

func newDesk(t *exchange, c *client.Client) *desk {
	return &desk{exchange: t, client: c, stop: func() {}}
}

// ahead is a line that is not an answer.
type ahead struct {
	n    int // its number
	text []byte
	err  error
}

// open begins to watch, and returns the lines that are not answers, one at a time.
func (d *desk) open(ctx context.Context, in io.Reader) func() (int, []byte, error) {
	ctx, d.stop = context.WithCancel(ctx)
	next, lines := linesOf(ctx, in), make(chan ahead, mostAhead)
	d.work.Go(func() { d.watch(ctx) })
	d.work.Go(func() { d.read(ctx, next, lines) })
	return func() (int, []byte, error) {
		select {
		case l := <-lines:
			return l.n, l.text, l.err
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		}
	}
}

// close ends the watch. A read that never returns is abandoned, as linesOf says.
func (d *desk) close() {
	d.stop()
	d.work.Wait()
}

// read sorts the lines: answers go to the daemon at once.
func (d *desk) read(ctx context.Context, next func() ([]byte, error), to chan<- ahead) {
	for n := 1; ; n++ {
		text, err := next()
		var in inputLine
		if err == nil && json.Unmarshal(text, &in) == nil && in.Type == inputAnswer && in.Question != "" && in.Allow != "" {
			d.answer(ctx, in)
			continue
		}
		select {
		case to <- ahead{n, text, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// answer passes an answer on. One that is not taken is told, and ends nothing.
func (d *desk) answer(ctx context.Context, in inputLine) {
	err := d.client.AnswerQuestion(ctx, in.Question, in.Allow)
	if err == nil || ctx.Err() != nil {
		return
	}
	kind, hint := explain(err)
	d.tell("answer", struct {
		Question string    `json:"question_id"`
		Error    errorInfo `json:"error"`
	}{in.Question, errorInfo{Kind: kind, Message: err.Error(), Hint: hint}})
}

// tell writes a line. A reader that is gone is noticed by the run.
func (d *desk) tell(kind string, value any) { _ = d.exchange.line(kind, value) }

// watch tells what lines of the conversation ask, each question once.
func (d *desk) watch(ctx context.Context) {
	var told []string
	for ctx.Err() == nil {
		d.look(ctx, &told)
		for _, err := range d.client.Changes(ctx) {
			if err != nil {
				break
			}
			d.look(ctx, &told)
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchAgain):
		}
	}
}

func (d *desk) look(ctx context.Context, told *[]string) {
	all, err := d.client.Questions(ctx, d.exchange.session.AgentID)
	if err != nil {
		return // the next hint looks again
	}
	for _, q := range all {
		if q.ConversationID != d.exchange.session.ConversationID || slices.Contains(*told, q.ID) {
			continue
		}
		*told = append(*told, q.ID)
		d.tell("question", q)
	}
}
