// Package workspace holds the built-in tools that work in the folder that a person opened: read, write, edit, glob, grep and
// list.
//
// Promises: nothing outside of the folder is read or changed, whatever paths and links say; everything is bounded in size,
// time, depth and count; a change is recorded with what the file held before it is made, and is made whole or not at all.
//
// Layer 1, below tools: it imports core and its pure helpers.
package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"loci/core"
)

// Bounds on what one call looks at.
const (
	maxPath  = 4096
	maxLinks = 40
	maxTime  = 10 * time.Second
)

// folder is the open workspace of a call.
type folder struct {
	root *os.Root
	path string // as the client named it
	real string // without links
	env  core.ToolEnv

	beside   bool // it is not the workspace, but a folder that a person opened beside it
	readOnly bool
}

// noFolder is what every tool answers in a run without a workspace.
const noFolder = "No folder is open in this conversation, so there are no files to work with. A person opens one by starting " +
	"`loci` in it; tell them if you need one."

// within calls fn in the workspace of the run, or in the folder beside it that a name from a model means.
func within(
	ctx context.Context, env core.ToolEnv, name string, fn func(ctx context.Context, f *folder) (core.ToolResult, error),
) (core.ToolResult, error) {
	if env.Workspace.Path == "" {
		return core.ToolError(noFolder), nil
	}
	f := meant(env, name)
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return core.ToolError("The folder " + f.path + " cannot be opened: " + reason(err)), nil
	}
	defer func() { _ = root.Close() }()
	f.root = root
	if f.real, err = filepath.EvalSymlinks(f.path); err != nil {
		f.real = f.path
	}
	if f.beside && !f.still() {
		return core.ToolError("The folder " + f.path + " is another one than the person opened: it leads through a link now."), nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errSlow)
	defer cancel()
	result, err := fn(ctx, f)
	if errors.Is(err, errSlow) {
		return core.ToolResult{}, core.E(core.Invalid, "it took longer than %s; name a smaller folder or a narrower pattern", maxTime)
	}
	return result, err
}

// meant is the folder that a name is in.
func meant(env core.ToolEnv, name string) *folder {
	w := env.Workspace
	f := &folder{path: w.Path, env: env}
	local := filepath.FromSlash(name)
	if !filepath.IsAbs(local) {
		local = filepath.Join(w.Path, local)
	}
	if _, inside := below(w.Path, local); inside {
		return f
	}
	if _, inside := below(realPath(w.Path), local); inside {
		return f
	}
	for _, d := range w.Dirs {
		if _, inside := below(d.Path, local); inside && (!f.beside || len(d.Path) > len(f.path)) {
			f.path, f.beside, f.readOnly = d.Path, true, !d.Writable
		}
	}
	return f
}

// still reports whether the folder is what stands at its path, and no link leads there: somebody may have put one in its place.
func (f *folder) still() bool {
	opened, err := f.root.Stat(".")
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.path)
	return err == nil && os.SameFile(opened, there) && realPath(f.path) == filepath.Clean(f.path)
}

// shown is how a path of the folder is told to a model: one that the model can name again.
func (f *folder) shown(rel string) string {
	if f.beside {
		return f.absolute(rel)
	}
	return rel
}

var errSlow = core.E(core.Timeout, "the call took too long")

// reason says in words why the system refused.
func reason(err error) string {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file or folder"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, syscall.ENOTDIR):
		return "a part of the path is a file, not a folder"
	case errors.As(err, &path):
		return path.Err.Error()
	default:
		return err.Error()
	}
}

// clip cuts what comes from outside for a message.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// inside returns the path in the folder, with slashes, that a name from a model means.
func (f *folder) inside(name string) (string, error) {
	if len(name) > maxPath || strings.ContainsRune(name, 0) {
		return "", core.E(core.Invalid, "that is no path: it is too long or holds a zero byte")
	}
	local := filepath.FromSlash(name)
	if filepath.IsAbs(local) {
		rel, ok := below(f.path, local)
		if !ok {
			rel, ok = below(f.real, local)
		}
		if !ok {
			return "", core.E(core.Invalid, "%q is outside of the open folder %s; name a path in it, or ask the person to open another "+
				"folder with /add-dir", clip(name, 200), clip(f.path, 200))
		}
		local = rel
	}
	local = filepath.Clean(local)
	if !filepath.IsLocal(local) {
		return "", core.E(core.Invalid, "%q leads out of the open folder %s; name a path in it, or ask the person to open another folder "+
			"with /add-dir", clip(name, 200), clip(f.path, 200))
	}
	return filepath.ToSlash(local), nil
}

func below(dir, name string) (string, bool) {
	rel, err := filepath.Rel(dir, filepath.Clean(name))
	return rel, err == nil && filepath.IsLocal(rel)
}

