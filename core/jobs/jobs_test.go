package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loci/core"
	"loci/core/jobs"
)

const talk = core.ConversationID("conv-1")

// pages is an output that holds one text.
type pages string

func (p pages) Text() string    { return string(p) }
func (pages) Source() string    { return "" }
func (p pages) Tail(int) string { return string(p) }

// trial is a registry and whoever it told of an end.
type trial struct {
	*jobs.Registry
	mu   sync.Mutex
	told []string // "id head", and "id quiet" once it needn't be told any more
}

func start(t *testing.T) *trial {
	t.Helper()
	x := &trial{}
	x.Registry = jobs.New(jobs.Config{Clock: time.Now, Logger: slog.New(slog.DiscardHandler), Ended: func(ctx context.Context, j jobs.Job) {
		x.note(j.Head)
		<-ctx.Done()
		x.note("quiet")
	}})
	t.Cleanup(x.Close)
	return x
}

func (x *trial) note(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.told = append(x.told, text)
}

func (x *trial) notes() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.Join(x.told, ", ")
}

// line is work that ends when it is released, or its context is.
func line(release <-chan struct{}) jobs.Work {
	return jobs.Work{
		Agent: "agent-1", Conversation: talk, Run: "run-1", Call: "call-1", Command: "make", Folder: "/p",
		Time: time.Minute, Output: pages("so far"),
		Do: func(ctx context.Context, _ jobs.Line) (core.ToolResult, error) {
			select {
			case <-release:
				return core.ToolResult{Text: "Exit code 0.\nall of it"}, nil
			case <-ctx.Done():
				return core.ToolError("It was stopped: " + context.Cause(ctx).Error()), nil
			}
		},
	}
}

// outcome is what Run returned.
type outcome struct {
	text, background string
	err              error
}

func (x *trial) begin(ctx context.Context, w jobs.Work) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		r, id, err := x.Run(ctx, w)
		out <- outcome{r.Text, id, err}
	}()
	synctest.Wait()
	return out
}

func TestAJobThatEndsWhileItsRunWaitsIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x, release := start(t), make(chan struct{})
		out := x.begin(t.Context(), line(release))
		all := x.List("agent-1")
		if len(all) != 1 || all[0].Command != "make" || all[0].Ended() || all[0].Text() != "so far" || x.Running() != 1 {
			t.Errorf("it is listed as %+v", all)
		}
		close(release)
		if got := <-out; got.text != "Exit code 0.\nall of it" || got.background != "" || got.err != nil {
			t.Errorf("got %+v", got)
		}
		synctest.Wait()
		if n := len(x.List("")); n != 0 || x.Running() != 0 || x.notes() != "" {
			t.Errorf("%d jobs are left, %d run, told: %s", n, x.Running(), x.notes())
		}
	})
}

func TestAJobEndsWithTheRunThatWaitsForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := start(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		out := x.begin(ctx, line(nil))
		cancel(errors.New("a person pressed escape"))
		if got := <-out; got.text != "It was stopped: a person pressed escape" {
			t.Errorf("got %+v", got)
		}
		if x.Running() != 0 {
			t.Error("it runs on")
		}
	})
}

func TestAJobThatTakesTooLongIsStoppedUnlessItWentToTheBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := start(t)
		first, second := x.begin(t.Context(), line(nil)), x.begin(t.Context(), line(nil))
		id := x.List("")[0].ID
		if j, err := x.Behind(id); err != nil || !j.Background {
			t.Fatal(j, err)
		}
		synctest.Wait()
		var behind, waited outcome
		select {
		case behind = <-first:
			waited = <-second
		case behind = <-second:
			waited = <-first
		}
		if behind.background != id || waited.text != "It was stopped: "+jobs.ErrTooLong.Error() {
			t.Errorf("in the background: %+v, waited for: %+v", behind, waited)
		}
		time.Sleep(23 * time.Hour) //nolint:forbidigo // the bubble's own clock
		if j, err := x.Get(id); err != nil || j.Ended() {
			t.Error(j, err)
		}
		time.Sleep(2 * time.Hour) //nolint:forbidigo // the bubble's own clock
		synctest.Wait()
		if j, err := x.Get(id); err != nil || !j.Ended() || !j.Failed {
			t.Error(j, err)
		}
	})
}

func TestTheEndOfABackgroundJobIsToldUnlessItWasSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x, release := start(t), make(chan struct{})
		w := line(release)
		w.Background = true
		got := <-x.begin(t.Context(), w)
		close(release)
		synctest.Wait()
		if x.notes() != "Exit code 0." {
			t.Errorf("told: %q", x.notes())
		}
		if j, err := x.See(t.Context(), talk, got.background, 0); err != nil || j.Text() != "Exit code 0.\nall of it" {
			t.Error(j, err)
		}
		synctest.Wait()
		if x.notes() != "Exit code 0., quiet" {
			t.Errorf("told: %q", x.notes())
		}
		x.Forget()
		if _, err := x.Get(got.background); core.KindOf(err) != core.NotFound {
			t.Error("what was forgotten is there:", err)
		}
	})
}

