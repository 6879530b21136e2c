package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"loci/daemon/api"
	"loci/daemon/ipc"
)

const (
	acceptStream = "text/event-stream"
	resumeFirst  = 20 * time.Millisecond // before the second try to resume
	resumeMost   = time.Second
	resumeTries  = 8                // without a single event in between
	pingSilence  = 25 * time.Second // longer than the daemon's ping interval
)

// Target is the conversation that a message goes to. Without ConversationID it is the agent's default one.
type Target struct {
	AgentID        string
	ConversationID string
}

func (t Target) path() string {
	if t.ConversationID == "" {
		return agentPath(t.AgentID) + "/messages"
	}
	return conversationPath(t.ConversationID) + "/messages"
}

func (t Target) body(req api.StreamingRequest) any {
	if t.ConversationID == "" {
		return req
	}
	body := api.ConversationRequest{StreamingRequest: req}
	if t.ConversationID == api.DefaultConversation {
		body.AgentID = api.PtrTo(t.AgentID)
	}
	return body
}

// Send sends messages and waits for the complete response.
func (c *Client) Send(ctx context.Context, to Target, req api.StreamingRequest) (api.Response, error) {
	req.Streaming = new(false)
	return call[api.Response](ctx, c, request{method: post, path: to.path(), body: to.body(req)})
}

// SendAsync sends to an agent's default conversation and returns the run, which continues on its own.
func (c *Client) SendAsync(ctx context.Context, agentID string, req api.AsyncRequest) (api.Run, error) {
	return call[api.Run](ctx, c, request{method: post, path: agentPath(agentID) + "/messages/async", body: req})
}

// Stream sends in the background, token by token unless the request says otherwise, and yields the run's messages as
// they arrive, including pings: the first one carries the run's id. A broken stream resumes where it left off, after
// a loci_notice message of kind broken. Inputs without an otid get one, so that sending them again doesn't start a
// second run. The sequence ends without an error once the run has ended, however it ended; stopping the iteration
// early leaves the run going.
func (c *Client) Stream(ctx context.Context, to Target, req api.StreamingRequest) iter.Seq2[api.Message, error] {
	req = inBackground(req)
	req.OverrideEffort = cmp.Or(req.OverrideEffort, effortOf(ctx))
	return c.started(ctx, request{method: post, path: to.path(), body: to.body(req), accept: acceptStream})
}

// inBackground returns the request as one that streams and outlives its connection.
func inBackground(req api.StreamingRequest) api.StreamingRequest {
	req.Streaming, req.Background = new(true), new(true)
	if req.StreamTokens == nil {
		req.StreamTokens = new(true)
	}
	req.Messages = withOTIDs(req)
	req.Input = nil
	return req
}

// started starts a run and follows it.
func (c *Client) started(ctx context.Context, start request) iter.Seq2[api.Message, error] {
	return func(yield func(api.Message, error) bool) {
		if mode := ModeOf(ctx); mode != "" {
			start.header = http.Header{api.HeaderMode: {mode}}
		}
		f := follower{client: c, start: &start}
		f.follow(ctx, yield)
	}
}

// NewOTID returns an id for an input, so that it can be sent again safely.
func NewOTID() string { return uuid.NewString() }

// withOTIDs returns the request's messages, each with an otid.
func withOTIDs(req api.StreamingRequest) []api.Input {
	in := req.Messages
	if req.Input != nil {
		in = append(in[:len(in):len(in)], api.Input{Type: api.InputMessage, Role: "user", Content: req.Input})
	}
	out := make([]api.Input, 0, len(in))
	for _, m := range in {
		if m.OTID == nil {
			m.OTID = new(NewOTID())
		}
		out = append(out, m)
	}
	return out
}

// Events yields the messages of any run after a seq_id, live ones as they arrive, until the run ends. A broken stream
// resumes as in Stream.
func (c *Client) Events(ctx context.Context, runID string, after int64) iter.Seq2[api.Message, error] {
	return func(yield func(api.Message, error) bool) {
		f := follower{client: c, run: runID, last: after}
		f.follow(ctx, yield)
	}
}

// Changes yields hints that something changed and should be read again. It ends with an error when the connection
// breaks; hints in between are lost, so after reopening it read everything again.
func (c *Client) Changes(ctx context.Context) iter.Seq2[api.Change, error] {
	return func(yield func(api.Change, error) bool) {
		err := c.events(
			ctx,
			request{method: get, path: api.PathChanges, accept: acceptStream, silence: pingSilence},
			func(data []byte) error {
				var change api.Change
				if err := json.Unmarshal(data, &change); err != nil {
					return badEvent(err)
				}
				if !yield(change, nil) {
					return errStopped
				}
				return nil
			},
		)
		if err != nil && !errors.Is(err, errStopped) {
			yield(api.Change{}, err)
		}
	}
}

