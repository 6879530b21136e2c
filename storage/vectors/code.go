package vectors

import (
	"encoding/binary"
	"math"
	"math/bits"
)

const (
	codeBits  = 4 // per coordinate of a row
	queryBits = 4 // per coordinate of a query in the scan
	fineBits  = 6 // per coordinate of a query in the last estimate

	// The best step sizes of uniform codes for normally distributed coordinates, in standard deviations.
	step4 = 0.3352
	step6 = 0.1041
)

// z is how many standard deviations an estimate may be off before a row is lost.
const z = 2.7

// The stages of the cascade.
const (
	stageSign   = iota // the row's signs against the query's
	stagePair          // plus the query's second plane
	stageQuery         // all four planes of the query
	stageRow           // plus the row's second plane
	stageAll           // all planes of the row, the query at six bits
	stageFloats        // nothing left to estimate
)

// errorOf is the standard deviation of a stage's estimate, in |query||row|/√coordinates. It is a property of the codes,
// not of the data; a test pins it.
func errorOf(stage int) float64 {
	return [...]float64{1.21, 0.91, 0.765, 0.42, 0.115, 0}[stage]
}

// spread turns a row's sign factor into |row|/√coordinates: both measure its size.
var spread = math.Sqrt(2 / math.Pi)

// encoder makes codes. It is not safe for concurrent use, because it has room for only one vector.
type encoder struct {
	rot  *rotation
	mean []float32
	room []float32
}

func newEncoder(rot *rotation, mean []float32) *encoder {
	return &encoder{rot: rot, mean: mean, room: make([]float32, rot.padded)}
}

// centre writes the rotated difference from the mean into the encoder's buffer and returns ⟨mean, v-mean⟩.
func (e *encoder) centre(v []float32) float64 {
	var product float64
	for i, x := range v {
		d := x - e.mean[i]
		e.room[i] = d
		product += float64(e.mean[i]) * float64(d)
	}
	clear(e.room[len(v):])
	e.rot.turn(e.room)
	return product
}

// factors turn products of codes into products of vectors: |x|²/⟨x, code⟩ for the code's first plane, first two planes,
// and all planes.
type factors struct{ one, two, all float32 }

// encode writes the planes of a vector: the signs, then the rest, most significant first.
func (e *encoder) encode(v []float32, signs, rest []uint64) (f factors, offset float32) {
	offset = float32(e.centre(v))
	var square float64
	for _, x := range e.room {
		square += float64(x) * float64(x)
	}
	clear(signs)
	clear(rest)
	if square == 0 {
		return f, offset
	}
	words := len(signs)
	step := step4 * math.Sqrt(square/float64(len(e.room)))
	inverse := float32(1 / step)
	var one, two, all float64
	for i, x := range e.room {
		c := level(x*inverse, codeBits)
		w, bit := i/64, uint(i%64)
		signs[w] |= c >> 3 << bit
		rest[w] |= c >> 2 & 1 << bit
		rest[words+w] |= c >> 1 & 1 << bit
		rest[2*words+w] |= c & 1 << bit
		one += float64(x) * value(c>>3, 1)
		two += float64(x) * value(c>>2, 2)
		all += float64(x) * value(c, codeBits)
	}
	return factors{one: ratio(square, one), two: ratio(square, two), all: ratio(square, all)}, offset
}

// level returns the code of a coordinate measured in steps.
func level(x float32, planes int) uint64 {
	half := float32(int(1) << (planes - 1))
	x += half
	switch {
	case !(x > 0): // also NaN
		return 0
	case x >= 2*half:
		return uint64(2*half) - 1
	}
	return uint64(x)
}

// value returns what a code with that many planes stands for, in units where the sign plane is ±1: the sum of ±2^-plane.
func value(c uint64, planes int) float64 {
	steps := float64(int(1) << planes)
	return (2*float64(c) + 1 - steps) / (steps / 2)
}

func ratio(a, b float64) float32 {
	if b <= 0 {
		return 0
	}
	return float32(a / b)
}

// query is a query prepared for the cascade.
type query struct {
	unit   []float32 // the query, normalised
	words  int
	coarse [queryBits][]uint64
	fine   [fineBits][]uint64
	base   float32               // ⟨query, mean⟩
	scale  [stageAll + 1]float32 // for the product of codes at each stage
	slack  [stageAll + 1]float32 // z standard deviations of each stage's error, for a row with sign factor 1
}

