package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWhatLeadsGitToAnotherConfigurationIsTakenAway(t *testing.T) {
	t.Parallel()
	l := local(t)
	const run1 = "[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = touch ../ran; false\\n"
	for name, tt := range map[string]struct {
		line string
		left string // what stays
	}{
		"another common folder": {
			line: "mkdir ev && cp -r .git/objects .git/refs ev/ && printf '" + run1 + "' > ev/config && echo ../ev > .git/commondir",
		},
		"a link": {line: "ln -s ../ev .git/commondir"},
		"a configuration of the worktree": {
			line: "git config extensions.worktreeConfig true; printf '" + run1 + "' > .git/config.worktree",
		},
		"one that is none": {line: "echo hi > .git/config.worktree"},
		"how much is checked out": {
			line: "printf '[core]\\n\\tsparseCheckout = true\\n' > .git/config.worktree", left: "config.worktree",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			r := run(t.Context(), t, l, in(dir, tt.line))
			if r.ExitCode != 0 {
				t.Fatalf("%d %s", r.ExitCode, r.Stderr.Kept)
			}
			for _, file := range []string{"commondir", "config.worktree"} {
				if _, err := os.Lstat(filepath.Join(dir, ".git", file)); (err == nil) != (file == tt.left) {
					t.Errorf("%s: %v", file, err)
				}
			}
			if said := told(r); tt.left == "" && len(said) == 0 {
				t.Error("nobody is told")
			}
			git(t, dir, "status")
			if _, err := os.Lstat(filepath.Join(dir, "..", "ran")); err == nil {
				t.Error("git ran what the line wrote")
			}
		})
	}
}
