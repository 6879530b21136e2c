package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/transcript"
)

// wordsMost bounds how much of a message is quoted in a line.
const wordsMost = 48

// place is a point in a conversation's past: before something the person said
// or, if step is set, what that step was sent.
type place struct {
	run, step string
	words     string // what the person said
	label     string // of the step
	at        time.Time
	turns     int // how many turns would go, including this one
}

// name describes a place.
func (p place) name() string {
	words := "“" + transcript.Short(transcript.OneLine(p.words), wordsMost) + "”"
	if p.step != "" {
		return p.label + " of " + words
	}
	return "before " + words
}

// target is the place as a rewind names it.
func (p place) target() api.RewindRequest {
	if p.step != "" {
		return api.RewindRequest{StepID: p.step}
	}
	return api.RewindRequest{RunID: p.run}
}

// placesOf finds the turns of a conversation from what was said in it, newest
// first. A message that no run answered is not a place to go back to.
func placesOf(said []api.Message) []place {
	var out []place
	for _, x := range said {
		text := x.Content.Shown()
		if x.RunID == "" || isMachine(text) || slices.ContainsFunc(out, func(p place) bool { return p.run == x.RunID }) {
			continue
		}
		out = append(out, place{run: x.RunID, words: text, at: x.Date.Time, turns: len(out) + 1})
	}
	return out
}

// stepPlaces are the steps of a turn, if it has more than one to go back to.
func stepPlaces(p place, steps []api.Step, messages []api.Message) []place {
	if len(steps) < 2 {
		return nil
	}
	var out []place
	for i, s := range steps {
		q := p
		q.step, q.label = s.ID, fmt.Sprintf("step %d", i+1)
		var did []string
		for _, x := range messages {
			if x.StepID != s.ID {
				continue
			}
			for _, c := range x.ToolCalls {
				did = append(did, c.Name)
			}
			if x.MessageType == api.MessageAssistant {
				did = append(did, transcript.OneLine(x.Content.String()))
			}
		}
		q.words = p.words
		if len(did) > 0 {
			q.label += " (" + transcript.Short(transcript.OneLine(strings.Join(did, ", ")), wordsMost) + ")"
		}
		out = append(out, q)
	}
	return out
}

// runDetails is a run and what it did.
type runDetails struct {
	thread   Thread // where it ran: a fork also shows what was said in its original
	steps    []api.Step
	messages []api.Message
}

// conversationPast is what /rewind and /fork show: what was said, and the
// rewinds so far.
type conversationPast struct {
	places  []place
	rewinds []api.Rewind
}

func readPast(b timelineBackend, t Thread) func(context.Context) (conversationPast, error) {
	return func(ctx context.Context) (conversationPast, error) {
		said, err := b.Said(ctx, t)
		if err != nil {
			return conversationPast{}, err
		}
		rewinds, err := b.Rewinds(ctx, t)
		return conversationPast{placesOf(said), rewinds}, err
	}
}

// outlook is what a rewind would do, as far as can be told in advance.
type outlook struct {
	thread Thread   // where the turn ran
	places []place  // the steps of the turn
	back   []string // what memory blocks go back to
	shared []string // labels of blocks that changed but are shared with other agents
	files  api.RewindOfFiles
}

// lookBack finds out what a rewind to a place would do.
func lookBack(from timelineBackend, t Thread, p place) func(context.Context) (outlook, error) {
	return func(ctx context.Context) (outlook, error) {
		turn, err := from.Turn(ctx, p.run)
		o := outlook{thread: turn.thread, places: stepPlaces(p, turn.steps, turn.messages)}
		if err != nil || o.thread != t {
			return o, err
		}
		blocks, err := from.Blocks(ctx, t.Agent)
		if err != nil {
			return outlook{}, err
		}
		then, err := from.RewindBlocks(ctx, p.target())
		if err != nil {
			return outlook{}, err
		}
		for _, b := range blocks {
			i := slices.IndexFunc(then, func(v api.BlockVersion) bool { return v.BlockID == b.ID })
			if i < 0 || then[i].Value == b.Value {
				continue
			}
			sharers, err := from.Sharers(ctx, b.ID)
			if err != nil {
				return outlook{}, err
			}
			label := transcript.OneLine(api.Val(b.Label))
			if sharers > 1 {
				o.shared = append(o.shared, label)
				continue
			}
			value := transcript.Short(transcript.OneLine(then[i].Value), 2*wordsMost)
			o.back = append(o.back, label+" as it was: "+cmp.Or(strings.TrimRight(value, "."), "empty"))
		}
		if o.files, err = from.RewindFiles(ctx, p.target()); client.KindOf(err) == api.KindNotFound { // an older daemon
			err = nil
		}
		return o, err
	}
}

// forkAt forks a conversation at a place. If the conversation is itself a fork,
// the place may lie in the part it shares with its original.
func forkAt(ctx context.Context, b timelineBackend, t Thread, p place) (api.Conversation, error) {
	if p.run == "" {
		return b.Fork(ctx, t, "")
	}
	turn, err := b.Turn(ctx, p.run)
	if err != nil {
		return api.Conversation{}, err
	}
	step := p.step
	if step == "" {
		if len(turn.steps) == 0 {
			return api.Conversation{}, fmt.Errorf("run %s has no step to fork from", p.run)
		}
		step = turn.steps[0].ID
	}
	return b.Fork(ctx, turn.thread, step)
}
