package vectors

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// TestWhatAStartDoesNotReadIsCheckedAfterIt: a search reads few rows of a block's last part, and trusts them.
func TestWhatAStartDoesNotReadIsCheckedAfterIt(t *testing.T) {
	t.Parallel()
	const dim = 64
	f := fill(sphere(rand.New(rand.NewPCG(5, 5)), dim), blockRows+100)
	cfg := Config{Path: t.TempDir() + "/codes", Home: "home", Set: 1, Dim: dim, Now: 1, Source: f}
	x, err := Open(t.Context(), cfg)
	must(t, err)
	caughtUp(t, x)
	x.Close()
	before := x.files()[0]
	cfg.Before, cfg.Now = 1, 2
	x, err = Open(t.Context(), cfg)
	must(t, err)
	settled(t, x)
	x.Close()
	if after := x.files()[0]; after != before {
		t.Errorf("a sound file %d became %d", before, after)
	}
	flip(t, x.name(before), blocksAt+int64(x.cur.l.hot)+1000)
	cfg.Before, cfg.Now = 2, 3
	x, err = Open(t.Context(), cfg)
	must(t, err)
	defer x.Close()
	settled(t, x)
	if after := x.files()[0]; after == before {
		t.Error("a damaged file is still in use")
	}
	check(t, x, f, sphere(rand.New(rand.NewPCG(6, 6)), dim), 0.97)
}

// settled waits until everything is verified and applied.
func settled(t *testing.T, x *Index) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for s := x.Stats(); s.Doubted || s.Building; s = x.Stats() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("still %+v", x.Stats())
		}
	}
}

func TestAFileThatIsCutShortUnderAnOpenIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	if !mapped {
		t.Skip("nothing is mapped here")
	}
	const dim = 64
	query := sphere(rand.New(rand.NewPCG(5, 5)), dim)()
	for name, read := range map[string]func(ctx context.Context, x *Index, f *facts) error{
		"nearest": func(ctx context.Context, x *Index, _ *facts) error {
			_, err := x.Nearest(ctx, Query{Vector: query, K: 5})
			return err
		},
		"cosines": func(ctx context.Context, x *Index, _ *facts) error {
			_, err := x.Cosines(ctx, query, []int64{5}, 0)
			return err
		},
		"spread": func(ctx context.Context, x *Index, _ *facts) error {
			_, err := x.Spread(ctx, query, []uint64{2})
			return err
		},
		"deletion": func(ctx context.Context, x *Index, f *facts) error {
			f.remove(7)
			_, err := x.Apply(ctx)
			return err
		},
		"purge": func(ctx context.Context, x *Index, f *facts) error {
			f.remove(7)
			if err := x.Purge(ctx); err != nil {
				return errors.New("who forgets is told " + err.Error())
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fill(sphere(rand.New(rand.NewPCG(6, 6)), dim), blockRows+100)
			x := open(t, f, dim)
			caughtUp(t, x)
			must(t, os.Truncate(x.name(x.files()[0]), 0))
			if err := read(t.Context(), x, f); !errors.Is(err, ErrDamaged) && err != nil {
				t.Errorf("it gives %v", err)
			}
			x.Nudge()
			settled(t, x)
			caughtUp(t, x)
			if near, err := x.Nearest(t.Context(), Query{Vector: query, K: 5}); err != nil || len(near) != 5 || x.files()[0] == 1 {
				t.Errorf("afterwards: %v, %v, of file %d", near, err, x.files()[0])
			}
		})
	}
}
