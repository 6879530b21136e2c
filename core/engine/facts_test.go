package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/engine"
	"loci/core/past"
)

// keptFacts are what holds by what was said: what is known of something, by what it is. Those in upper case stand in a block,
// the others in archival memory.
type keptFacts map[string]string

// factTalk is a talk with an agent that keeps facts, and what its user knows of them.
type factTalk struct {
	*house
	a     core.Agent
	rnd   *rand.Rand
	facts keptFacts
	said  []factTurn // what can still be taken back
	ended map[string]bool
	stats map[string]int
}

// factTurn is a turn and what held before it.
type factTurn struct {
	run    core.Run
	before keptFacts
}

// TestAFactStandsOnceThroughCorrectionsRewindsAndForks: the script, which plays the model, knows ids and old texts only from
// what tools return. Whatever was said and taken back, no block and no passage holds two versions of a fact.
func TestAFactStandsOnceThroughCorrectionsRewindsAndForks(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			book := &factScript{t: t, ways: map[string]int{}}
			h := open(t, book.answer, func(c *engine.Config) {
				if seed%2 == 1 {
					soon(c)
				}
			})
			small(h, 5000)
			l := &factTalk{
				house: h, rnd: rand.New(rand.NewPCG(seed, 1)), facts: keptFacts{}, ended: map[string]bool{}, stats: map[string]int{},
				a: h.agent(func(a *core.Agent) { a.Terminal = true }, "archival_memory_insert", "archival_memory_replace",
					"archival_memory_delete", "archival_memory_search", "conversation_search", "memory_insert", "memory_replace"),
			}
			turns := longRun(100)
			l.talk(turns / 2)
			other := l.fork()
			for range 5 { // in turns, so that neither is at rest while the other changes
				l.talk(turns / 10)
				other.talk(turns / 10)
			}
			l.check("at the end")
			other.check("at the end of the fork")
			t.Logf("%v, the fork %v; %d summaries", l.stats, other.stats, len(h.summaryRequests()))
			t.Logf("ids and old texts were known from %v", book.ways)
			if turns == 100 && (l.stats["rewind"] == 0 || len(h.summaryRequests()) == 0 || len(book.ways) < 4) {
				t.Error("the talk covers too little")
			}
		})
	}
}

// talk goes on for some turns.
func (l *factTalk) talk(turns int) {
	l.t.Helper()
	for range turns {
		if l.rnd.IntN(9) == 0 && len(l.said) > 0 {
			l.goBack()
		}
		what, next := l.next()
		l.later(time.Minute)
		run, _ := l.send(l.a, what)
		if run.Status != core.RunCompleted {
			l.t.Fatalf("%q ended as %s: %+v", what, run.StopReason, run.Error)
		}
		l.said = append(l.said, factTurn{run, l.facts})
		l.facts = next
		l.check("after " + what)
		if l.cfg.Rest < time.Second {
			l.rest(l.a)
		}
	}
}

// next words a turn, and says what holds after it.
func (l *factTalk) next() (string, keptFacts) {
	next := maps.Clone(l.facts)
	known := slices.Sorted(maps.Keys(l.facts))
	do := l.rnd.IntN(20)
	switch {
	case do < 2:
		l.stats["chatter"]++
		return "chat: " + strings.Repeat("the weather is fine ", 10+l.rnd.IntN(20)), next
	case do < 10 || len(known) == 0:
		key := l.key()
		next[key] = l.value()
		if _, old := l.facts[key]; old && key == strings.ToUpper(key) {
			l.stats["corrected"]++
			return "amend: " + key + " is " + next[key] + ".", next
		}
		l.stats["stated"]++ // an old one anew, as if it were new: the return tells of the one there is
		return "note: " + key + " is " + next[key] + ".", next
	case do < 16:
		key := known[l.rnd.IntN(len(known))]
		l.stats["corrected"]++
		next[key] = l.value()
		return "amend: " + key + " is " + next[key] + ".", next
	default:
		key := known[l.rnd.IntN(len(known))]
		l.stats["withdrawn"]++
		delete(next, key)
		l.ended[key] = true
		return "strike: " + key + " is no more.", next
	}
}

