package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// dataset is conversations with questions and the turns that answer them.
type dataset struct {
	Conversations []conversation `json:"conversations"`
}

type conversation struct {
	ID        string     `json:"id"`
	Speakers  []string   `json:"speakers"`
	Turns     []message  `json:"turns"`
	Questions []question `json:"questions"`
}

type message struct {
	ID      string `json:"id"`
	Session int    `json:"session"`
	Date    string `json:"date"`
	Speaker string `json:"speaker"`
	Said    string `json:"text"`
	Caption string `json:"caption"`
}

type question struct {
	Text     string   `json:"q"`
	Category string   `json:"category"`
	Evidence []string `json:"evidence"`
}

// text is a turn in the form it is stored.
func (t message) text() string {
	text := "(" + t.Date + ") " + t.Speaker + ": " + t.Said
	if t.Caption != "" {
		text += " [shares " + t.Caption + "]"
	}
	return text
}

func readData(path string) (*dataset, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var set dataset
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(set.Conversations) == 0 {
		return nil, fmt.Errorf("%s holds no conversation", path)
	}
	return &set, nil
}

// session is turns that belong together.
type session []message

func (c *conversation) sessions() []session {
	var out []session
	for i, t := range c.Turns {
		if i == 0 || t.Session != c.Turns[i-1].Session {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], t)
	}
	return out
}

// noise generates sessions from the names, words and dates in the data. Speakers and times are drawn at random;
// each sentence walks from one word to another that follows it somewhere in the data. The same seed gives the same
// turns.
func (d *dataset) noise(turns int, seed uint64) []session {
	draw := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // G404: it has to be repeatable, not secret
	var names, dates []string
	follows := map[string][]string{}
	const start = ""
	for _, c := range d.Conversations {
		for _, s := range c.Speakers {
			if !slices.Contains(names, s) {
				names = append(names, s)
			}
		}
		for _, t := range c.Turns {
			if !slices.Contains(dates, t.Date) {
				dates = append(dates, t.Date)
			}
			last := start
			for _, w := range strings.Fields(t.Said) {
				follows[last] = append(follows[last], w)
				last = w
				if strings.ContainsAny(w[len(w)-1:], ".?!") {
					last = start
				}
			}
		}
	}
	sentence := func() string {
		var words []string
		const longest = 25
		for w := start; len(words) < longest; {
			next := follows[w]
			if len(next) == 0 {
				break
			}
			w = next[draw.IntN(len(next))]
			words = append(words, w)
			if strings.ContainsAny(w[len(w)-1:], ".?!") {
				break
			}
		}
		return strings.Join(words, " ")
	}
	var out []session
	for n := 0; n < turns; {
		pair := draw.Perm(len(names))[:2]
		date := dates[draw.IntN(len(dates))]
		var s session
		for i := range 10 + draw.IntN(20) {
			said := make([]string, 1+draw.IntN(3))
			for j := range said {
				said[j] = sentence()
			}
			s = append(s, message{Date: date, Speaker: names[pair[i%2]], Said: strings.Join(said, " ")})
		}
		s = s[:min(len(s), turns-n)]
		out, n = append(out, s), n+len(s)
	}
	return out
}

// mixed inserts the conversations' sessions, in order, at random places among others.
func (d *dataset) mixed(others []session, seed uint64) []session {
	draw := rand.New(rand.NewPCG(seed, ^seed)) //nolint:gosec // G404: it has to be repeatable, not secret
	var own []session
	for i := range d.Conversations {
		for _, s := range d.Conversations[i].sessions() {
			named := slices.Clone(s)
			for j := range named {
				named[j].ID = d.Conversations[i].ID + " " + named[j].ID
			}
			own = append(own, named)
		}
	}
	out := make([]session, 0, len(own)+len(others))
	for len(own)+len(others) > 0 {
		if draw.IntN(len(own)+len(others)) < len(own) {
			out, own = append(out, own[0]), own[1:]
		} else {
			out, others = append(out, others[0]), others[1:]
		}
	}
	return out
}
