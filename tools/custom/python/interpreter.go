// Package python is the machine's own interpreter, as a program that waits for calls of tools.
//
// Layer 1, below tools: it imports core and tools/custom/run.
package python

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"

	"loci/core"
	"loci/tools/custom/run"
)

//go:embed runner.py
var program string

// Interpreter returns what starts one, looked for each time in a person's PATH and where the system's programs are, so that
// one that is installed meanwhile is found.
func Interpreter(path string) run.Start {
	find := Find(path)
	return func(packages string) ([]string, []core.JobMount, error) {
		found, err := find()
		if err != nil {
			return nil, nil, err
		}
		argv := []string{found.Program, "-I", "-B", "-X", "utf8", "-c", program}
		if packages != "" {
			argv, found.Mounts = append(argv, packages), append(found.Mounts, core.JobMount{Source: packages})
		}
		return argv, found.Mounts, nil
	}
}

// Find returns what finds the interpreter.
func Find(path string) func() (run.Interpreter, error) {
	return func() (run.Interpreter, error) {
		found, err := find(path + ":" + run.SystemPath)
		return run.Interpreter{Program: found.program, Mounts: found.mounts()}, err
	}
}

// interpreter is a Python that tools are run with.
type interpreter struct {
	program string // absolute, through no link
	prefix  string // the folder that it is installed in; empty: it is the system's
}

// mounts is what a sandbox has to show for it. Of its folder no more than it needs: that may be somebody's home.
func (i interpreter) mounts() []core.JobMount {
	if i.prefix == "" {
		return nil
	}
	mounts := []core.JobMount{{Source: i.program}}
	for _, part := range []string{"lib", "lib64", "share/zoneinfo", "ssl/cert.pem"} {
		path := filepath.Join(i.prefix, part)
		if _, err := os.Stat(path); err == nil {
			mounts = append(mounts, core.JobMount{Source: path})
		}
	}
	return mounts
}

// find looks for an interpreter in a PATH. A script that picks one when it runs is passed over: what it would pick from isn't there
// inside of a sandbox.
func find(path string) (interpreter, error) {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, "python3")
		info, err := os.Stat(file)
		if !filepath.IsAbs(dir) || err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 || isScript(file) {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			continue
		}
		prefix := filepath.Dir(filepath.Dir(real))
		if ofSystem(prefix) {
			return interpreter{program: real}, nil
		}
		if libs, _ := filepath.Glob(filepath.Join(prefix, "lib", "python3*")); len(libs) > 0 { // the pattern is well formed
			return interpreter{program: real, prefix: prefix}, nil
		}
	}
	return interpreter{}, core.E(core.Unsupported, "there is no python3 on this machine, and tools in Python need one").
		WithHint("install Python 3.9 or newer, for example: apt install python3")
}

func isScript(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }() // only read from
	var head [2]byte
	n, err := f.Read(head[:])
	return err != nil || n < 2 || string(head[:]) == "#!"
}

// ofSystem reports whether every sandbox shows what is below a folder.
func ofSystem(prefix string) bool {
	return prefix == "/" || prefix == "/usr" || strings.HasPrefix(prefix, "/usr/")
}
