package crashtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"loci/core/coretest"
	"loci/daemon/api"
	"loci/daemon/client"
)

// TestSearchFindsWhatIsStoredAfterAnyEnd kills the daemon while passages and messages come, go and are forgotten, does
// something to the files that search reads, and compares what is found with what is stored, and with a new index.
func TestSearchFindsWhatIsStoredAfterAnyEnd(t *testing.T) {
	t.Parallel()
	s := &shelf{t: t, house: openHouse(t), seed: seedOf(), kept: map[string]string{}, gone: map[string]bool{}}
	s.rnd = rand.New(rand.NewPCG(s.seed, 7))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the daemon said: %s", s.house.said())
		}
	})
	s.must(s.house.start(t.Context()))
	s.open()
	for n := range max(*kills, len(damages())) {
		s.round = n
		how := damages()[n%len(damages())]
		s.what = how.name
		s.work(time.Duration(50+s.rnd.IntN(400)) * time.Millisecond)
		s.must(how.do(s))
		s.must(s.house.start(t.Context()))
		s.look()
	}
	s.what = "more work" // what the last damage had built anew must also be followed
	s.work(time.Second)
	s.must(s.house.start(t.Context()))
	s.look()
	s.what = "a new index"
	found := s.ranking()
	s.must(s.house.stop())
	s.remove("index.db*", "vectors-*")
	s.must(s.house.start(t.Context()))
	lost := 0
	for word := range s.gone {
		if strings.HasPrefix(word, "lost") {
			lost++
		}
	}
	t.Logf("%d texts, %d removed, %d of them forgotten", s.number, len(s.gone), lost)
	if diff := cmp.Diff(s.ranking(), found, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		s.fail("ids or scores are not those of a new index (-new +found):\n%s", diff)
	}
	s.must(s.house.stop())
}

// shelf is an archive and an agent's messages under load.
type shelf struct {
	t     *testing.T
	house *house
	rnd   *rand.Rand
	seed  uint64
	round int
	what  string
	agent string

	mu     sync.Mutex        // guards what is below
	kept   map[string]string // acknowledged passages that nobody touched since: id → word
	gone   map[string]bool   // words of passages whose end was acknowledged
	number int
}

func (s *shelf) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s"+format, append([]any{s.where()}, args...)...)
}

// where is how to come to this point again.
func (s *shelf) where() string {
	return fmt.Sprintf("seed %d, round %d, %s: ", s.seed, s.round, s.what)
}

func (s *shelf) must(err error) {
	s.t.Helper()
	if err != nil {
		s.fail("%v", err)
	}
}

// open makes the agent.
func (s *shelf) open() {
	c := s.house.client()
	defer c.Close()
	a, err := c.CreateAgent(s.t.Context(), api.CreateAgent{Name: new("shelf"), Model: new(model)})
	s.must(err)
	s.agent = a.ID
}

// word is one that no other text has.
func (s *shelf) word() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	return fmt.Sprintf("marker%dq%d", s.round, s.number)
}

func common() []string {
	return []string{"the harbour in winter", "tea and honey", "a letter from Oslo", "the garden gate", "trains to the north"}
}

// lookWithin is a generous bound for a hundred searches.
const lookWithin = 3 * time.Minute

// work makes load until the daemon is killed under it, some time after it began.
func (s *shelf) work(after time.Duration) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 3 {
		r := rand.New(rand.NewPCG(s.rnd.Uint64(), uint64(i)))
		wg.Go(func() { s.passages(ctx, r) })
	}
	wg.Go(func() { s.agents(ctx) })
	timer := time.NewTimer(after)
	defer timer.Stop()
	<-timer.C
	s.house.kill()
	cancel()
	wg.Wait()
}

// passages inserts, deletes and forgets until something fails.
func (s *shelf) passages(ctx context.Context, r *rand.Rand) {
	c := s.house.client()
	defer c.Close()
	own := map[string]string{}
	for ctx.Err() == nil {
		word := s.word()
		made, err := c.CreatePassage(
			ctx,
			s.agent,
			api.CreatePassage{Text: word + " lost" + word + " " + common()[r.IntN(len(common()))], Tags: []string{"t"}},
		)
		if err != nil || len(made) == 0 {
			return
		}
		own[made[0].ID] = word
		s.settle(made[0].ID, word, true)
		if r.IntN(3) > 0 {
			continue
		}
		for id, word := range own { // any
			delete(own, id)
			s.settle(id, word, false)
			if r.IntN(2) > 0 {
				if c.DeletePassage(ctx, s.agent, id) != nil {
					return
				}
				s.end(word)
			} else if _, err := c.Forget(ctx, api.ForgetRequest{Text: "lost" + word, Confirm: true}); err != nil {
				if kind := kindOf(err); kind != api.KindBusy {
					return
				}
			} else {
				s.end("lost" + word)
			}
			break
		}
	}
}

