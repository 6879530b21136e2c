package session

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"loci/core"
)

func TestAThousandScriptsAnHourKeepNobodyOut(t *testing.T) {
	t.Parallel()
	r := New(Config{})
	t.Cleanup(r.Close)
	working, err := r.Register(Hello{Kind: core.ClientChat})
	if err != nil {
		t.Fatal(err)
	}
	r.busy = func() map[core.ClientID]bool { return map[core.ClientID]bool{working.ID: true} }
	idle, err := r.Register(Hello{Kind: core.ClientChat})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxSessions {
		if _, err := r.Register(Hello{Kind: core.ClientScript, Variables: map[string]string{"OPENAI_API_KEY": "sk"}}); err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
	}
	if n := r.Count(); n != maxSessions {
		t.Errorf("%d sessions live", n)
	}
	if _, err := r.Get(working.ID); err != nil {
		t.Error("a session with a run under way gave way")
	}
	if _, err := r.Get(idle.ID); core.KindOf(err) != core.Precondition {
		t.Errorf("the session that gave way is told %v", err)
	}
}

func TestAClientsVariablesComeFirstThenTheDaemons(t *testing.T) {
	t.Parallel()
	daemon := func(name string) (core.Secret, bool) { return core.Secret("daemon"), name != "NOBODY" }
	r := New(Config{Env: daemon})
	t.Cleanup(r.Close)
	c, err := r.Register(Hello{Kind: core.ClientChat, Variables: map[string]string{"OWN_KEY": "mine", "EMPTY": ""}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"OWN_KEY": "mine", "EMPTY": "daemon", "OTHER": "daemon"} {
		if got, ok := c.Env(name); !ok || got.Reveal() != want {
			t.Errorf("%s = %q, want %q", name, got.Reveal(), want)
		}
	}
	if _, ok := c.Env("NOBODY"); ok {
		t.Error("a variable nobody has was found")
	}
	for _, bad := range []Hello{
		{Variables: map[string]string{"lower": "x"}},
		{Variables: map[string]string{"A": strings.Repeat("x", maxVariable+1)}},
		{Folder: "not/absolute"},
		{Zone: "Nowhere/Else"},
		{Mode: "everything"},
	} {
		if _, err := r.Register(bad); err == nil {
			t.Errorf("%+v was registered", bad)
		}
	}
}

func TestASessionEndsAnHourAfterItsLastRequestAndForgetsItsVariables(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{})
		own := &variables{vars: map[string]string{"A_KEY": "x"}}
		env := r.layered(own)
		var runs atomic.Bool
		r.busy = func() map[core.ClientID]bool { return map[core.ClientID]bool{"client-b": runs.Load()} }
		for _, id := range []core.ClientID{"client-a", "client-b"} {
			if err := r.keep(core.Client{ID: id, Env: env}, own, 0); err != nil {
				t.Fatal(err)
			}
		}
		runs.Store(true)
		<-time.After(40 * time.Minute)
		if _, err := r.Get("client-a"); err != nil {
			t.Fatal("a session ended early")
		}
		<-time.After(50 * time.Minute)
		if r.Count() != 2 {
			t.Fatal("a request or a run did not keep a session alive")
		}
		runs.Store(false)
		<-time.After(3 * time.Hour)
		if _, err := r.Get("client-a"); core.KindOf(err) != core.Precondition || r.Count() != 0 {
			t.Errorf("%d sessions live on: %v", r.Count(), err)
		}
		if _, ok := env("A_KEY"); ok {
			t.Error("a variable outlived its session")
		}
		r.Close()
		if err := r.keep(core.Client{}, own, 0); !errors.Is(err, core.ErrShutdown) {
			t.Errorf("a session after the end: %v", err)
		}
	})
}

