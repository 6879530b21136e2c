package tui

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"loci/tui/prompt"
	"loci/tui/theme"
)

// TestThePageOfTheChatHasItsKeysAndCommands checks docs/chat.md against the
// tables that help is made from.
func TestThePageOfTheChatHasItsKeysAndCommands(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/chat.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, k := range bindings() {
		want = append(want, fmt.Sprintf("| %s | %s |", k.keys, k.help))
	}
	for _, asked := range waitingKeys() {
		for _, k := range asked.keys {
			want = append(want, fmt.Sprintf("| %s | %s |", k.keys, k.help))
		}
	}
	for _, c := range commands() {
		name := strings.TrimSpace("/" + c.name + " " + c.args)
		if c.alias != "" {
			name += ", /" + c.alias
		}
		want = append(want, fmt.Sprintf("| `%s` | %s |", name, c.help))
	}
	if text := ansi.Strip(helpText(theme.New(theme.None), 80)); !strings.Contains(text, "Keys while the agent asks you something") ||
		!strings.Contains(text, "Keys while what the folder brings waits for your trust") {
		t.Errorf("help lacks the keys of questions:\n%s", text)
	}
	rows := 0
	for line := range strings.SplitSeq(string(page), "\n") {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---") && !strings.Contains(line, "| What it does |") {
			rows++
		}
	}
	for _, row := range want {
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("docs/chat.md lacks the row %s", row)
		}
	}
	if rows != len(want) {
		t.Errorf("docs/chat.md has %d rows, the tables %d", rows, len(want))
	}
}

// TestEveryKeyIsInOneRowAndCalledByItsName checks that help names each key that
// a row handles.
func TestEveryKeyIsInOneRowAndCalledByItsName(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, b := range bindings() {
		for name := range b.on {
			if seen[name] || !strings.Contains(b.keys, name) {
				t.Errorf("the row %q handles %s", b.keys, name)
			}
			seen[name] = true
		}
	}
	for _, k := range answerKeys() {
		for name := range k.on {
			if seen[name] || !strings.Contains(strings.NewReplacer("↑", "up", "↓", "down").Replace(k.keys), name) {
				t.Errorf("the row %q handles %s", k.keys, name)
			}
			seen[name] = true
		}
	}
}

// TestThePromptTakesEveryKeyThatHasNoHandler presses the keys that help names
// and the chat leaves to the prompt, in the middle of its history.
func TestThePromptTakesEveryKeyThatHasNoHandler(t *testing.T) {
	t.Parallel()
	keys := map[string]tea.Key{
		"ctrl+j": {Code: 'j', Mod: tea.ModCtrl}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt},
		"shift+enter": {Code: tea.KeyEnter, Mod: tea.ModShift}, "↑": {Code: tea.KeyUp}, "↓": {Code: tea.KeyDown},
		"ctrl+s": {Code: 's', Mod: tea.ModCtrl}, "tab": {Code: tea.KeyTab},
		"!": {Code: '!', Text: "!"}, "@": {Code: '@', Text: "@"},
	}
	left := slices.DeleteFunc(bindings(), func(b binding) bool {
		return b.on != nil || strings.HasPrefix(b.keys, "! ") // how a text begins, and no key
	})
	for _, b := range left {
		for name := range strings.FieldsFuncSeq(b.keys, func(c rune) bool { return c == ',' || c == ' ' }) {
			p := prompt.New(theme.New(theme.None), completions())
			p.Remember("one", "two")
			p.Key(tea.KeyPressMsg{Code: tea.KeyUp})
			if name == "tab" {
				p.Set("/he")
			}
			before := p.Text()
			if p.Key(tea.KeyPressMsg(keys[name])); p.Text() == before {
				t.Errorf("nothing takes %s", name)
			}
		}
	}
}

func TestTheSessionTellsWhichDaemonItIs(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	if r.f.statuses != 0 || r.m.link.daemonPID != 1 {
		t.Errorf("asked for the status %d times, the daemon is %d", r.f.statuses, r.m.link.daemonPID)
	}
}

// TestAQueuedMessageEditedWhileTheRunEndsIsSentOnce takes a message out of the
// queue, lets the run end, and sends the changed text. That text goes first,
// because the queue waits after a stop, and each message is sent once.
func TestAQueuedMessageEditedWhileTheRunEndsIsSentOnce(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("mute please")
	r.until("the run", func() bool { return r.m.turn != nil && r.m.turn.run != "" })
	r.say("one")
	r.say("two")
	r.key(tea.Key{Code: tea.KeyUp})
	r.holds("two")
	r.key(esc()) // the run ends during the edit
	r.idle()
	r.typ("!")
	r.enter()
	r.idle()
	r.enter()
	r.until("all of them", func() bool { return len(r.f.heard()) >= 3 && r.m.turn == nil })
	r.say("last")
	r.idle()
	if got, want := strings.Join(r.f.heard(), "|"), "mute please|two!|one|last"; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}
