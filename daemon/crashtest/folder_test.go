//go:build linux

package crashtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/sandbox"
)

// What a person sees of an agent at work in a folder: the moments near which the daemon is killed.
const (
	evAsked    = "request"          // calls wait for a person
	evAnswered = "answer"           // a person's answer was accepted
	evLine     = "line that runs"   // a shell line has had its effect, and has not ended
	evFile     = "file"             // a file of the folder has changed
	evReads    = "return of a tool" // one was stored
	evEnd      = "end of a turn"
)

func folderMoments() []string {
	return []string{evAsked, evAnswered, evLine, evFile, evReads, evEnd, evRequest}
}

// TestKillWhileAnAgentWorksInAFolderRunsNothingTwice has an agent read, edit, write and run lines in a folder while a person
// allows or denies what is asked, and kills the daemon there. Whatever was answered counts, no line runs twice, a return says
// what happened, and neither a process nor a temporary file is left.
func TestKillWhileAnAgentWorksInAFolderRunsNothingTwice(t *testing.T) {
	t.Parallel()
	x := &folderTrial{t: t, seed: seedOf()}
	x.rnd = rand.New(rand.NewPCG(x.seed, uint64(len(t.Name()))))
	t.Logf("seed %d, %d kills", x.seed, *kills)
	for n := range *kills {
		if n%oldHome == 0 {
			x.settle()
		}
		moment := folderMoments()[n%len(folderMoments())]
		if err := x.round(n, moment); err != nil {
			t.Fatalf("seed %d, kill %d, at the moment %q:\n%v\nthe daemon said: %s", x.seed, n+1, moment, err, x.house.said())
		}
	}
	if *kills >= 20 && x.missed > *kills/3 {
		t.Errorf("%d of %d moments never came", x.missed, *kills)
	}
	t.Logf("%d kills, %d moments missed: %d lines ran, %d were denied, %d may have run", *kills, x.missed, x.ran, x.denied, x.unsure)
}

// folderTrial is one home with a folder that is killed again and again.
type folderTrial struct {
	t       *testing.T
	rnd     *rand.Rand
	seed    uint64
	house   *house
	folder  string
	marks   int
	before  int64 // the newest message's seq before the round
	session api.Session
	known   map[string]bool // names of the folder

	missed, ran, denied, unsure int
}

func (x *folderTrial) settle() {
	x.t.Helper()
	box := sandbox.New(sandbox.Config{Mode: sandbox.Full, Scratch: filepath.Join(x.t.TempDir(), "jobs")})
	report := box.Probe(x.t.Context())
	box.Close()
	if report.Level != sandbox.LevelFull {
		x.t.Skip("this machine cannot confine programs: " + report.Detail)
	}
	x.house, x.before, x.session = openHouse(x.t), 0, api.Session{}
	folder, err := filepath.EvalSymlinks(x.t.TempDir())
	if err != nil {
		x.t.Fatal(err)
	}
	x.folder, x.known = folder, map[string]bool{"notes.txt": true, "done": true}
	for _, name := range []string{"notes.txt", "done"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("begun\n"), 0o600); err != nil {
			x.t.Fatal(err)
		}
	}
	if err := x.house.start(x.t.Context()); err != nil {
		x.t.Fatal(err)
	}
}

func (x *folderTrial) mark(kind string) string {
	x.marks++
	return fmt.Sprintf("%s%06d", kind, x.marks)
}

// work is one message and what its calls are to do.
type work struct {
	text  string
	otid  string
	lines map[string]bool // words that shell lines put into the file done
	words []string        // that edits put into notes.txt
	files map[string]string
}

// compose words a message with calls of every kind, in a random order. The edit stands behind the read that it needs.
func (x *folderTrial) compose() *work {
	w := &work{otid: x.mark("otid"), lines: map[string]bool{}, files: map[string]string{}}
	line := func() string {
		word := x.mark("line")
		w.lines[word] = true
		command := fmt.Sprintf("echo %s >> done; sleep 0.0%d", word, x.rnd.IntN(10))
		if x.rnd.IntN(3) == 0 { // something that the line leaves running
			command = fmt.Sprintf("sleep 61.%06d & %s", x.marks, command)
		}
		return fmt.Sprintf(`CALL shell {"command":%q}`, command)
	}
	edit := func() string {
		word := x.mark("word")
		w.words = append(w.words, word)
		return fmt.Sprintf("CALL read {\"path\":\"notes.txt\"}\nCALL edit {\"path\":\"notes.txt\",\"old_string\":\"begun\\n\","+
			"\"new_string\":\"begun\\n%s\\n\"}", word)
	}
	write := func() string {
		name := x.mark("file")
		w.files[name] = x.mark("text")
		x.known[name] = true
		return fmt.Sprintf(`CALL write {"path":%q,"content":%q}`, name, w.files[name])
	}
	calls := []string{line(), edit(), write(), line()}
	x.rnd.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	w.text = x.mark("input") + "\n" + strings.Join(calls, "\n") + "\nSAY that was all"
	return w
}