func kindOf(err error) string {
	if e, ok := err.(*client.Error); ok { //nolint:errorlint // the client returns it as it is
		return e.Kind
	}
	return ""
}

func (s *shelf) settle(id, word string, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept {
		s.kept[id] = word
	} else {
		delete(s.kept, id)
	}
}

func (s *shelf) end(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone[word] = true
}

// agents makes agents with messages, and deletes some.
func (s *shelf) agents(ctx context.Context) {
	c := s.house.client()
	defer c.Close()
	for n := 0; ctx.Err() == nil; n++ {
		word := s.word()
		a, err := c.CreateAgent(ctx, api.CreateAgent{Name: new("of " + word), Model: new(model), InitialMessageSequence: []api.Input{
			{Role: "user", Content: new(api.Text(word + " " + common()[n%len(common())]))},
		}})
		if err != nil {
			return
		}
		if n%3 == 0 {
			if c.DeleteAgent(ctx, a.ID) != nil {
				return
			}
			s.end(word)
		}
	}
}

// look compares what search finds with what is stored.
func (s *shelf) look() {
	ctx, cancel := context.WithTimeout(s.t.Context(), lookWithin)
	defer cancel()
	c := s.house.client()
	defer c.Close()
	stored := s.stored(ctx, c)
	for id, word := range s.kept {
		if text, ok := stored[id]; !ok || !strings.Contains(text, word) {
			s.fail("passage %s was acknowledged and is not stored", word)
		}
	}
	words := map[string]string{}
	for id, text := range stored {
		words[id] = strings.Fields(text)[0]
		if strings.Contains(text, "[forgotten]") { // whether or not that was acknowledged before the kill
			s.gone["lost"+words[id]] = true
		}
	}
	sample := 0
	for id, word := range words {
		if sample++; sample > 40 {
			break
		}
		if hits := s.find(ctx, c, word); len(hits) == 0 || hits[0].Passage.ID != id {
			s.fail("%s is stored and not found first: %d hits", word, len(hits))
		}
	}
	sample = 0
	for word := range s.gone {
		if sample++; sample > 40 {
			break
		}
		for _, h := range s.find(ctx, c, word) {
			if strings.Contains(h.Passage.Text, word) {
				s.fail("%s was removed and is found: %q", word, h.Passage.Text)
			}
		}
		for _, m := range s.said(ctx, c, api.SearchMessages{Query: word}) {
			if strings.Contains(m.Content.String(), word+" ") {
				s.fail("a message of %s is found, whose agent is deleted", word)
			}
		}
	}
	all := s.find(ctx, c, common()[s.round%len(common())]+" lost")
	for _, h := range all {
		if _, ok := stored[h.Passage.ID]; !ok {
			s.fail("%q is found and not stored", h.Passage.Text)
		}
	}
	s.nothingLeft()
}

// nothingLeft checks that no file holds what was forgotten, once nothing is written any more.
func (s *shelf) nothingLeft() {
	files, err := filepath.Glob(filepath.Join(s.house.paths.Data, "*.db*"))
	s.must(err)
	for _, f := range files {
		if strings.Contains(f, "replaced-") || strings.HasSuffix(f, "stale") {
			continue
		}
		data, err := os.ReadFile(f)
		if os.IsNotExist(err) {
			continue
		}
		s.must(err)
		for word := range s.gone {
			if strings.HasPrefix(word, "lost") && bytes.Contains(data, []byte(word+" ")) {
				s.fail("%s was forgotten and stands in %s", word, filepath.Base(f))
			}
		}
	}
}

// stored are the texts of all passages.
func (s *shelf) stored(ctx context.Context, c *client.Client) map[string]string {
	out := map[string]string{}
	for after := ""; ; {
		page, err := c.Passages(ctx, s.agent, api.ListPassages{After: after, Limit: 500})
		s.must(err)
		for _, p := range page {
			out[p.ID], after = p.Text, p.ID
		}
		if len(page) < 500 {
			return out
		}
	}
}

