package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"loci/daemon/api"
	"loci/daemon/client"
)

// depths are the numbers of results at which recall is measured.
var depths = [...]int{1, 5, 10, 25, 50}

// scorer asks the questions and counts.
type scorer struct {
	client *client.Client
	set    *dataset
	out    io.Writer
	every  int

	all   tally
	by    map[string]*tally
	times []time.Duration
}

// tally is a running mean.
type tally struct {
	questions int
	sums      [len(depths)]float64
}

func (t *tally) add(recalls [len(depths)]float64) {
	t.questions++
	for i, r := range recalls {
		t.sums[i] += r
	}
}

// passages stores each conversation in its own archive.
func (s *scorer) passages(ctx context.Context) error {
	for i := range s.set.Conversations {
		c := &s.set.Conversations[i]
		agent, err := s.agent(ctx, "passages "+c.ID, nil)
		if err != nil {
			return err
		}
		turns := map[string]string{}
		if err := s.store(ctx, agent, c.Turns, turns); err != nil {
			return err
		}
		if err := s.askPassages(ctx, agent, c, "", turns); err != nil {
			return err
		}
	}
	return s.report("passages: one archive for each conversation")
}

// together stores all conversations in one archive, among generated turns.
func (s *scorer) together(ctx context.Context, noise int, seed uint64) error {
	agent, err := s.agent(ctx, "together", nil)
	if err != nil {
		return err
	}
	turns := map[string]string{}
	began, stored := time.Now(), 0
	for _, session := range s.set.mixed(s.set.noise(noise, seed), seed) {
		if err := s.store(ctx, agent, session, turns); err != nil {
			return err
		}
		stored += len(session)
	}
	fmt.Fprintf(s.out, "stored %d passages in %s\n", stored, time.Since(began).Round(time.Second))
	for i := range s.set.Conversations {
		c := &s.set.Conversations[i]
		if err := s.askPassages(ctx, agent, c, c.ID+" ", turns); err != nil {
			return err
		}
	}
	return s.report(fmt.Sprintf("together: one archive, %d turns made up with seed %d", noise, seed))
}

func (s *scorer) agent(ctx context.Context, name string, first []api.Input) (string, error) {
	a, err := s.client.CreateAgent(ctx, api.CreateAgent{Name: &name, Model: api.PtrTo("offline/loci"), InitialMessageSequence: first})
	return a.ID, err
}

// store adds turns as passages and records which passage came from which turn.
func (s *scorer) store(ctx context.Context, agent string, turns []message, ids map[string]string) error {
	for _, t := range turns {
		made, err := s.client.CreatePassage(ctx, agent, api.CreatePassage{Text: t.text()})
		if err != nil {
			return err
		}
		for _, p := range made {
			ids[p.ID] = t.ID
		}
	}
	return nil
}

func (s *scorer) askPassages(ctx context.Context, agent string, c *conversation, prefix string, turns map[string]string) error {
	return s.ask(c, prefix, func(q string) ([]string, error) {
		found, _, err := s.client.SearchPassages(
			ctx,
			api.SearchPassages{Query: &q, AgentID: &agent, Limit: api.PtrTo(depths[len(depths)-1])},
		)
		out := make([]string, len(found))
		for i, f := range found {
			out[i] = turns[f.Passage.ID]
		}
		return out, err
	})
}

// messages stores each conversation as an agent's initial messages: one speaker becomes the user, the other the
// assistant.
func (s *scorer) messages(ctx context.Context) error {
	for i := range s.set.Conversations {
		c := &s.set.Conversations[i]
		first, turns := c.first()
		agent, err := s.agent(ctx, "messages "+c.ID, first)
		if err != nil {
			return err
		}
		err = s.ask(c, "", func(q string) ([]string, error) {
			found, _, err := s.client.SearchMessages(
				ctx,
				api.SearchMessages{Query: q, AgentID: &agent, Limit: api.PtrTo(depths[len(depths)-1])},
			)
			seen := map[string]int{}
			out := make([]string, len(found))
			for i, f := range found { // the same words said twice are two turns
				text := f.Content.String()
				if ids := turns[text]; seen[text] < len(ids) {
					out[i] = ids[seen[text]]
				}
				seen[text]++
			}
			return out, err
		})
		if err != nil {
			return err
		}
	}
	return s.report("messages: one agent for each conversation")
}

// first is the conversation as an agent's initial messages, with a map from each text to its turns.
func (c *conversation) first() (first []api.Input, turns map[string][]string) {
	turns = map[string][]string{}
	for _, t := range c.Turns {
		role := "user"
		if t.Speaker != c.user() {
			role = "assistant"
		}
		content := api.Text(t.text())
		first = append(first, api.Input{Role: role, Content: &content})
		turns[t.text()] = append(turns[t.text()], t.ID)
	}
	return first, turns
}

// user is who the user is: the first of two people who talk.
func (c *conversation) user() string {
	if len(c.Speakers) > 0 {
		return c.Speakers[0]
	}
	return "User"
}

// ask asks the questions that have evidence.
func (s *scorer) ask(c *conversation, prefix string, search func(q string) ([]string, error)) error {
	asked := 0
	for _, q := range c.Questions {
		if len(q.Evidence) == 0 {
			continue
		}
		if asked++; asked%s.every != 0 {
			continue
		}
		began := time.Now()
		found, err := search(q.Text)
		if err != nil {
			return fmt.Errorf("%q: %w", q.Text, err)
		}
		s.times = append(s.times, time.Since(began))
		s.count(q, prefix, found)
	}
	return nil
}

func (s *scorer) count(q question, prefix string, found []string) {
	evidence := map[string]bool{}
	for _, e := range q.Evidence {
		evidence[prefix+e] = true
	}
	var recalls [len(depths)]float64
	for i, depth := range depths {
		seen := 0
		for _, id := range found[:min(depth, len(found))] {
			if evidence[id] {
				seen++
			}
		}
		recalls[i] = float64(seen) / float64(len(evidence))
	}
	if s.by == nil {
		s.by = map[string]*tally{}
	}
	if s.by[q.Category] == nil {
		s.by[q.Category] = &tally{}
	}
	s.by[q.Category].add(recalls)
	s.all.add(recalls)
}

func (s *scorer) report(title string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n%-14s %9s", title, "recall", "questions")
	for _, d := range depths {
		fmt.Fprintf(&b, "  %6s", fmt.Sprintf("@%d", d))
	}
	line := func(name string, t *tally) {
		fmt.Fprintf(&b, "\n%-14s %9d", name, t.questions)
		for _, sum := range t.sums {
			fmt.Fprintf(&b, "  %6.4f", sum/float64(max(t.questions, 1)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.by)) {
		line(name, s.by[name])
	}
	line("all", &s.all)
	if len(s.times) > 0 {
		slices.Sort(s.times)
		at := func(share float64) time.Duration {
			return s.times[int(share*float64(len(s.times)-1))].Round(100 * time.Microsecond)
		}
		fmt.Fprintf(&b, "\na search took p50 %s, p95 %s, at most %s\n", at(.5), at(.95), at(1))
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}