// round has a message worked on, kills, starts again, has the work finished, and looks.
func (x *folderTrial) round(n int, moment string) error {
	ctx, cancel := context.WithTimeout(x.t.Context(), 2*settleWithin)
	defer cancel()
	w := x.compose()
	alive, died := context.WithCancel(ctx)
	defer died()
	due := make(chan struct{})
	nth, seen := int64(1+x.rnd.IntN(3)), atomic.Int64{}
	if moment == evEnd {
		nth = 1
	}
	jitter := time.Duration(x.rnd.Int64N(int64(time.Millisecond)))
	hit := sync.OnceFunc(func() {
		spin(jitter)
		x.house.hit()
		close(due)
	})
	event := func(name string) {
		if name == moment && seen.Add(1) == nth {
			hit()
		}
	}
	x.house.mu.Lock()
	x.house.watch = event
	x.house.mu.Unlock()
	var clients sync.WaitGroup
	clients.Go(func() { x.person(alive, w, event) })
	clients.Go(func() { x.looker(alive, event) })
	finished := make(chan struct{})
	go func() { clients.Wait(); close(finished) }()
	timer := time.NewTimer(momentWithin)
	defer timer.Stop()
	select {
	case <-due:
	case <-timer.C:
		x.missed++
	}
	x.house.hit()
	died()
	x.house.kill()
	<-finished
	return x.look(ctx, w, n)
}

// person opens the folder, sends the message and answers whatever is asked, until the daemon is dead.
func (x *folderTrial) person(alive context.Context, w *work, event func(string)) {
	c := x.house.client()
	defer c.Close()
	session, err := c.Register(alive, x.client())
	if err != nil {
		return // it was killed at once
	}
	x.session = session
	to := client.Target{AgentID: session.AgentID, ConversationID: session.ConversationID}
	req := api.StreamingRequest{Request: api.Request{Messages: []api.Input{api.UserInput(w.text, w.otid)}}}
	stop := x.watch(alive, c.Stream(alive, to, req), event, "")
	for stop == api.StopRequiresApproval && alive.Err() == nil {
		answer, err := x.answer(alive, c)
		if err != nil || len(answer.Approvals) == 0 {
			return
		}
		event(evAsked)
		stop = x.watch(alive, c.Answer(alive, to, answer), event, evAnswered)
	}
	if stop == api.StopEndTurn {
		event(evEnd)
	}
}

func (x *folderTrial) client() api.Client {
	open := &api.Open{Agent: x.session.AgentID, Conversation: x.session.ConversationID}
	if x.session.AgentID == "" {
		open = &api.Open{Agent: api.OpenNew, Model: model}
	}
	return api.Client{Kind: api.ClientScript, Folder: x.folder, Mode: "ask", Open: open}
}

// watch reads a stream to its end.
func (x *folderTrial) watch(
	ctx context.Context, stream func(func(api.Message, error) bool), event func(string), first string,
) (stop api.StopReason) {
	for m, err := range stream {
		if err != nil || ctx.Err() != nil {
			return ""
		}
		if first != "" {
			event(first)
			first = ""
		}
		switch m.MessageType { //nolint:exhaustive // the others are no moments
		case api.MessageToolReturn:
			event(evReads)
		case api.MessageStopReason:
			stop = m.StopReason
		}
	}
	return stop
}

// answer allows what waits; one call in eight is denied.
func (x *folderTrial) answer(ctx context.Context, c *client.Client) (api.AnswerRequest, error) {
	var out api.AnswerRequest
	waiting, err := c.Approvals(ctx, x.session.AgentID)
	if err != nil || len(waiting) == 0 {
		return out, err
	}
	for _, call := range waiting[0].Calls {
		d := api.Decision{
			Type: api.ApprovalDecision, ToolCallID: call.ToolCallID, Approve: new(true),
			RequestID: waiting[0].RequestID, Hash: call.Hash,
		}
		if rand.IntN(8) == 0 {
			d.Approve, d.Reason = new(false), new("not this one")
		}
		out.Approvals = append(out.Approvals, d)
	}
	return out, nil
}

