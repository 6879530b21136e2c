package finder

import (
	"context"
	"math"
	"strings"
	"sync"

	"loci/core"
	"loci/core/search"
)

// A text stands out only among many. A cosine among n lies at most (n-1)/√n deviations above their mean, so among a
// handful none ever could; the distribution then comes from texts unrelated to any particular query. They fill up the
// existing texts to enough, at which point they no longer contribute.
const enough = 50

// spreadOf is how a query's cosines are distributed over ordinary texts, for a model without measurements: few models put
// related texts below about .6, and fewer still put unrelated ones above.
var spreadOf = search.Spread{Mean: .4, SD: .1}

// For the built-in embedding more is known: ordinary sentences are embedded and compared with each query, since a
// general query is near everything. Turns of a conversation lie somewhat nearer to questions about another one than
// these sentences do, and no query's cosines lie closer together than this. With both corrections, 1 to 9 turns of other
// conversations match a question about as often as each of 200 does (1 to 2 % of them), and the turn that answers it
// stands out as often among them (.42 and .40), on the conversations that the ranking was measured with.
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

// ordinary holds the built-in embedding's vectors of the ordinary texts, made when first needed.
type ordinary struct {
	mu  sync.Mutex // guards the rest
	are [][]float32
}

// spread returns how a query's cosines are distributed over ordinary texts.
func (o *ordinary) spread(ctx context.Context, embed embedder, query search.Vector) search.Spread {
	if query.Model != core.WordsHandle || embed == nil {
		return spreadOf
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.are == nil {
		var are [][]float32
		for text := range strings.Lines(ordinaryTexts) {
			v, err := embed(ctx, query.Model, strings.TrimSpace(text))
			if err != nil || len(v) == 0 {
				return spreadOf
			}
			are = append(are, v)
		}
		o.are = are
	}
	var sum, squares float64
	for _, v := range o.are {
		if len(v) != len(query.Values) {
			return spreadOf
		}
		c := cosineOf(v, query.Values)
		sum += c
		squares += c * c
	}
	n := float64(len(o.are))
	mean := sum / n
	return search.Spread{Mean: mean + nearer, SD: max(closest, math.Sqrt(max(0, squares/n-mean*mean))), Rows: len(o.are)}
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

// filled returns the spread of a few rows combined with enough ordinary texts.
func filled(few, others search.Spread) search.Spread {
	n, more := float64(few.Rows), float64(enough-few.Rows)
	mean := (n*few.Mean + more*others.Mean) / enough
	square := func(s search.Spread) float64 { return s.SD*s.SD + (s.Mean-mean)*(s.Mean-mean) }
	return search.Spread{Mean: mean, SD: math.Sqrt((n*square(few) + more*square(others)) / enough), Rows: few.Rows}
}
