package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"loci/daemon/api"
	"loci/daemon/client"
)

// recallCount counts how many requests contained the evidence for a question.
type recallCount struct {
	questions, any, all int
	share               float64 // mean over the data set of each question's share of evidence
}

func (r *recallCount) add(found, evidence int) {
	r.questions++
	if found > 0 {
		r.any++
	}
	if found == evidence {
		r.all++
	}
	r.share += float64(found) / float64(evidence)
}

// recallScorer measures what is recalled into a turn automatically. Each conversation becomes an agent's memory, as
// passages or as messages, and each question is sent to that agent in a new conversation. The scorer then reads
// back the request sent to the model and checks whether it contains the evidence. Every question is also sent to
// the agent of another conversation, where there is nothing to recall.
type recallScorer struct {
	*scorer
	tokens       int
	kind         string
	speaker      string // whose evidence counts; empty: everybody's
	own, odd     recallCount
	by           map[string]*recallCount
	spent        []int // tokens of what was recalled
	foreign      int
	foreignSpent []int
	oddForeign   []int
	took         map[bool][]time.Duration // per turn, with recall and without
}

func (s *scorer) recall(ctx context.Context, o *options, kind string) error {
	r := &recallScorer{
		scorer: s, tokens: o.recall, kind: kind, speaker: o.by, by: map[string]*recallCount{}, took: map[bool][]time.Duration{},
	}
	agents := make([]string, len(s.set.Conversations))
	for i := range s.set.Conversations {
		var err error
		if agents[i], err = r.remembering(ctx, &s.set.Conversations[i]); err != nil {
			return err
		}
	}
	for i := range s.set.Conversations {
		other := agents[(i+1)%len(agents)]
		if err := r.questions(ctx, i, agents[i], other); err != nil {
			return err
		}
	}
	return r.report()
}

// remembering creates an agent without tools that remembers a conversation and has an empty window.
func (r *recallScorer) remembering(ctx context.Context, c *conversation) (string, error) {
	name := "recalls " + r.kind + " " + c.ID
	in := api.CreateAgent{Name: &name, Model: api.PtrTo("offline/loci"), IncludeBaseTools: api.PtrTo(false)}
	if r.kind == "messages" {
		in.InitialMessageSequence, _ = c.first()
	}
	a, err := r.client.CreateAgent(ctx, in)
	if err != nil {
		return "", err
	}
	if r.kind == "passages" {
		if err := r.store(ctx, a.ID, c.Turns, map[string]string{}); err != nil {
			return "", err
		}
	}
	_, err = r.client.SetRecall(ctx, a.ID, r.tokens)
	return a.ID, err
}

func (r *recallScorer) questions(ctx context.Context, n int, agent, other string) error {
	c := &r.set.Conversations[n]
	turns := map[string]string{}
	for _, t := range c.Turns {
		if r.speaker == "" || t.Speaker == r.speaker {
			turns[t.ID] = oneSpace(t.text())
		}
	}
	asked, odd := 0, n%2 == 0 // conversations count from one
	for _, q := range c.Questions {
		q.Evidence = slices.DeleteFunc(slices.Clone(q.Evidence), func(id string) bool { return turns[id] == "" })
		if len(q.Evidence) == 0 {
			continue
		}
		if asked++; asked%r.every != 0 {
			continue
		}
		sent, tokens, err := r.turn(ctx, agent, q.Text)
		if err != nil {
			return fmt.Errorf("%q: %w", q.Text, err)
		}
		evidence, found := map[string]bool{}, 0
		for _, e := range q.Evidence {
			if !evidence[e] && strings.Contains(sent, turns[e]) {
				found++
			}
			evidence[e] = true
		}
		r.own.add(found, len(evidence))
		if odd {
			r.odd.add(found, len(evidence))
		}
		if r.by[q.Category] == nil {
			r.by[q.Category] = &recallCount{}
		}
		r.by[q.Category].add(found, len(evidence))
		r.spent = append(r.spent, tokens)
		if _, tokens, err = r.turn(ctx, other, q.Text); err != nil {
			return fmt.Errorf("%q: %w", q.Text, err)
		}
		if r.foreignSpent = append(r.foreignSpent, tokens); tokens == 0 {
			r.foreign++
		}
		if odd {
			r.oddForeign = append(r.oddForeign, tokens)
		}
		if err := r.without(ctx, agent, q.Text); err != nil {
			return fmt.Errorf("%q: %w", q.Text, err)
		}
	}
	return nil
}