// looker sees what happens in the folder.
func (x *folderTrial) looker(alive context.Context, event func(string)) {
	done := x.done()
	names := x.names()
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	for {
		select {
		case <-alive.Done():
			return
		case <-tick.C:
		}
		if now := x.done(); now != done {
			done = now
			event(evLine)
		}
		if now := x.names(); now != names {
			names = now
			event(evFile)
		}
	}
}

func (x *folderTrial) done() string {
	text, _ := os.ReadFile(filepath.Join(x.folder, "done")) // looked at again in a moment
	return string(text)
}

func (x *folderTrial) names() string {
	var all []string
	entries, _ := os.ReadDir(x.folder) // likewise
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Name() != "done" {
			all = append(all, fmt.Sprint(e.Name(), info.Size(), info.ModTime()))
		}
	}
	return strings.Join(all, "\n")
}

// look starts the daemon again, has a person answer what waits, and checks what became of everything.
func (x *folderTrial) look(ctx context.Context, w *work, n int) error {
	if x.rnd.IntN(4) == 0 {
		x.house.spawn()
		pause(ctx, x.rnd, 200)
		x.house.kill()
	}
	if err := x.house.start(ctx); err != nil {
		return err
	}
	c := x.house.client()
	defer c.Close()
	session, err := c.Register(ctx, x.client())
	if err != nil {
		return fmt.Errorf("register after the restart: %w", err)
	}
	x.session = session
	if err := x.finish(ctx, c); err != nil {
		return err
	}
	f := &findings{}
	x.check(ctx, w, f)
	x.takenBack(ctx, c, f)
	f.errs = append(f.errs, x.house.complaints()...)
	if (n+1)%oldHome == 0 || n+1 == *kills {
		if err := x.house.stop(); err != nil {
			return err
		}
	}
	return f.worst()
}

// finish answers what waits until nothing does and no run is under way, and then says a word that must be answered.
func (x *folderTrial) finish(ctx context.Context, c *client.Client) error {
	to := client.Target{AgentID: x.session.AgentID, ConversationID: x.session.ConversationID}
	for ctx.Err() == nil {
		if err := x.rest(ctx, c); err != nil {
			return err
		}
		answer, err := x.answer(ctx, c)
		if err != nil {
			return err
		}
		if len(answer.Approvals) == 0 {
			break
		}
		for _, err := range c.Answer(ctx, to, answer) {
			if err != nil {
				return fmt.Errorf("answer what waits after the restart: %w", err)
			}
		}
	}
	req := api.StreamingRequest{Request: api.Request{Messages: []api.Input{api.UserInput("SAY still here", x.mark("otid"))}}}
	said := ""
	for m, err := range c.Stream(ctx, to, req) {
		if err != nil {
			return fmt.Errorf("the agent cannot be spoken to: %w", err)
		}
		if m.MessageType == api.MessageAssistant {
			said += m.Content.Text
		}
	}
	if !strings.Contains(said, "still here") {
		return fmt.Errorf("the agent answers %q", said)
	}
	return context.Cause(ctx)
}

// rest waits until no run of the agent is under way.
func (x *folderTrial) rest(ctx context.Context, c *client.Client) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		status, err := c.Status(ctx)
		if err != nil {
			return err
		}
		if status.Runs == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), errors.New("a run does not end"))
		}
	}
}

var maybe = regexp.MustCompile(`interrupted|may have`)

// check compares what was returned with what there is.
func (x *folderTrial) check(ctx context.Context, w *work, f *findings) {
	files, err := openFacts(x.house.paths.Data)
	if err != nil {
		f.add("open the facts: %w", err)
		return
	}
	defer func() { _ = files.close() }() // only read
	files.whole(ctx, f)
	files.consistent(ctx, time.Time{}, f)
	records, err := files.records(ctx, x.before)
	if err != nil {
		f.add("read the facts: %w", err)
		return
	}
	settled(records, f)
	calls := map[string]string{} // the arguments of each call
	for i := range records {
		x.before = max(x.before, records[i].seq)
		for _, p := range records[i].data.Content {
			if p.Call != nil {
				calls[p.Call.ID] = p.Call.Name + " " + p.Call.Arguments
			}
		}
	}
	for i := range records {
		for _, r := range records[i].data.Returns {
			x.became(calls[r.CallID], r.Text, r.IsError, f)
		}
	}
	for word := range w.lines {
		if n := strings.Count(x.done(), word); n > 1 {
			f.add("the line of %s ran %d times", word, n)
		}
	}
	x.nothingLeft(f)
}
