package crashtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loci/core"
	"loci/daemon/api"
)

const (
	recast   = 5  // kills after which other agents take over, so that prompts stay small
	lookBack = 10 // kills after which everything is looked at again, not only what is new
	oldHome  = 20 // kills after which a home is stopped in order and a new one begins, so that looking stays quick
	longest  = 500 * time.Millisecond

	momentWithin = 15 * time.Second // a moment comes in a fraction of that, or after few of the kills never
)

func TestKillAtRandomMomentsLosesNothing(t *testing.T) {
	t.Parallel()
	x := newTrial(t)
	x.kills(func(r *rand.Rand) plan {
		return plan{phase: "random", after: time.Duration(r.Int64N(int64(longest)))}
	})
}

func TestKillWithinAMillisecondOfWhatClientsSawLosesNothing(t *testing.T) {
	t.Parallel()
	x := newTrial(t)
	n := 0
	x.kills(func(r *rand.Rand) plan {
		at := moments()[n%len(moments())]
		n++
		return plan{phase: at, event: at, nth: 1 + r.IntN(6), after: time.Duration(r.Int64N(int64(time.Millisecond)))}
	})
	// A few kills say nothing of how many moments come on a busy machine.
	if *kills >= 20 && x.missed > *kills/3 {
		t.Errorf("%d of %d moments never came", x.missed, *kills)
	}
}

// plan says when to kill: some time after the load began, or after the nth time that something was seen.
type plan struct {
	phase string
	event string
	nth   int
	after time.Duration
}

// trial is one home that is killed again and again.
type trial struct {
	t      *testing.T
	house  *house
	ledger *ledger
	rnd    *rand.Rand
	seed   uint64
	cast   *cast
	number int       // of the kill
	phase  string    // what was going on
	from   int       // the ledger's length when the load began
	before int64     // the newest message's seq then
	began  time.Time // of the round
	hands  map[string]bool
	agents int

	missed int
	found  figures
}

// figures say what a trial consisted of.
type figures struct {
	Sent, Accepted                     int // messages
	Completed, Failed, Cancelled       int // runs
	Open, Resumed, Discarded           int // runs at the kill, runs seen going on after it, messages taken back then
	Edits, ByHand, Agents, KilledTwice int
}

func (n *figures) add(m figures) {
	n.Sent, n.Accepted = n.Sent+m.Sent, n.Accepted+m.Accepted
	n.Completed, n.Failed, n.Cancelled = n.Completed+m.Completed, n.Failed+m.Failed, n.Cancelled+m.Cancelled
	n.Open, n.Resumed, n.Discarded = n.Open+m.Open, n.Resumed+m.Resumed, n.Discarded+m.Discarded
	n.Edits, n.ByHand, n.Agents, n.KilledTwice = n.Edits+m.Edits, n.ByHand+m.ByHand, n.Agents+m.Agents, n.KilledTwice+m.KilledTwice
}

func newTrial(t *testing.T) *trial {
	t.Helper()
	x := &trial{t: t, seed: seedOf()}
	x.rnd = rand.New(rand.NewPCG(x.seed, uint64(len(t.Name()))))
	t.Logf("seed %d, %d kills", x.seed, *kills)
	return x
}

// kills runs the trial.
func (x *trial) kills(next func(r *rand.Rand) plan) {
	began := time.Now()
	var all figures
	for x.number = 1; x.number <= *kills; x.number++ {
		if (x.number-1)%oldHome == 0 {
			x.settle()
		}
		p := next(x.rnd)
		x.phase = p.phase
		err := x.round(p)
		if err == nil && x.last() {
			all.add(x.found)
			err = x.house.stop()
		}
		if err != nil {
			x.t.Fatalf(
				"seed %d, kill %d, phase %s, %v after the start:\n%v\nthe daemon said: %s",
				x.seed,
				x.number,
				x.phase,
				time.Since(began),
				err,
				x.house.said(),
			)
		}
	}
	x.t.Logf("%d kills in %v, %d moments missed: %+v", *kills, time.Since(began).Round(time.Millisecond), x.missed, all)
}

// settle begins in a new home.
func (x *trial) settle() {
	x.house, x.ledger, x.hands, x.cast = openHouse(x.t), newLedger(), map[string]bool{}, nil
	x.from, x.before, x.agents, x.found = 0, 0, 0, figures{}
	if err := x.house.start(x.t.Context()); err != nil {
		x.t.Fatal(err)
	}
}

// last says whether the home sees no further kill.
func (x *trial) last() bool { return x.number == *kills || x.number%oldHome == 0 }

