package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loci/core"
	"loci/core/jobs"
)

// person is somebody who can be asked, and what they had kept.
type person struct {
	mu      sync.Mutex
	away    bool
	allowed []string
	kept    []string
	full    error
}

func (p *person) Attends(core.Client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.away
}

func (p *person) leaves(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

func (p *person) Allowed(_ core.Client, host string) bool { return slices.Contains(p.allowed, host) }

func (p *person) Keep(c, answering core.Client, host string, scope jobs.Scope) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.full == nil {
		p.kept = append(p.kept, fmt.Sprint(c.ID, " ", answering.ID, " ", host, " ", scope))
	}
	return p.full
}

func (p *person) Opens(_ core.Client, o core.Opening) bool {
	return slices.Contains(p.allowed, o.Rules[0])
}

func (p *person) KeepOpen(c, answering core.Client, o core.Opening, scope jobs.Scope) error {
	return p.Keep(c, answering, strings.Join(o.Rules, ","), scope)
}

// asking is a registry whose line asks for hosts, and what came of it.
type asking struct {
	*jobs.Registry
	person *person
	mu     sync.Mutex
	came   map[string]string
}

func newAsking(t *testing.T) *asking {
	t.Helper()
	a := &asking{person: &person{}, came: map[string]string{}}
	a.Registry = jobs.New(jobs.Config{Clock: time.Now, Logger: slog.New(slog.DiscardHandler), Person: a.person})
	t.Cleanup(a.Close)
	return a
}

// line is work that asks for hosts, all at once, and ends when it knows.
func (a *asking) line(wall time.Duration, lasting bool, hosts ...string) jobs.Work {
	w := line(nil)
	w.Time, w.Client = wall, core.Client{ID: "client-1"}
	w.Do = func(ctx context.Context, l jobs.Line) (core.ToolResult, error) {
		var all sync.WaitGroup
		for i, host := range hosts {
			all.Go(func() {
				why, final := l.Ask(ctx, core.HostAsk{Host: host}, lasting)
				a.mu.Lock()
				defer a.mu.Unlock()
				a.came[fmt.Sprint(host, "/", i)] = fmt.Sprint(why, " ", final)
			})
		}
		all.Wait()
		return core.ToolResult{Text: "Exit code 0."}, nil
	}
	return w
}

// run runs a line and says what came of its questions.
func (a *asking) run(t *testing.T, w jobs.Work) {
	t.Helper()
	go func() { _, _, _ = a.Run(t.Context(), w) }()
	synctest.Wait()
}

func (a *asking) got(t *testing.T, want map[string]string) {
	t.Helper()
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if fmt.Sprint(a.came) != fmt.Sprint(want) {
		t.Errorf("what came of it: %v, want %v", a.came, want)
	}
}

func TestOneAnswerGoesToAllWhoAskForAHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.run(t, a.line(time.Minute, true, "a.org", "a.org"))
		all := a.Questions("agent-1")
		if len(all) != 1 || all[0].Host.Host != "a.org" || all[0].Job.Command != "make" || len(a.Questions("agent-2")) != 0 {
			t.Fatalf("asked: %+v", all)
		}
		if err := a.Answer(all[0].ID, jobs.ScopeSession, core.Client{ID: "client-2"}); err != nil {
			t.Error(err)
		}
		a.got(t, map[string]string{"a.org/0": " false", "a.org/1": " false"})
		if err := a.Answer(all[0].ID, jobs.ScopeNo, core.Client{}); core.KindOf(err) != core.Conflict {
			t.Errorf("a second answer: %v", err)
		}
		if fmt.Sprint(a.person.kept) != "[client-1 client-2 a.org session]" || len(a.Questions("")) != 0 {
			t.Errorf("kept %v, asked %v", a.person.kept, a.Questions(""))
		}
	})
}

func TestTheTimeOfALineStandsStillWhileAPersonIsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		w := a.line(10*time.Second, true, "a.org")
		ask := w.Do
		w.Do = func(ctx context.Context, l jobs.Line) (core.ToolResult, error) {
			<-time.After(4 * time.Second)
			_, _ = ask(ctx, l)
			<-ctx.Done()
			return core.ToolError("stopped"), nil
		}
		began := time.Now()
		done := make(chan time.Duration)
		go func() {
			_, _, _ = a.Run(t.Context(), w)
			done <- time.Since(began)
		}()
		<-time.After(40 * time.Second)
		if err := a.Answer(a.Questions("")[0].ID, jobs.ScopeOnce, core.Client{}); err != nil {
			t.Error(err)
		}
		if took := <-done; took != 46*time.Second {
			t.Errorf("it was stopped after %s", took)
		}
	})
}

