package main

import (
	"cmp"
	"math"
	"slices"
)

// The weights of what a row is made of.
const (
	untagged  = .3   // a sense of a lemma that doesn't occur in tagged texts
	steps     = 2    // of the walk over relations
	decay     = .5   // per step
	usedBy    = .3   // a synset whose gloss uses the word, divided by the root of the word's frequency
	explained = .03  // a word of a sense's gloss, times its IDF
	smallest  = .002 // cells below are dropped
)

// matrix is sparse, by rows. Its columns are the synsets, then the stems.
type matrix struct {
	rows    [][]cell
	columns int
}

type cell struct {
	column int
	value  float64
}

func (m *matrix) cells() (n int) {
	for _, row := range m.rows {
		n += len(row)
	}
	return n
}

func newMatrix(net *wordNet, v *vocabulary) *matrix {
	m := &matrix{columns: len(net.synsets) + len(v.stems)}
	senses, uses, idf := v.senses(net), v.uses(), v.idf()
	acc := newAccumulator(m.columns)
	for row := range v.stems {
		current := senses[row]
		for _, c := range current {
			acc.add(c.column, c.value)
		}
		for step := range steps {
			current = walk(net, current)
			for _, c := range current {
				acc.add(c.column, math.Pow(decay, float64(step+1))*c.value)
			}
		}
		for _, synset := range uses[row] {
			acc.add(synset, usedBy/math.Sqrt(float64(max(v.freq[row], 1))))
		}
		for _, c := range senses[row] {
			for _, word := range v.glosses[c.column] {
				acc.add(len(net.synsets)+word, c.value*explained*idf[word])
			}
		}
		m.rows = append(m.rows, acc.take(smallest))
	}
	m.scale()
	return m
}

// senses returns for each stem its synsets, the common senses more, weights summing to 1.
func (v *vocabulary) senses(net *wordNet) [][]cell {
	acc := newAccumulator(len(net.synsets))
	lemmas := make([][]string, len(v.stems))
	for _, lemma := range net.lemmas {
		if row, ok := v.row[lemmaStem(lemma)]; ok {
			lemmas[row] = append(lemmas[row], lemma)
		}
	}
	out := make([][]cell, len(v.stems))
	for row, group := range lemmas {
		sum := 0.0
		for _, lemma := range group {
			for _, s := range net.senses[lemma] {
				weight := 1 / float64(s.rank)
				if !s.tagged {
					weight *= untagged
				}
				acc.add(s.synset, weight)
				sum += weight
			}
		}
		out[row] = acc.take(0)
		for i := range out[row] {
			out[row][i].value /= sum
		}
	}
	return out
}

// uses returns for each stem the synsets whose gloss uses it.
func (v *vocabulary) uses() [][]int {
	out := make([][]int, len(v.stems))
	for synset, rows := range v.glosses {
		for _, row := range rows {
			out[row] = append(out[row], synset)
		}
	}
	return out
}

// idf returns how informative each stem is in a gloss.
func (v *vocabulary) idf() []float64 {
	out := make([]float64, len(v.stems))
	for row, synsets := range v.uses() {
		out[row] = math.Log(float64(len(v.glosses)) / float64(max(len(synsets), 1)))
	}
	return out
}

// walk takes one step over the relations.
func walk(net *wordNet, from []cell) []cell {
	sum := map[int]float64{}
	for _, c := range from {
		for _, l := range net.synsets[c.column].links {
			sum[l.to] += c.value * l.weight
		}
	}
	out := make([]cell, 0, len(sum))
	for column, value := range sum {
		out = append(out, cell{column, value})
	}
	slices.SortFunc(out, func(a, b cell) int { return cmp.Compare(a.column, b.column) })
	return out
}

// scale dampens large cells and common columns, and normalises rows.
func (m *matrix) scale() {
	degree := make([]float64, m.columns)
	for _, row := range m.rows {
		for i := range row {
			row[i].value = math.Sqrt(row[i].value)
			degree[row[i].column] += row[i].value
		}
	}
	for _, row := range m.rows {
		square := 0.0
		for i := range row {
			row[i].value /= math.Sqrt(degree[row[i].column])
			square += row[i].value * row[i].value
		}
		length := math.Sqrt(square)
		for i := range row {
			row[i].value /= length
		}
	}
}

// accumulator sums cells by column.
type accumulator struct {
	sum     []float64
	touched []int
}

func newAccumulator(columns int) *accumulator { return &accumulator{sum: make([]float64, columns)} }

func (a *accumulator) add(column int, value float64) {
	if value <= 0 {
		return
	}
	if a.sum[column] == 0 {
		a.touched = append(a.touched, column)
	}
	a.sum[column] += value
}

// take returns the cells of at least the smallest value, by column, and starts again.
func (a *accumulator) take(smallest float64) []cell {
	slices.Sort(a.touched)
	var out []cell
	for _, column := range a.touched {
		if a.sum[column] >= smallest {
			out = append(out, cell{column, a.sum[column]})
		}
		a.sum[column] = 0
	}
	a.touched = a.touched[:0]
	return out
}
