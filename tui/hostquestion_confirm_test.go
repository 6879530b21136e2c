package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
)

func TestOnlyEnterBehindItsKeyAllowsAHost(t *testing.T) {
	t.Parallel()
	for key, scope := range map[string]string{"y": "once", "s": "session", "a": "folder"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			r := newRobot(t, newFake(), 80, 24).waitsForLine().wants("a.org")
			r.asksHost(key)
			if r.m.hosts.confirm == nil || !strings.Contains(r.view(), "enter allows it") || !r.m.hosts.stands() {
				t.Fatalf("%s does not wait for enter:\n%s", key, r.view())
			}
			r.enter()
			r.until("the answer", func() bool { return r.answeredHosts() == "question-a.org "+scope && !r.m.hosts.stands() })
			r.holds("")
		})
	}
}

func TestAMessageBegunSlowlyAllowsNoHost(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"yes", "so", "also"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			r := newRobot(t, newFake(), 80, 24).waitsForLine().wants("a.org")
			for _, letter := range word {
				r.asksHost(string(letter))
			}
			r.holds(word)
			r.enter()
			if r.m.hosts.confirm != nil || !r.m.hosts.stands() || r.answeredHosts() != "" {
				t.Errorf("it is answered: %s\n%s", r.answeredHosts(), r.view())
			}
		})
	}
}

func TestWhatIsPastedBehindAKeyAllowsNoHost(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).waitsForLine().wants("a.org")
	r.asksHost("y")
	r.feed(tea.PasteMsg{Content: " or no"})
	r.holds("y or no")
	r.enter()
	if !r.m.hosts.stands() || r.answeredHosts() != "" {
		t.Errorf("it is answered: %s", r.answeredHosts())
	}
}

func TestEscapeTakesBackWhatWouldAllowAHostAndStopsNothing(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"y", "s", "a"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			r := newRobot(t, newFake(), 80, 24).waitsForLine().wants("a.org")
			r.asksHost(key)
			r.key(esc())
			r.holds("")
			if r.m.hosts.confirm != nil || r.m.hosts.typing || r.m.turn == nil || r.m.turn.cancel {
				t.Errorf("esc does not just go back:\n%s", r.view())
			}
			r.enter()
			if r.answeredHosts() != "" || !strings.Contains(r.view(), "y this once") {
				t.Errorf("it is answered: %s\n%s", r.answeredHosts(), r.view())
			}
		})
	}
}

func TestTheRuleForAHostIsShownBeforeItIsKept(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"s": "for this session", "a": "always in this folder"} {
		for _, size := range [][2]int{{80, 24}, {40, 16}} {
			r := newRobot(t, newFake(), size[0], size[1]).waitsForLine().wants("foo.example.com")
			r.asksHost(key)
			got := strings.Join(strings.Fields(r.view()), " ")
			for _, text := range []string{"fetch(foo.example.com), " + want, "shell lines and fetch reach this host", "enter allows it"} {
				if !strings.Contains(got, text) {
					t.Errorf("%s at %d columns: no %q in\n%s", key, size[0], text, r.view())
				}
			}
		}
	}
}

func TestARuleThatNoLongerFitsIsNotKept(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).waitsForLine().wants("foo.example.com")
	r.asksHost("a")
	r.feed(tea.WindowSizeMsg{Width: 20, Height: 8})
	r.enter()
	if !r.m.hosts.stands() || r.answeredHosts() != "" {
		t.Errorf("enter allows what isn't shown: %s\n%s", r.answeredHosts(), r.view())
	}
}

func TestTheKeysForAHostFitANarrowScreen(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		80: "y this once · s for this session · a always in this folder · n no · tab type",
		40: "y once · s session · a always · n no",
		20: "y allow · n no",
	} {
		r := newRobot(t, newFake(), width, 16).waitsForLine().wants("a.org")
		if !strings.Contains(r.view(), want+"\n") {
			t.Errorf("no %q at %d columns in\n%s", want, width, r.view())
		}
	}
}

// TestSettingsOfGitAreShownWholeBeforeTheyAreAllowed asks for what a line wants to leave behind.
func TestSettingsOfGitAreShownWholeBeforeTheyAreAllowed(t *testing.T) {
	t.Parallel()
	wants := func(r *robot) *robot {
		r.f.mu.Lock()
		r.f.questions = []api.Question{{
			ID: "question-git", AgentID: "agent-1", ConversationID: "agent-1", Command: "git config core.pager x", Folder: "/p",
			Scopes: []string{api.ScopeOnce}, Settings: []api.QuestionSetting{
				{File: "/p/.git/config", Name: "core.pager", Values: []string{"sh -c \x1b[2Jevil"}, May: "is a program that git runs"},
				{File: "/p/sub/config", Name: "user.name", Was: []string{"Ada"}, May: "says who you are"},
			},
		}}
		r.f.mu.Unlock()
		r.run(r.m.hosts.look())
		r.until("the question", func() bool { return r.m.hosts.stands() })
		r.view()
		return r
	}
	r := wants(newRobot(t, newFake(), 80, 24).waitsForLine())
	for _, want := range []string{
		"? May its line change these git settings of the project?", `core.pager = sh -c \u001b[2Jevil`, "is a program that git runs",
		"user.name is removed (it is Ada), in /p/sub/config", "y write it · n no · tab type",
	} {
		if !strings.Contains(r.view(), want) {
			t.Errorf("no %q in\n%s", want, r.view())
		}
	}
	r.answerHost("s") // there is nothing to allow for longer
	if got := r.answeredHosts(); got != "" {
		t.Errorf("answered %s", got)
	}
	r.m.prompt.Take()
	r.press("tab")
	r.answerHost("y")
	r.until("the answer", func() bool { return r.answeredHosts() == "question-git once" && !r.m.hosts.stands() })
	low := wants(newRobot(t, newFake(), 40, 6).waitsForLineUnseen())
	low.answerHost("y")
	if low.m.hosts.seen || low.answeredHosts() != "" {
		t.Errorf("a key allows what isn't shown:\n%s", low.view())
	}
}
