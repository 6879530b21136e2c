package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"loci/daemon/api"
)

// brings gives the folder what waits for trust, and one item that can't be trusted.
func brings(f *fake, items ...string) {
	for _, path := range items {
		f.brought.Items = append(f.brought.Items, api.FolderItem{
			Kind: api.ItemHooks, Path: path, Hash: strings.Repeat("a", 64), State: api.TrustChanged,
		})
	}
	f.brought.Items = append(f.brought.Items, api.FolderItem{Kind: "instructions", Path: "sub/CLAUDE.md", Fault: "it is no file"})
}

// waitsForTrust is a chat that asks about what the folder brings.
func waitsForTrust(t *testing.T, width, height int, items ...string) *robot {
	t.Helper()
	f := newFake()
	brings(f, items...)
	r := newRobot(t, f, width, height).connect()
	r.until("the question", func() bool { return r.m.trust.stands() })
	r.view()
	r.calm()
	return r
}

func (r *robot) trusted() []string {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	var out []string
	for _, d := range r.f.decided {
		out = append(out, fmt.Sprint(d.Path, " ", d.Hash[:2], " ", d.Trusted))
	}
	return out
}

// lets a held key settle.
func (r *robot) letTrustSettle() {
	if held := r.m.trust.held; held != nil {
		r.feed(settledMsg{held})
	}
}

func TestWhatTheFolderBringsIsAQuestionWithKeys(t *testing.T) {
	t.Parallel()
	r := waitsForTrust(t, 80, 24, ".loci/hooks.json", "sub/\x1b[2Jhooks.json")
	for _, part := range []string{
		"? This folder brings what doesn't count before you trust it:",
		".loci/hooks.json · hooks, changed · its programs run around calls",
		`sub/\u001b[2Jhooks.json`, "y trust all of it · n not now · v read it",
	} {
		if v := r.view(); !strings.Contains(v, part) || strings.Contains(v, "CLAUDE.md") {
			t.Errorf("%q is not there:\n%s", part, v)
		}
	}
	r.typ("y")
	if got := r.trusted(); len(got) > 0 || !strings.Contains(r.view(), "enter trusts all of it") {
		t.Errorf("%v before enter\n%s", got, r.view())
	}
	r.enter()
	r.until("the decisions and the word of them", func() bool {
		return len(r.trusted()) == 2 && strings.Contains(r.said(), "trusted, as it is: .loci/hooks.json")
	})
	if diff := cmp.Diff([]string{".loci/hooks.json aa true", "sub/\x1b[2Jhooks.json aa true"}, r.trusted()); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(r.view(), "before you trust it") {
		t.Error(r.view())
	}
}

func TestTrustWaitsForTheEndOfTheList(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprint("sub", i, "/hooks.json"))
	}
	r := waitsForTrust(t, 40, 12, many...)
	if v := r.view(); !strings.Contains(v, "more rows") || !strings.Contains(v, "v all, then y") {
		t.Errorf("a long list:\n%s", v)
	}
	r.typ("y")
	if !strings.Contains(r.view(), "v shows the rest of it") {
		t.Errorf("what to do?\n%s", r.view())
	}
	r.enter()
	if got := r.trusted(); len(got) > 0 {
		t.Errorf("%v, unread", got)
	}
	r.calm()
	r.typ("v")
	r.letTrustSettle()
	r.until("the texts", func() bool { return r.top() != nil })
	r.calm()
	r.typ("y")
	r.enter()
	if got := r.trusted(); len(got) > 0 {
		t.Errorf("%v before its end", got)
	}
	r.key(tea.Key{Code: tea.KeyEnd})
	if !strings.Contains(r.view(), "Use tabs.") {
		t.Errorf("its end:\n%s", r.view())
	}
	r.calm()
	r.typ("y")
	r.enter()
	r.until("the decisions, and the end of the panel", func() bool { return len(r.trusted()) == 30 && r.top() == nil })
}

