package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/transcript"
)

// lookWhatWaits reads what a person has to answer before the conversation goes on, and passes it on to a script.
func (t *exchange) lookWhatWaits(ctx context.Context, c *client.Client) error {
	list, err := c.Approvals(ctx, t.session.AgentID)
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.ConversationID == t.session.ConversationID {
			t.waits = &w
			return t.line("approval", w)
		}
	}
	return nil
}

// refused says more about a message that the agent doesn't read because it waits for an answer.
func (t *exchange) refused(ctx context.Context, c *client.Client, err error) error {
	var ce *client.Error
	if !errors.As(err, &ce) {
		return err
	}
	if _, pending := ce.Pending(); !pending {
		return err
	}
	if looked := t.lookWhatWaits(ctx, c); looked != nil {
		return err
	}
	return t.waitFault(" and reads no message before")
}

// waitFault is the error of a run that ended, or did not begin, because a person has to answer first.
func (t *exchange) waitFault(and string) error {
	f := &fault{kind: api.KindConflict}
	if t.waits == nil {
		f.msg = "the agent waits for a person to approve a tool call" + and
		return f.withHint("loci approvals")
	}
	f.msg = fmt.Sprintf("%s waits for a person to approve %s%s", t.waits.AgentName, callNames(*t.waits), and)
	return f.withHint("loci approvals show %s; then the same with approve or deny", t.waits.RequestID)
}

// callNames are the tools of a request.
func callNames(w api.WaitingRequest) string {
	names := make([]string, len(w.Calls))
	for i, call := range w.Calls {
		names[i] = oneLine(transcript.Reveal(call.Name))
	}
	return strings.Join(names, ", ")
}

// answered is the run that goes on once a request was answered.
func (t *exchange) answered(c *client.Client, decisions []api.Decision) runStream {
	req := api.AnswerRequest{Approvals: decisions}
	req.StreamingRequest = t.request()
	return func(ctx context.Context) iter.Seq2[api.Message, error] { return c.Answer(ctx, t.target(), req) }
}