// find searches until the index has everything.
func (s *shelf) find(ctx context.Context, c *client.Client, query string) (hits []api.PassageResult) {
	s.t.Helper()
	s.until(fmt.Sprintf("a search for %q is whole", query), func() bool {
		var partial api.Partial
		var err error
		hits, partial, err = c.SearchPassages(ctx, api.SearchPassages{Query: &query, AgentID: &s.agent, Limit: new(50)})
		if err != nil && kindOf(err) != api.KindUnavailable {
			s.fail("search %q: %v", query, err)
		}
		status, serr := c.Status(ctx)
		return err == nil && partial == "" && serr == nil && status.Embedding == nil
	})
	return hits
}

// said searches messages until there is an index. That it has everything is known from a search of passages before.
func (s *shelf) said(ctx context.Context, c *client.Client, q api.SearchMessages) (hits []api.MessageResult) {
	s.t.Helper()
	s.until(fmt.Sprintf("messages can be searched for %q", q.Query), func() bool {
		var err error
		if hits, _, err = c.SearchMessages(ctx, q); err != nil && kindOf(err) != api.KindUnavailable {
			s.fail("search %q among messages: %v", q.Query, err)
		}
		return err == nil
	})
	return hits
}

// until waits for something that the daemon does by itself.
func (s *shelf) until(what string, holds func() bool) {
	s.t.Helper()
	coretest.Until(s.t, s.where()+what, holds)
}

// rank is a hit as it is compared.
type rank struct {
	ID    string
	Score float64
}

// ranking is what common words find.
func (s *shelf) ranking() map[string][]rank {
	ctx, cancel := context.WithTimeout(s.t.Context(), lookWithin)
	defer cancel()
	c := s.house.client()
	defer c.Close()
	out := map[string][]rank{}
	for _, q := range common() {
		s.find(ctx, c, q) // waits until all have their vectors
		for _, h := range s.find(ctx, c, q) {
			out[q] = append(out[q], rank{h.Passage.ID, h.Score})
		}
		for _, m := range s.said(ctx, c, api.SearchMessages{Query: q, Limit: new(50)}) {
			out["said: "+q] = append(out["said: "+q], rank{ID: m.MessageID})
		}
	}
	return out
}

// damage is what happens to the files after a kill.
type damage struct {
	name string
	do   func(s *shelf) error
}

func damages() []damage {
	return []damage{
		{"a kill alone", func(*shelf) error { return nil }},
		{"a damaged index", func(s *shelf) error { return s.spoil("index.db") }},
		{"no index", func(s *shelf) error { return s.remove("index.db*", "vectors-*") }},
		{"damaged vectors", func(s *shelf) error { return s.spoil("vectors-*") }},
		{"a stale index", (*shelf).stale},
		{"a restored backup", (*shelf).restore},
	}
}

func (s *shelf) remove(patterns ...string) error {
	for _, p := range patterns {
		files, err := filepath.Glob(filepath.Join(s.house.paths.Data, p))
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// spoil writes over the middle of files.
func (s *shelf) spoil(pattern string) error {
	files, err := filepath.Glob(filepath.Join(s.house.paths.Data, pattern))
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		for i := len(data) / 4; i < len(data)/2; i++ {
			data[i] = byte(s.rnd.Uint32())
		}
		if err := os.WriteFile(f, data, 0o600); err != nil {
			return err
		}
	}
	return err
}

// stale puts back the index of before more was written.
func (s *shelf) stale() error {
	path := filepath.Join(s.house.paths.Data, "index.db")
	if err := s.house.start(s.t.Context()); err != nil {
		return err
	}
	if err := s.house.stop(); err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := s.house.start(s.t.Context()); err != nil {
		return err
	}
	s.work(200 * time.Millisecond)
	if err := s.remove("index.db*"); err != nil {
		return err
	}
	return os.WriteFile(path, old, 0o600)
}

// restore takes a backup, writes more, and goes back to it: what came after it is not there any more.
func (s *shelf) restore() error {
	if err := s.house.start(s.t.Context()); err != nil {
		return err
	}
	file := filepath.Join(s.t.TempDir(), "backup.loci")
	if err := s.command("backup", file); err != nil {
		return err
	}
	s.mu.Lock()
	kept, gone := map[string]string{}, map[string]bool{}
	for id, word := range s.kept {
		kept[id] = word
	}
	for word := range s.gone {
		gone[word] = true
	}
	s.mu.Unlock()
	s.work(200 * time.Millisecond)
	s.kept, s.gone = kept, gone // what was touched since is as it was
	return s.command("restore", file)
}

// command runs one of the program's own.
func (s *shelf) command(args ...string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(s.t.Context(), exe, append([]string{"--no-daemon-start"}, args...)...)
	cmd.Env = s.house.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, out)
	}
	return nil
}
