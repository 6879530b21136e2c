package vectors

import (
	"sync"
	"testing"
)

// BenchmarkMemory streams through far more memory than the caches hold, with one thread and with two: no scan of codes
// can be faster.
func BenchmarkMemory(b *testing.B) {
	const size = 512 << 20
	words := make([]uint64, size/8)
	for i := range words {
		words[i] = uint64(i)
	}
	for _, threads := range []int{1, 2} {
		b.Run(map[int]string{1: "one thread", 2: "two threads"}[threads], func(b *testing.B) {
			b.SetBytes(size)
			sums := make([]uint64, threads)
			for b.Loop() {
				var wg sync.WaitGroup
				for t := range threads {
					wg.Go(func() { sums[t] += total(words[t*len(words)/threads : (t+1)*len(words)/threads]) })
				}
				wg.Wait()
			}
			if sums[0] == 0 {
				b.Fatal("nothing was read")
			}
		})
	}
}

// total adds in four independent strands, so that additions don't wait for each other.
func total(words []uint64) uint64 {
	var a, b, c, d uint64
	for ; len(words) >= 8; words = words[8:] {
		w := (*[8]uint64)(words)
		a += w[0] + w[4]
		b += w[1] + w[5]
		c += w[2] + w[6]
		d += w[3] + w[7]
	}
	return a + b + c + d
}