func newQuery(e *encoder, unit []float32) *query {
	q := &query{unit: unit, words: e.rot.padded / 64}
	for i, x := range unit {
		q.base += x * e.mean[i]
	}
	e.centre(unit)
	var square float64
	for _, x := range e.room {
		square += float64(x) * float64(x)
	}
	sigma := math.Sqrt(square / float64(len(e.room)))
	coarse := planes(e.room, step4*sigma, queryBits, q.coarse[:])
	fine := planes(e.room, step6*sigma, fineBits, q.fine[:])
	q.scale = [...]float32{
		stageSign: ratio(square, coarse[0]), stagePair: ratio(square, coarse[1]), stageQuery: ratio(square, coarse[3]),
		stageRow: ratio(square, coarse[3]), stageAll: ratio(square, fine[fineBits-1]),
	}
	for stage := range q.slack {
		q.slack[stage] = float32(z * errorOf(stage) * spread * math.Sqrt(square))
	}
	return q
}

// planes writes a code of n bits, most significant first, and returns ⟨x, code⟩ for its first one, two, … planes.
func planes(x []float32, step float64, n int, out [][]uint64) []float64 {
	for k := range out {
		out[k] = make([]uint64, len(x)/64)
	}
	products := make([]float64, n)
	inverse := float32(0)
	if step > 0 {
		inverse = float32(1 / step)
	}
	for i, v := range x {
		c := level(v*inverse, n)
		for k := range n {
			out[k][i/64] |= c >> (n - 1 - k) & 1 << uint(i%64)
			products[k] += float64(v) * value(c>>(n-1-k), k+1)
		}
	}
	return products
}

// distance returns how many bits differ.
func distance(a, b []uint64) int {
	n := 0
	b = b[:len(a)]
	for len(a) >= 4 {
		x, y := (*[4]uint64)(a), (*[4]uint64)(b)
		n += bits.OnesCount64(x[0]^y[0]) + bits.OnesCount64(x[1]^y[1]) + bits.OnesCount64(x[2]^y[2]) + bits.OnesCount64(x[3]^y[3])
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		n += bits.OnesCount64(x ^ b[i])
	}
	return n
}

// distance2 is distance for the 128 bits of the built-in embedding, which most searches compare.
func distance2(a, b *[2]uint64) int { return bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1]) }

// distances returns how many bits of a row differ from two planes of a query.
func distances(row, one, two []uint64) (a, b int) {
	if len(row) == 2 {
		r := (*[2]uint64)(row)
		return distance2(r, (*[2]uint64)(one)), distance2(r, (*[2]uint64)(two))
	}
	return distance(row, one), distance(row, two)
}

// product returns the product of a row's plane and the first n planes of a query, in sign units times the padded length.
func product(plane []uint64, query [][]uint64) float32 {
	length := float32(len(plane) * 64)
	var sum, weight float32 = 0, 1
	if len(plane) == 2 {
		row := (*[2]uint64)(plane)
		for _, p := range query {
			sum += weight * (length - 2*float32(distance2(row, (*[2]uint64)(p))))
			weight /= 2
		}
		return sum
	}
	for _, p := range query {
		sum += weight * (length - 2*float32(distance(plane, p)))
		weight /= 2
	}
	return sum
}

// dot returns the product of a query and a stored little-endian vector. It sums in a fixed order, so the same two
// vectors give the same bits wherever they are compared.
func dot(q []float32, data []byte) float64 {
	var a, b, c, d float32
	i := 0
	for ; i+4 <= len(q); i += 4 {
		p, v := (*[16]byte)(data[4*i:]), (*[4]float32)(q[i:])
		a += float32(v[0] * math.Float32frombits(binary.LittleEndian.Uint32(p[0:])))
		b += float32(v[1] * math.Float32frombits(binary.LittleEndian.Uint32(p[4:])))
		c += float32(v[2] * math.Float32frombits(binary.LittleEndian.Uint32(p[8:])))
		d += float32(v[3] * math.Float32frombits(binary.LittleEndian.Uint32(p[12:])))
	}
	for ; i < len(q); i++ {
		a += float32(q[i] * math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
	}
	return float64(a) + float64(b) + float64(c) + float64(d)
}

// Unit returns v normalised to length 1; ok is false if v has length 0 or contains NaN or infinity.
func Unit(v []float32) (unit []float32, ok bool) {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if square == 0 || math.IsNaN(square) || math.IsInf(square, 0) {
		return nil, false
	}
	length := math.Sqrt(square)
	unit = make([]float32, len(v))
	for i, x := range v {
		unit[i] = float32(float64(x) / length)
	}
	return unit, true
}

// Bytes returns a vector in its stored form, little-endian.
func Bytes(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

// Floats reads a stored vector; nil if its dimension isn't dim.
func Floats(data []byte, dim int) []float32 {
	if len(data) != 4*dim {
		return nil
	}
	out := make([]float32, dim)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}