// resolve is inside, with the links on the way followed as far as they stay in the folder. What is not there yet is as named.
func (f *folder) resolve(name string) (string, error) {
	if f.beside && !filepath.IsAbs(filepath.FromSlash(name)) { // what a model names begins in the workspace
		name = filepath.Join(f.env.Workspace.Path, filepath.FromSlash(name))
	}
	rel, err := f.inside(name)
	if err != nil {
		return "", err
	}
	todo := strings.Split(rel, "/")
	done := "."
	for links := 0; len(todo) > 0; {
		next := path.Join(done, todo[0])
		info, err := f.root.Lstat(next)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				return "", core.E(core.Invalid, "%q cannot be opened: %s", clip(name, 200), reason(err))
			}
			done, todo = next, todo[1:]
			continue
		}
		if links++; links > maxLinks {
			return "", core.E(core.Invalid, "%q is a circle of links", clip(name, 200))
		}
		target, err := f.root.Readlink(next)
		if err == nil && !filepath.IsAbs(target) {
			target = filepath.Join(filepath.FromSlash(done), target)
		}
		if err == nil {
			target, err = f.inside(target)
		}
		if err != nil {
			return "", core.E(core.Invalid, "%q is a link that leads out of the open folder, and is not followed", clip(name, 200))
		}
		done, todo = ".", append(strings.Split(target, "/"), todo[1:]...)
	}
	return done, nil
}

// absolute is the path that is told to people and kept in the store.
func (f *folder) absolute(rel string) string { return filepath.Join(f.path, filepath.FromSlash(rel)) }

// open opens a regular file; it never waits for one that is none.
func (f *folder) open(rel string) (*os.File, fs.FileInfo, error) {
	file, err := f.root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &irregularError{info.Mode()}
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// irregularError says that what was to be read is no file.
type irregularError struct{ mode fs.FileMode }

func (e *irregularError) Error() string {
	switch {
	case e.mode.IsDir():
		return "it is a folder"
	case e.mode&fs.ModeNamedPipe != 0:
		return "it is a pipe, and only files can be read"
	case e.mode&fs.ModeSocket != 0:
		return "it is a socket, and only files can be read"
	default:
		return "it is a device, and only files can be read"
	}
}

// load reads a file whole, if it has no more than most bytes.
func (f *folder) load(rel string, most int64) ([]byte, fs.FileInfo, error) {
	file, info, err := f.open(rel)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := readAll(file, info.Size(), most)
	return content, info, err
}

// readAll reads a file that seems to have so many bytes, and has no more than most.
func readAll(file *os.File, size, most int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, min(size, most)+bytes.MinRead))
	n, err := b.ReadFrom(io.LimitReader(file, most+1))
	if err == nil && n > most {
		err = errLarge
	}
	return b.Bytes(), err
}

var errLarge = errors.New("the file is too large")

// cannot words why a named file could not be opened, and what to do.
func (f *folder) cannot(do, name, rel string, err error) error {
	var irregular *irregularError
	switch {
	case errors.As(err, &irregular) && irregular.mode.IsDir(), errors.Is(err, syscall.EISDIR):
		return core.E(core.Invalid, "%q is a folder; list shows what is in it", clip(name, 200))
	case errors.Is(err, errLarge):
		return core.E(core.Invalid, "%q has more than %d MB, too much to %s at once", clip(name, 200), core.MaxKeptContent>>20, do)
	case errors.Is(err, syscall.ENXIO):
		return core.E(core.Invalid, "%q is a pipe or a socket, and only files can be read", clip(name, 200))
	case errors.Is(err, fs.ErrNotExist):
		return core.E(core.Invalid, "there is no file %q.%s", clip(name, 200), f.alike(rel))
	default:
		return core.E(core.Invalid, "%q cannot be opened to %s: %s", clip(name, 200), do, reason(err))
	}
}

// alike names files that a wrong path may have meant: of the same folder, else that the folder is not there.
func (f *folder) alike(rel string) string {
	dir := path.Dir(rel)
	entries, err := f.entries(dir)
	if err != nil {
		return " There is no folder " + clip(dir, 200) + " either; glob finds files by their name."
	}
	want := strings.ToLower(strings.TrimSuffix(path.Base(rel), path.Ext(rel)))
	var names []string
	for _, e := range entries {
		if have := strings.ToLower(e.Name()); len(names) < 5 && want != "" && (strings.Contains(have, want) ||
			strings.Contains(want, strings.TrimSuffix(have, path.Ext(have))) && path.Ext(have) != "") {
			names = append(names, f.shown(path.Join(dir, e.Name())))
		}
	}
	if len(names) == 0 {
		return " glob finds files by their name."
	}
	return " Near it: " + clip(strings.Join(names, ", "), 400)
}
