package tui

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

var idleFor = flag.Duration("idle", 0, "how long an idle chat is watched; 0: 3 s with -short, else 15 s")

// idleShare is the most of a core that an idle chat may take.
const idleShare = 0.003

// onceOnly is what may happen once, however long the chat is watched, like a collection of garbage.
const onceOnly = 5 * time.Millisecond

// quietFor is how long nothing was written when a chat counts as settled.
const quietFor = time.Second

// lateMost is how much of what a chat writes at its beginning may come later than that.
const lateMost = 3

// cpuOf is the time that all threads of a process have taken of any core.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	var at unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|2, &at); err != nil { // the kernel's number for that process's clock
		t.Skip("no clock of another process: ", err)
	}
	return time.Duration(at.Nano())
}

// wakesMost is how often in a second the threads of an idle chat may wake: the runtime's own do a few times for each
// time that the program does.
const wakesMost = 25

// wakesOf is how often the threads of a process have waited for something.
func wakesOf(t *testing.T, pid int) int {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(threads) == 0 {
		t.Fatal("no threads to be seen: ", err)
	}
	sum := 0
	for _, thread := range threads {
		data, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(data), "\nvoluntary_ctxt_switches:")
		line, _, _ := strings.Cut(rest, "\n")
		n, _ := strconv.Atoi(strings.TrimSpace(line))
		sum += n
	}
	return sum
}

func TestAnIdleChatWritesNothingAndHardlyWorks(t *testing.T) {
	t.Parallel()
	long := *idleFor
	switch {
	case long > 0:
	case testing.Short():
		long = 3 * time.Second
	default:
		long = 15 * time.Second
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TUI_TEST_PROGRAM=run", "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Skip("no pseudo terminal: ", err)
	}
	wrote, read := make(chan []byte, 64), make(chan struct{})
	go func() {
		defer close(read)
		for {
			b := make([]byte, 4096)
			n, err := tty.Read(b)
			if err != nil {
				return
			}
			wrote <- b[:n]
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = tty.Close()
		for {
			select {
			case <-wrote:
			case <-read:
				return
			}
		}
	})
	settle(t, wrote)
	var began time.Time
	var before time.Duration
	var woken int
	for late := 0; ; late++ { // on a busy machine, the last of its beginning may come late
		began, before, woken = time.Now(), cpuOf(t, cmd.Process.Pid), wakesOf(t, cmd.Process.Pid)
		select {
		case b := <-wrote:
			if late == lateMost {
				t.Fatalf("an idle chat wrote %q", b)
			}
			continue
		case <-time.After(long):
		}
		break
	}
	if n := wakesOf(t, cmd.Process.Pid) - woken; n > wakesMost*int(long/time.Second) {
		t.Errorf("an idle chat woke %d times in %v", n, long)
	}
	took, over := cpuOf(t, cmd.Process.Pid)-before, time.Since(began)
	share := float64(took) / float64(over)
	t.Logf("%v of a core in %v: %.2f %%", took, over.Round(time.Millisecond), 100*share)
	if took > onceOnly+time.Duration(idleShare*float64(over)) {
		t.Errorf("an idle chat took %v of a core in %v, %.2f %%", took, over, 100*share)
	}
}

// settle waits until the chat has drawn itself and is quiet.
func settle(t *testing.T, wrote <-chan []byte) {
	t.Helper()
	var seen []byte
	limit := time.After(time.Minute)
	for {
		select {
		case b := <-wrote:
			seen = append(seen, b...)
		case <-time.After(quietFor):
			if bytes.Contains(seen, []byte("openai/gpt-4o")) {
				return
			}
		case <-limit:
			t.Fatalf("the chat never settled: %q", seen)
		}
	}
}