func TestASessionHasItsPermissionMode(t *testing.T) {
	t.Parallel()
	r := New(Config{})
	for given, want := range map[core.PermissionMode]core.PermissionMode{
		"": core.ModeAsk, core.ModePlan: core.ModePlan, core.ModeEdits: core.ModeEdits, core.ModeAll: core.ModeAll,
		core.ModeStandard: core.ModeStandard,
	} {
		if c, err := r.Register(Hello{Kind: core.ClientChat, Mode: given}); err != nil || c.Mode != want {
			t.Errorf("%q became %q, %v", given, c.Mode, err)
		}
	}
	if _, err := r.Register(Hello{Kind: core.ClientChat, Mode: "bold"}); core.KindOf(err) != core.Invalid {
		t.Errorf("an unknown mode: %v", err)
	}
}

func TestASessionChangesItsModeAndItsRulesAsAWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	r := New(Config{})
	c, err := r.Register(Hello{Kind: core.ClientChat, Rules: core.SessionRules{Deny: []string{"fetch"}}})
	if err != nil || c.Mode != core.ModeAsk || len(c.Rules.Deny) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	begin := func(mode core.PermissionMode) core.Client {
		t.Helper()
		c, done, err := r.Begin(c.ID, mode)
		if err != nil {
			t.Fatal(err)
		}
		done()
		return c
	}
	if got := begin(core.ModePlan); got.Mode != core.ModePlan {
		t.Errorf("asked for a plan, it is %s", got.Mode)
	}
	if _, _, err := r.Begin(c.ID, "bold"); core.KindOf(err) != core.Invalid {
		t.Errorf("an unknown mode: %v", err)
	}
	if got := begin(""); got.Mode != core.ModePlan {
		t.Errorf("the mode is gone: %s", got.Mode)
	}
	allow := func(rules ...string) error {
		_, err := r.Change(c.ID, func(c *core.Client) (err error) {
			c.Rules, err = c.Rules.Allowing(rules...)
			return err
		})
		return err
	}
	before := begin("")
	if err := allow("shell(go test *)", "shell(make)"); err != nil {
		t.Error(err)
	}
	if err := allow("shell(make)"); err != nil {
		t.Error(err)
	}
	var many []string
	for i := range core.MaxSessionRules {
		many = append(many, fmt.Sprintf("shell(%d)", i))
	}
	if err := allow(many...); core.KindOf(err) != core.TooLarge {
		t.Errorf("too many: %v", err)
	}
	if got := begin("").Rules; strings.Join(got.Allow, "|") != "shell(go test *)|shell(make)" || len(got.Deny) != 1 {
		t.Errorf("the rules are %+v", got)
	}
	if len(before.Rules.Allow) != 0 {
		t.Error("what a run has was changed behind its back")
	}
}

func TestSomebodyAttendsARunWhoseSessionOrFolderHasAnOpenChat(t *testing.T) {
	t.Parallel()
	r := New(Config{})
	register := func(in Hello) core.Client {
		t.Helper()
		c, err := r.Register(in)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	open := func(c core.Client) (done func()) {
		t.Helper()
		_, done, err := r.Begin(c.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	mine := register(Hello{Kind: core.ClientChat, Folder: "/p"})
	away := register(Hello{Kind: core.ClientScript, Folder: "/p", Unattended: true})
	elsewhere := register(Hello{Kind: core.ClientChat, Folder: "/q"})
	second := register(Hello{Kind: core.ClientChat, Folder: "/p"})
	defer open(elsewhere)()
	defer open(away)()
	if r.Attends(mine) || r.Attends(away) || r.Attends(core.Client{Workspace: "/q"}) {
		t.Error("nobody is there")
	}
	done := open(mine)
	if !r.Attends(mine) || r.Attends(away) {
		t.Error("the person at the session is there, for runs of it that want one")
	}
	done()
	done = open(second)
	if !r.Attends(mine) {
		t.Error("the person at another chat in the folder is there")
	}
	done()
	if r.Attends(mine) {
		t.Error("they left")
	}
}
