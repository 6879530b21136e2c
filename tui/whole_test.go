package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
)

// endOfLine ends the long lines of the questions here.
const endOfLine = "; ./last-of-it"

// longLine takes more rows than a question has, but is cut to one row of a small question.
func longLine() string {
	return "cat /outside/f || echo " + strings.Repeat("more and ", 120) + endOfLine
}

// everyQuestion raises each kind of question, each with a long line to read.
var everyQuestion = map[string]func(t *testing.T, width, height int) *robot{
	"call": func(t *testing.T, width, height int) *robot {
		t.Helper()
		f := newFake()
		r := newRobot(t, f, width, height).connect()
		w := waitingRequest(r.m.conv.thread, "line")
		w.Calls[0].Arguments = quoteArguments("command", longLine())
		f.wait(w)
		r.run(r.m.question.look(nil))
		r.stands()
		return r
	},
	"host":             asksLine(api.Question{Host: "a.org"}),
	"settings":         asksLine(api.Question{Settings: []api.QuestionSetting{{File: "/p/.git/config", Name: "a.b", May: "m"}}}),
	api.OpensFolder:    asksLine(api.Question{Opens: api.OpensFolder, Path: "/outside"}),
	api.OpensPort:      asksLine(api.Question{Opens: api.OpensPort, Port: 8080}),
	api.OpensLocalPort: asksLine(api.Question{Opens: api.OpensLocalPort, Port: 8080}),
	api.OpensUncaged:   asksLine(api.Question{Opens: api.OpensUncaged}),
	"trust": func(t *testing.T, width, height int) *robot {
		t.Helper()
		var items []string
		for i := range 30 {
			items = append(items, fmt.Sprintf("folder%d/.loci/hooks.json", i))
		}
		return waitsForTrust(t, width, height, append(items, endOfLine)...)
	},
}

func asksLine(q api.Question) func(t *testing.T, width, height int) *robot {
	return func(t *testing.T, width, height int) *robot {
		t.Helper()
		q.Command, q.Rules = longLine(), []string{"shell(a)"}
		return newRobot(t, newFake(), width, height).connect().opens(q)
	}
}

// confirms reports whether Enter would allow what is asked.
func (r *robot) confirms() bool {
	return r.m.question.confirm != nil || r.m.hosts.confirm != nil || r.m.trust.confirm != nil
}

// TestNoQuestionIsAllowedBeforeAllOfItWasShown asks each kind of question on small and on usual screens.
func TestNoQuestionIsAllowedBeforeAllOfItWasShown(t *testing.T) {
	t.Parallel()
	for kind, ask := range everyQuestion {
		for _, size := range [][2]int{{40, 12}, {80, 24}} {
			t.Run(fmt.Sprint(kind, size), func(t *testing.T) {
				t.Parallel()
				r := ask(t, size[0], size[1])
				shown := func() bool { return strings.Contains(strings.Join(strings.Fields(r.view()), ""), "./last-of-it") }
				try := func() bool {
					r.view()
					r.calm()
					r.typ("y")
					return r.confirms()
				}
				if shown() {
					t.Fatalf("all of it fits:\n%s", r.view())
				}
				if try() {
					t.Fatalf("allowed, though it does not fit:\n%s", r.view())
				}
				r.asksHost("v")
				if r.m.question.held != nil {
					r.settle()
				}
				r.letTrustSettle()
				r.until("the panel", func() bool { return r.top() != nil })
				if !shown() && try() {
					t.Fatalf("allowed before its end:\n%s", r.view())
				}
				for range 100 {
					r.key(tea.Key{Code: tea.KeyDown})
				}
				r.key(tea.Key{Code: tea.KeyEnd})
				if !shown() && kind != "trust" { // whose texts follow
					t.Errorf("its end is not shown:\n%s", r.view())
				}
				if !try() {
					t.Errorf("not allowed at its end:\n%s", r.view())
				}
			})
		}
	}
}

// TestEveryKindOfQuestionIsTriedBeforeItsEnd finds a kind that the other test forgot.
func TestEveryKindOfQuestionIsTriedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../daemon/api/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^\tOpens\w+\s*=\s*"(\w+)"`).FindAllStringSubmatch(string(text), -1) {
			if found++; everyQuestion[m[1]] == nil {
				t.Errorf("no question of the kind %q is asked", m[1])
			}
		}
	}
	if found < 4 {
		t.Errorf("%d kinds", found)
	}
}
