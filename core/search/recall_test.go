package search_test

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"loci/core/search"
	"loci/providers/embed"
)

var data = flag.String(
	"data",
	"",
	"conversations with labelled evidence, as cmd/rankscore reads them: measure recall with and without vectors",
)

type labelled struct {
	Conversations []struct {
		Turns     []struct{ ID, Date, Speaker, Text, Caption string }
		Questions []struct {
			Q        string
			Evidence []string
		}
	}
}

// TestVectorsTakeNothingAway measures the ranking itself, over all turns of a conversation: by text alone (the weight of
// vectors is 0) and joined with the built-in embedding, which must not be worse by more than noise.
func TestVectorsTakeNothingAway(t *testing.T) {
	if *data == "" {
		t.Skip("a measurement: run it with -data FILE")
	}
	raw, err := os.ReadFile(*data)
	if err != nil {
		t.Fatal(err)
	}
	var set labelled
	if err := json.Unmarshal(raw, &set); err != nil {
		t.Fatal(err)
	}
	depths := []int{1, 5, 10, 25, 50}
	text, joined := make([]float64, len(depths)), make([]float64, len(depths))
	questions, took := 0, time.Duration(0)
	model := embed.New()
	for _, c := range set.Conversations {
		docs, said := make([]search.Doc, len(c.Turns)), make([]string, len(c.Turns))
		for i, turn := range c.Turns {
			said[i] = "(" + turn.Date + ") " + turn.Speaker + ": " + turn.Text
			if turn.Caption != "" {
				said[i] += " [shares " + turn.Caption + "]"
			}
			r := search.Read(search.Source{Text: said[i]})
			docs[i] = search.Doc{
				ID: turn.ID, Seq: int64(i), Lane: 1, Who: search.Voice(r.Speaker, ""), Minute: r.Minute, Day: search.DayOfMinute(r.Minute),
				Flags: r.Flags, Len: len(r.Words), Words: r.Store(), Spans: r.Spans, Allowed: true,
			}
		}
		vectors, err := model.Embed(t.Context(), said)
		if err != nil {
			t.Fatal(err)
		}
		texts := search.Load(docs)
		st := texts.Stats()
		for _, q := range c.Questions {
			if len(q.Evidence) == 0 {
				continue
			}
			questions++
			evidence := map[string]bool{}
			for _, e := range q.Evidence {
				evidence[e] = true
			}
			v := cosines(t, model, q.Q, docs, vectors)
			for _, way := range []struct {
				weight float64
				sums   []float64
			}{{0, text}, {.6, joined}} {
				v.Weight = way.weight
				began := time.Now()
				hits := search.Rank(search.Analyse(q.Q, search.NoDay).Narrow(st.DF).Resolve(st.Speakers, st.DF), st, texts, v, 10)
				took += time.Since(began)
				for i, depth := range depths {
					found := 0
					for _, h := range hits[:min(depth, len(hits))] {
						if evidence[h.ID] {
							found++
						}
					}
					way.sums[i] += float64(found) / float64(len(evidence))
				}
			}
		}
	}
	for i, depth := range depths {
		a, b := text[i]/float64(questions), joined[i]/float64(questions)
		t.Log("recall@"+strconv.Itoa(depth), "text", a, "joined", b)
		if b < a-.003 {
			t.Errorf("at %d the vectors take %.4f away", depth, a-b)
		}
	}
	t.Log(questions, "questions,", took/time.Duration(2*questions), "a ranking")
}

func cosines(t *testing.T, model *embed.Model, query string, docs []search.Doc, vectors [][]float32) search.Vectors {
	t.Helper()
	q, err := model.Embed(t.Context(), []string{query})
	if err != nil {
		t.Fatal(err)
	}
	v := search.Vectors{Cos: map[string]float64{}, Gate: 1}
	sum, squares := 0.0, 0.0
	for i, d := range docs {
		if len(vectors[i]) == 0 || len(q[0]) == 0 {
			continue
		}
		cos := 0.0
		for j, x := range vectors[i] {
			cos += float64(x) * float64(q[0][j])
		}
		v.Cos[d.ID] = cos
		sum += cos
		squares += cos * cos
	}
	if n := float64(len(v.Cos)); n > 0 {
		v.Mean = sum / n
		v.SD = math.Sqrt(max(0, squares/n-v.Mean*v.Mean))
	}
	return v
}