func TestWithoutAnAnswerALineGoesOnWithoutTheHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.run(t, a.line(time.Second, true, "a.org"))
		id := a.Questions("")[0].ID
		<-time.After(jobs.AskTime)
		a.got(t, map[string]string{"a.org/0": "the person did not answer false"})
		if err := a.Answer(id, jobs.ScopeFolder, core.Client{}); core.KindOf(err) != core.Conflict || a.person.kept != nil {
			t.Errorf("an answer that came too late: %v, kept %v", err, a.person.kept)
		}
	})
}

func TestALineThatEndsTakesItsQuestionsWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.run(t, a.line(time.Second, true, "a.org"))
		if _, err := a.Stop(t.Context(), a.List("")[0].ID); err != nil {
			t.Error(err)
		}
		a.got(t, map[string]string{"a.org/0": "the line did not wait for the person's answer false"})
		if n := len(a.Questions("")); n != 0 {
			t.Errorf("%d questions are left", n)
		}
	})
}

func TestALineAsksAHandfulOfQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.person.allowed = []string{"known.org"}
		a.run(t, a.line(time.Minute, true, "known.org", "1", "2", "3", "4", "5", "6", "7"))
		if all := a.Questions(""); len(all) != jobs.MaxQuestions {
			t.Errorf("%d questions", len(all))
		}
		for _, q := range a.Questions("") {
			if err := a.Answer(q.ID, jobs.ScopeNo, core.Client{}); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		of := map[string]int{}
		for _, said := range a.came {
			of[said]++
		}
		const enough = "no rule allows it, and the person was asked for enough other hosts false"
		if of["the person does not allow it true"] != 5 || of[enough] != 2 || of[" false"] != 1 {
			t.Errorf("what came of it: %v", a.came)
		}
	})
}

func TestWhereNobodyIsThereNobodyIsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.person.away = true
		a.run(t, a.line(time.Minute, true, "a.org"))
		a.got(t, map[string]string{"a.org/0": "no rule allows it false"})
	})
}

func TestWhatARuleAsksAboutIsAllowedOnceOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.person.allowed = []string{"a.org"} // by a rule that one which asks overcomes
		a.run(t, a.line(time.Minute, false, "a.org"))
		id := a.Questions("")[0].ID
		for _, scope := range []jobs.Scope{jobs.ScopeSession, jobs.ScopeFolder} {
			if err := a.Answer(id, scope, core.Client{}); core.KindOf(err) != core.Invalid {
				t.Errorf("%s: %v", scope, err)
			}
		}
		if err := a.Answer(id, jobs.ScopeOnce, core.Client{}); err != nil || a.person.kept != nil {
			t.Errorf("%v, kept %v", err, a.person.kept)
		}
		a.got(t, map[string]string{"a.org/0": " false"})
	})
}

func TestSettingsOfGitAreAskedForTogetherAndOnce(t *testing.T) {
	t.Parallel()
	wanted := []core.JobSetting{{Name: "core.pager", Values: []string{"less"}}, {Name: "user.name"}}
	for name, tt := range map[string]struct {
		answer jobs.Scope
		want   string
	}{
		"yes": {jobs.ScopeOnce, " false"}, "no": {jobs.ScopeNo, "the person does not allow it true"},
		"none": {"", "the person did not answer false"},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newAsking(t)
			w := a.line(time.Second, true)
			w.Do = func(ctx context.Context, l jobs.Line) (core.ToolResult, error) {
				why, final := l.AskSettings(ctx, wanted)
				a.mu.Lock()
				defer a.mu.Unlock()
				a.came["git"] = fmt.Sprint(why, " ", final)
				return core.ToolResult{Text: "Exit code 0."}, nil
			}
			a.run(t, w)
			all := a.Questions("agent-1")
			if len(all) != 1 || len(all[0].Settings) != 2 || all[0].Lasting || all[0].Host.Host != "" {
				t.Fatalf("%s: asked: %+v", name, all)
			}
			if err := a.Answer(all[0].ID, jobs.ScopeSession, core.Client{}); core.KindOf(err) != core.Invalid {
				t.Errorf("%s: for the session: %v", name, err)
			}
			if tt.answer == "" {
				<-time.After(jobs.SettingsTime)
			} else if err := a.Answer(all[0].ID, tt.answer, core.Client{}); err != nil {
				t.Error(err)
			}
			a.got(t, map[string]string{"git": tt.want})
			if a.person.kept != nil {
				t.Errorf("%s: kept %v", name, a.person.kept)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.person.away = true
		w := a.line(time.Second, true)
		w.Do = func(ctx context.Context, l jobs.Line) (core.ToolResult, error) {
			why, _ := l.AskSettings(ctx, wanted)
			return core.ToolError(why), nil
		}
		if r, _, err := a.Run(t.Context(), w); err != nil || r.Text != "no rule allows it" {
			t.Errorf("where nobody is there: %+v %v", r, err)
		}
	})
}

