package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
)

func TestABackupIsWholeAndRestorePutsItBack(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "backup.db")
	s := open(t, Config{Dir: dir})
	a := newAgent(t, s)
	say(t, s, a, 1)
	if err := WriteBackup(t.Context(), s, file); err != nil {
		t.Fatal(err)
	}
	if err := WriteBackup(t.Context(), s, file); core.KindOf(err) != core.Conflict {
		t.Errorf("over an existing file: %v", err)
	}
	missing := filepath.Join(filepath.Dir(file), "no", "folder")
	if err := WriteBackup(t.Context(), s, filepath.Join(missing, "backup.db")); core.KindOf(err) != core.NotFound {
		t.Errorf("into a folder that is not there: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(missing)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made: %v", err)
	}
	if err := WriteBackup(t.Context(), s, filepath.Join(file, "backup.db")); core.KindOf(err) != core.Invalid {
		t.Errorf("into a file: %v", err)
	}
	if parts, _ := filepath.Glob(file + ".*"); len(parts) != 0 {
		t.Errorf("left behind: %v", parts)
	}
	say(t, s, a, 2)
	put(t.Context(), t, s, "later")
	if n := count(t, s, "thread"); n != 2 {
		t.Fatalf("%d found", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := restore(t, dir, file)
	if err != nil || kept == "" {
		t.Fatalf("restore: %q, %v", kept, err)
	}
	s = open(t, Config{Dir: dir})
	if has(t, s, "later") {
		t.Error("what came after the backup is still there")
	}
	if n := count(t, s, "thread"); n != 1 {
		t.Errorf("%d found after the restore", n)
	}
	if epoch, _, _ := s.Meta().Get(t.Context(), MetaEpoch); epoch != "3" { // opened, restored, opened
		t.Errorf("epoch %s", epoch)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t, dir, kept); err != nil { // an undo
		t.Fatal(err)
	}
	if s = open(t, Config{Dir: dir}); !has(t, s, "later") {
		t.Error("what was replaced was not kept whole")
	}
}

func TestRestoreRefusesWhatIsNoBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	put(t.Context(), t, s, "k")
	good := filepath.Join(t.TempDir(), "good.db")
	if err := WriteBackup(t.Context(), s, good); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	garbage, empty := filepath.Join(t.TempDir(), "x"), filepath.Join(t.TempDir(), "y")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("nonsense", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	overwrite(t, good, 9000)
	for file, want := range map[string]core.Kind{
		garbage: core.Invalid, empty: core.Invalid, good: core.Invalid, filepath.Join(dir, "none"): core.NotFound,
	} {
		if _, err := restore(t, dir, file); core.KindOf(err) != want {
			t.Errorf("%s: %v, want %s", filepath.Base(file), err, want)
		}
	}
	if s := open(t, Config{Dir: dir}); !has(t, s, "k") {
		t.Error("a refused restore changed the home")
	}
}
