package tui

import (
	"context"
	"fmt"
	"slices"
	"time"

	"loci/daemon/api"
	"loci/daemon/client"
)

// fakeTimeline is what the fake knows about the past.
type fakeTimeline struct {
	rewinds     []api.Rewind // newest first
	before      [][]api.Message
	asked       []api.RewindRequest
	forks       []string
	edits       map[string][]api.BlockVersion // by block, newest first
	sharers     map[string]int
	pastErr     error
	unread      error // for the next read of messages
	rewindNo    int
	archival    []api.LastPassageChange // done by the agent, the last one last
	undoneIn    []api.LastPassageChange // of these, what was undone
	archivalErr error                   // instead of these
	turns       int                     // how many undos and redos there were
	missing     []string                // what the next rewind can't restore
	then        []api.BlockVersion      // what a rewind would restore, unless the times of the edits say it
	files       api.RewindOfFiles       // what would become of files
	slow        chan struct{}           // rewinds wait until it is closed; nil: they don't
	bySource    []api.SourceUndone      // what came after example.com
	sourced     []api.UndoSource

	fits     int // characters in a message; 0: no limit
	fitErr   error
	measured int
}

// day is a time on the day of the robot's clock, in local format.
func day(hour, minute int) time.Time {
	return time.Date(2026, 3, 1, hour, minute, 0, 0, time.Local)
}

// withTurns gives the fake three turns, each with a call and an answer.
func withTurns(f *fake) *fake {
	for i, words := range []string{"My name is Ada", "I like tea from 京都", "What do I like?"} {
		run := fmt.Sprint("run-old-", i)
		at := api.On(day(9+i, 30))
		f.history = append(
			f.history,
			api.Message{
				MessageType: api.MessageUser,
				ID:          fmt.Sprint("u", i),
				RunID:       run,
				StepID:      fmt.Sprint("step-", i, "-1"),
				Date:        at,
				Content:     api.Text(words),
			},
			api.Message{
				MessageType: api.MessageToolCall,
				ID:          fmt.Sprint("c", i),
				RunID:       run,
				StepID:      fmt.Sprint("step-", i, "-1"),
				Date:        at,
				ToolCalls:   []api.ToolCall{{Name: "memory_insert", ToolCallID: "x", Arguments: "{}"}},
			},
			api.Message{
				MessageType: api.MessageAssistant,
				ID:          fmt.Sprint("a", i),
				RunID:       run,
				StepID:      fmt.Sprint("step-", i, "-2"),
				Date:        at,
				Content:     api.Text("Answer " + fmt.Sprint(i)),
			},
		)
	}
	version := func(n int, value, who string, at time.Time, restores int) api.BlockVersion {
		v := api.BlockVersion{BlockID: "block-human", Version: n, Label: "human", Value: value, Author: who, CreatedAt: api.At(at)}
		if restores > 0 {
			v.Restores = &restores
		}
		return v
	}
	f.edits = map[string][]api.BlockVersion{
		"block-human": {
			version(3, "Name: Ada\nLikes tea.", "agent", day(10, 31), 0),
			version(2, "Name: Ada", "agent", day(9, 31), 0),
			version(1, "", "system", day(8, 0), 0),
		},
		"block-persona": {
			{BlockID: "block-persona", Version: 1, Label: "persona", Value: "I remember.", Author: "system", CreatedAt: api.At(day(8, 0))},
		},
	}
	f.sharers = map[string]int{"block-human": 1, "block-persona": 1}
	return f
}

func (f *fake) Said(_ context.Context, t Thread) ([]api.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pastErr != nil {
		return nil, f.pastErr
	}
	var out []api.Message
	for _, x := range slices.Backward(f.history) {
		if x.MessageType == api.MessageUser && t.Agent == "agent-1" { // a fork has the same ones
			out = append(out, x)
		}
	}
	return out, nil
}

func (f *fake) Turn(_ context.Context, run string) (runDetails, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := runDetails{thread: Thread{Agent: "agent-1"}}
	for _, x := range f.history {
		if x.RunID != run {
			continue
		}
		out.messages = append(out.messages, x)
		if !slices.ContainsFunc(out.steps, func(s api.Step) bool { return s.ID == x.StepID }) {
			out.steps = append(out.steps, api.Step{ID: x.StepID})
		}
	}
	return out, nil
}

func (f *fake) Rewind(_ context.Context, to api.RewindRequest) (api.Rewind, error) {
	if f.slow != nil {
		<-f.slow
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, to)
	f.before = append(f.before, f.history)
	at := slices.IndexFunc(f.history, func(m api.Message) bool {
		return m.RunID == to.RunID && to.RunID != "" || m.StepID == to.StepID && to.StepID != ""
	})
	if at < 0 {
		return api.Rewind{}, &client.Error{Kind: api.KindNotFound, Message: "no such place"}
	}
	if slices.Equal(to.What, []api.RewindPart{api.RewindFiles}) {
		return f.record(api.Rewind{StepID: api.PtrTo("step"), What: to.What, Files: f.files, Missing: f.missing}), nil
	}
	f.history = f.history[:at:at]
	return f.record(api.Rewind{
		StepID: api.PtrTo("step"), BlockIDs: []string{"block-human"}, PassagesTaken: 2, Missing: f.missing, Files: f.files,
	}), nil
}

func (f *fake) record(r api.Rewind) api.Rewind {
	f.rewindNo++
	r.ID, r.AgentID, r.CreatedAt = fmt.Sprint("rewind-", f.rewindNo), "agent-1", api.At(day(12, f.rewindNo))
	f.rewinds = slices.Insert(f.rewinds, 0, r)
	return r
}

