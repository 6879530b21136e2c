package main

import (
	"math"
	"slices"
	"testing"
)

// plain is a sparse matrix of given rows.
func plain(rows ...[]float64) *matrix {
	m := &matrix{columns: len(rows[0])}
	for _, row := range rows {
		var cells []cell
		for j, x := range row {
			if x != 0 {
				cells = append(cells, cell{j, x})
			}
		}
		m.rows = append(m.rows, cells)
	}
	return m
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestSingularValuesAndVectorsAreThoseOfTheMatrix(t *testing.T) {
	t.Parallel()
	u, sigma := plain([]float64{3, 0}, []float64{4, 5}).decompose(2, 0, 4)
	if !near(sigma[0], math.Sqrt(45)) || !near(sigma[1], math.Sqrt(5)) {
		t.Errorf("singular values %v", sigma)
	}
	if !near(math.Abs(u.v[0]), 1/math.Sqrt(10)) || !near(math.Abs(u.v[2]), 3/math.Sqrt(10)) || u.v[0]*u.v[2] < 0 {
		t.Errorf("left vectors %v", u.v)
	}
}

func TestTheLargestComponentsOfALargerMatrixAreFound(t *testing.T) {
	t.Parallel()
	const n = 60
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n)
		rows[i][(i*7+3)%n] = 100 * math.Pow(.7, float64(i)) // a permuted diagonal: its entries are the singular values
	}
	u, sigma := plain(rows...).decompose(5, 6, 4)
	for j, s := range sigma {
		if want := 100 * math.Pow(.7, float64(j)); math.Abs(s-want) > 1e-6 || math.Abs(math.Abs(u.row(j)[j])-1) > 1e-6 {
			t.Errorf("component %d is %v, not %v, with %v in its own row", j, s, want, u.row(j)[j])
		}
	}
}

func TestColumnsBecomeOrthonormal(t *testing.T) {
	t.Parallel()
	d := newDense(50, 6)
	for i := range d.v {
		d.v[i] = noise(uint64(i/6), uint64(i%6))
	}
	for i := range d.n {
		d.row(i)[4] = 2*d.row(i)[0] - d.row(i)[1] // depends on two before it
	}
	d.orthonormalise()
	g := d.gram()
	for a := range 6 {
		for b := range 6 {
			want := 0.0
			if a == b && a != 4 {
				want = 1
			}
			if !near(g.v[a*6+b], want) {
				t.Errorf("columns %d and %d have the product %v, not %v", a, b, g.v[a*6+b], want)
			}
		}
	}
}

func TestEigenvectorsSolveTheirEquation(t *testing.T) {
	t.Parallel()
	const k = 7
	s := newDense(k, k)
	for a := range k {
		for b := range a + 1 {
			s.v[a*k+b] = noise(uint64(a), uint64(b))
			s.v[b*k+a] = s.v[a*k+b]
		}
	}
	whole := slices.Clone(s.v)
	values, vectors := eigen(s)
	if !slices.IsSortedFunc(values, func(a, b float64) int { return int(math.Copysign(1, b-a)) }) {
		t.Errorf("the values %v do not fall", values)
	}
	for j, value := range values {
		for a := range k {
			sum := 0.0
			for b := range k {
				sum += whole[a*k+b] * vectors.v[b*k+j]
			}
			if !near(sum, value*vectors.v[a*k+j]) {
				t.Errorf("vector %d: %v is not %v times its entry", j, sum, value)
			}
		}
	}
}