func (l *factTalk) key() string {
	who := []string{"Berta", "Conrad", "Dilara", "Emil", "Fatima", "Greta", "Henrik"}[l.rnd.IntN(7)]
	what := []string{"dentist", "locker", "sister", "ferry", "allergy", "landlord", "melody"}[l.rnd.IntN(7)]
	key := "the " + what + " of " + who
	if l.rnd.IntN(2) == 0 {
		return key
	}
	return strings.ToUpper(key)
}

func (l *factTalk) value() string {
	return fmt.Sprint([]string{"amber", "birch", "copper", "dune", "ember", "flint"}[l.rnd.IntN(6)], " ", 1000+l.rnd.IntN(9000))
}

// goBack takes some turns back; one time in four that is undone.
func (l *factTalk) goBack() {
	l.t.Helper()
	at := len(l.said) - 1 - l.rnd.IntN(min(len(l.said), 8))
	r := l.rewindTo(l.a, l.said[at].run)
	l.stats["rewind"]++
	if l.rnd.IntN(4) == 0 {
		l.undoRewind(r)
		l.check("after a rewind that was undone")
		return
	}
	l.facts, l.said = l.said[at].before, l.said[:at]
	l.check("after a rewind")
}

// fork is the same talk with a copy of the agent.
func (l *factTalk) fork() *factTalk {
	l.t.Helper()
	made, err := l.past().CopyAgent(l.t.Context(), l.a.ID, past.CopyOptions{History: true})
	if err != nil {
		l.t.Fatal(err)
	}
	other := &factTalk{
		house: l.house, a: made, rnd: rand.New(rand.NewPCG(l.rnd.Uint64(), 2)), facts: maps.Clone(l.facts), ended: maps.Clone(l.ended),
		stats: map[string]int{},
	}
	other.check("after the fork")
	return other
}

var factPattern = regexp.MustCompile(`(?i)(the \w+ of \w+) is (\w+ \d+)\.`)

// check asks that every fact stands once, in its latest version, and nothing else does.
func (l *factTalk) check(when string) {
	l.t.Helper()
	got := map[string][]string{}
	want := map[string][]string{}
	for key, value := range l.facts {
		want[key] = []string{value}
	}
	text := l.block(l.a, "human").Value + "\n" + l.block(l.a, "persona").Value
	if _, has, err := l.store.Archives().OfAgent(l.t.Context(), l.a.ID); err != nil || has {
		_, notes := l.notes(l.a)
		for i := range notes {
			text += "\n" + notes[i].Text
		}
	}
	for _, m := range factPattern.FindAllStringSubmatch(text, -1) {
		got[m[1]] = append(got[m[1]], m[2])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Fatalf("%s (-want +got):\n%s", when, diff)
	}
}

// factScript plays a model that keeps facts. All that it knows is in the request.
type factScript struct {
	t    *testing.T
	ways map[string]int // from which returns ids and old texts were known
}

func (s *factScript) answer(_ int, req core.ChatRequest) turn {
	if asksForSummary(req) {
		return say("They spoke of facts.")
	}
	at := 0
	for i := range req.Messages {
		if req.Messages[i].Role == core.ChatUser {
			at = i
		}
	}
	lines := strings.Split(req.Messages[at].Text, "\n")
	verb, fact, _ := strings.Cut(lines[len(lines)-1], ": ")
	key, _, _ := strings.Cut(fact, " is ")
	var returns []core.ChatReturn
	for _, m := range req.Messages[at+1:] {
		returns = append(returns, m.Returns...)
	}
	switch {
	case verb == "chat":
		return say("Indeed.")
	case key == strings.ToUpper(key):
		return s.inBlock(req, at, verb, key, fact, returns)
	case verb == "note":
		return s.noted(key, fact, returns)
	}
	return s.inArchive(verb, key, fact, returns)
}