func TestAnAnswerThatCannotBeKeptIsNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.run(t, a.line(time.Minute, true, "a.org"))
		id := a.Questions("")[0].ID
		a.person.full = errors.New("the disk is full")
		if err := a.Answer(id, jobs.ScopeFolder, core.Client{}); !errors.Is(err, a.person.full) {
			t.Errorf("%v", err)
		}
		if err := a.Answer(id, jobs.ScopeOnce, core.Client{}); err != nil {
			t.Errorf("then once: %v", err)
		}
		a.got(t, map[string]string{"a.org/0": " false"})
	})
}

// opening is work that asks to have something opened.
func (a *asking) opening(o core.Opening) jobs.Work {
	w := line(nil)
	w.Time, w.Client = time.Minute, core.Client{ID: "client-1"}
	w.Do = func(ctx context.Context, l jobs.Line) (core.ToolResult, error) {
		why := l.AskOpening(ctx, o)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.came[string(o.Kind)] = why
		return core.ToolResult{Text: "Exit code 0."}, nil
	}
	return w
}

func TestALineAsksToHaveSomethingOpenedAsItAsksForAHost(t *testing.T) {
	t.Parallel()
	port := core.Opening{Kind: core.OpenLocalPort, Port: 5432, Rules: []string{"local_port(5432)"}, Asks: true}
	once := core.Opening{Kind: core.OpenUncaged, Asks: true}
	silent := port
	silent.Asks = false
	for name, tt := range map[string]struct {
		open   core.Opening
		scope  jobs.Scope
		before []string
		want   string
		kept   string
	}{
		"for the folder":        {port, jobs.ScopeFolder, nil, "", "client-1 client-2 local_port(5432) folder"},
		"this once":             {once, jobs.ScopeOnce, nil, "", ""},
		"no":                    {port, jobs.ScopeNo, nil, "the person does not allow it", ""},
		"a rule came meanwhile": {port, "", []string{"local_port(5432)"}, "", ""},
		"a mode without asks":   {silent, "", nil, "no rule allows it", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newAsking(t)
				a.person.allowed = tt.before
				a.run(t, a.opening(tt.open))
				all := a.Questions("")
				if (len(all) == 1) != (tt.scope != "") {
					t.Fatalf("asked: %+v", all)
				}
				if len(all) == 1 {
					if !all[0].Lasting {
						if err := a.Answer(all[0].ID, jobs.ScopeSession, core.Client{}); core.KindOf(err) != core.Invalid {
							t.Errorf("for longer than once: %v", err)
						}
					}
					if err := a.Answer(all[0].ID, tt.scope, core.Client{ID: "client-2"}); err != nil {
						t.Error(err)
					}
				}
				a.got(t, map[string]string{string(tt.open.Kind): tt.want})
				if strings.Join(a.person.kept, "; ") != tt.kept {
					t.Errorf("kept %q, want %q", a.person.kept, tt.kept)
				}
			})
		})
	}
}

func TestAQuestionIsAskedNoLongerThanSomebodyIsThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		w := line(nil)
		why := ""
		w.Do = func(ctx context.Context, l jobs.Line) (core.ToolResult, error) {
			why, _ = l.AskSettings(ctx, []core.JobSetting{{Name: "core.pager"}})
			return core.ToolResult{Text: "Exit code 0."}, nil
		}
		a.run(t, w)
		a.person.leaves(true)
		<-time.After(5 * time.Second)
		a.person.leaves(false) // the chat has connected anew
		<-time.After(time.Minute)
		if len(a.Questions("")) != 1 || len(a.List("")) != 1 {
			t.Fatalf("asked %v of %v", a.Questions(""), a.List(""))
		}
		a.person.leaves(true)
		<-time.After(10 * time.Second)
		synctest.Wait()
		if len(a.Questions("")) != 0 || len(a.List("")) != 0 || why != "nobody is there any more to be asked" {
			t.Errorf("asked %v of %v, refused since %q", a.Questions(""), a.List(""), why)
		}
	})
}
