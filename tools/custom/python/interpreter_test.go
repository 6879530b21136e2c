package python

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loci/core"
)

// A Python may be installed in a person's home itself, or in ~/.local, beside everything else that lies there.
func TestNothingButTheInterpreterAndItsLibrariesIsMounted(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"bin", "lib/python3.11", ".ssh"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(home, "bin", "python3.11")
	if err := os.WriteFile(program, []byte("\x7fELF"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("python3.11", filepath.Join(home, "bin", "python3")); err != nil {
		t.Fatal(err)
	}
	argv, mounts, err := Interpreter(filepath.Join(home, "bin"))("")
	if err != nil || argv[0] != program {
		t.Fatalf("%v: %v", err, argv[:1])
	}
	want := []core.JobMount{{Source: program}, {Source: filepath.Join(home, "lib")}}
	same := func(a, b core.JobMount) bool {
		return a.Source == b.Source && a.Target == b.Target && !a.Writable && !b.Writable
	}
	if !slices.EqualFunc(mounts, want, same) {
		t.Errorf("mounted: %+v", mounts)
	}
}

func TestWhereThereIsNoPythonItIsSaidWhatToInstall(t *testing.T) {
	t.Parallel()
	script := t.TempDir() // what picks an interpreter when it runs is none
	if err := os.WriteFile(filepath.Join(script, "python3"), []byte("#!/bin/sh\nexec elsewhere/python3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "bin", t.TempDir(), script} {
		found, err := find(path)
		if core.KindOf(err) != core.Unsupported || !strings.Contains(core.HintOf(err), "apt install python3") {
			t.Errorf("in %q: %+v, %v", path, found, err)
		}
	}
}
