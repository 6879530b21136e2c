package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
)

// leaves has a line of the open conversation ask for so many git settings.
func (r *robot) leaves(n int) *robot {
	r.t.Helper()
	q := api.Question{Folder: "/p"}
	for i := range n {
		q.Settings = append(q.Settings, api.QuestionSetting{
			File: "/p/.git/config", Name: fmt.Sprintf("alias.a%d", i+1), Values: []string{"!make deploy"},
			May: "is a program that git runs",
		})
	}
	return r.opens(q)
}

// failsInside has a long line ask for the way out.
func (r *robot) failsInside() *robot {
	r.t.Helper()
	line := "make all" + strings.Repeat(" && echo and so on", 20) + " && ./deploy"
	return r.opens(api.Question{Opens: api.OpensUncaged, Command: line, Rules: []string{"uncaged(make all)", "uncaged(./deploy)"}})
}

// TestWhatALineAsksIsReadInThePanelAndAllowedThere asks for more than the screen shows.
func TestWhatALineAsksIsReadInThePanelAndAllowedThere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		width, height int
		asks          func(r *robot) *robot
		key, want     string
		end           []string
	}{
		"git settings": {
			80, 24, func(r *robot) *robot { return r.leaves(11) }, "y", "question-1 once",
			[]string{"alias.a11 = !make deploy", "of: make all"},
		},
		"a long line": {40, 12, (*robot).failsInside, "y", "question-1 once", []string{"./deploy"}},
		"and its rule": {
			40, 12, (*robot).failsInside, "a", "question-1 folder", []string{"uncaged(./deploy)", "always in this folder: such lines"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tt.asks(newRobot(t, newFake(), tt.width, tt.height).connect())
			if v := r.view(); !strings.Contains(v, "v shows all, then y allows") && !strings.Contains(v, "v all, then y") {
				t.Errorf("nothing says how to see the rest:\n%s", v)
			}
			r.asksHost(tt.key)
			if r.enter(); r.answeredHosts() != "" || !r.m.hosts.stands() {
				t.Fatalf("allowed unread: %s", r.answeredHosts())
			}
			r.asksHost("v")
			r.asksHost(tt.key)
			if r.enter(); r.answeredHosts() != "" || r.top() == nil {
				t.Fatalf("allowed before its end: %s\n%s", r.answeredHosts(), r.view())
			}
			r.key(tea.Key{Code: tea.KeyEnd})
			v := strings.Join(strings.Fields(r.view()), " ")
			for _, want := range tt.end {
				if !strings.Contains(v, want) {
					t.Errorf("no %q at the end:\n%s", want, r.view())
				}
			}
			r.typ(tt.key) // without a quiet moment
			if r.enter(); r.answeredHosts() != "" || r.top() == nil {
				t.Fatalf("allowed in passing: %s", r.answeredHosts())
			}
			r.asksHost(tt.key)
			if v := r.view(); !strings.Contains(v, "enter allows it") || r.answeredHosts() != "" {
				t.Fatalf("what Enter does:\n%s", v)
			}
			r.enter()
			r.until("the answer", func() bool { return r.answeredHosts() == tt.want && !r.m.hosts.stands() && r.top() == nil })
			r.holds("")
		})
	}
}

func TestWhatALineAsksIsRefusedInThePanel(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 40, 12).connect().failsInside()
	r.asksHost("v")
	r.asksHost("n")
	r.until("the answer", func() bool { return r.answeredHosts() == "question-1 no" && r.top() == nil })
}

func TestThePanelClosesWhenItsQuestionWasAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().leaves(11)
	r.asksHost("v")
	r.key(tea.Key{Code: tea.KeyEnd})
	r.view()
	r.asksHost("y")
	r.m.hosts.found([]api.Question{{ID: "another", AgentID: "agent-1", ConversationID: "agent-1", Host: "a.org"}}, r.m.conv.thread)
	r.enter()
	if r.top() != nil || r.m.hosts.confirm != nil || r.answeredHosts() != "" {
		t.Errorf("answered %s, of another question\n%s", r.answeredHosts(), r.view())
	}
	r.m.hosts.room = 0
	if r.asksHost("v"); r.top() == nil {
		t.Errorf("the next can't be opened:\n%s", r.view())
	}
}

func TestAWordThatBeginsWithAKeyOpensNoPanelOfALine(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().leaves(11)
	r.calm()
	r.typ("very")
	if r.holds("very"); r.top() != nil || r.m.hosts.held != nil {
		t.Errorf("a word is an answer:\n%s", r.view())
	}
}

// TestEveryKeyOfAQuestionIsNamedOnANarrowScreen asks for a line that may run outside of the sandbox.
func TestEveryKeyOfAQuestionIsNamedOnANarrowScreen(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 40, 12).connect().asked("push")
	v := r.view()
	keys := v[strings.LastIndex(v, "?"):]
	for _, key := range []string{"y", "s", "a", "u", "n", "r", "e"} {
		if !strings.Contains(" "+strings.ReplaceAll(keys, "\n", " ")+" ", " "+key+" ") {
			t.Errorf("%s is not named:\n%s", key, v)
		}
	}
	r.press("v")
	if v := r.view(); !strings.Contains(v, "y s a u allow") {
		t.Errorf("the panel:\n%s", v)
	}
}

// TestAQuestionOfALineLeavesRoomForTheTurnThatGoesOn asks while the agent works: the first row of what is asked must not be pushed out.
func TestAQuestionOfALineLeavesRoomForTheTurnThatGoesOn(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{40, 12}, {80, 24}, {200, 50}} {
		r := newRobot(t, newFake(), size[0], size[1]).waitsForLine().leaves(11)
		v := r.view()
		if !strings.Contains(v, "? May its line change") || !strings.Contains(v, "alias.a1 =") || strings.Count(v, "\n")+1 >= size[1] {
			t.Errorf("%v:\n%s", size, v)
		}
	}
}

func TestARuleIsShownBeforeItIsKeptInThePanelToo(t *testing.T) {
	t.Parallel()
	folder := api.Question{Opens: api.OpensFolder, Path: "/data/csv", Rules: []string{"add_dir(/data/csv)"}}
	r := newRobot(t, newFake(), 40, 12).connect().opens(folder)
	if !r.m.hosts.seen {
		t.Fatalf("the question itself is not whole:\n%s", r.view())
	}
	r.asksHost("v")
	r.view()
	r.asksHost("s")
	if r.enter(); r.answeredHosts() != "" || r.top() == nil {
		t.Fatalf("a rule is kept unseen: %s\n%s", r.answeredHosts(), r.view())
	}
	r.key(tea.Key{Code: tea.KeyEnd})
	if v := strings.Join(strings.Fields(r.view()), " "); !strings.Contains(v, "always in this folder: the agent's tools") {
		t.Errorf("the rule:\n%s", r.view())
	}
	r.asksHost("s")
	r.enter()
	r.until("the answer", func() bool { return r.answeredHosts() == "question-1 session" })
}
