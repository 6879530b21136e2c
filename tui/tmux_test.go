package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"loci/tui/term"
	"loci/tui/term/termtest"
)

func TestTheFirstScreenIsThePromptAndThreeLines(t *testing.T) {
	x := chat(t, 80, 24, "run")
	x.WaitAll("$ loci\nTalk to Ada.\nenter sends · ctrl+j new line · / commands\n›\nask mode · Ada · openai/gpt-4o · 12%")
}

func TestATurnStandsInTheScrollbackAsItWasShown(t *testing.T) {
	x := chat(t, 80, 24, "run")
	say1(x, "tools please")
	x.WaitAll(`$ loci
› tools please

∴ thought · The person said something worth keeping.
✎ remembers in human + Likes tea

I will remember that.

›
ask mode · Ada · openai/gpt-4o · 16%`)
}

func TestALongAnswerIsWholeInTheScrollbackAndStandsThereOnce(t *testing.T) {
	x := chat(t, 80, 24, "run")
	say1(x, "long one")
	x.WaitFor("47%")
	var want strings.Builder
	want.WriteString("$ loci\n› long one\n\nNumbers\n\n")
	for i := range 40 {
		fmt.Fprintf(&want, "Paragraph %d has some words in it.\n\n", i)
	}
	want.WriteString("```go\n") // without colours
	for i := range 60 {
		fmt.Fprintf(&want, "line(%d)\n", i)
	}
	want.WriteString("```\n\n a │ b\n───┼───\n 1 │ 2\n\nThe end.\n\n›\nask mode · Ada · openai/gpt-4o · 47%")
	x.WaitAll(want.String())
}

func TestResizingWhileItAnswersLeavesNoGhosts(t *testing.T) {
	x := chat(t, 80, 24, "run")
	say1(x, "tools first")
	x.WaitFor("remember that.")
	say1(x, "slow")
	x.WaitFor("was said")
	for _, size := range [][2]int{{40, 24}, {79, 20}, {30, 12}, {90, 30}, {80, 24}} {
		x.Resize(size[0], size[1])
		x.Type("z")
		x.WaitFor("esc stops")
	}
	x.WaitFor("› zzzzz")
	x.Keys("Escape")
	x.WaitFor("stopped")
	all := x.All()
	for _, once := range []string{"This much was said", "› slow", "I will remember that.", "openai/gpt-4o", "zzzzz"} {
		if n := strings.Count(all, once); n != 1 {
			t.Errorf("%q stands there %d times:\n%s", once, n, all)
		}
	}
}

// onlyTicks says that the last thing the chat wrote is its spinner moving. A
// terminal wraps its rows before it reports its new size: a full redraw in
// between keeps the shape of the old size, and no program can know that.
func onlyTicks(written string) bool {
	ticks := 0
	for _, r := range written[max(0, strings.LastIndex(written, ansi.EraseScreenBelow)):] {
		if strings.ContainsRune(spinner, r) {
			ticks++
		}
	}
	return ticks > 2
}