// round makes load, kills, starts again, and looks.
func (x *trial) round(p plan) error {
	ctx, cancel := context.WithTimeout(x.t.Context(), 2*settleWithin)
	defer cancel()
	if (x.number-1)%recast == 0 {
		c := x.house.client()
		defer c.Close()
		var err error
		if x.cast, err = makeCast(ctx, c, x.ledger); err != nil {
			return fmt.Errorf("make agents: %w", err)
		}
	}
	x.from, x.began = len(x.ledger.since(0)), time.Now()
	l := x.underLoad(ctx, p)
	for _, s := range x.ledger.since(x.from) {
		if s.runID() != "" && !s.over() {
			x.found.Open++
		}
	}
	if err := x.revive(ctx); err != nil {
		return err
	}
	l.wg.Wait()
	return x.look(ctx)
}

// underLoad runs the load until the kill, and returns when the daemon is dead.
func (x *trial) underLoad(ctx context.Context, p plan) *load {
	alive, died := context.WithCancel(ctx)
	defer died()
	l := &load{cast: x.cast, ledger: x.ledger, from: x.from, client: x.house.client, alive: alive, beyond: ctx}
	var count atomic.Int64
	due := make(chan struct{})
	hit := sync.OnceFunc(func() {
		// Here and now, in the goroutine that saw it: handing it over would take longer than the jitter.
		spin(p.after)
		x.house.hit()
		close(due)
	})
	l.event = func(name string) {
		if name == p.event && count.Add(1) == int64(p.nth) {
			hit()
		}
	}
	x.house.mu.Lock()
	x.house.watch = l.event
	x.house.mu.Unlock()
	l.run(x.rnd)
	wait := p.after
	if p.event != "" {
		wait = momentWithin
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-due:
	case <-timer.C:
	}
	late := p.event != "" && count.Swap(int64(p.nth)) < int64(p.nth) // nothing that is seen from now on kills the next daemon
	x.house.hit()
	died()
	x.house.kill()
	if late {
		x.missed++
	}
	return l
}

