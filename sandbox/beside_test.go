//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"loci/core"
)

func TestAFolderBesideAProjectIsNeverReachedThroughALink(t *testing.T) {
	t.Parallel()
	l, base := local(t), repository(t)
	dir, other := filepath.Join(base, "opened"), filepath.Join(base, "other")
	write(t, filepath.Join(dir, "file"), "text\n")
	write(t, filepath.Join(other, "file"), "canary\n")
	job := in(filepath.Join(base, "work"), "cat "+dir+"/file")
	write(t, filepath.Join(base, "work/x"), "")
	job.Beside = []core.JobProject{{Path: dir}}
	if r := run(t.Context(), t, l, job); string(r.Stdout.Kept) != "text\n" {
		t.Fatalf("%q %q", r.Stdout.Kept, r.Stderr.Kept)
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // somebody swaps the folder for a link, again and again
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, link, unix.AT_FDCWD, dir, unix.RENAME_EXCHANGE)
			}
		}
	}()
	refused := 0
	for range 40 {
		r, err := l.Run(t.Context(), job)
		switch {
		case err != nil && (core.KindOf(err) == core.Forbidden || strings.Contains(err.Error(), "can't show the job its folders") ||
			strings.HasPrefix(err.Error(), "mount "+dir)): // it changed while its links were followed
			refused++
		case err != nil:
			t.Error(err)
		case strings.Contains(string(r.Stdout.Kept), "canary"):
			t.Errorf("the other folder was seen: %q", r.Stdout.Kept)
		}
	}
	close(stop)
	<-stopped
	if refused == 0 {
		t.Error("the swap was never in time, so that this proves nothing")
	}
}