func TestNarrowingWhileAParagraphStreamsShowsEveryWordOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, say, last string
		words           int
		sizes           [][2]int
	}{
		{"plain", "prose", "word129", 130, [][2]int{{60, 24}}},
		{"marked", "marks", "word059", 60, [][2]int{{60, 24}}},
		{"and wider", "prose", "word129", 130, [][2]int{{60, 24}, {200, 50}, {80, 24}}},
		{"small", "prose", "word129", 130, [][2]int{{40, 12}, {200, 50}, {80, 24}}},
		{"an open mark", "openmark", "word299", 300, [][2]int{{60, 24}, {40, 24}, {80, 24}}},
		{"a bar", "bar", "word299", 300, [][2]int{{60, 24}, {40, 24}, {80, 24}}},
		{"a number", "number", "word299", 300, [][2]int{{60, 24}, {40, 24}, {80, 24}}},
		{"an item", "item", "word299", 300, [][2]int{{60, 24}, {80, 24}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := chat(t, 80, 24, "run")
			say1(x, c.say)
			x.WaitFor(c.last)
			say1(x, "queued")
			x.WaitFor("⋯ queued")
			written := x.Record()
			x.Wait("a pause", written, func(s string) bool { return onlyTicks(s) })
			for i, size := range c.sizes {
				before := len(written())
				x.Resize(size[0], size[1])
				x.Wait("a pause at the new size", written, func(s string) bool {
					_, since, ok := strings.Cut(s[before:], ansi.EraseScreenBelow)
					return ok && onlyTicks(since)
				})
				x.Type("z")
				x.WaitFor("› " + strings.Repeat("z", i+1))
			}
			x.Keys("Escape")
			x.WaitFor("stopped")
			x.WaitFor("openai/gpt-4o")
			all := x.All()
			joined := strings.ReplaceAll(x.Joined(), "\n", " ")
			for i := range c.words {
				if n := strings.Count(joined, fmt.Sprintf("word%03d", i)); n != 1 {
					t.Fatalf("word %d stands there %d times:\n%s", i, n, all)
				}
			}
			for _, once := range []string{"⋯ queued", "› " + c.say, "openai/gpt-4o"} {
				if n := strings.Count(all, once); n != 1 {
					t.Errorf("%q stands there %d times:\n%s", once, n, all)
				}
			}
			if strings.Contains(all, "esc stops") {
				t.Errorf("a status line was left:\n%s", all)
			}
		})
	}
}

func TestATerminalThatBecomesVeryLowWhileCodeStreamsShowsEveryLineOnce(t *testing.T) {
	t.Parallel()
	for _, height := range []int{5, 6, 8} {
		t.Run(fmt.Sprint(height), func(t *testing.T) {
			x := chat(t, 80, 24, "run")
			say1(x, "fence")
			x.WaitFor("line(39)")
			for i, h := range []int{height, 24} {
				x.Resize(80, h)
				x.Type("z")
				x.WaitFor("› " + strings.Repeat("z", i+1))
			}
			x.Keys("Escape")
			x.WaitFor("stopped")
			x.WaitFor("openai/gpt-4o")
			all := x.All()
			for i := range 40 {
				if n := strings.Count(all, fmt.Sprintf("line(%d)", i)); n != 1 {
					t.Fatalf("line %d stands there %d times:\n%s", i, n, all)
				}
			}
			if strings.Contains(all, term.CutMark) {
				t.Errorf("rows of the live region were left:\n%s", all)
			}
		})
	}
}

func TestEscapeStopsTheAgentAndKeepsWhatWasShownTypedAndQueued(t *testing.T) {
	x := chat(t, 80, 24, "run")
	say1(x, "slow")
	x.WaitFor("was said")
	say1(x, "next one")
	x.WaitFor("⋯ next one")
	x.Type("typing")
	x.WaitFor("› typing")
	x.Keys("Escape")
	x.WaitFor("stopped")
	s := x.WaitFor("⋯ next one")
	if !strings.Contains(s, "This much was said") || !strings.Contains(s, "› typing") {
		t.Errorf("something was lost:\n%s", s)
	}
	for range len("typing") {
		x.Keys("BSpace")
	}
	x.Keys("Up")
	x.WaitFor("› next one")
	x.Keys("Enter")
	x.WaitFor("You said: next one")
}

func TestTheInputOfAStoppedRunThatSaidNothingComesBack(t *testing.T) {
	x := chat(t, 80, 24, "run")
	say1(x, "mute please")
	x.WaitFor("esc stops")
	x.Keys("Escape")
	x.WaitFor("not delivered")
	x.Wait("the input", x.Screen, func(s string) bool { return strings.Contains(s, "\n› mute please\nask mode · Ada") })
}

