package main

import (
	"cmp"
	"math"
	"slices"
)

// dense is a matrix of n rows of width k, one after the other.
type dense struct {
	n, k int
	v    []float64
}

func newDense(n, k int) *dense { return &dense{n, k, make([]float64, n*k)} }

func (d *dense) row(i int) []float64 { return d.v[i*d.k : (i+1)*d.k] }

// decompose returns the left singular vectors of the largest singular values, and these, by randomised subspace
// iteration. The start is a hash of the position, so there is no seed to keep.
func (m *matrix) decompose(components, oversample, rounds int) (*dense, []float64) {
	k := min(components+oversample, len(m.rows))
	right := newDense(m.columns, k)
	for i := range right.v {
		right.v[i] = noise(uint64(i/k), uint64(i%k))
	}
	var left *dense
	for round := range rounds {
		left = m.times(right)
		left.orthonormalise()
		right = m.transposedTimes(left)
		if round < rounds-1 {
			right.orthonormalise()
		}
	}
	values, vectors := eigen(right.gram())
	components = min(components, k)
	u, sigma := newDense(left.n, components), make([]float64, components)
	for j := range sigma {
		sigma[j] = math.Sqrt(max(values[j], 0))
	}
	for i := range left.n {
		from, to := left.row(i), u.row(i)
		for l, x := range from {
			for j := range to {
				to[j] += x * vectors.v[l*k+j]
			}
		}
	}
	return u, sigma
}

// noise is a number in [-1, 1) from a position (splitmix64's mixing).
func noise(column, index uint64) float64 {
	z := column*0x9E3779B97F4A7C15 + index*0xD1B54A32D192ED03 + 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return float64(int64(z)) / (1 << 63)
}

func (m *matrix) times(x *dense) *dense {
	out := newDense(len(m.rows), x.k)
	for i, row := range m.rows {
		to := out.row(i)
		for _, c := range row {
			addScaled(to, c.value, x.row(c.column))
		}
	}
	return out
}

func (m *matrix) transposedTimes(y *dense) *dense {
	out := newDense(m.columns, y.k)
	for i, row := range m.rows {
		from := y.row(i)
		for _, c := range row {
			addScaled(out.row(c.column), c.value, from)
		}
	}
	return out
}

func addScaled(to []float64, by float64, from []float64) {
	to = to[:len(from)]
	for j, x := range from {
		to[j] += by * x
	}
}

// gram returns the products of all pairs of columns.
func (d *dense) gram() *dense {
	g := newDense(d.k, d.k)
	for i := range d.n {
		row := d.row(i)
		for a, x := range row {
			if x != 0 {
				addScaled(g.row(a)[a:], x, row[a:])
			}
		}
	}
	for a := range d.k {
		for b := range a {
			g.v[a*d.k+b] = g.v[b*d.k+a]
		}
	}
	return g
}

// orthonormalise makes the columns orthonormal by the Cholesky factor of their products: D becomes D·R⁻¹ with RᵀR = DᵀD.
// A column that depends on those before it becomes zero.
func (d *dense) orthonormalise() {
	k, r := d.k, d.gram()
	tiny := 0.0
	for a := range k {
		tiny = max(tiny, r.v[a*k+a]*1e-12)
	}
	inverse := make([]float64, k) // of the diagonal, zero where a column depends on others
	for a := range k {
		row := r.row(a)
		if row[a] > tiny {
			inverse[a] = 1 / math.Sqrt(row[a])
		}
		for b := a; b < k; b++ {
			row[b] *= inverse[a]
		}
		for c := a + 1; c < k; c++ {
			addScaled(r.row(c)[c:], -row[c], row[c:])
		}
	}
	for i := range d.n {
		row := d.row(i)
		for a := range k {
			row[a] *= inverse[a]
			if row[a] != 0 {
				addScaled(row[a+1:], -row[a], r.row(a)[a+1:])
			}
		}
	}
}

// eigen returns the eigenvalues of a symmetric matrix, largest first, and its eigenvectors as columns (Jacobi's
// rotations in cyclic order). It destroys the matrix.
func eigen(s *dense) ([]float64, *dense) {
	k := s.k
	v := newDense(k, k)
	for i := range k {
		v.v[i*k+i] = 1
	}
	for sweep := 0; sweep < 60 && rotateAll(s, v); sweep++ {
	}
	order := make([]int, k)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.v[b*k+b], s.v[a*k+a]) })
	values, vectors := make([]float64, k), newDense(k, k)
	for to, from := range order {
		values[to] = s.v[from*k+from]
		for i := range k {
			vectors.v[i*k+to] = v.v[i*k+from]
		}
	}
	return values, vectors
}

// rotateAll does one sweep and reports whether it changed anything.
func rotateAll(s, v *dense) bool {
	k, changed := s.k, false
	for p := range k {
		for q := p + 1; q < k; q++ {
			off, a, b := s.v[p*k+q], s.v[p*k+p], s.v[q*k+q]
			if math.Abs(off) <= 1e-15*math.Sqrt(math.Abs(a*b)) || math.Abs(off) < 1e-300 {
				continue
			}
			changed = true
			theta := (b - a) / (2 * off)
			t := math.Copysign(1, theta) / (math.Abs(theta) + math.Sqrt(theta*theta+1))
			c := 1 / math.Sqrt(t*t+1)
			rotate(s, v, p, q, c, t*c)
		}
	}
	return changed
}

func rotate(s, v *dense, p, q int, cos, sin float64) {
	k := s.k
	for i := range k {
		x, y := s.v[i*k+p], s.v[i*k+q]
		s.v[i*k+p], s.v[i*k+q] = cos*x-sin*y, sin*x+cos*y
	}
	for i := range k {
		x, y := s.v[p*k+i], s.v[q*k+i]
		s.v[p*k+i], s.v[q*k+i] = cos*x-sin*y, sin*x+cos*y
	}
	for i := range k {
		x, y := v.v[i*k+p], v.v[i*k+q]
		v.v[i*k+p], v.v[i*k+q] = cos*x-sin*y, sin*x+cos*y
	}
}

// quantise drops the first component (how common a word is), weighs the others by the root of their singular value, and
// rounds each row to int8, its largest entry to ±127.
func quantise(u *dense, sigma []float64) []int8 {
	out := make([]int8, 0, u.n*(u.k-1))
	for i := range u.n {
		row, largest := u.row(i)[1:], 0.0
		for j := range row {
			row[j] *= math.Sqrt(sigma[j+1])
			largest = max(largest, math.Abs(row[j]))
		}
		for _, x := range row {
			if largest > 0 {
				x *= 127 / largest
			}
			out = append(out, int8(math.Round(x)))
		}
	}
	return out
}
