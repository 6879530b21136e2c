package term

import (
	"fmt"
	"strings"
	"testing"

	"loci/tui/term/termtest"
)

const liveRegion = "live 0\nlive 1\n>\nstatus"

func start(t *testing.T, width, height int, mode string) *termtest.Tmux {
	t.Helper()
	t.Parallel()
	x := termtest.Start(t, width, height, "before\n", termtest.Self("TERM_TEST_PROGRAM", mode))
	x.WaitFor("status")
	return x
}

func numbered(mark string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%d\n", mark, i)
	}
	return b.String()
}

func do(x *termtest.Tmux, command string) {
	x.Type(command)
	x.Keys("Enter")
}

func TestPrintsOfAnyLengthLeaveNoGapsAndNoCopiesOfTheLiveRegion(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 19, 20, 21, 60, 200} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			x := start(t, 80, 24, "run")
			do(x, fmt.Sprintf("print %d", n))
			x.WaitAll("before\n" + numbered("p", n) + liveRegion)
		})
	}
}

func TestRowsAreCountedAsTheTerminalWrapsThem(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"exact 1":  strings.Repeat("x", 81),
		"exact 2":  strings.Repeat("x", 2*81),
		"exact 3":  strings.Repeat("x", 3*81),
		"long 100": strings.Repeat("y", 100),
		"long 500": strings.Repeat("y", 500),
		"wide 41":  strings.Repeat("漢", 41),
		"wide 90":  strings.Repeat("漢", 90),
		"tabs 3":   strings.Repeat(" ", 12) + "end",
		"tabs 30":  strings.Repeat(" ", 120) + "end",
	}
	for command, line := range cases {
		t.Run(command, func(t *testing.T) {
			x := start(t, 81, 24, "run") // odd: a wide character wraps early
			do(x, command)
			do(x, "print 30")
			want := strings.Join([]string{line, "after"}, "\n")
			got := x.Wait("the prints", x.All, func(s string) bool { return strings.HasSuffix(s, "p29\n"+liveRegion) })
			body, ok := strings.CutPrefix(got, "before\n")
			body, ok2 := strings.CutSuffix(body, numbered("p", 30)+liveRegion)
			if !ok || !ok2 {
				t.Fatalf("garbage around the prints:\n%s", got)
			}
			if squeeze(body) != squeeze(want) {
				t.Errorf("printed\n%s\nwant\n%s", body, want)
			}
		})
	}
}

func TestALongLineStaysOneLineSoThatItCopiesAsOne(t *testing.T) {
	x := start(t, 80, 24, "run")
	do(x, "long 100")
	x.Wait("one line", x.Joined, func(s string) bool {
		return strings.Contains(s, "\n"+strings.Repeat("y", 100)+"\n")
	})
}

func squeeze(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\n", "")), " ")
}

func TestALiveRegionTallerThanTheScreenNeverReachesTheScrollback(t *testing.T) {
	x := start(t, 80, 24, "run")
	do(x, "block 60")
	x.WaitFor(CutMark)
	for i := range 12 { // more frames
		x.Type(fmt.Sprint(i % 10))
	}
	x.Keys("BSpace")
	x.WaitFor("012345678901")
	if all := x.All(); strings.Count(all, "status") != 1 || strings.Count(all, "block 59") != 1 {
		t.Errorf("the live region was copied:\n%s", all)
	}
	if rows := strings.Count(x.Screen(), "\n") + 1; rows > 24 {
		t.Errorf("%d rows", rows)
	}
}

func TestABlockThatMovesIntoTheScrollbackStandsThereOnce(t *testing.T) {
	x := start(t, 80, 24, "run")
	do(x, "block 10")
	x.WaitFor("block 9")
	do(x, "commit")
	var want strings.Builder
	for i := range 10 {
		fmt.Fprintf(&want, "block %d\n", i)
	}
	x.WaitAll("before\n" + want.String() + liveRegion)
}

func TestPrintsWaitWhileAPanelIsOpen(t *testing.T) {
	x := start(t, 80, 24, "run")
	do(x, "print 3")
	do(x, "panel")
	x.WaitFor("PANEL")
	do(x, "print 40")
	x.Type("seen")
	if s := x.WaitFor("PANEL seen"); strings.Contains(s, "p39") {
		t.Errorf("printed over the panel:\n%s", s)
	}
	for range 4 {
		x.Keys("BSpace")
	}
	x.Keys("Enter") // an unknown command: clears what was typed
	do(x, "panel")
	x.WaitAll("before\n" + numbered("p", 3) + numbered("p", 40) + liveRegion)
}

func TestAPanelAndAResizeLeaveTheScrollbackWhole(t *testing.T) {
	x := start(t, 80, 24, "run")
	do(x, "print 30")
	do(x, "panel")
	x.WaitFor("PANEL")
	do(x, "print 5")
	x.Resize(60, 20)
	do(x, "panel")
	x.WaitAll("before\n" + numbered("p", 30) + numbered("p", 5) + liveRegion)
}

func TestAPrintFromInitErasesNothingOfTheShell(t *testing.T) {
	t.Parallel()
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			before := numbered("shell", 22)
			x := termtest.Start(t, 80, 24, before, termtest.Self("TERM_TEST_PROGRAM", "early"))
			x.WaitAll(before + numbered("e", 5) + liveRegion)
		})
	}
}