func TestTheInputOfAFailedRunIsOfferedAgain(t *testing.T) {
	x := chat(t, 80, 24, "run")
	say1(x, "fail now")
	x.WaitFor("! the provider is down")
	s := x.WaitFor("not delivered")
	if !strings.Contains(s, "\n› fail now\nask mode · Ada") {
		t.Errorf("not offered:\n%s", s)
	}
}

func TestPanelsLeaveTheThreadAsItWasAndPrintsWait(t *testing.T) {
	x := chat(t, 80, 24, "run")
	say1(x, "tools first")
	x.WaitFor("16%")
	before := x.All()
	for _, p := range [][2]string{
		{"/help", "Commands"},
		{"/agents", "Bob 漢字"},
		{"/memory", "Likes tea."},
		{"/model", "128k context"},
		{"/resume", "tea in Kyōto"},
		{"/search tea", "I said tea"},
	} {
		say1(x, p[0])
		x.WaitFor(p[1])
		x.Keys("Escape")
		x.Wait("the thread after "+p[0], x.All, func(s string) bool { return s == before })
	}
	x.Keys("C-o")
	x.WaitFor("new_str: Likes tea")
	x.Keys("Escape")
	x.Wait("the thread", x.All, func(s string) bool { return s == before })
}

func TestAnAnswerThatEndsBehindAPanelIsPrintedAfterIt(t *testing.T) {
	x := chat(t, 80, 24, "run")
	say1(x, "slow")
	x.WaitFor("was said")
	say1(x, "/help")
	x.WaitFor("Commands")
	x.Resize(60, 20)
	x.Keys("Escape")
	x.WaitFor("esc stops")
	x.Keys("Escape")
	x.WaitFor("stopped")
	if all := x.All(); strings.Count(all, "This much was said") != 1 || strings.Contains(all, "Commands") {
		t.Errorf("the thread:\n%s", all)
	}
}

func TestMemoryIsEditedInThePanel(t *testing.T) {
	x := chat(t, 80, 24, "run")
	say1(x, "/memory human")
	x.WaitFor("Likes tea.")
	x.Type(" And walks.")
	x.Keys("Escape")
	x.WaitFor("esc again discards")
	x.Keys("C-s")
	x.WaitFor("saved: human")
	say1(x, "/memory")
	x.WaitFor("Likes tea. And walks.")
}

func TestHistoryShowsTheLastScreenful(t *testing.T) {
	x := chat(t, 80, 24, "history")
	s := x.Wait("the last answer", x.Screen, func(s string) bool { return strings.Contains(s, "answer 29") })
	if strings.Contains(x.All(), "question 5\n") || !strings.Contains(s, "question 28") {
		t.Errorf("history:\n%s", x.All())
	}
	x.Keys("Up")
	x.WaitFor("› question 29\nask mode · Ada")
}

func TestAHugeMessageDoesNotFloodTheTerminalThatOpensIt(t *testing.T) {
	x := chat(t, 80, 24, "huge")
	all := x.Wait("the message", x.All, func(s string) bool { return strings.Contains(s, "\n  last\n\n›\nask mode · Ada") })
	if n := strings.Count(
		all,
		"\n",
	); n > 24 || !strings.Contains(all, "$ loci\n› first\n") ||
		!strings.Contains(all, "more lines (ctrl+o)") {
		t.Errorf("%d rows:\n%s", n, all)
	}
}

func TestClearingTheScreenDrawsTheLastOfTheThreadAgain(t *testing.T) {
	x := chat(t, 80, 24, "run")
	say1(x, "tools first")
	x.WaitFor("16%")
	want := strings.TrimPrefix(x.All(), "$ loci\n")
	x.Keys("C-l")
	x.Wait("a clean screen", x.Screen, func(s string) bool { return s == want })
}

