package javascript

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"

	"loci/core"
	"loci/tools/custom/run"
)

//go:embed node.js
var nodeProgram string

// nodeMemory is what node may take for objects, in megabytes. The sandbox has a bound of its own.
const nodeMemory = "--max-old-space-size=256"

// FindNode returns what finds the machine's node and its npm, in a person's PATH and where the system's programs are.
func FindNode(path string) func() (run.Interpreter, error) {
	return func() (run.Interpreter, error) {
		for _, dir := range filepath.SplitList(path + ":" + run.SystemPath) {
			program, err := filepath.EvalSymlinks(filepath.Join(dir, "node"))
			if !filepath.IsAbs(dir) || err != nil || !binaryFile(program) {
				continue
			}
			found := run.Interpreter{Program: program}
			if !ofSystem(program) {
				found.Mounts = append(found.Mounts, core.JobMount{Source: program})
			}
			if npm, err := filepath.EvalSymlinks(filepath.Join(dir, "npm")); err == nil && strings.HasSuffix(npm, ".js") {
				found.Installer = npm
				if folder := filepath.Dir(filepath.Dir(npm)); !ofSystem(npm) { // npm/bin/npm-cli.js
					found.Mounts = append(found.Mounts, core.JobMount{Source: folder})
				}
			}
			return found, nil
		}
		return run.Interpreter{}, core.E(core.Unsupported, "there is no node on this machine, and tools that ask for npm packages need it").
			WithHint("install Node.js 18 or newer, for example: apt install nodejs npm")
	}
}

// binaryFile reports whether a file is a program and no script, which would pick one when it runs.
func binaryFile(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read from
	var head [2]byte
	n, err := f.Read(head[:])
	return err == nil && n == 2 && string(head[:]) != "#!"
}

// ofSystem reports whether every sandbox shows a file.
func ofSystem(path string) bool {
	return strings.HasPrefix(path, "/usr/") || strings.HasPrefix(path, "/bin/")
}

// modular tells a source that imports or exports from one that is written for require.
var modular = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*(?:import|export)\b`) })

// workUnderNode answers the one call that comes with the machine's node, in which the source finds its packages.
func workUnderNode(stream *os.File, node, packages string) int {
	text, code, ok := take(stream)
	if !ok {
		return code
	}
	code, failed := runNode(stream, node, packages, text)
	if failed == nil {
		return code
	}
	return give(stream, answer{Failed: failed})
}

// runNode runs it. It fails where node has not begun, and so has said nothing.
func runNode(stream *os.File, node, packages string, call []byte) (code int, failed *failure) {
	var r request
	if err := json.Unmarshal(call, &r); err != nil {
		return 0, unstarted(err)
	}
	format, ext := api.FormatESModule, ".mjs"
	if !modular().MatchString(r.Source) {
		format, ext = api.FormatCommonJS, ".cjs"
	}
	source := transform(r.Source, r.Tool+".ts", format)
	if source.err != nil {
		return 0, &failure{"SyntaxError", source.err.Error()}
	}
	folder, err := os.MkdirTemp("", "tool-")
	if err != nil {
		return 0, unstarted(err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // in a sandbox it goes with that
	file := filepath.Join(folder, r.Tool+ext)
	if err := os.WriteFile(file, []byte(source.text), 0o600); err != nil {
		return 0, unstarted(err)
	}
	if err := os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(folder, "node_modules")); err != nil {
		return 0, unstarted(err)
	}
	in, err := json.Marshal(map[string]any{"file": file, "request": json.RawMessage(call)})
	if err != nil {
		return 0, unstarted(err)
	}
	cmd := exec.Command(node, nodeMemory, "-e", callProgram+nodeProgram) //nolint:noctx // the worker ends with its sandbox
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = folder, bytes.NewReader(in), os.Stdout, os.Stderr, []*os.File{stream}
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1), nil
	default:
		return 0, unstarted(err)
	}
}

func unstarted(err error) *failure {
	return &failure{"RuntimeError", "node does not start: " + err.Error()}
}