func TestWhatIsBeingTypedTrustsNothing(t *testing.T) {
	t.Parallel()
	for name, typing := range map[string]func(r *robot){
		"a word": func(r *robot) { r.typ("yes"); r.enter(); r.calm() },
		"slowly": func(r *robot) {
			r.typ("y")
			r.calm()
			r.typ(" ")
			r.calm()
			r.enter()
		},
		"no":     func(r *robot) { r.typ("no"); r.letTrustSettle() },
		"pasted": func(r *robot) { r.feed(tea.PasteMsg{Content: "y"}); r.calm(); r.enter() },
		"another": func(r *robot) {
			r.typ("t")
			r.calm()
			r.typ("y")
			r.calm()
			r.enter()
		},
	} {
		r := waitsForTrust(t, 80, 24, ".loci/hooks.json")
		typing(r)
		if got := r.trusted(); len(got) > 0 || len(r.m.trust.items) == 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	r := waitsForTrust(t, 80, 24, ".loci/hooks.json")
	r.m.trust.since = r.now // it has just come
	r.typ("y")
	r.holds("y")
}

func TestNotNowTakesTheQuestionAwayAndKeepsNothing(t *testing.T) {
	t.Parallel()
	r := waitsForTrust(t, 80, 24, ".loci/hooks.json")
	r.typ("n")
	r.letTrustSettle()
	const said = "asked about when it changes or the chat opens again: .loci/hooks.json · /trust"
	if got := r.trusted(); len(got) > 0 || !strings.Contains(r.said(), said) {
		t.Errorf("%v\n%s", got, r.said())
	}
	if strings.Contains(r.view(), "before you trust it") {
		t.Errorf("it still stands:\n%s", r.view())
	}
}

// becomes changes what stands in the folder, as an agent or a git pull does.
func (f *fake) becomes(path, hash string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.brought.Items {
		if it := &f.brought.Items[i]; it.Path == path {
			it.Hash, it.State = strings.Repeat(hash, 64), api.TrustChanged
		}
	}
}

// TestWhatChangesWhileTheChatIsOpenIsAskedAboutThere changes what is trusted in every way in which the chat hears of it.
func TestWhatChangesWhileTheChatIsOpenIsAskedAboutThere(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(r *robot){
		"the agent has worked":       func(r *robot) { r.say("hello"); r.idle() },
		"a line of the person's ran": func(r *robot) { r.say("!true"); r.until("its end", func() bool { return r.m.own.running == nil }) },
		"the person comes back":      func(r *robot) { r.feed(tea.FocusMsg{}) },
	} {
		f := newFake()
		brings(f, "AGENTS.md", ".loci/hooks.json")
		for i := range f.brought.Items[:2] {
			f.brought.Items[i].State = api.TrustGiven
		}
		r := newRobot(t, f, 80, 24).connect()
		if r.m.trust.stands() {
			t.Fatalf("%s: what is trusted is asked about:\n%s", name, r.view())
		}
		f.becomes("AGENTS.md", "b")
		after(r)
		r.until(name+", and a question", func() bool { return r.m.trust.stands() })
		if v := r.view(); !strings.Contains(v, "AGENTS.md · hooks, changed") || strings.Contains(v, "hooks.json") {
			t.Errorf("%s: it is not about that item alone:\n%s", name, v)
		}
		r.calm()
		r.typ("y")
		r.enter()
		r.until("the decision", func() bool { return len(r.trusted()) == 1 && r.trusted()[0] == "AGENTS.md bb true" })
	}
}

func TestWhatWasPutOffIsAskedAboutOnlyOnceItChanges(t *testing.T) {
	t.Parallel()
	r := waitsForTrust(t, 80, 24, ".loci/hooks.json")
	r.typ("n")
	r.letTrustSettle()
	r.feed(tea.FocusMsg{})
	r.say("hello")
	r.idle()
	if r.m.trust.stands() {
		t.Errorf("it is asked again:\n%s", r.view())
	}
	r.f.becomes(".loci/hooks.json", "c")
	r.feed(tea.FocusMsg{})
	r.until("the question", func() bool { return r.m.trust.stands() })
}

// TestALookThatIsOvertakenByAnAnswerAsksNothing lets the folder be looked at while the person answers.
func TestALookThatIsOvertakenByAnAnswerAsksNothing(t *testing.T) {
	t.Parallel()
	r := waitsForTrust(t, 80, 24, ".loci/hooks.json")
	late := r.m.trust.look()()
	r.typ("n")
	r.letTrustSettle()
	r.feed(late)
	if len(r.m.trust.items) > 0 {
		t.Errorf("asked again: %+v", r.m.trust.items)
	}
}

func TestWhatIsAskedAboutIsWholeOnANarrowScreen(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 40, 12).connect()
	r.m.ui.ask("deny shell(git push --force-with-lease origin *)", nil, []choice{{'b', "go back", nil}})
	if v := strings.Join(strings.Fields(r.view()), " "); !strings.Contains(v, "--force-with-lease origin *) b go back") {
		t.Errorf("the rule is cut:\n%s", r.view())
	}
	r.m.ui.closePanels()
	r.asked("reasoned")
	if v := r.view(); strings.Contains(v, "then y") || !strings.Contains(v, "ng line here") {
		t.Errorf("a call that is whole on the screen can't be allowed:\n%s", v)
	}
}

func TestATrustQuestionWaitsForTheOthers(t *testing.T) {
	t.Parallel()
	r := waitsForTrust(t, 80, 24, ".loci/hooks.json")
	r.asked("once")
	if strings.Contains(r.view(), "before you trust it") {
		t.Errorf("two questions at once:\n%s", r.view())
	}
	r.press("n")
	r.until("the other one", func() bool { return strings.Contains(r.view(), "before you trust it") })
}

func TestTheTrustPageIsAnsweredByKeysThatNoFilterTakes(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"y": "AGENTS.md aa true", "n": "AGENTS.md aa false"} {
		f := newFake()
		brings(f, "AGENTS.md")
		r := newRobot(t, f, 80, 24).connect()
		r.say("/trust")
		r.until("the panel", func() bool {
			return strings.Contains(r.view(), "changed") && strings.Contains(r.view(), "it is no file")
		})
		r.typ("agents")
		r.enter()
		r.until("the choice", func() bool { return strings.Contains(r.view(), "trust it as it is") })
		r.enter()
		r.typ("r")
		r.until("the text", func() bool { return strings.Contains(r.view(), "Use tabs.") })
		r.key(esc())
		r.typ(key)
		r.until("the decision", func() bool { return len(r.trusted()) == 1 })
		if got := r.trusted()[0]; got != want {
			t.Errorf("%s: %s", key, got)
		}
		r.until("a word", func() bool { return strings.Contains(r.said(), "AGENTS.md ") })
		if strings.Contains(r.view(), "before you trust it") {
			t.Errorf("it is asked again:\n%s", r.view())
		}
	}
}
