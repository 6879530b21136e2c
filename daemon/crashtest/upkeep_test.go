package crashtest

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loci/core/coretest"
	"loci/daemon/api"
	"loci/daemon/client"
	"loci/providers/providertest"
)

// nap is an agent that rests with a window nearly full, so that a summary is made of it between turns.
type nap struct {
	t     *testing.T
	house *house
	asked atomic.Int64                    // requests for summaries
	on    atomic.Pointer[func()]          // called at each
	hold  atomic.Pointer[<-chan struct{}] // waited for before a summary is given
	agent string
}

// TestAKillWhileASummaryIsMadeBetweenTurnsLeavesTheOldWindowOrTheNew kills during the call to the summariser and, in every
// other round, within milliseconds of its answer. Then the next turn's end makes the summary.
func TestAKillWhileASummaryIsMadeBetweenTurnsLeavesTheOldWindowOrTheNew(t *testing.T) {
	t.Parallel()
	x := &nap{t: t, house: openHouse(t)}
	x.house.model.Reply = x.reply
	seed := seedOf()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 3))
	x.must(x.house.start(t.Context()))
	kept, changed := 0, 0
	for round := range max(*kills, 4) {
		before := x.fill()
		x.killAt(round%2 == 0, time.Duration(rnd.Int64N(int64(15*time.Millisecond))))
		after := x.window()
		if slices.Equal(before, after) {
			kept++
		} else {
			changed++
			x.summarised(before, after)
		}
		x.sound()
		x.must(x.house.start(t.Context()))
		asked, old := x.asked.Load(), slices.Equal(before, after)
		if x.say("and now?"); old {
			coretest.Until(t, "the summary is made after the next turn", func() bool { return x.asked.Load() > asked })
			x.summaryOf(append(before, after...))
		}
	}
	t.Logf("%d old windows, %d new ones", kept, changed)
	x.must(x.house.stop())
}

func (x *nap) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatalf("%v; the daemon said: %s", err, x.house.said())
	}
}

func (x *nap) reply(r providertest.Request) providertest.Turn {
	if !strings.Contains(r.System, "the summary that takes the place") {
		return providertest.Turn{Text: "fine", NoUsage: true}
	}
	x.asked.Add(1)
	if hold := x.hold.Load(); hold != nil {
		defer func() { <-*hold }()
	}
	if on := x.on.Load(); on != nil {
		(*on)()
	}
	return providertest.Turn{Text: strings.Repeat("They spoke of herons. ", 20), NoUsage: true}
}

func (x *nap) client(do func(ctx context.Context, c *client.Client) error) {
	x.t.Helper()
	c := x.house.client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(x.t.Context(), settleWithin)
	defer cancel()
	x.must(do(ctx, c))
}

func (x *nap) say(text string) {
	x.t.Helper()
	x.client(func(ctx context.Context, c *client.Client) error {
		req := api.StreamingRequest{Request: api.Request{Messages: []api.Input{api.UserInput(text, "")}}}
		_, err := c.Send(ctx, client.Target{AgentID: x.agent}, req)
		return err
	})
}

// fill makes an agent, talks to it until its window is nearly full, and returns what the window holds.
func (x *nap) fill() []string {
	x.t.Helper()
	x.client(func(ctx context.Context, c *client.Client) error {
		a, err := c.CreateAgent(ctx, api.CreateAgent{Model: new(model), ContextWindowLimit: new(8000), Tools: []string{"memory_insert"}})
		x.agent = a.ID
		return err
	})
	for full := false; !full; {
		x.say("about herons: " + strings.Repeat("some words ", 150))
		x.client(func(ctx context.Context, c *client.Client) error {
			w, err := c.Context(ctx, x.agent, "")
			fixed := w.ContextWindowSizeCurrent - w.NumTokensMessages - w.NumTokensSummaryMemory
			full = float64(w.NumTokensMessages) >= 0.85*float64(w.ContextWindowSizeMax*9/10-fixed)
			return err
		})
	}
	return x.window()
}

// killAt kills while the summariser is asked, or some time after it answered.
func (x *nap) killAt(call bool, after time.Duration) {
	x.t.Helper()
	dead := make(chan struct{})
	if call {
		var hold <-chan struct{} = dead
		x.hold.Store(&hold)
		defer x.hold.Store(nil)
	}
	reached := make(chan struct{})
	at := func() { close(reached) }
	x.on.Store(&at)
	defer x.on.Store(nil)
	limit := time.NewTimer(settleWithin)
	defer limit.Stop()
	select {
	case <-reached:
	case <-limit.C:
		x.t.Fatalf("no summary was asked for; the daemon said: %s", x.house.said())
	}
	if !call {
		spin(after)
	}
	x.house.kill()
	close(dead)
}

// window returns the ids of what the agent's window holds, in order.
func (x *nap) window() []string {
	x.t.Helper()
	files, err := openFacts(x.house.paths.Data)
	x.must(err)
	defer func() { x.must(files.close()) }()
	ids, err := files.texts(x.t.Context(), `SELECT message_id FROM context WHERE conversation_id = ? AND "left" IS NULL
		ORDER BY position`, x.agent)
	x.must(err)
	return strings.Fields(ids)
}

// summarised asks that a window is the summary and the end of the one before.
func (x *nap) summarised(before, after []string) {
	x.t.Helper()
	kept := slices.DeleteFunc(slices.Clone(after), func(id string) bool { return !slices.Contains(before, id) })
	fresh := slices.DeleteFunc(slices.Clone(after), func(id string) bool { return slices.Contains(before, id) })
	if len(kept) < 2 || len(fresh) != 1 || !slices.Equal(kept[1:], before[len(before)-len(kept)+1:]) {
		x.t.Errorf("the window held\n%v\nand holds\n%v", before, after)
	}
	x.summaryOf(before)
}

// summaryOf waits for a summary in the window that is none of these records.
func (x *nap) summaryOf(before []string) {
	x.t.Helper()
	coretest.Until(x.t, "the summary stands in the window", func() bool {
		files, err := openFacts(x.house.paths.Data)
		x.must(err)
		defer func() { x.must(files.close()) }()
		ids, err := files.texts(x.t.Context(), `SELECT m.id FROM messages m JOIN context c ON c.message_id = m.id
			WHERE c.conversation_id = ? AND c."left" IS NULL AND m.role = 'summary'`, x.agent)
		x.must(err)
		fresh := strings.Fields(ids)
		return len(fresh) == 1 && !slices.Contains(before, fresh[0])
	})
}

// sound asks that the files are whole, and nothing in them contradicts.
func (x *nap) sound() {
	x.t.Helper()
	files, err := openFacts(x.house.paths.Data)
	x.must(err)
	defer func() { x.must(files.close()) }()
	f := &findings{}
	files.whole(x.t.Context(), f)
	for what, query := range none() {
		if err := empty(x.t.Context(), files.main, query); err != nil {
			f.add("%s: %w", what, err)
		}
	}
	x.must(f.worst())
}
