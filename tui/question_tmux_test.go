package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestATerminalThatIsResizedWhileAQuestionStandsHasNoGhosts resizes a terminal in
// which a question stands that doesn't fit, and then denies. What is drawn in the
// very instant in which the width changes may be misplaced, so a fault is there
// twice.
func TestATerminalThatIsResizedWhileAQuestionStandsHasNoGhosts(t *testing.T) {
	t.Parallel()
	if fault := ghosts(t); fault != "" {
		t.Log(fault)
		if fault = ghosts(t); fault != "" {
			t.Error(fault)
		}
	}
}

func ghosts(t *testing.T) (fault string) {
	t.Helper()
	x := another(t, 80, 24, "run")
	say1(x, "tools first")
	x.WaitFor("remember that.")
	say1(x, "ask long")
	x.WaitFor("n deny")
	for _, size := range [][2]int{{40, 24}, {79, 20}, {30, 14}, {90, 30}, {20, 8}, {80, 24}} {
		x.Resize(size[0], size[1])
		x.Wait("the question", x.Screen, func(s string) bool { return strings.Contains(s, "n deny") && strings.Contains(s, "?") })
	}
	x.WaitFor("v shows all, then y allows")
	all := x.All()
	for _, once := range []string{"asks to call", "› ask long", "I will remember that.", "waits for you", "n deny"} {
		if n := strings.Count(all, once); n != 1 {
			fault += fmt.Sprintf("%q stands there %d times:\n%s\n", once, n, all)
		}
	}
	x.Keys("n")
	x.WaitFor("That is settled.")
	return fault
}

// TestTheErrorOfACommandIsSeenWhileAQuestionStands types commands that fail,
// under a question that takes all the room it may.
func TestTheErrorOfACommandIsSeenWhileAQuestionStands(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {40, 12}} {
		x := another(t, size[0], size[1], "run")
		say1(x, "ask long")
		x.WaitFor("n deny")
		for command, why := range map[string]string{
			"/nope": "a slash, begin with a space)", "/help me": "takes nothing more; by itself:", "/memory zz": `no memory block "zz"`,
			"/undo": "there is nothing to undo", "/compact zz": "there is no mode zz", "/agents zz": "there is no agent zz",
		} {
			x.Keys("C-u")
			say1(x, command)
			x.Wait(why, x.Screen, func(s string) bool {
				return strings.Contains(strings.Join(strings.Fields(s), " "), why) && strings.Contains(s, "asks to call")
			})
		}
	}
}

// TestAQuestionIsReadInThePanelAndAllowedThere types into a real terminal, where
// keys come with the pauses of a person.
func TestAQuestionIsReadInThePanelAndAllowedThere(t *testing.T) {
	x := chat(t, 60, 16, "run")
	say1(x, "ask long")
	x.WaitFor("then y allows")
	calmly := func(key, want string) {
		last := time.Now()
		x.Wait(want, x.Screen, func(s string) bool {
			if !strings.Contains(s, want) && time.Since(last) > 2*armAfter {
				x.Keys(key)
				last = time.Now()
			}
			return strings.Contains(s, want)
		})
	}
	calmly("v", "Waits for you")
	calmly("End", "the end")
	calmly("y", "enter allows it")
	x.Keys("Enter")
	x.WaitFor("That is settled.")
}