func TestResizingLeavesNoGhosts(t *testing.T) {
	x := start(t, 80, 24, "run")
	do(x, "print 40")
	x.WaitAll("before\n" + numbered("p", 40) + liveRegion)
	for _, size := range [][2]int{{40, 24}, {79, 24}, {30, 12}, {90, 30}, {80, 24}} {
		x.Resize(size[0], size[1])
		x.Type("z")
		x.Wait("the region", x.Screen, func(s string) bool { return strings.HasSuffix(s, "status") })
	}
	x.WaitAll("before\n" + numbered("p", 40) + strings.Replace(liveRegion, ">", "> zzzzz", 1))
	x.Keys("Enter")
	do(x, "print 5")
	x.WaitAll("before\n" + numbered("p", 40) + numbered("p", 5) + liveRegion)
}

func TestClearingStartsOnACleanScreenAndKeepsTheScrollback(t *testing.T) {
	x := start(t, 80, 24, "run")
	do(x, "print 40")
	x.WaitFor("p39")
	do(x, "clear 3")
	x.Wait("a clean screen", x.Screen, func(s string) bool { return s == numbered("c", 3)+liveRegion })
	if all := x.All(); !strings.HasPrefix(all, "before\np0\np1\n") {
		t.Errorf("the scrollback is gone:\n%s", all)
	}
}

func TestTheRealCursorStandsAtTheCaretAfterAPrint(t *testing.T) {
	x := start(t, 80, 24, "run")
	do(x, "print 3")
	x.Type("abc")
	x.WaitFor("> abc")
	x.Wait("the caret", func() string { c, r := x.Cursor(); return fmt.Sprint(c, " ", r) },
		func(s string) bool { return s == "5 6" })
}

func TestQuittingLeavesTheScrollbackAndNoLiveRegion(t *testing.T) {
	x := start(t, 80, 24, "run")
	do(x, "print 30")
	do(x, "quit")
	x.WaitAll("before\n" + numbered("p", 30) + "bye\nended 0")
}

func TestARegionThatShrinksBehindAPanelLeavesNoGhost(t *testing.T) {
	t.Parallel()
	for name, commands := range map[string][2]string{
		"while it opens":   {"swap 4", "panel"},
		"while it shuts":   {"panel", "swap 4"},
		"while it is open": {"panel", "live 4"},
	} {
		t.Run(name, func(t *testing.T) {
			x := start(t, 80, 24, "run")
			do(x, "print 30")
			do(x, "live 10")
			x.WaitFor("live 7")
			do(x, commands[0])
			x.WaitFor("PANEL")
			do(x, commands[1])
			if commands[1] == "live 4" {
				do(x, "panel")
			}
			x.WaitAll("before\n" + numbered("p", 30) + liveRegion)
			do(x, "print 3")
			x.WaitAll("before\n" + numbered("p", 30) + numbered("p", 3) + liveRegion)
		})
	}
}

func TestARegionThatShrinksLeavesNoGhost(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{5, 9, 20, 23, 40} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			x := start(t, 80, 24, "run")
			do(x, "print 30")
			for range 3 {
				do(x, fmt.Sprintf("live %d", rows))
				x.WaitFor(fmt.Sprintf("live %d", rows-3))
				do(x, "live 4")
				x.Wait(
					"the small region",
					x.Screen,
					func(s string) bool { return strings.HasSuffix(s, "\n"+liveRegion) && !strings.Contains(s, "live 2") },
				)
			}
			x.WaitAll("before\n" + numbered("p", 30) + liveRegion)
			do(x, "print 3")
			x.WaitAll("before\n" + numbered("p", 30) + numbered("p", 3) + liveRegion)
		})
	}
}

func TestQuittingWithoutAWordLeavesNoLiveRegion(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{4, 12, 40} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			x := start(t, 80, 24, "run")
			do(x, "print 30")
			do(x, fmt.Sprintf("live %d", rows))
			x.WaitFor(fmt.Sprintf("live %d", rows-3))
			do(x, "silent")
			x.WaitAll("before\n" + numbered("p", 30) + "ended 0")
		})
	}
}

func TestAStatusThatGrowsBeforeTheProgramKnowsThatItsTerminalIsNarrowLeavesNoGhost(t *testing.T) {
	t.Parallel()
	x := termtest.Start(t, 40, 24, "before\n", "stty cols 80\n"+termtest.Self("TERM_TEST_PROGRAM", "run"))
	x.WaitFor("status")
	do(x, "print 3")
	x.WaitFor("p2")
	for i := range 7 { // each a frame, some before the row is too narrow for it
		x.Keys("Tab")
		x.WaitFor(("status" + strings.Repeat("s", 10*(i+1)))[:min(16+10*i, 40)])
	}
	x.Type("a")
	x.WaitFor("> a")
	x.Tell(40)
	x.WaitAll("before\n" + numbered("p", 3) + "live 0\nlive 1\n> a\nstatus" + strings.Repeat("s", 34))
	x.Keys("Enter")
	do(x, "print 3")
	x.WaitAll("before\n" + numbered("p", 3) + numbered("p", 3) + "live 0\nlive 1\n>\nstatus" + strings.Repeat("s", 34))
}