// spin waits for less time than a timer can measure.
func spin(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

// pause waits for up to ms milliseconds and says whether ctx lives.
func pause(ctx context.Context, r *rand.Rand, ms int) bool {
	timer := time.NewTimer(time.Duration(r.IntN(ms*1000)) * time.Microsecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// revive starts the daemon; one time in four it is killed once more while it starts and recovers.
func (x *trial) revive(ctx context.Context) error {
	if x.rnd.IntN(4) == 0 {
		x.house.spawn()
		pause(ctx, x.rnd, 200)
		x.house.kill()
		x.found.KilledTwice++
	}
	return x.house.start(ctx)
}

// look checks everything that the round added, and now and then everything there is.
func (x *trial) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	c := x.house.client()
	defer c.Close()
	if _, err := c.Register(ctx, api.Client{Kind: api.ClientScript}); err != nil {
		return fmt.Errorf("register after the restart: %w", err)
	}
	f := &findings{errs: slices.Clone(x.ledger.faults)}
	bare := x.house.client()
	defer bare.Close()
	if err := repeat(ctx, c, bare, x.ledger.since(x.from)); err != nil {
		f.errs = append(f.errs, err)
	}
	all := x.ledger.since(x.from)
	asked := slices.Clone(all)
	everything := x.last() || x.number%lookBack == 0
	if everything {
		x.before, x.agents, x.began = 0, 0, time.Time{}
		clear(x.hands)
		all = x.ledger.since(0)
		for range min(lookBack, x.from) * lookBack { // the files tell of all; the daemon is asked for some
			asked = append(asked, all[x.rnd.IntN(x.from)])
		}
		slices.SortFunc(asked, func(a, b *sent) int { return strings.Compare(a.mark, b.mark) })
		asked = slices.Compact(asked)
	}
	checkRuns(ctx, c, asked, f)
	greet(ctx, c, x.ledger, x.cast.seats, f)
	passages := maps.Clone(x.ledger.passages)
	maps.DeleteFunc(passages, func(word, _ string) bool { return x.hands[word] })
	checkMade(ctx, c, x.ledger.agents[x.agents:], passages, f)
	x.agents = len(x.ledger.agents)
	if err := x.readFacts(ctx, all, f); err != nil {
		f.errs = append(f.errs, err)
	}
	f.errs = append(f.errs, x.house.complaints()...)
	x.count(all, everything)
	return f.worst()
}

// readFacts checks the files.
func (x *trial) readFacts(ctx context.Context, all []*sent, f *findings) (err error) {
	files, err := openFacts(x.house.paths.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.close()) }()
	files.whole(ctx, f)
	files.consistent(ctx, x.began, f)
	records, err := files.records(ctx, x.before)
	if err != nil {
		return err
	}
	numbers, err := files.runNumbers(ctx)
	if err != nil {
		return err
	}
	paired(records, f)
	inOrder(records, numbers, f)
	x.inputsOnce(records, all, f)
	x.ofTheirRun(records, all, f)
	blocks, err := files.texts(ctx, `SELECT value FROM blocks WHERE deleted_at IS NULL`)
	if err != nil {
		return err
	}
	passages, err := files.texts(ctx, `SELECT text FROM passages WHERE deleted_at IS NULL`)
	if err != nil {
		return err
	}
	runs, err := files.texts(ctx, `SELECT data FROM runs WHERE created_at >= ?`, x.began.UnixMicro())
	if err != nil {
		return err
	}
	x.oneRunEach(runs, all, f)
	x.words(records, all, blocks, passages, f)
	for _, r := range records {
		x.before = max(x.before, r.seq)
	}
	return nil
}

// inputsOnce asks that no input became two messages.
func (x *trial) inputsOnce(records []record, all []*sent, f *findings) {
	times := map[string]int{}
	for i := range records {
		if r := &records[i]; r.role == "user" && len(r.data.Content) > 0 {
			for _, word := range words.FindAllString(r.data.Content[0].Text, 1) {
				times[word]++
			}
		}
	}
	for _, s := range all {
		if times[s.mark] > 1 {
			f.add("%v: its input stands %d times in the history", s, times[s.mark])
		}
	}
}

// ofTheirRun asks that messages that were announced as whole are of the run that announced them.
func (x *trial) ofTheirRun(records []record, all []*sent, f *findings) {
	runs := map[string]string{}
	for _, r := range records {
		runs[r.id] = r.run
	}
	for _, s := range all {
		for p := range s.sight.whole {
			if p.kind == api.MessageToolCall {
				continue // a cancel may have left half of one, alone in its message; its return says more
			}
			if runs[p.id] != s.runID() {
				f.add("%v: message %s, announced as whole, is of run %q", s, p.id, runs[p.id])
			}
		}
	}
}

// oneRunEach asks that a request in the background was accepted once, however often it was sent.
func (x *trial) oneRunEach(runs string, all []*sent, f *findings) {
	for _, s := range all {
		if n := strings.Count(runs, `"`+s.otid+`"`); n > 1 && s.way.background() {
			f.add("%v: there are %d runs of it", s, n)
		}
	}
}

var words = regexp.MustCompile(`(input|edit|keep|hand)\d{6}`)

// words asks that each edit stands where it was made as often as its return says so: once or not at all.
func (x *trial) words(records []record, all []*sent, blocks, passages string, f *findings) {
	args, returned := map[string][]string{}, map[string]int{}
	for i := range records {
		for _, c := range records[i].data.Content {
			if c.Call != nil {
				args[c.Call.ID] = words.FindAllString(c.Call.Arguments, -1)
			}
		}
	}
	for i := range records {
		for _, r := range records[i].data.Returns {
			for _, word := range args[r.CallID] {
				if !r.IsError {
					returned[word]++
				}
			}
		}
	}
	stands := map[string]int{}
	for _, word := range words.FindAllString(blocks+passages, -1) {
		stands[word]++
	}
	for _, s := range all {
		for _, word := range slices.Concat(s.edits, s.keeps) {
			if stands[word] != returned[word] || stands[word] > 1 {
				f.add("%v: %s stands %d times, its calls returned %d times", s, word, stands[word], returned[word])
			}
		}
	}
	for word := range x.ledger.edits {
		if stands[word] != 1 {
			f.add("a person's edit %s, acknowledged, stands %d times", word, stands[word])
		}
	}
	for word := range x.ledger.passages {
		if x.hands[word] = true; stands[word] != 1 {
			f.add("a person's passage %s, acknowledged, stands %d times", word, stands[word])
		}
	}
}

// count adds up what the round consisted of.
func (x *trial) count(all []*sent, everything bool) {
	n := &x.found
	if everything {
		*n = figures{Open: n.Open, KilledTwice: n.KilledTwice}
	}
	for _, s := range all {
		n.Sent++
		switch s.status {
		case api.RunCompleted:
			n.Completed++
		case api.RunFailed:
			n.Failed++
		case api.RunCancelled:
			n.Cancelled++
		case api.RunCreated, api.RunRunning:
		}
		if s.run != "" {
			n.Accepted++
		}
		if s.sight.last > core.AttemptSpan {
			n.Resumed++
		}
		n.Discarded += s.sight.void
		n.Edits += len(s.edits) + len(s.keeps)
	}
	n.ByHand, n.Agents = len(x.ledger.edits)+len(x.ledger.passages), len(x.ledger.agents)
}
