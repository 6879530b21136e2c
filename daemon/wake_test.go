package daemon

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/core/jobs"
	"loci/daemon/api"
	"loci/daemon/client"
	"loci/providers/providertest"
)

// written is an output that holds one text.
type written string

func (w written) Text() string    { return string(w) }
func (written) Source() string    { return "" }
func (w written) Tail(int) string { return string(w) }

// sleeper is a daemon with an agent, and jobs that end when a test says so.
type sleeper struct {
	testing.TB
	d       *Daemon
	c       *client.Client
	session api.Session
	model   *providertest.Server
}

func newSleeper(t *testing.T) *sleeper {
	t.Helper()
	p, settings := home(t)
	x := &sleeper{TB: t, model: providertest.NewServer(t)}
	x.d, _ = start(t, Config{Paths: p, Settings: settings, Environ: environ("OPENAI_API_KEY", "key", "OPENAI_BASE_URL", x.model.V1())})
	x.c, x.session = talker(t, p, "/project")
	return x
}

// begin has a run of the agent, whose message ends with SAY, and then a job of that run in the background.
func (x *sleeper) begin(release <-chan struct{}) (job string) {
	x.Helper()
	say(x, x.c, x.session, "SAY begun")
	runs := x.runs()
	run := runs[len(runs)-1]
	_, job, err := x.d.current().jobs.Run(x.Context(), jobs.Work{
		Agent: run.Agent, Conversation: run.Conversation, Run: run.ID, Call: "call", Client: run.Client, Command: "make",
		Folder:     "/project",
		Background: true, Output: written("so far"),
		Do: func(ctx context.Context, _ jobs.Line) (core.ToolResult, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			tells := []core.Notice{{Kind: "git", Text: "A line changed it."}}
			return core.ToolResult{Text: "Exit code 0.\nall of it", Source: "a.example", Tells: tells}, nil
		},
	})
	if err != nil {
		x.Fatal(err)
	}
	return job
}

// runs are those of the agent, the oldest first.
func (x *sleeper) runs() []core.Run {
	x.Helper()
	of := core.RunFilter{Agents: []core.AgentID{core.AgentID(x.session.AgentID)}}
	runs, err := x.d.current().store.Runs().List(x.Context(), of, core.Page{Limit: 100})
	if err != nil {
		x.Fatal(err)
	}
	slices.SortFunc(runs, func(a, b core.Run) int { return int(a.Number - b.Number) })
	return runs
}

// woken are the runs that began with the end of a job.
func (x *sleeper) woken() []core.Run {
	return slices.DeleteFunc(x.runs(), func(r core.Run) bool { return !strings.Contains(told(r), "has ended after") })
}

// wakes waits until the agent was woken and has answered.
func (x *sleeper) wakes() core.Run {
	x.Helper()
	coretest.Until(x, "the agent to be woken", func() bool { w := x.woken(); return len(w) > 0 && w[0].Status.Final() })
	return x.woken()[0]
}

func TestAnAgentIsWokenByTheEndOfItsJob(t *testing.T) {
	t.Parallel()
	x, release := newSleeper(t), make(chan struct{})
	job := x.begin(release)
	if st, err := x.c.Status(t.Context()); err != nil || !st.Busy {
		t.Errorf("with a job the daemon is idle: %+v, %v", st, err)
	}
	if err := x.c.Shutdown(t.Context(), true); client.KindOf(err) != api.KindBusy {
		t.Errorf("shutdown if idle = %v", err)
	}
	close(release)
	run := x.wakes()
	for _, want := range []string{`"type":"system_alert"`, job, "make", "Exit code 0.", "all of it"} {
		if !strings.Contains(told(run), want) {
			t.Errorf("the agent is told %s, without %q", told(run), want)
		}
	}
	if run.Client.Workspace != "/project" || run.Client.Mode != core.ModeAsk || string(run.Client.ID) != x.session.Client ||
		run.Client.Kind != core.ClientDaemon || run.Status != core.RunCompleted || run.Config.Source != "a.example" ||
		len(run.Config.Tells) != 1 {
		t.Errorf("the run is %+v", run)
	}
	coretest.Until(t, "the daemon to be idle", func() bool { return x.c.Shutdown(t.Context(), true) == nil }) // a run ends in its lane last
}

func TestAnAgentThatIsBusyIsWokenAfterwardsUnlessItSawTheEnd(t *testing.T) {
	t.Parallel()
	x, release, answers := newSleeper(t), make(chan struct{}), make(chan struct{})
	seen, unseen := x.begin(release), x.begin(release)
	x.model.Reply = func(r providertest.Request) providertest.Turn {
		<-answers
		return x.model.Directives(r)
	}
	said := make(chan string)
	go func() { said <- say(t, x.c, x.session, "SAY at last") }()
	coretest.Until(t, "the question", func() bool { return x.model.Active() > 0 })
	close(release)
	if _, err := x.d.current().jobs.See(t.Context(), core.ConversationID(x.session.ConversationID), seen, time.Minute); err != nil {
		t.Fatal(err)
	}
	if w := x.woken(); len(w) > 0 {
		t.Errorf("woken in the middle of a run: %+v", w)
	}
	close(answers)
	if got := <-said; got != "at last" {
		t.Errorf("the answer is %q", got)
	}
	if run := x.wakes(); !strings.Contains(told(run), unseen) {
		t.Errorf("told of %s", told(run))
	}
	if n := len(x.woken()); n != 1 {
		t.Errorf("woken %d times", n)
	}
}

func TestWithoutItsSessionAWokenAgentAsksForEverything(t *testing.T) {
	t.Parallel()
	for mode, want := range map[core.PermissionMode]core.PermissionMode{core.ModeAll: core.ModeAsk, core.ModePlan: core.ModePlan} {
		x := newSleeper(t)
		if _, err := x.d.awaitParts(t.Context()); err != nil {
			t.Fatal(err)
		}
		p := x.d.current()
		got := p.waker(&jobs.Job{Client: core.Client{
			ID: "client-gone", Mode: mode, Workspace: "/project", Zone: "Asia/Tokyo", Unattended: true,
			Rules: core.SessionRules{Allow: []string{"shell"}, Deny: []string{"write"}},
		}})
		if got.Mode != want || got.Workspace != "/project" || got.Zone != "Asia/Tokyo" || got.ID != "" {
			t.Errorf("after %s: %+v", mode, got)
		}
		if got.Unattended || len(got.Rules.Allow) > 0 || !slices.Equal(got.Rules.Deny, []string{"write"}) {
			t.Errorf("after %s it may what its session might: %+v", mode, got)
		}
	}
}

func TestAWokenAgentHasTheRulesOfItsSession(t *testing.T) {
	t.Parallel()
	x := newSleeper(t)
	p := x.d.current()
	rules := core.SessionRules{Allow: []string{"shell(make *)"}, Deny: []string{"write"}}
	id := core.ClientID(x.session.Client)
	if _, err := p.services.Sessions.Change(id, func(c *core.Client) error { c.Rules = rules; return nil }); err != nil {
		t.Fatal(err)
	}
	got := p.waker(&jobs.Job{Client: core.Client{ID: id, Workspace: "/project"}})
	if !slices.Equal(got.Rules.Allow, rules.Allow) || !slices.Equal(got.Rules.Deny, rules.Deny) || got.ID != id {
		t.Errorf("woken with %+v", got)
	}
}

// told is what a run was begun with.
func told(r core.Run) string { return r.Input[0].Content[0].Text }
