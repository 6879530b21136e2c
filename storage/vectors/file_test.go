package vectors

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

func TestTheNewestHeadOfAFileCounts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "codes")
	c, err := createFile(path, header{Home: "home", Dim: 64}, make([]float32, 64), layoutOf(1))
	if err != nil {
		t.Fatal(err)
	}
	for last := int64(1); last < 6; last++ { // they take turns
		if err := c.write(header{Home: "home", Dim: 64, Last: last}); err != nil {
			t.Fatal(err)
		}
		read, _, err := openFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if read.head.Last != last || read.head.Gen != last {
			t.Errorf("after write %d: %+v", last, read.head)
		}
		_ = read.f.Close()
	}
	_ = c.f.Close()
}

func TestAHeadThatCannotBeIsDamage(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]header{
		"no dimension": {Dim: 0}, "less": {Dim: -1}, "too many": {Dim: MaxDim + 1},
		"blocks": {Dim: 64, Blocks: -1}, "rows": {Dim: 64, Last: -1},
	} {
		path := filepath.Join(t.TempDir(), "codes")
		c, err := createFile(path, h, make([]float32, 64), layoutOf(1))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.write(h); err != nil {
			t.Fatal(err)
		}
		if _, _, err := openFile(path); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		_ = c.f.Close()
	}
}

func TestVectorsThatCannotBeReadFailACosine(t *testing.T) {
	t.Parallel()
	const dim = 64
	one := sphere(rand.New(rand.NewPCG(7, 7)), dim)
	f := fill(one, 100)
	x := still(t, f, dim)
	caughtUp(t, x)
	boom := errors.New("boom")
	f.fail = boom
	if got, err := x.Cosines(t.Context(), one(), []int64{1, 2, 3}, -1); !errors.Is(err, boom) {
		t.Errorf("%v, %v", got, err)
	}
}
