package tui

import (
	"slices"
	"strings"
	"testing"

	"loci/daemon/api"
)

// wants has a line of the open conversation ask for hosts.
func (r *robot) wants(hosts ...string) *robot {
	r.t.Helper()
	var all []api.Question
	for _, h := range hosts {
		all = append(all, api.Question{
			ID: "question-" + h, AgentID: "agent-1", ConversationID: "agent-1", Host: h, Command: "npm \x1b[31minstall",
			Scopes: []string{api.ScopeOnce, api.ScopeSession, api.ScopeFolder},
		})
	}
	r.f.mu.Lock()
	r.f.questions = all
	r.f.mu.Unlock()
	r.run(r.m.hosts.look())
	r.until("the question", func() bool { return r.m.hosts.stands() })
	r.view()
	return r
}

// answerHost presses a key after a quiet moment, lets it settle, and confirms it.
func (r *robot) answerHost(key string) {
	r.asksHost(key)
	if r.m.hosts.confirm != nil {
		r.enter()
	}
}

// asksHost presses a key after a quiet moment, and lets it settle.
func (r *robot) asksHost(key string) {
	r.calm()
	r.typ(key)
	if held := r.m.hosts.held; held != nil {
		r.feed(settledMsg{held})
	}
	r.calm()
}

func (r *robot) answeredHosts() string {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	return strings.Join(r.f.hosts, ", ")
}

func TestAHostIsAskedForWhileTheLineRuns(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).waitsForLine().wants("registry.npmjs.org", "two.org")
	for _, want := range []string{
		"? May its line reach registry.npmjs.org? And 1 more.", "of: npm", "y this once · s for this session", "nearly there",
	} {
		if !strings.Contains(r.view(), want) {
			t.Errorf("no %q in\n%s", want, r.view())
		}
	}
	if strings.Contains(r.view(), "\x1b[31m") {
		t.Error("the line drives the terminal")
	}
	r.answerHost("s")
	r.until("the next", func() bool {
		return r.answeredHosts() != "" && strings.Contains(r.view(), "May its line reach two.org?")
	})
	r.answerHost("n")
	r.until("both answers", func() bool {
		return r.answeredHosts() == "question-registry.npmjs.org session, question-two.org no" && !r.m.hosts.stands()
	})
	r.holds("")
}

func TestAWordThatIsTypedAnswersNoHost(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).waitsForLine().wants("a.org")
	r.typ("y") // it stands for too short a time
	r.holds("y")
	r.m.prompt.Take()
	r.press("tab")
	r.calm()
	r.typ("ye") // the second key says that it is a word
	r.holds("ye")
	if got := r.answeredHosts(); got != "" || r.m.hosts.held != nil {
		t.Errorf("answered %s", got)
	}
	if !strings.Contains(r.view(), "tab: answer the question above") {
		t.Errorf("nothing says how to answer:\n%s", r.view())
	}
}

func TestWhatIsTypedStaysInThePromptWhenAHostIsAskedFor(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).waitsForLine()
	r.typ("next, ")
	r.wants("a.org")
	r.calm()
	r.typ("yes")
	if r.holds("next, yes"); r.m.hosts.held != nil {
		t.Error("a letter of a message answers")
	}
}

func TestAHostThatDoesNotFitIsNotAllowed(t *testing.T) {
	t.Parallel()
	long := "registry.npmjs.org." + strings.Repeat(strings.Repeat("a", 60)+".", 3) + "evil.example"
	r := newRobot(t, newFake(), 80, 24).waitsForLine().wants(long)
	if got := strings.ReplaceAll(strings.ReplaceAll(r.view(), "\n", ""), " ", ""); !strings.Contains(got, long) {
		t.Errorf("it is cut:\n%s", r.view())
	}
	low := newRobot(t, newFake(), 40, 6).waitsForLineUnseen().wants(long)
	low.answerHost("y")
	if low.m.hosts.seen || low.answeredHosts() != "" {
		t.Errorf("a key allows what isn't shown:\n%s", low.view())
	}
}

func (r *robot) waitsForLineUnseen() *robot {
	r.connect()
	return r
}

func TestAHostThatWasAnsweredElsewhereIsAskedNoMore(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).waitsForLine().wants("a.org")
	r.f.mu.Lock()
	r.f.questions = slices.Clip(r.f.questions[:0])
	r.f.mu.Unlock()
	r.answerHost("y")
	r.until("the word of it", func() bool { return strings.Contains(r.status(), "it was answered") && !r.m.hosts.stands() })
}

func TestABellCallsWhoIsAwayWhenAHostIsAskedFor(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).waitsForLine()
	r.now = r.now.Add(2 * awayAfter)
	q := api.Question{ID: "q", AgentID: "agent-1", ConversationID: "agent-1", Host: "10.0.0.7", Port: 22, Behind: "intra.corp"}
	q.Scopes = []string{api.ScopeOnce}
	r.m.hosts.found([]api.Question{q, {ID: "other", AgentID: "agent-1", ConversationID: "conv-other"}}, r.m.conv.thread)
	for _, want := range []string{"reach 10.0.0.7 (port 22), where intra.corp leads?", "y this once · n no"} {
		if !strings.Contains(r.view(), want) {
			t.Errorf("no %q in\n%s", want, r.view())
		}
	}
	if len(r.m.hosts.asked) != 1 {
		t.Error("another conversation's question is asked here")
	}
}
