package storage

import (
	"context"
	"math"
	"strings"
	"sync"

	"loci/core"
	"loci/storage/vectors"
)

// What stands out, stands out of many. A cosine among n lies at most (n-1)/√n deviations above their mean, so of a handful
// nothing ever could; how they lie is then known from texts that have to do with no query in particular. They fill what
// there is up to enough, where their part ends.
const enough = 50

// spreadOf is how the cosines of a query lie over ordinary texts, by a model that nothing was measured for: related texts
// have less than about .6 by few models, unrelated ones more by fewer.
var spreadOf = vectors.Spread{Mean: .4, SD: .1}

// The built-in embedding knows more: ordinary sentences are embedded and compared with each query, since a general query
// is near to everything. Turns of a conversation lie somewhat nearer to questions about another one than these sentences
// do, and no query's cosines lie closer together than so. With both, 1 to 9 turns of other conversations hold something
// for a question about as often as each of 200 does (1 to 2 % of them), and the turn that answers it stands out of them as
// often (.42 and .40), on the conversations that the ranking was measured with.
const (
	nearer  = .05
	closest = .12
)

const ordinaryTexts = `The train to the coast leaves at nine in the morning.
My cousin plays the violin in an orchestra.
We painted the kitchen yellow last weekend.
The printer is out of ink again.
She is learning to swim at the public pool.
The meeting was moved to the second floor.
He grows tomatoes and beans behind the house.
I finished the novel you lent me.
The dog barks whenever the bell rings.
Our flight was delayed by fog.
The museum is closed on Mondays.
They moved to a smaller town in the north.
The new phone takes very good pictures.
It rained all day and the street was flooded.
Please send me the invoice by email.
My grandfather was a carpenter.
The soup needs more salt and pepper.
We lost the match by two goals.
The shop sells hats and leather gloves.
He broke his arm while climbing a tree.
The bank raised its interest rates.
Our teacher told us about the Roman emperors.
The password of the router has changed.
She wore a green dress to the party.
The bridge over the river is being repaired.
I sleep badly when the moon is full.
The company hired three engineers.
We saw a film about whales.
My keys are in the drawer beside the door.
The judge asked the witness to speak louder.
He collects old coins and stamps.
The baby laughed at the funny mirror.
Winter came early and the lake froze.
The software crashes when the file is empty.
She thanked everybody for their patience.
The farmer sold his horses at the market.
I feel tired but happy after the run.
The recipe calls for butter and sugar.
The mayor promised more money for schools.
There is a crack in the bathroom window.`

// ordinary is the ordinary texts as the built-in embedding has them, made when they are first needed.
type ordinary struct {
	mu  sync.Mutex // guards the rest
	are [][]float32
}

// spread is how a query lies over ordinary texts.
func (o *ordinary) spread(ctx context.Context, s *Store, model core.Handle, vector []float32) vectors.Spread {
	if model != core.WordsHandle || s.cfg.Embed == nil {
		return spreadOf
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.are == nil {
		var are [][]float32
		for text := range strings.Lines(ordinaryTexts) {
			v, err := s.cfg.Embed(ctx, model, strings.TrimSpace(text))
			if err != nil || len(v) == 0 {
				return spreadOf
			}
			are = append(are, v)
		}
		o.are = are
	}
	var sum, squares float64
	for _, v := range o.are {
		if len(v) != len(vector) {
			return spreadOf
		}
		c := cosineOf(v, vector)
		sum += c
		squares += c * c
	}
	n := float64(len(o.are))
	mean := sum / n
	return vectors.Spread{Mean: mean + nearer, SD: max(closest, math.Sqrt(max(0, squares/n-mean*mean))), Rows: len(o.are)}
}

func cosineOf(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab += x * y
		aa += x * x
		bb += y * y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

// filled is the spread of few rows together with so many ordinary texts that there are enough.
func filled(few, others vectors.Spread) vectors.Spread {
	n, more := float64(few.Rows), float64(enough-few.Rows)
	mean := (n*few.Mean + more*others.Mean) / enough
	square := func(s vectors.Spread) float64 { return s.SD*s.SD + (s.Mean-mean)*(s.Mean-mean) }
	return vectors.Spread{Mean: mean, SD: math.Sqrt((n*square(few) + more*square(others)) / enough), Rows: few.Rows}
}
