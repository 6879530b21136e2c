package tui

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"loci/daemon/api"
	"loci/tui/term/termtest"
)

var (
	resizes    = flag.Int("resizes", 2, "how many sequences of sizes the terminal goes through while an answer streams, of each kind")
	resizeSeed = flag.Uint64("resize-seed", 1, "the seed of the first of them")
)

// motley is an answer of fences, tables and prose with numbered words.
func motley(seed uint64) string {
	rnd := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	n := 0
	word := func() string { n++; return fmt.Sprintf("t%05d", n) }
	for n < 1000 {
		switch rnd.IntN(4) {
		case 0, 1:
			b.WriteString("```go\n")
			for range 20 + rnd.IntN(200) {
				fmt.Fprintf(&b, "%s%s := 1\n", strings.Repeat("  ", rnd.IntN(4)), word())
				if rnd.IntN(20) == 0 { // wider than most windows
					for range 10 + rnd.IntN(25) {
						b.WriteString(word() + " ")
					}
					b.WriteString("+ 1\n")
				}
			}
			b.WriteString("```\n\n")
		case 2:
			b.WriteString("| a | b |\n|---|---|\n")
			for range 2 + rnd.IntN(40) {
				fmt.Fprintf(&b, "| %s | %s |\n", word(), word())
			}
			b.WriteString("\n")
		case 3:
			for range 5 + rnd.IntN(100) {
				b.WriteString(word() + " ")
			}
			b.WriteString("\n\n")
		}
	}
	return b.String() + "The end."
}

// pace is the time between words of an answer that will be disturbed.
const pace = 2 * time.Millisecond

// apart is the minimum number of words between two changes of width that aren't
// in a hurry: tmux tells the program of each at once. Of changes that follow
// within a quarter of a second it tells late, when it has wrapped its rows. What
// is drawn in the very instant of a change may leave one row behind: on a very
// busy machine one sequence in a hundred.
const apart = 150

// hurry is how many milliseconds apart changes in a hurry are at most: a window
// that is dragged, one that is split and zoomed, and what lies around the time
// after which tmux tells.
var hurry = []int{30, 120, 400}

// sayMotley is what the fake answers to "motley" and a seed.
func sayMotley(arg string) []api.Message {
	seed, _ := strconv.ParseUint(arg, 10, 64)
	return append(append([]api.Message{{MessageType: api.MessagePing}}, say(motley(seed))...), done(60000)...)
}

// streamed is how far a motley answer has got on a screen.
func streamed(screen string) int {
	n := 0
	for _, f := range strings.Fields(screen) {
		if d, ok := strings.CutPrefix(f, "t"); ok && len(d) == 5 {
			i, _ := strconv.Atoi(d)
			n = max(n, i)
		}
	}
	return n
}

// words are the words of a terminal's text, without the lines of tables, which
// depend on the width.
func words(text string) []string {
	return slices.DeleteFunc(strings.Fields(text), func(w string) bool { return strings.Trim(w, "│─┼") == "" })
}

// disturb changes the size of a terminal in which an answer streams, and returns
// what it did.
func disturb(x *termtest.Tmux, rnd *rand.Rand, kind string, size [2]int) (did []string) {
	at, changes := 0, 2+rnd.IntN(3)
	if kind == "hurried" {
		changes += rnd.IntN(15)
	}
	for range changes {
		if kind == "hurried" && len(did) > 0 {
			<-time.After(time.Duration(rnd.IntN(hurry[rnd.IntN(len(hurry))])) * time.Millisecond)
		} else if at += rnd.IntN(100); kind == "both" {
			at = max(at, streamed(x.Screen())) + apart // a slow machine looks late, and the next change must not be early
		}
		over := false
		x.Wait(fmt.Sprint("word ", at), x.Screen, func(s string) bool {
			over = strings.Contains(s, "The end.")
			return over || streamed(s) >= at
		})
		if over {
			break
		}
		w, h := size[0], 12+rnd.IntN(38)
		if kind != "height" {
			w = 45 + rnd.IntN(100)
		}
		did = append(did, fmt.Sprintf("%dx%d at %d", w, h, at))
		if kind == "both" || kind == "height" && rnd.IntN(2) == 0 {
			x.Resize(w, h)
		} else {
			x.ResizeAtOnce(w, h)
		}
	}
	if kind != "height" {
		x.WaitFor("The end.")
	}
	return did
}

func TestATerminalThatChangesItsSizeWhileAnAnswerStreamsShowsEveryLineOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"height", "both", "hurried"} {
		for i := range *resizes {
			seed := *resizeSeed + uint64(i)
			t.Run(fmt.Sprintf("%s,seed=%d", kind, seed), func(t *testing.T) {
				t.Parallel()
				fault := disturbed(t, kind, seed)
				if fault != "" && kind != "height" {
					// What is drawn in the very instant in which the width changes may leave a row behind. A fault is there each time.
					t.Log(fault)
					fault = disturbed(t, kind, seed)
				}
				if fault != "" {
					t.Error(fault)
				}
			})
		}
	}
}

// disturbed compares a scrollback in which an answer streamed while the terminal
// changed its size with an undisturbed one, and says how they differ.
func disturbed(t *testing.T, kind string, seed uint64) string {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	size := [][2]int{{80, 24}, {120, 40}, {100, 30}}[rnd.IntN(3)]
	answer := func(word string, disturb func(*termtest.Tmux)) (all, joined string) {
		x := another(t, size[0], size[1], "run")
		say1(x, fmt.Sprint(word, " ", seed))
		disturb(x)
		x.Wait("the end", x.Screen, func(s string) bool {
			return strings.Contains(s, "The end.\n\n›\nask mode · Ada · openai/gpt-4o · 47%")
		})
		clean := strings.NewReplacer("motley", "answer", "rapid", "answer").Replace
		return clean(x.All()), clean(x.Joined())
	}
	var did []string
	got, gotJoined := answer("motley", func(x *termtest.Tmux) {
		did = disturb(x, rnd, kind, size)
		x.Resize(size[0], size[1])
	})
	want, wantJoined := answer("rapid", func(*termtest.Tmux) {})
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	if kind != "height" {
		a, b = words(wantJoined), words(gotJoined)
	}
	if slices.Equal(a, b) {
		return ""
	}
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return fmt.Sprintf("%dx%d, %v: line or word %d of %d differs (there are %d):\nwant %q\ngot  %q", size[0], size[1], did,
		at, len(a), len(b), a[at:min(at+12, len(a))], b[at:min(at+12, len(b))])
}