func TestCtrlCTwiceLeavesTheThreadAndTheShellBelowIt(t *testing.T) {
	x := chat(t, 80, 24, "run")
	say1(x, "hello")
	x.WaitFor("You said: hello")
	x.Type("half a thought")
	x.Keys("C-c")
	x.WaitFor("ctrl+c again leaves")
	x.Keys("C-c")
	x.WaitAll("$ loci\n› hello\n\nYou said: hello\n\n· not sent: half a thought\nended 0")
}

func TestUnknownCommandsAreNotSent(t *testing.T) {
	x := chat(t, 80, 24, "run")
	say1(x, "/frobnicate now")
	s := x.WaitFor("there is no command /frobnicate")
	if strings.Contains(s, "You said") {
		t.Errorf("it was sent:\n%s", s)
	}
	if !strings.Contains(s, "› /frobnicate now\nask mode · Ada") {
		t.Errorf("what was typed is gone:\n%s", s)
	}
	x.Keys("C-u")
	say1(x, "/quit")
	x.Wait("the end", x.All, func(s string) bool { return strings.HasSuffix(s, "begin with a space)\nended 0") })
}

func TestCopyingSaysHow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "copy.md")
	t.Parallel()
	x := termtest.Start(t, 80, 24, "", "PATH=/nowhere TUI_TEST_COPY='"+file+"' "+termtest.Self("TUI_TEST_PROGRAM", "run"))
	x.WaitFor("Ada ·")
	say1(x, "hello")
	x.WaitFor("You said: hello")
	say1(x, "/copy")
	x.WaitFor("OSC 52")
	got, err := os.ReadFile(file)
	if err != nil || string(got) != "You said: hello" {
		t.Errorf("copied %q, %v", got, err)
	}
}

func TestEverythingIsUsableOnASmallScreen(t *testing.T) {
	x := chat(t, 20, 8, "run")
	say1(x, "tools first")
	x.Wait("the answer", x.All, func(s string) bool { return strings.Contains(s, "I will remember\nthat.") })
	say1(x, "/agents")
	x.WaitFor("▸ Ada ●")
	x.Keys("Down", "Enter")
	x.Wait("the other agent", x.All, func(s string) bool { return strings.Contains(s, "with Bob 漢字") })
}

func TestAPasteIsOneMessage(t *testing.T) {
	x := chat(t, 80, 24, "run")
	x.Paste("one\ntwo\nthree")
	x.WaitFor("› one\n  two\n  three\nask mode · Ada")
	x.Keys("Enter")
	x.WaitFor("You said: one")
}

func TestARewindIsMarkedBelowWhatTheTerminalKeeps(t *testing.T) {
	t.Parallel()
	for size, status := range map[[2]int]string{{80, 24}: "ask mode · Ada", {200, 50}: "ask mode · Ada", {20, 8}: "Ada"} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			x := chat(t, size[0], size[1], "past")
			before := x.Wait("the history and the window's use, cut on a narrow screen", x.All, func(s string) bool {
				return strings.Contains(s, "Answer 2") && (strings.HasSuffix(s, "%") || strings.HasSuffix(s, "…"))
			})
			say1(x, "/rewind")
			x.WaitFor("type to filter") // commands in the prompt have a ▸ too
			x.Keys("Escape")
			x.Wait("the thread", x.All, func(s string) bool { return s == before })
			say1(x, "/rewind")
			x.WaitFor("type to filter") // commands in the prompt have a ▸ too
			x.Keys("Enter")
			x.WaitFor("y go back")
			x.Type("y")
			all := x.Wait("the mark", x.All, func(s string) bool {
				return strings.Contains(strings.Join(strings.Fields(s), " "), "no longer part of the conversation · /undo brings it back")
			})
			if strings.Count(all, "Answer 2") != 1 || !strings.Contains(all, "› What do I like?\n"+status) {
				t.Errorf("the terminal holds\n%s", all)
			}
			x.Keys("C-l")
			x.Wait(
				"what is true",
				x.Screen,
				func(s string) bool { return !strings.Contains(s, "Answer 2") && strings.Contains(s, "Answer 1") },
			)
		})
	}
}
