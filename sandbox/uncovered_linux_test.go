package sandbox

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"loci/core"
)

// meanwhile runs a line, and does something outside once the line has said that it runs.
func meanwhile(t *testing.T, l *Local, job core.Job, do func()) core.JobResult {
	t.Helper()
	said := &waiting{word: "ready", came: make(chan struct{})}
	job.Live, job.Limits.Wall = said, 30*time.Second
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var done sync.WaitGroup
	done.Go(func() {
		select {
		case <-said.came:
			do()
		case <-ctx.Done():
		}
	})
	r := run(ctx, t, l, job)
	cancel()
	done.Wait()
	return r
}

// waiting hears what a line writes until a word came.
type waiting struct {
	word string
	text bytes.Buffer
	once sync.Once
	came chan struct{}
}

func (w *waiting) Write(piece []byte) (int, error) {
	w.text.Write(piece)
	if strings.Contains(w.text.String(), w.word) {
		w.once.Do(func() { close(w.came) })
	}
	return len(piece), nil
}

func TestALineEndsWhenWhatIsClosedToItIsReplacedOutside(t *testing.T) {
	t.Parallel()
	l := local(t)
	configure := func(t *testing.T, dir string) { t.Helper(); git(t, dir, "config", "user.name", "x") }
	replace := func(dir, name string) {
		write(t, filepath.Join(dir, "new"), "KEY=of-a-person\n")
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	for name, try := range map[string]struct {
		bared string
		do    func(t *testing.T, dir string)
	}{
		"git's own way":        {".git/config", configure},
		"an editor's way":      {".env", func(_ *testing.T, dir string) { replace(dir, ".env") }},
		"moved away":           {".env", func(_ *testing.T, dir string) { _ = os.Rename(dir+"/.env", dir+"/old") }},
		"removed":              {"sub/deep/key", func(_ *testing.T, dir string) { _ = os.Remove(dir + "/sub/deep/key") }},
		"with its folder":      {"sub/deep/key", func(_ *testing.T, dir string) { _ = os.Rename(dir+"/sub", dir+"/old") }},
		"hooks":                {".git/hooks", func(_ *testing.T, dir string) { _ = os.Rename(dir+"/.git/hooks", dir+"/h") }},
		"what is only kept":    {"kept", func(_ *testing.T, dir string) { replace(dir, "kept") }},
		"the repository whole": {".git/", func(_ *testing.T, dir string) { _ = os.Rename(dir+"/.git", dir+"/g") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			for _, file := range []string{".env", "sub/deep/key", "kept", ".git/hooks/x"} {
				write(t, filepath.Join(dir, file), "KEY=of-a-person\n")
			}
			job := in(dir, "echo ready; sleep 1000")
			job.Project.Masked, job.Project.ReadOnly = []string{".env", "sub/deep/key"}, []string{"kept"}
			r := meanwhile(t, l, job, func() { try.do(t, dir) })
			if r.Ended != core.JobUncovered || !strings.HasPrefix(r.Bared, filepath.Join(dir, try.bared)) {
				t.Errorf("%s %q", r.Ended, r.Bared)
			}
		})
	}
}

func TestWorkOutsideThatBaresNothingEndsNoLine(t *testing.T) {
	t.Parallel()
	dir, l := repository(t), local(t)
	write(t, filepath.Join(dir, ".env"), "KEY=1\n")
	job := in(dir, "echo ready; until [ -e done ]; do sleep 0.02; done; cat .env")
	job.Project.Masked = []string{".env"}
	r := meanwhile(t, l, job, func() {
		write(t, filepath.Join(dir, ".env"), "KEY=2\n") // over the file that is there
		write(t, filepath.Join(dir, "main.go"), "package other\n")
		git(t, dir, "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qam", "two")
		git(t, dir, "switch", "-qc", "other")
		run(t.Context(), t, l, in(dir, "git config user.name Ada; rm -f x; git gc -q"))
		write(t, filepath.Join(dir, "done"), "")
	})
	if r.Ended != core.JobExited || r.ExitCode == 0 || strings.Contains(string(r.Stdout.Kept), "KEY") {
		t.Errorf("%s %q %d %q", r.Ended, r.Bared, r.ExitCode, r.Stdout.Kept)
	}
}

func TestWhereALineCanChangeNothingOnlyItsMasksAreBared(t *testing.T) {
	t.Parallel()
	dir, l := repository(t), local(t)
	write(t, filepath.Join(dir, ".env"), "KEY=1\n")
	job := in(dir, "echo ready; sleep 1000")
	job.Project.Writable, job.Project.Masked = false, []string{".env"}
	r := meanwhile(t, l, job, func() {
		git(t, dir, "config", "user.name", "x")
		if err := os.Rename(filepath.Join(dir, ".env"), filepath.Join(dir, "old")); err != nil {
			t.Error(err)
		}
	})
	if r.Ended != core.JobUncovered || r.Bared != filepath.Join(dir, ".env") {
		t.Errorf("%s %q", r.Ended, r.Bared)
	}
}

func TestWhereTooMuchHappensNamesAreComparedThemselves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a/b", "c"} {
		write(t, filepath.Join(dir, name), "x")
	}
	var s sentry
	t.Cleanup(s.close)
	var told []string
	var mu sync.Mutex
	paths := []covered{{dir, filepath.Join(dir, "a/b")}, {dir, filepath.Join(dir, "c")}, {dir, filepath.Join(dir, "not/there")}}
	v, err := s.guard(paths, func(path string) { mu.Lock(); defer mu.Unlock(); told = append(told, filepath.Base(path)) })
	if err != nil {
		t.Fatal(err)
	}
	overflow := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tell(-1, unix.IN_Q_OVERFLOW, "")
	}
	overflow()
	v.marks[filepath.Join(dir, "c")] = v.marks[filepath.Join(dir, "a/b")] // as if it had been another file
	overflow()
	if touched := v.end(); len(told) != 1 || told[0] != "c" || !touched(filepath.Join(dir, "c")) || touched(filepath.Join(dir, "a/b")) {
		t.Errorf("%q", told)
	}
	write(t, filepath.Join(dir, "d"), "x")
	if err := os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	overflow()
	if len(told) != 1 || len(s.watched) != 0 {
		t.Errorf("after the end: %q %v", told, s.watched)
	}
}