// turn asks in a new conversation and deletes it afterwards, so that no question finds another. It returns all the
// messages sent to the model, and how many of their tokens were recalled.
func (r *recallScorer) turn(ctx context.Context, agent, q string) (sent string, tokens int, err error) {
	run, took, done, err := r.say(ctx, agent, q)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, done()) }()
	r.took[true] = append(r.took[true], took)
	steps, err := r.client.RunSteps(ctx, run, api.Page{Limit: 1, Order: "asc"})
	if err != nil {
		return "", 0, err
	}
	if len(steps) == 0 {
		return "", 0, fmt.Errorf("%s has no step", run)
	}
	req, err := r.client.StepRequest(ctx, steps[0].ID)
	if err != nil {
		return "", 0, err
	}
	var all []string
	for _, m := range req.Messages {
		all = append(all, oneSpace(m.Text))
		tokens += (len(reminded(m)) + 3) / 4
	}
	return strings.Join(all, "\n"), tokens, nil
}

// reminded is what the program says in a message: in one of its own, or before what a person says.
func reminded(m api.SentMessage) string {
	if m.Role == "reminder" {
		return m.Text
	}
	_, rest, _ := strings.Cut(m.Text, "<system-reminder>\n")
	record, _, _ := strings.Cut(rest, "\n</system-reminder>\n")
	return record
}

// without times the same turn with recall off.
func (r *recallScorer) without(ctx context.Context, agent, q string) error {
	if _, err := r.client.SetRecall(ctx, agent, 0); err != nil {
		return err
	}
	_, took, done, err := r.say(ctx, agent, q)
	if err != nil {
		return err
	}
	r.took[false] = append(r.took[false], took)
	_, err = r.client.SetRecall(ctx, agent, r.tokens)
	return errors.Join(err, done())
}

// say sends a message in a new conversation; done deletes the conversation.
func (r *recallScorer) say(ctx context.Context, agent, q string) (run string, took time.Duration, done func() error, err error) {
	conv, err := r.client.CreateConversation(ctx, agent, api.CreateConversation{})
	if err != nil {
		return "", 0, nil, err
	}
	content := api.Text(q)
	req := api.StreamingRequest{Request: api.Request{Messages: []api.Input{{Role: "user", Content: &content}}}}
	began := time.Now()
	answer, err := r.client.Send(ctx, client.Target{AgentID: agent, ConversationID: conv.ID}, req)
	if err != nil {
		return "", 0, nil, err
	}
	took = time.Since(began)
	if len(answer.Usage.RunIDs) == 0 {
		return "", 0, nil, errors.New("the answer names no run")
	}
	return answer.Usage.RunIDs[0], took, func() error { return r.client.DeleteConversation(ctx, conv.ID) }, nil
}

func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

func (r *recallScorer) report() error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nrecall of at most %d tokens, memory as %s: questions whose evidence stands in the request\n%-14s %9s  %6s  %6s  %6s",
		r.tokens, r.kind, "", "questions", "all", "any", "share")
	line := func(name string, t *recallCount) {
		n := float64(max(t.questions, 1))
		fmt.Fprintf(&b, "\n%-14s %9d  %6.4f  %6.4f  %6.4f", name, t.questions, float64(t.all)/n, float64(t.any)/n, t.share/n)
	}
	for _, name := range slices.Sorted(maps.Keys(r.by)) {
		line(name, r.by[name])
	}
	line("all", &r.own)
	line("odd half", &r.odd)
	fmt.Fprintf(&b, "\ntokens recalled: %s; of a question about somebody else: %s (odd half: %s), nothing for %.2f of them\n",
		mean(r.spent), mean(r.foreignSpent), mean(r.oddForeign), float64(r.foreign)/float64(max(len(r.foreignSpent), 1)))
	fmt.Fprintf(&b, "a turn took p50 %s with recall, %s without\n", median(r.took[true]), median(r.took[false]))
	_, err := r.out.Write([]byte(b.String()))
	return err
}

func mean(ns []int) string {
	sum := 0
	for _, n := range ns {
		sum += n
	}
	return fmt.Sprintf("%.0f on average", float64(sum)/float64(max(len(ns), 1)))
}

func median(ds []time.Duration) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[len(ds)/2].Round(100 * time.Microsecond)
}