func (f *fake) UndoRewind(_ context.Context, id string) (api.Rewind, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.history
	f.history, f.before = f.before[len(f.before)-1], append(f.before, now)
	return f.record(api.Rewind{Undoes: &id, BlockIDs: []string{"block-human"}, PassagesReturned: 1}), nil
}

func (f *fake) Rewinds(context.Context, Thread) ([]api.Rewind, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.rewinds), nil
}

func (f *fake) Fork(_ context.Context, t Thread, step string) (api.Conversation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forks = append(f.forks, t.Agent+t.Conversation+" "+step)
	return api.Conversation{ID: "conv-fork", AgentID: t.Agent}, nil
}

func (f *fake) Versions(_ context.Context, block string) ([]api.BlockVersion, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.edits[block]), nil
}

// RewindBlocks goes by the times of the edits: turns are an hour apart.
func (f *fake) RewindBlocks(_ context.Context, to api.RewindRequest) ([]api.BlockVersion, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.then != nil {
		return f.then, nil
	}
	at := slices.IndexFunc(f.history, func(m api.Message) bool {
		return m.RunID == to.RunID && to.RunID != "" || m.StepID == to.StepID && to.StepID != ""
	})
	var out []api.BlockVersion
	for _, versions := range f.edits {
		for _, v := range versions {
			if !v.CreatedAt.After(f.history[at].Date.Time) {
				out = append(out, v)
				break
			}
		}
	}
	return out, nil
}

func (f *fake) RewindFiles(context.Context, api.RewindRequest) (api.RewindOfFiles, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.files, nil
}

func (f *fake) Sharers(_ context.Context, block string) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sharers[block], nil
}

func (f *fake) BlockDiff(_ context.Context, block string, from, to int) (string, error) {
	return fmt.Sprintf("--- human (version %d)\n+++ human (version %d)\n@@\n-Likes tea.\n Name: Ada\n", from, to), nil
}

func (f *fake) UndoBlock(_ context.Context, block, etag string) (api.BlockUndone, error) {
	return f.turn(block, etag, func(l undoStacks) (int, bool) {
		if n := len(l.past); n > 1 {
			return l.past[n-2].Version, true
		}
		return 0, false
	})
}

func (f *fake) RedoBlock(_ context.Context, block, etag string) (api.BlockUndone, error) {
	return f.turn(block, etag, func(l undoStacks) (int, bool) {
		if n := len(l.future); n > 0 {
			return l.future[n-1].Version, true
		}
		return 0, false
	})
}

func (f *fake) turn(block, etag string, pick func(undoStacks) (int, bool)) (api.BlockUndone, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	versions := f.edits[block]
	if etag != fmt.Sprintf(`"%d"`, versions[0].Version) {
		return api.BlockUndone{}, &client.Error{Status: 409, Kind: api.KindConflict, Message: "the block changed"}
	}
	back, ok := pick(undoStacksOf(versions))
	if !ok {
		return api.BlockUndone{}, &client.Error{Status: 409, Kind: api.KindConflict, Message: "nothing to undo"}
	}
	v := versions[slices.IndexFunc(versions, func(v api.BlockVersion) bool { return v.Version == back })]
	v.Version, v.Restores, v.Author, v.CreatedAt = versions[0].Version+1, &back, "user", f.undoTime()
	f.edits[block] = slices.Insert(versions, 0, v)
	f.blocks["human"] = v.Value
	return api.BlockUndone{Version: v.Version, Restores: back}, nil
}

// undoTime is when the next undo or redo happens, later than all others.
func (f *fake) undoTime() api.Time {
	f.turns++
	return api.At(day(13, f.turns))
}

func (f *fake) LastPassageChange(_ context.Context, _ string, redo bool) (api.LastPassageChange, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.archivalErr != nil {
		return api.LastPassageChange{}, f.archivalErr
	}
	of := f.archival
	if redo {
		of = f.undoneIn
	}
	if len(of) == 0 {
		return api.LastPassageChange{}, nil
	}
	return of[len(of)-1], nil
}

func (f *fake) UndoPassage(_ context.Context, _, passage, etag string) (api.PassageUndone, error) {
	return f.turnPassage(&f.archival, &f.undoneIn, passage, etag)
}

func (f *fake) RedoPassage(_ context.Context, _, passage, etag string) (api.PassageUndone, error) {
	return f.turnPassage(&f.undoneIn, &f.archival, passage, etag)
}

func (f *fake) turnPassage(from, to *[]api.LastPassageChange, passage, etag string) (api.PassageUndone, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(*from) - 1
	c := (*from)[n]
	if c.Edit.PassageID != passage || etag != fmt.Sprintf(`"%d"`, c.Now) {
		return api.PassageUndone{}, &client.Error{Status: 409, Kind: api.KindConflict, Message: "the passage changed"}
	}
	at := f.undoTime()
	c.Now, c.At = c.Now+1, &at
	if to == &f.archival {
		c.At = &c.Edit.CreatedAt
	}
	*from, *to = (*from)[:n], append(*to, c)
	return api.PassageUndone{}, nil
}

// What tests ask it.

func (f *fake) rewindRequests() []api.RewindRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

func (f *fake) forked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.forks)
}

// Fit lets fits characters through, if that is set.
func (f *fake) Fit(_ context.Context, _ Thread, text, _ string) (api.FitResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len([]rune(text))
	out := api.FitResult{Characters: n, Sent: n, Window: 128_000, Model: "openai/gpt-4o"}
	if f.fits > 0 {
		out.Sent = min(n, f.fits)
	}
	f.measured++
	return out, f.fitErr
}
