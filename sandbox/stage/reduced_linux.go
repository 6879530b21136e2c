package stage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"loci/sandbox/frame"
)

// leastReducedLandlock is the oldest version that keeps a job's signals from other processes of the same account.
const leastReducedLandlock = 6

// reduce confines a job where no namespaces can be made: it stays in the machine's own, and what it may do there is taken from it.
// This process stays outside of that, adopts what the job leaves running, and ends it with the job, or with the daemon. That is all it
// does for a job that nothing confines.
func reduce() int {
	debug.SetGCPercent(-1)
	signal.Notify(make(chan os.Signal, 1)) // a job can't signal it; a terminal could
	control := os.NewFile(hostSocket, "control")
	c := &cell{in: []*os.File{os.Stdin, os.Stdout, os.Stderr}}
	if err := frame.Read(control, &c.spec); err != nil {
		return 1
	}
	if c.spec.Channel {
		c.in = append(c.in, os.NewFile(hostSocket+1, "channel"))
	}
	var fault *frame.Fault
	var pid int
	steps, on, begun := reducedSteps(), apart, frame.Status{Layers: []string{frame.LayerReduced}}
	if c.spec.Free {
		steps, on, begun = freeSteps(), here, frame.Status{}
	}
	on(func() {
		if fault = c.run(steps); fault != nil {
			return
		}
		begun.Layers = append(begun.Layers, c.layers...)
		err := frame.Write(control, begun)
		if err == nil {
			fault = c.run([]step{{"start", func(c *cell) error { pid, err = c.start(); return err }}})
		}
	})
	if fault == nil && pid == 0 {
		return 1 // the daemon is gone
	}
	if fault != nil {
		_ = frame.Write(control, frame.Status{Failed: fault}) // the daemon sees that it says nothing
		return 1
	}
	go func() {
		_, _ = io.Copy(io.Discard, control) // it ends with the daemon, or when the daemon wants the end
		endAll()
		os.Exit(1)
	}()
	ended := reapUntil(pid)
	endAll()
	_ = frame.Write(control, frame.Status{Ended: &ended}) // likewise
	return 0
}

// here does something on this thread, which stays as long as the process: the kernel ends the job when it goes.
func here(do func()) {
	runtime.LockOSThread()
	do()
}

// apart does something on a thread of its own, which stays with it: what is taken from that thread, the job has no more, and this
// process keeps. The process's first thread stands for it wherever signals are judged, so that it is another one.
func apart(do func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this
		if unix.Gettid() == unix.Getpid() {
			apart(do)
		} else {
			do()
		}
		close(done)
	}()
	<-done
}

// freeSteps are those of a job that nothing confines.
func freeSteps() []step {
	return []step{
		{"descriptors", func(*cell) error { return closeOthers() }},
		{"survivors", func(*cell) error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }},
		{"folder", func(c *cell) error { return unix.Chdir(c.spec.Dir) }},
		{"program", (*cell).findProgram},
	}
}

// reducedSteps are those of a job without namespaces, in their order.
func reducedSteps() []step {
	return []step{
		{"descriptors", func(*cell) error { return closeOthers() }},
		{"survivors", func(*cell) error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }},
		{"account", func(*cell) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
		{"folder", func(c *cell) error { return unix.Chdir(c.spec.Dir) }},
		{"program", (*cell).findProgram},
		{"limits", (*cell).limit},
		{"capabilities", func(*cell) error { return dropBoundsIfRoot() }},
		{"no new privileges", func(*cell) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{frame.LayerLandlock, (*cell).lockFiles},
		{frame.LayerSeccomp, (*cell).filterCalls},
	}
}

// dropBoundsIfRoot takes root's rights from the thread that starts the job. Whoever has none loses none.
func dropBoundsIfRoot() error {
	if os.Geteuid() != 0 {
		return nil
	}
	if err := dropBounds(); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// endAll ends every process that the job has left, also those that left its group.
func endAll() {
	for {
		children, err := childrenOf(os.Getpid())
		if err != nil || len(children) == 0 {
			return
		}
		for _, pid := range children {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if pid <= 0 && !errors.Is(err, syscall.EINTR) {
				break
			}
		}
		<-time.After(time.Millisecond) // until what they had started is ours
	}
}

func childrenOf(pid int) (all []int, err error) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all, err
}

// grantRules are what a job without a root of its own may do with files.
func (c *cell) grantRules() []rule {
	var rules []rule
	for _, name := range devices {
		rules = append(rules, rule{"/dev/" + name, mayRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE})
	}
	for _, path := range systemPaths {
		if _, err := os.Stat(path); err == nil {
			rules = append(rules, rule{path, mayExecute})
		}
	}
	const change = mayWrite &^ mayExecute
	for _, g := range c.spec.Grants {
		var rights uint64
		if g.List {
			rights |= mayList
		}
		if g.Read {
			rights |= mayExecute
		}
		if g.Write {
			rights |= change
		}
		rules = append(rules, rule{g.Path, rights})
	}
	return rules
}