var (
	errStopped = errors.New("the reader has had enough")
	errCut     = errors.New("the stream was cut before its end")
)

func badEvent(err error) error {
	return &Error{Kind: api.KindInternal, Message: "an event is not understood: " + err.Error(), Err: err}
}

// events reads a stream up to its [DONE] and passes on the data of each event. A stream that ends without [DONE] was
// cut off.
func (c *Client) events(ctx context.Context, r request, each func(data []byte) error) error {
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // closing is how to leave a stream
	in := newSSEReader(resp.Body)
	for {
		event, err := in.next()
		switch {
		case errors.Is(err, errEventTooLong):
			return badEvent(err)
		case errors.Is(err, io.EOF):
			return transportError(ctx, errCut)
		case err != nil:
			return transportError(ctx, err)
		case bytes.HasPrefix(event.data, []byte("[DONE]")):
			return nil
		}
		if err := each(event.data); err != nil {
			return err
		}
	}
}

// follower reads a run's messages over as many connections as it takes.
type follower struct {
	client *Client
	start  *request // starts the run; nil: it already exists
	run    string
	last   int64 // the highest seq_id so far
	seen   int   // messages passed on
	over   bool  // the run's last message has arrived
}

// follow reads until the run ends, the reader stops, or an error that resuming can't fix.
func (f *follower) follow(ctx context.Context, yield func(api.Message, error) bool) {
	delay, tries := resumeFirst, 0
	for {
		before := f.seen
		err := f.read(ctx, f.request(), yield)
		if err == nil || errors.Is(err, errStopped) {
			return
		}
		if f.seen > before {
			delay, tries = resumeFirst, 0
		}
		tries++
		ctx = Unasked(ctx) // the run was accepted: from here on we only watch it
		if !f.mendable(err) || tries >= resumeTries || ctx.Err() != nil {
			yield(api.Message{}, err)
			return
		}
		if tries == 1 && !yield(brokenNotice(f.run, err), nil) {
			return
		}
		if tries > 1 {
			if !pause(ctx, delay) {
				yield(api.Message{}, transportError(ctx, ctx.Err()))
				return
			}
			delay = min(2*delay, resumeMost)
		}
	}
}

// request resumes the run if it is known, and otherwise starts it (again: the otids make that harmless).
func (f *follower) request() request {
	if f.run == "" {
		return *f.start
	}
	return request{
		method: get, path: api.PathRuns + "/" + url.PathEscape(f.run) + "/events",
		query: api.EventParams{After: f.last}, accept: acceptStream,
	}
}

// read reads one connection.
func (f *follower) read(ctx context.Context, r request, yield func(api.Message, error) bool) error {
	err := f.client.events(ctx, r, func(data []byte) error {
		var m api.Message
		if err := json.Unmarshal(data, &m); err != nil {
			return badEvent(err)
		}
		if f.run == "" {
			f.run = m.RunID
		}
		// A ping repeats the last number; anything else with an old number was already seen on an earlier connection.
		if m.SeqID != 0 && m.SeqID <= f.last && m.MessageType != api.MessagePing {
			return nil
		}
		f.last = max(f.last, m.SeqID)
		f.seen++
		f.over = f.over || m.MessageType == api.MessageUsage
		if !yield(m, nil) {
			return errStopped
		}
		return nil
	})
	if f.over && broken(err) {
		return nil // only the end marker is missing
	}
	return err
}

// mendable reports whether resuming may help: not if nobody listened in the first place and no daemon may be started.
func (f *follower) mendable(err error) bool {
	if f.seen == 0 && f.client.opts.Ensure == nil && ipc.Refused(err) {
		return false
	}
	return broken(err) && !errors.Is(err, errNotStarted) && !errors.Is(err, ErrStopped) && !errors.Is(err, ErrHomeGone)
}

// broken reports whether the connection failed, as opposed to the server refusing.
func broken(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == api.KindUnavailable && (e.Status == 0 || e.Status == http.StatusServiceUnavailable)
}

func brokenNotice(run string, err error) api.Message {
	return api.Message{
		MessageType: api.MessageNotice, RunID: run,
		Notice: &api.Notice{
			Kind: api.NoticeBroken, Text: "The connection to the daemon broke; reconnecting.", Data: api.Object{"cause": err.Error()},
		},
	}
}

// pause waits, and reports whether the time passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
