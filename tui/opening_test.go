package tui

import (
	"cmp"
	"strings"
	"testing"

	"loci/daemon/api"
)

func TestALineRunsOutsideOfTheSandboxAfterItsKeyAndEnterOnly(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("push")
	if v := r.view(); !strings.Contains(v, "u uncaged") {
		t.Errorf("the key is not named:\n%s", v)
	}
	r.calm()
	r.typ("u")
	if v := r.view(); !strings.Contains(v, "no rule holds it there, it can do whatever you can") {
		t.Errorf("what it means is not said:\n%s", v)
	}
	r.undecided("before enter")
	r.enter()
	r.decided("allow " + firstCall)
	if d := r.f.answers()[0].Approvals[0]; !d.Uncaged || d.Scope != "" {
		t.Errorf("sent %+v", d)
	}
}

func TestTheKeyThatAllowsLetsNoLineOut(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"y"}, {"Y"}, {"n"}, {"a"}} {
		r := newRobot(t, newFake(), 80, 24).connect().asked("push")
		r.press(keys...)
		if keys[0] == "a" {
			r.enter()
		}
		r.until("an answer", func() bool { return len(r.f.answers()) > 0 && r.m.turn == nil })
		if r.f.answers()[0].Approvals[0].Uncaged {
			t.Errorf("%s lets it out", keys)
		}
	}
}

func TestWhatDoesNotRunOutsideSaysSo(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("line")
	r.press("u")
	r.undecided("it does not run outside")
	if v := r.view(); strings.Contains(v, "u uncaged") || !strings.Contains(v, "this does not run outside of the sandbox") {
		t.Error(v)
	}
}

func TestAMessageThatBeginsWithTheKeyLetsNothingOut(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("push")
	for _, letter := range "use ssh" {
		r.calm()
		r.typ(string(letter))
	}
	r.holds("use ssh")
	r.undecided("it was a message")
}

// opens has a line of the open conversation ask for what the sandbox kept from it.
func (r *robot) opens(q api.Question) *robot {
	r.t.Helper()
	q.ID, q.AgentID, q.ConversationID, q.Command = "question-1", "agent-1", "agent-1", cmp.Or(q.Command, "make all")
	q.Scopes = []string{api.ScopeOnce}
	if len(q.Rules) > 0 {
		q.Scopes = append(q.Scopes, api.ScopeSession, api.ScopeFolder)
	}
	r.f.mu.Lock()
	r.f.questions = []api.Question{q}
	r.f.mu.Unlock()
	r.run(r.m.hosts.look())
	r.until("the question", func() bool { return r.m.hosts.stands() })
	r.view()
	return r
}

func TestWhatTheSandboxKeptFromALineIsAskedAsExactlyThat(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		q          api.Question
		asks, rule string
	}{
		"a folder": {
			api.Question{Opens: api.OpensFolder, Path: "/data/\x1b[2Jcsv", Rules: []string{"add_dir(/data/csv)"}},
			"it does not see /data/",
			"The rule add_dir(/data/csv), always in this folder: the agent's tools and shell lines see this folder.",
		},
		"a folder to change": {
			api.Question{Opens: api.OpensFolder, Path: "/out", Write: true, Rules: []string{"add_dir(/out:rw)"}},
			"Open this folder to be read and changed", "The rule add_dir(/out:rw), always",
		},
		"a port of this machine": {
			api.Question{Opens: api.OpensLocalPort, Port: 5432, Rules: []string{"local_port(5432)"}},
			"it does not reach port 5432 of this machine", "shell lines reach this port of the machine.",
		},
		"a port of the line": {
			api.Question{Opens: api.OpensPort, Port: 3000, Rules: []string{"port(3000)"}},
			"May this machine reach it, at 127.0.0.1:3000?", "this machine reaches lines that listen there.",
		},
		"the way out": {
			api.Question{Opens: api.OpensUncaged, Rules: []string{"uncaged(make all)", "uncaged(ls)"}},
			"can do whatever you can: make all", "The rules uncaged(make all) and uncaged(ls), always",
		},
	} {
		r := newRobot(t, newFake(), 80, 24).waitsForLine().opens(tt.q)
		flat := func() string { return strings.Join(strings.Fields(r.view()), " ") }
		if v := flat(); !strings.Contains(v, tt.asks) || strings.Contains(r.view(), "\x1b[2J") {
			t.Errorf("%s: no %q in\n%s", name, tt.asks, r.view())
		}
		r.asksHost("a")
		if v := flat(); !strings.Contains(v, tt.rule) {
			t.Errorf("%s: no %q in\n%s", name, tt.rule, r.view())
		}
		r.enter()
		r.until(name, func() bool { return r.answeredHosts() == "question-1 folder" && !r.m.hosts.stands() })
	}
}

func TestTheStatusLineSaysWhereTheSandboxIsLessThanWhole(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]string{"": "ask mode · Ada", "off": "ask mode · sandbox off · Ada"} {
		f := newFake()
		f.sandbox = level
		if got := newRobot(t, f, 80, 24).connect().status(); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", level, got, want)
		}
	}
}
