package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func (r *robot) ownEnded() {
	r.t.Helper()
	r.until("the end of the line", func() bool { return r.m.own.running == nil })
}

func TestWhatThePersonRanGoesAlongWithTheNextMessageOnce(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24, inFolder(t, "tea 茶.txt", "")).connect()
	r.say("!ls; echo '```'; exit 3")
	r.ownEnded()
	if said := r.said(); !strings.Contains(said, "! ls; echo '```'; exit 3 · exit 3\n  tea 茶.txt\n  ```\n") {
		t.Error(said)
	}
	r.holds("")
	r.say("What is there?")
	r.idle()
	r.say("And now?")
	r.idle()
	heard := r.f.heard()
	if len(heard) != 2 || heard[1] != "And now?" {
		t.Fatalf("heard %q", heard)
	}
	dir := r.m.own.folder
	want := "What is there?\n\n[The person ran this in " + dir + ": Exit code 3]\n````\n$ ls; echo '```'; exit 3\ntea 茶.txt\n```\n````"
	if heard[0] != want {
		t.Errorf("heard %q, want %q", heard[0], want)
	}
	if said := r.said(); !strings.Contains(said, "› What is there?\n  + The person ran this in "+dir+": Exit code 3\n") {
		t.Errorf("what went along is not told in short:\n%s", said)
	}
}

func TestALineThatRunsIsShownAndStoppedWithAllThatItStarted(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24, inFolder(t, "a", "")).connect()
	r.say("!echo begun; (trap '' TERM; sleep 600) & echo $! >pid; wait")
	r.until("its output", func() bool { return strings.Contains(r.view(), "  │ begun") })
	r.say("meanwhile")
	if len(r.f.heard()) > 0 || len(r.m.prompt.Queue) != 1 {
		t.Error("a message does not wait for the line")
	}
	r.key(tea.Key{Code: 'c', Mod: tea.ModCtrl})
	r.ownEnded()
	r.until("the message", func() bool { return len(r.f.heard()) == 1 })
	heard := r.f.heard()[0]
	if !strings.HasPrefix(heard, "meanwhile\n\n[The person ran this in ") || !strings.Contains(heard, ": Stopped]") {
		t.Errorf("heard %q", heard)
	}
	pid, err := os.ReadFile(filepath.Join(r.m.own.folder, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	proc := filepath.Join("/proc", strings.TrimSpace(string(pid)))
	r.until("its end", func() bool {
		state, err := os.ReadFile(filepath.Join(proc, "stat"))
		return err != nil || strings.Contains(string(state), ") Z ")
	})
}

func TestALineWaitsUntilTheAgentHasAnsweredAndIsNoMessage(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("slow")
	r.until("the answer", func() bool { return r.m.turn != nil && r.m.turn.run != "" })
	r.say("!echo no")
	r.holds("!echo no")
	if !strings.Contains(r.status(), "is busy") || len(r.m.prompt.Queue) > 0 {
		t.Error(r.status())
	}
}

func TestALineHasNoTerminalToWriteOnBehindTheBackOfTheChat(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24, inFolder(t, "a", "")).connect()
	r.say("!printf 'a\\033[2Jb\\n'; (echo x >/dev/tty) 2>/dev/null || echo no terminal; cat; " +
		"yes | head -c 100000 | tr -d '\\n'; echo the end")
	r.ownEnded()
	got := r.m.own.done[0].Text
	if !strings.Contains(got, "ab\nno terminal\n") || !strings.HasSuffix(got, "the end") ||
		!strings.Contains(got, "bytes are left out here") ||
		len(got) > ownFirst+ownLast+300 {
		t.Errorf("%d bytes: %.200q … %q", len(got), got, got[max(0, len(got)-100):])
	}
}

func TestProgramsThatDrawOnTheTerminalGetIt(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"vim a": true, "/usr/bin/less x": true, "sudo vim /etc/hosts": true, "EDITOR=x man ls": true,
		"python3": true, "python3 a.py": false,
		"git diff": false, "echo vim": false,
	} {
		if wantsTerminal(line) != want {
			t.Errorf("%s: %v", line, !want)
		}
	}
}
