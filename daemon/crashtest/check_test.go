package crashtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"loci/daemon/api"
	"loci/daemon/client"
)

const (
	settleWithin = 90 * time.Second // takes a second or two on a quiet machine
	answerWithin = 30 * time.Second
	page         = 1000
)

// findings collects what is wrong.
type findings struct {
	mu   sync.Mutex
	errs []error
}

func (f *findings) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// worst returns the first findings; one fault may have a thousand consequences.
func (f *findings) worst() error {
	const enough = 12
	if n := len(f.errs); n > enough {
		return errors.Join(append(f.errs[:enough:enough], fmt.Errorf("and %d more", n-enough))...)
	}
	return errors.Join(f.errs...)
}

// checkRuns waits for runs to end and compares what their senders saw with what is stored.
func checkRuns(ctx context.Context, c *client.Client, all []*sent, f *findings) {
	var group errgroup.Group
	group.SetLimit(12)
	for _, s := range all {
		if s.runID() == "" {
			continue
		}
		group.Go(func() error {
			checkRun(ctx, c, s, f)
			return nil
		})
	}
	_ = group.Wait() // findings hold the errors
}

// checkRun checks one accepted run.
func checkRun(ctx context.Context, c *client.Client, s *sent, f *findings) {
	again, err := followAll(ctx, c, s)
	if err != nil {
		f.add("%v: its events cannot be followed to the end: %w", s, err)
		return
	}
	run, err := c.Run(ctx, s.runID())
	if err != nil {
		f.add("%v: the accepted run is lost: %w", s, err)
		return
	}
	list, err := c.RunMessages(ctx, s.runID(), api.Page{Limit: page})
	if err != nil {
		f.add("%v: its messages cannot be listed: %w", s, err)
		return
	}
	listed, inputs := map[piece]string{}, 0
	for _, m := range list {
		maps.Copy(listed, textsOf(m))
		if m.MessageType == api.MessageUser && strings.Contains(m.Content.Text, s.mark) {
			inputs++
		}
	}
	if inputs != 1 {
		f.add("%v: its input is listed %d times", s, inputs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = run.Status
	s.checkEnd(run, again, f)
	for p, text := range s.sight.whole {
		if p.kind == api.MessageToolCall && run.Status == api.RunCancelled {
			continue // half a call may have been shown, and is not kept
		}
		if got, ok := listed[p]; !ok || got != text {
			f.add("%v: lost a message that was announced as whole: %+v was %q, stored is %q (%v)", s, p, text, got, ok)
		}
	}
	s.checkTexts(run.Status, again, listed, f)
}

// followAll resumes where the sender's own stream broke, while two others read the run from the beginning.
func followAll(ctx context.Context, c *client.Client, s *sent) (*sight, error) {
	var group errgroup.Group
	fresh := []*sight{newSight(), newSight()}
	for _, g := range fresh {
		group.Go(func() error { return follow(ctx, c, s.runID(), 0, g.add) })
	}
	if numbered := s.way == background || s.way == stepwise; numbered && !s.over() {
		group.Go(func() error { return follow(ctx, c, s.runID(), s.sight.last, s.sight.add) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if diff := cmp.Diff(fresh[0], fresh[1], cmp.AllowUnexported(sight{}, piece{})); diff != "" {
		return nil, fmt.Errorf("two readers saw different events: %s", diff)
	}
	return fresh[0], nil
}

func follow(ctx context.Context, c *client.Client, run string, after int64, add func(m api.Message, whole bool)) error {
	for m, err := range c.Events(ctx, run, after) {
		if err != nil {
			return err
		}
		add(m, false)
	}
	return nil
}

// checkEnd checks that a run has one end, the same for every reader, and one that its way of sending allows.
func (s *sent) checkEnd(run api.Run, again *sight, f *findings) {
	if len(again.stops) != 1 {
		f.add("%v: its log has %d ends: %v", s, len(again.stops), again.stops)
		return
	}
	stop := again.stops[0]
	if len(s.sight.stops) > 1 || len(s.sight.stops) == 1 && s.sight.stops[0] != stop {
		f.add("%v: its sender saw the ends %v (%s), the log has %s (%s)", s, s.sight.stops, s.sight.fault, stop, again.fault)
	}
	if run.StopReason == nil || *run.StopReason != stop {
		f.add("%v: it is %s, stopped as %q, and its log ends with %s", s, run.Status, api.Val(run.StopReason), stop)
	}
	if s.told != "" && s.told != run.Status {
		f.add("%v: the daemon answered that it is %s, it is %s", s, s.told, run.Status)
	}
	switch run.Status {
	case api.RunCompleted:
	case api.RunCancelled:
		if !s.stopped {
			f.add("%v: it was cancelled, by nobody", s)
		}
	case api.RunFailed:
		if s.way.background() || !strings.Contains(again.fault, "the daemon stopped") {
			f.add("%v: it failed: %s", s, again.fault)
		}
	case api.RunCreated, api.RunRunning:
		f.add("%v: it is %s after its end was seen", s, run.Status)
	}
}

// checkTexts compares what streams showed, minus what they took back, with what is stored.
func (s *sent) checkTexts(status api.RunStatus, again *sight, listed map[piece]string, f *findings) {
	seen := []*sight{again}
	if s.way == background || s.way == stepwise {
		seen = append(seen, s.sight)
	}
	for i, g := range seen {
		who := []string{"read again", "resumed"}[i]
		if status == api.RunCompleted {
			if diff := cmp.Diff(listed, g.text, cmp.AllowUnexported(piece{})); diff != "" {
				f.add("%v: stored and streamed differ, %s, %d discarded (-stored +streamed):\n%s", s, who, g.void, diff)
			}
			continue
		}
		for p, text := range g.text {
			// Half a call is not kept, nor is reasoning without anything after it.
			if p.kind == api.MessageAssistant && status == api.RunCancelled && listed[p] != text {
				f.add("%v: cancelled, shown %q, stored %q (%s)", s, text, listed[p], who)
			}
		}
	}
	if status != api.RunCompleted {
		return
	}
	calls, returns, ended := 0, 0, false
	for p, text := range listed {
		switch p.kind { //nolint:exhaustive // the others don't count
		case api.MessageToolCall:
			calls++
		case api.MessageToolReturn:
			returns++
		case api.MessageAssistant:
			ended = ended || strings.HasSuffix(text, s.said)
		}
	}
	if want := len(s.edits) + len(s.keeps); calls != want || returns != want || !ended {
		f.add("%v: completed with %d calls and %d returns of %d, its last word said: %v", s, calls, returns, want, ended)
	}
}

// repeat resends what may not have been accepted, with the same otids. If it had been accepted, that starts no second
// run. bare has no session, as a program that sends plain requests has none.
func repeat(ctx context.Context, c, bare *client.Client, all []*sent) error {
	var group errgroup.Group
	for _, s := range all {
		if s.runID() != "" || s.way == streamed {
			continue
		}
		if s.way == plain {
			from := bare
			if s.session {
				from = c
			}
			group.Go(func() error { return repeatPlain(ctx, from, s) })
			continue
		}
		group.Go(func() error {
			s.way = background // from now on somebody watches it
			for m, err := range c.Stream(ctx, s.target(), s.request()) {
				var e *client.Error
				if errors.As(err, &e) && e.Kind == api.KindBusy {
					return nil // another run of the conversation goes first, and this one was not accepted
				}
				if err != nil {
					return fmt.Errorf("repeat %v: %w", s, err)
				}
				if m.RunID != "" {
					s.accepted(m.RunID)
				}
				s.sight.add(m, false)
			}
			return nil
		})
	}
	return group.Wait()
}

// repeatPlain resends a plain request whose answer never came. One that had begun answers with how it ended. Where its run ended by
// itself just before the daemon did, the otid is free, and sending it again would be another request.
func repeatPlain(ctx context.Context, c *client.Client, s *sent) error {
	if run, err := completed(ctx, c, s); run != "" || err != nil {
		s.accepted(run)
		return err
	}
	answer, err := c.Send(ctx, s.target(), s.request())
	var e *client.Error
	switch {
	case err == nil:
		s.accepted(answer.Usage.RunIDs[0])
	case !errors.As(err, &e) || e.RunID == "":
		return fmt.Errorf("repeat %v: %w", s, err)
	case e.Kind != api.KindBusy && e.Status != http.StatusConflict:
		s.accepted(e.RunID)
	}
	return nil
}

// completed returns the run that a message made and that ended by itself; empty: there is none.
func completed(ctx context.Context, c *client.Client, s *sent) (string, error) {
	list, err := c.Messages(ctx, s.seat.agent, api.ListMessages{
		Page: api.Page{Limit: page, Order: "desc"}, ConversationID: s.seat.conversation,
		IncludeReturnMessageTypes: []string{string(api.MessageUser)},
	})
	if err != nil {
		return "", fmt.Errorf("look for %v: %w", s, err)
	}
	for _, m := range list {
		if m.OTID != s.otid || m.RunID == "" {
			continue
		}
		run, err := c.Run(ctx, m.RunID)
		if err != nil || run.Status != api.RunCompleted && run.Status != api.RunCancelled {
			return "", err // one that the daemon's end ended has failed
		}
		return run.ID, nil
	}
	return "", nil
}

// greet talks to every conversation; each has to answer at once.
func greet(ctx context.Context, c *client.Client, l *ledger, seats []seat, f *findings) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var group errgroup.Group
	for _, at := range seats {
		group.Go(func() error {
			s := &sent{way: plain, seat: at, mark: l.mark("input"), sight: newSight()}
			s.otid, s.text, s.said = "otid-"+s.mark, "are you there, "+s.mark, s.mark
			l.note(s)
			answer, err := c.Send(ctx, s.target(), s.request())
			if err != nil {
				f.add("%v: the agent does not answer: %w", s, err)
				return nil
			}
			s.accepted(answer.Usage.RunIDs[0])
			heard := ""
			for _, m := range answer.Messages {
				s.sight.add(m, true)
				if m.MessageType == api.MessageAssistant {
					heard = m.Content.Text
				}
			}
			if !strings.HasPrefix(heard, "ECHO") || !strings.HasSuffix(heard, s.mark) {
				f.add("%v: the agent answered %q, %s", s, heard, answer.StopReason.StopReason)
			}
			return nil
		})
	}
	_ = group.Wait() // findings hold the errors
}

// checkMade checks that the agents exist, and searches for a person's passages.
func checkMade(ctx context.Context, c *client.Client, agents []string, passages map[string]string, f *findings) {
	for _, id := range agents {
		if _, err := c.Agent(ctx, id); err != nil {
			f.add("agent %s is lost: %w", id, err)
		}
	}
	for word, agent := range passages {
		found, err := c.SearchArchival(ctx, agent, api.SearchArchival{Query: word, TopK: 5})
		if err != nil || found.Count == 0 || !strings.Contains(found.Results[0].Content, word) {
			f.add("passage %s of %s is not found: %v, %w", word, agent, found, err)
		}
	}
}
