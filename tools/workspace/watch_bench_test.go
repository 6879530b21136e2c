package workspace

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"loci/core"
	"loci/core/permission"
	"loci/storage/contents"
)

// quietLog is a log in which nothing stands.
type quietLog struct{ core.FileLog }

func (quietLog) Changes(context.Context, core.FileChanges) ([]core.FileChange, error) {
	return nil, nil
}
func (quietLog) NoteChanges(context.Context, []core.FileChange) error { return nil }

// BenchmarkLooksAroundALine measures both looks around a line that changes nothing, in repositories of 1,000 to 50,000 files of
// 2 KB that were seen before, beside `git status` there; "first" is the look that keeps them all, "again" the first one after a
// restart, and "journal" what it adds that a line's journal is on disk before it begins.
func BenchmarkLooksAroundALine(b *testing.B) {
	for _, files := range []int{1000, 5000, 50_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) { benchmarkLooks(b, files) })
	}
}

func benchmarkLooks(b *testing.B, files int) {
	b.Helper()
	dir := repository(b, files)
	line := permission.Call{Tool: "shell", Does: permission.DoesShell, Line: "make"}
	env := core.ToolEnv{Workspace: core.WorkspaceEnv{
		Path: dir, Files: quietLog{}, Paths: permission.Set(nil).Paths(line, permission.Place{Root: dir, Dir: dir, Real: permission.Real}),
		Contents: contents.New(contents.Config{Dir: b.TempDir(), Clock: time.Now, Logger: slog.New(slog.DiscardHandler)}),
	}}
	w := NewWatcher("")
	look := func() time.Duration {
		began := time.Now()
		if told := w.Watch(b.Context(), env, nil, nowhere)(b.Context()); told != "" {
			b.Fatal(told)
		}
		return time.Since(began)
	}
	first := look()
	for range 5 { // what the first had no time for
		look()
	}
	w = NewWatcher("")
	again := look()
	for range 5 {
		look()
	}
	var looks, status time.Duration
	for b.Loop() {
		looks += look()
		began := time.Now()
		git(b, dir, "status", "--short")
		status += time.Since(began)
	}
	b.ReportMetric(journalled(b, env).Seconds()*1000, "journal-ms")
	b.ReportMetric(first.Seconds()*1000, "first-ms")
	b.ReportMetric(again.Seconds()*1000, "again-ms")
	b.ReportMetric(looks.Seconds()*1000/float64(b.N), "looks-ms")
	b.ReportMetric(status.Seconds()*1000/float64(b.N), "status-ms")
	b.ReportMetric(looks.Seconds()/status.Seconds(), "ratio")
}

// journalled is how much longer both looks around a line take that are noted on disk, where a line before it changed a file.
func journalled(b *testing.B, env core.ToolEnv) time.Duration {
	b.Helper()
	file := filepath.Join(env.Workspace.Path, "changed")
	took := map[bool]time.Duration{}
	watchers := map[bool]*Watcher{false: NewWatcher(""), true: NewWatcher(b.TempDir())}
	const times = 20
	for i := range times + 1 {
		for noted, w := range watchers {
			if err := os.WriteFile(file, fmt.Append(nil, i, noted), 0o600); err != nil {
				b.Fatal(err)
			}
			began := time.Now()
			if told := w.Watch(b.Context(), env, nil, nowhere)(b.Context()); told != "" {
				b.Fatal(told)
			}
			if i > 0 { // the first keeps them all
				took[noted] += time.Since(began)
			}
		}
	}
	return (took[true] - took[false]) / times
}

// repository is one of so many files of 2 KB, all of them committed.
func repository(b *testing.B, files int) string {
	b.Helper()
	dir := b.TempDir()
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("d%02d/e%02d/f%05d.go", i%20, i/20%20, i))
		text := bytes.Repeat([]byte("x = y + z\n"), 205)[:2048]
		copy(text, fmt.Sprint("file ", i, "\n"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	git(b, dir, "init", "-q")
	git(b, dir, "add", ".")
	git(b, dir, "commit", "-qm", "all")
	return dir
}

func git(b *testing.B, dir string, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b.c"}, args...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %v: %v, %s", args, err, text)
	}
}