// noted keeps a passage and deletes what there was of the fact: what the return names, and what a search finds besides.
func (s *factScript) noted(key, fact string, returns []core.ChatReturn) turn {
	switch len(returns) {
	case 0:
		return calling("archival_memory_insert", map[string]any{"content": fact})
	case 1:
		return calling("archival_memory_search", map[string]any{"query": key})
	case 2:
	default:
		return say("Noted.")
	}
	kept := message(returns[0])
	var calls []turn
	for _, r := range s.found(key, returns[1]) {
		if strings.HasPrefix(kept, "Kept as "+r.ID) {
			continue
		}
		if s.ways["an older one, by search"]++; strings.Contains(kept, "Similar to "+r.ID) {
			s.ways["an older one, by the insert too"]++
		}
		calls = append(calls, calling("archival_memory_delete", map[string]any{"id": r.ID}))
	}
	if len(calls) == 0 {
		return say("Noted.")
	}
	return together(calls)
}

// foundFact is a passage as a search returns it.
type foundFact struct{ ID, Content string }

// found returns the passages with a fact that a search returned.
func (s *factScript) found(key string, r core.ChatReturn) []foundFact {
	var in struct{ Results []foundFact }
	if err := json.Unmarshal([]byte(message(r)), &in); err != nil {
		s.t.Errorf("a search returned %s", r.Text)
	}
	return slices.DeleteFunc(in.Results, func(f foundFact) bool { return !strings.HasPrefix(f.Content, key+" is ") })
}

// inArchive finds a passage, and then replaces or deletes it.
func (s *factScript) inArchive(verb, key, fact string, returns []core.ChatReturn) turn {
	switch len(returns) {
	case 0:
		return calling("archival_memory_search", map[string]any{"query": key})
	case 1:
		found := s.found(key, returns[0])
		switch {
		case len(found) != 1:
			s.t.Errorf("%s: %s stands %d times among %s", verb, key, len(found), returns[0].Text)
		case verb == "strike":
			return calling("archival_memory_delete", map[string]any{"id": found[0].ID})
		default:
			return calling("archival_memory_replace", map[string]any{"id": found[0].ID, "content": fact})
		}
	}
	return s.done(verb, key, returns)
}

// done ends a turn whose edit must have worked.
func (s *factScript) done(verb, key string, returns []core.ChatReturn) turn {
	if last := returns[len(returns)-1]; last.IsError {
		s.t.Errorf("%s %s: %s\nbehind %s", verb, key, last.Text, returns[0].Text)
	}
	return say("Done.")
}

// inBlock keeps a fact in a block. The old text is in the last return of an edit, or found in the conversation, which half of
// the facts are looked up in at once; a fork that was never told of it reads the prompt.
func (s *factScript) inBlock(req core.ChatRequest, at int, verb, key, fact string, returns []core.ChatReturn) turn {
	var old string
	switch {
	case verb == "note" && len(returns) == 0:
		return calling("memory_insert", map[string]any{"label": "human", "new_string": fact})
	case len(returns) == 0:
		if old = lastFact(key, shownBlocks(req.Messages[:at])...); old == "" || len(key)%2 == 0 {
			query := map[string]any{"query": key, "limit": 8, "order": "time", "roles": []string{"user"}}
			return calling("conversation_search", query)
		}
		s.ways["an old text, by an edit"]++
	case len(returns) == 1 && returns[0].Name == "conversation_search":
		if old = lastFact(key, message(returns[0])); old != "" {
			s.ways["an old text, by conversation_search"]++
			break
		}
		old = lastFact(key, req.System)
		s.ways["an old text, by the prompt"]++
	default:
		return s.done(verb, key, returns)
	}
	next := fact
	if verb == "strike" {
		next = ""
	}
	return calling("memory_replace", map[string]any{"label": "human", "old_string": old, "new_string": next})
}

// message is what a tool returned, without what stands around it.
func message(r core.ChatReturn) string {
	var in struct{ Message string }
	if json.Unmarshal([]byte(r.Text), &in) != nil {
		return r.Text
	}
	return in.Message
}

// shownBlocks are what edits of blocks returned.
func shownBlocks(window []core.ChatMessage) (texts []string) {
	for _, m := range window {
		for _, r := range m.Returns {
			if strings.HasPrefix(r.Name, "memory_") && !r.IsError {
				texts = append(texts, message(r))
			}
		}
	}
	return texts
}

// lastFact is a fact as the last of these texts has it.
func lastFact(key string, texts ...string) (old string) {
	for _, text := range texts {
		for _, f := range factPattern.FindAllStringSubmatch(text, -1) {
			if f[1] == key {
				old = f[0]
			}
		}
	}
	return old
}