// TestWhatALineWritesIntoABaredConfigurationIsTakenBack lets a line wait for the very moment, which it sometimes catches.
func TestWhatALineWritesIntoABaredConfigurationIsTakenBack(t *testing.T) {
	t.Parallel()
	l := local(t)
	for range 5 {
		dir := repository(t)
		r := meanwhile(t, l, in(dir, `echo ready; while [ -L .git/config ]; do :; done
			for i in 1 2 3; do printf '[core]\n\tfsmonitor = /x\n[user]\n\temail = e@x\n' >> .git/config; done; sleep 1000`),
			func() { git(t, dir, "config", "user.name", "Ada") })
		text, err := os.ReadFile(filepath.Join(dir, ".git/config"))
		if err != nil || r.Ended != core.JobUncovered || strings.Contains(string(text), "fsmonitor") ||
			!strings.Contains(string(text), "name = Ada") {
			t.Errorf("%s %v\n%s", r.Ended, err, text)
		}
		t.Logf("%+v", r.Settings)
	}
}

func TestWhatAPersonConfiguresWhileALineRunsStays(t *testing.T) {
	t.Parallel()
	dir, l := repository(t), local(t)
	job := in(dir, "git config user.name Agent; echo ready; sleep 1000")
	r := meanwhile(t, l, job, func() { git(t, dir, "config", "core.editor", "vi") })
	text, err := os.ReadFile(filepath.Join(dir, ".git/config"))
	if err != nil || r.Ended != core.JobUncovered || !strings.Contains(string(text), "editor = vi") ||
		!strings.Contains(string(text), "name = Agent") {
		t.Errorf("%s %v\n%s", r.Ended, err, text)
	}
}