func TestAnAgentThatWaitsSeesTheEndAndIsNotTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x, release := start(t), make(chan struct{})
		w := line(release)
		w.Background = true
		id := (<-x.begin(t.Context(), w)).background
		began := time.Now()
		j, err := x.See(t.Context(), talk, id, 3*time.Second)
		if err != nil || j.Ended() || time.Since(began) != 3*time.Second || j.Text() != "so far" {
			t.Errorf("after %v: %+v, %v", time.Since(began), j, err)
		}
		if _, err := x.See(t.Context(), "conv-2", id, 0); core.KindOf(err) != core.NotFound {
			t.Error("another conversation sees it:", err)
		}
		go func() {
			time.Sleep(time.Second) //nolint:forbidigo // the bubble's own clock
			close(release)
		}()
		if j, err := x.See(t.Context(), talk, id, time.Minute); err != nil || !j.Ended() {
			t.Error(j, err)
		}
		synctest.Wait()
		if n := x.notes(); n != "" && n != "Exit code 0., quiet" {
			t.Errorf("told: %q", n)
		}
	})
}

func TestAStoppedJobIsReturnedWhenItHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := start(t)
		w := line(nil)
		w.Background = true
		id := (<-x.begin(t.Context(), w)).background
		for range 2 {
			j, err := x.Stop(t.Context(), id)
			if err != nil || !j.Ended() || !j.Stopped || j.Head != "It was stopped: the job was stopped" {
				t.Error(j, err)
			}
		}
		if _, err := x.Behind(id); err != nil {
			t.Error(err)
		}
		for _, err := range []error{second(x.Stop(t.Context(), "job-none")), second(x.Behind("job-none")), second(x.Get("job-none"))} {
			if core.KindOf(err) != core.NotFound {
				t.Error(err)
			}
		}
	})
}

func second(_ jobs.Job, err error) error { return err }

func TestHowManyJobsThereAreIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := start(t)
		w := line(nil)
		w.Background = true
		for range jobs.MaxBackground {
			if got := <-x.begin(t.Context(), w); got.err != nil {
				t.Fatal(got.err)
			}
		}
		if got := <-x.begin(t.Context(), w); core.KindOf(got.err) != core.Conflict || core.HintOf(got.err) == "" {
			t.Error("one too many:", got)
		}
		w.Background = false
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's own clock
		waited := x.begin(t.Context(), w)
		running := x.List("")
		if _, err := x.Behind(running[len(running)-1].ID); core.KindOf(err) != core.Conflict {
			t.Error("one too many was sent to the background:", err)
		}
		for _, j := range running {
			if _, err := x.Stop(t.Context(), j.ID); err != nil {
				t.Error(err)
			}
		}
		<-waited
		closed := make(chan struct{})
		close(closed)
		ends := line(closed)
		ends.Background = true
		for i := range 2 * jobs.MaxEnded {
			ends.Command = fmt.Sprint("line ", i)
			<-x.begin(t.Context(), ends)
			synctest.Wait()
			time.Sleep(time.Second) //nolint:forbidigo // the bubble's own clock
		}
		all := x.List("")
		if len(all) != jobs.MaxEnded || all[0].Command != fmt.Sprint("line ", jobs.MaxEnded) {
			t.Errorf("%d are remembered, from %q on", len(all), all[0].Command)
		}
	})
}

func TestClosingStopsEveryJobAndTellsNobodyAnyMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := start(t)
		w := line(nil)
		w.Background = true
		<-x.begin(t.Context(), w)
		out := x.begin(t.Context(), line(nil))
		x.Close()
		if got := <-out; !strings.Contains(got.text, core.ErrShutdown.Error()) || x.Running() != 0 {
			t.Errorf("got %+v, %d run", got, x.Running())
		}
		if got := <-x.begin(t.Context(), line(nil)); !errors.Is(got.err, core.ErrShutdown) {
			t.Error("one begins after the end:", got)
		}
	})
}

func TestAFaultOfOursEndsTheJobAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := start(t)
		w := line(nil)
		w.Do = func(context.Context, jobs.Line) (core.ToolResult, error) { panic("a bug") }
		if got := <-x.begin(t.Context(), w); got.text != "The line failed inside of Loci." || got.err != nil {
			t.Error(got)
		}
		broken := errors.New("no sandbox")
		w.Do = func(context.Context, jobs.Line) (core.ToolResult, error) { return core.ToolResult{}, broken }
		if got := <-x.begin(t.Context(), w); !errors.Is(got.err, broken) {
			t.Error(got)
		}
	})
}
