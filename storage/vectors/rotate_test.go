package vectors

import "testing"

// TestTheRotationIsThatOfTheFilesOnDisk: another one makes every code that is stored meaningless, without an error. The
// numbers are the first of splitmix64 for the seed 0, as its authors' program prints them.
func TestTheRotationIsThatOfTheFilesOnDisk(t *testing.T) {
	t.Parallel()
	var state uint64
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f, 0xf88bb8a8724c81ec} {
		if got := mix(&state); got != want {
			t.Errorf("number %d is %#x, want %#x", i, got, want)
		}
	}
	for dim, want := range map[int]uint64{64: 0x64d0fd24f29f488b, 192: 0x9b948b0d23ced495} {
		r := newRotation(dim)
		var got uint64
		for i, s := range r.signs[len(r.signs)-1][:64] {
			if s > 0 {
				got |= 1 << i
			}
		}
		if got != want {
			t.Errorf("%d dimensions: the last signs are %#x, want %#x", dim, got, want)
		}
	}
}
