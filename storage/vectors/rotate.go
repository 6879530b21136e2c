package vectors

import (
	"math"
	"math/bits"
)

// seed fixes the rotation: a code file is useful only with the rotation it was made with.
const seed = 0x9e3779b97f4a7c15

// rotation is a fixed random orthogonal map: random signs and a Walsh-Hadamard transform, in rounds over the first and
// last power-of-two block. It spreads any vector evenly over its coordinates, so that all can be coded the same way.
type rotation struct {
	dim    int
	padded int // dim rounded up to whole 64-bit words
	block  int // the largest power of two that fits
	signs  [][]float32
}

func newRotation(dim int) *rotation {
	r := &rotation{dim: dim, padded: (dim + 63) / 64 * 64}
	r.block = 1 << (bits.Len(uint(r.padded)) - 1)
	rounds := 4
	if r.block == r.padded {
		rounds = 2
	}
	state := uint64(seed)
	for range rounds {
		signs := make([]float32, r.block)
		scale := float32(1 / math.Sqrt(float64(r.block)))
		for i := range signs {
			signs[i] = scale
			if mix(&state)>>63 == 1 {
				signs[i] = -scale
			}
		}
		r.signs = append(r.signs, signs)
	}
	return r
}

// mix is splitmix64.
func mix(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	return scramble(*state)
}

func scramble(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// turn rotates v, which has the padded length, in place.
func (r *rotation) turn(v []float32) {
	for round, signs := range r.signs {
		part := v[:r.block]
		if round%2 == 1 {
			part = v[r.padded-r.block:]
		}
		for i, s := range signs {
			part[i] *= s
		}
		hadamard(part)
	}
}

func hadamard(v []float32) {
	for half := 1; half < len(v); half *= 2 {
		for at := 0; at < len(v); at += 2 * half {
			lo, hi := v[at:at+half], v[at+half:at+2*half]
			for i, a := range lo {
				b := hi[i]
				lo[i], hi[i] = a+b, a-b
			}
		}
	}
}
