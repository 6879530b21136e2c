package mirror

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"loci/core"
)

// Limits on a folder.
const (
	maxFiles   = 512      // Markdown files under system/
	maxEntries = 20_000   // other entries
	maxBytes   = 64 << 20 // of all files together
)

// The daemon's own corner of the folder, which neither people nor git look at.
const (
	gitDir    = ".git"
	cornerDir = gitDir + "/loci"
	asideDir  = cornerDir + "/aside"
	ownerFile = cornerDir + "/owner"
)

// keepAside is how long a replaced file is kept, in case an editor writes into it a moment later.
const keepAside = 2 * time.Second

// errChanged means that somebody else was faster: look again.
var errChanged = errors.New("the file changed meanwhile")

// folder reads and writes a memory folder. It can't reach anything outside, whatever links the folder contains.
type folder struct {
	root  *os.Root
	dir   string
	now   func() time.Time
	point func(string) // called before each action, for tests that stop there
}

func openFolder(dir string) (*folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, core.E(core.Unavailable, "open the folder %s: %w", dir, err).
			WithHint("bring it back, or turn the mirror off: loci memory mirror --off")
	}
	return &folder{root: root, dir: dir, now: time.Now, point: func(string) {}}, nil
}

func (f *folder) close() { _ = f.root.Close() } // it was only read from; written files are closed separately

// walk calls use for every wanted name under system/, including links, and nothing else.
func (f *folder) walk(want func(name string) bool, use func(name string, d fs.DirEntry) error) error {
	entries, files := 0, 0
	err := fs.WalkDir(f.root.FS(), blocksDir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if name == blocksDir && errors.Is(err, fs.ErrNotExist) {
				return fs.SkipAll
			}
			return err
		}
		if entries++; entries > maxEntries {
			return core.E(core.TooLarge, "more than %d entries stand under %s", maxEntries, blocksDir)
		}
		if d.IsDir() {
			if name != blocksDir && (strings.HasPrefix(d.Name(), ".") || strings.Count(name, "/") > maxDepth) {
				return fs.SkipDir
			}
			return nil
		}
		if !want(d.Name()) {
			return nil
		}
		if files++; files > maxFiles {
			return core.E(core.TooLarge, "more than %d files of memory stand under %s", maxFiles, blocksDir)
		}
		return use(name, d)
	})
	if err != nil {
		return fmt.Errorf("look at %s: %w", f.dir, err)
	}
	return nil
}

// scan reads all Markdown files under system/.
func (f *folder) scan() (map[string]*file, error) {
	files := map[string]*file{}
	total := 0
	err := f.walk(readable, func(name string, _ fs.DirEntry) error {
		one := f.read(name)
		if one == nil {
			return nil
		}
		if total += len(one.Data); total > maxBytes {
			return core.E(core.TooLarge, "its Markdown files have more than %d MB", maxBytes>>20)
		}
		files[name] = one
		return nil
	})
	return files, err
}

// read reads one file; nil: it doesn't exist. Anything but a regular file is not opened: a pipe would block forever.
func (f *folder) read(name string) *file {
	out := &file{Path: name}
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		out.Err = err
		return out
	case !info.Mode().IsRegular():
		out.Err = errors.New("it is no plain file")
		return out
	}
	in, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		out.Err = err
		return out
	}
	defer func() { _ = in.Close() }()
	if now, err := in.Stat(); err != nil || !os.SameFile(info, now) {
		out.Err = errChanged
		return out
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		out.Err = err
		return out
	case len(data) > maxFile:
		out.Err = fmt.Errorf("it is larger than %d bytes", maxFile)
		return out
	}
	out.Data, out.Hash = data, hashFile(data)
	out.Doc, out.Err = parse(data)
	return out
}

// look returns a text that differs after every change to the folder that may need a sync. It reads no files.
func (f *folder) look() (string, error) {
	var out strings.Builder
	stamp := func(name string, info fs.FileInfo) {
		fmt.Fprintf(&out, "%s %d %d %s\n", name, info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	for _, name := range append([]string{gitDir + "/HEAD"}, pauses()...) {
		if info, err := f.root.Lstat(name); err == nil {
			stamp(name, info)
		}
	}
	err := f.walk(readable, func(name string, d fs.DirEntry) error {
		if info, err := d.Info(); err == nil { // one that disappeared shows up in the next look
			stamp(name, info)
		}
		return nil
	})
	return out.String(), err
}

// fill writes a new file in the daemon's corner, complete and durable, and returns its name.
func (f *folder) fill(data []byte) (string, error) {
	name := cornerDir + "/new-" + uuid.NewString()
	out, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = out.Write(data)
	if err = errors.Join(err, out.Chmod(0o644), out.Sync(), out.Close()); err != nil {
		_ = f.root.Remove(name)
		return "", err
	}
	return name, nil
}

// put makes a file appear atomically under a name that must be free. A taken name is errChanged.
func (f *folder) put(name string, data []byte) error {
	if err := f.makeDirs(path.Dir(name)); err != nil {
		return err
	}
	filled, err := f.fill(data)
	if err != nil {
		return err
	}
	defer func() { _ = f.root.Remove(filled) }() // otherwise swept in the next pass
	f.point("put " + name)
	return f.link(filled, name)
}

// link gives a file a second name, which must be free.
func (f *folder) link(from, to string) error {
	err := f.root.Link(from, to)
	if errors.Is(err, fs.ErrExist) {
		return errChanged
	}
	if err == nil {
		return f.syncDir(path.Dir(to))
	}
	// Some file systems have no hard links.
	if _, lerr := f.root.Lstat(to); !errors.Is(lerr, fs.ErrNotExist) {
		return errChanged
	}
	return errors.Join(f.root.Rename(from, to), f.syncDir(path.Dir(to)))
}

// syncDir makes names durable, if the system can.
func (f *folder) syncDir(name string) error {
	d, err := f.root.Open(name)
	if err != nil {
		return nil //nolint:nilerr // a name lost in a power cut is written again
	}
	_ = d.Sync() // as above
	return d.Close()
}

// makeDirs creates the folders above a file. A link among them is rejected: what is behind it isn't looked at.
func (f *folder) makeDirs(dir string) error {
	at := ""
	for part := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, part)
		info, err := f.root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := f.root.Mkdir(at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is no folder", at)
		}
	}
	return nil
}

// take moves a file out of its place if it still is what was read, and keeps it for a moment. Otherwise the file goes
// back, or beside its place if that has been taken meanwhile, and the error is errChanged.
func (f *folder) take(name, hash string) error {
	id := asideDir + "/" + strconv.FormatInt(f.now().UnixNano(), 10) + "-" + uuid.NewString()[:8]
	if err := f.root.WriteFile(id+".path", []byte(name), 0o600); err != nil {
		return err
	}
	kept := id + "." + hash
	f.point("take " + name)
	if err := f.root.Rename(name, kept); err != nil {
		_ = f.root.Remove(id + ".path")
		if errors.Is(err, fs.ErrNotExist) {
			return errChanged
		}
		return err
	}
	f.point("taken " + name)
	if now := f.read(kept); now != nil && now.Hash == hash {
		return nil
	}
	if err := f.link(kept, name); err != nil {
		if !errors.Is(err, errChanged) {
			return err
		}
		if err := f.beside(name, kept); err != nil {
			return err
		}
	}
	return errors.Join(errChanged, f.dropAside(id, kept))
}

// beside gives a file in the corner a conflict's name. A text that is already there isn't kept twice.
func (f *folder) beside(name, kept string) error {
	hash := ""
	if now := f.read(kept); now != nil {
		hash = now.Hash
	}
	return f.freeBeside(name, hash, func(to string) error {
		if err := f.makeDirs(path.Dir(to)); err != nil {
			return err
		}
		return f.link(kept, to)
	})
}

// keepBeside saves the text of a file beside it.
func (f *folder) keepBeside(name string, data []byte) error {
	return f.freeBeside(name, hashFile(data), func(to string) error { return f.put(to, data) })
}

// freeBeside finds the first free name for a conflict.
func (f *folder) freeBeside(name, hash string, put func(to string) error) error {
	for n := 1; ; n++ {
		to := conflictPath(name, n)
		if there := f.read(to); there != nil {
			if hash != "" && there.Hash == hash {
				return nil
			}
			continue
		}
		if err := put(to); !errors.Is(err, errChanged) {
			return err
		}
	}
}

func (f *folder) dropAside(id, kept string) error {
	if err := f.root.Remove(kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.root.Remove(id + ".path"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sweep checks the replaced files once more, whether they were replaced a while ago or before a crash: one that has
// been written to since goes beside its place, the others are removed. waiting is how many are still too recent.
func (f *folder) sweep() (waiting int, err error) {
	for _, dir := range []string{cornerDir, asideDir} {
		if err := f.makeDirs(dir); err != nil {
			return 0, fmt.Errorf("prepare %s: %w", cornerDir, err)
		}
	}
	if err := f.sweepNew(); err != nil {
		return 0, err
	}
	entries, err := fs.ReadDir(f.root.FS(), asideDir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		id, hash, _ := strings.Cut(e.Name(), ".")
		nano, _, _ := strings.Cut(id, "-")
		at, err := strconv.ParseInt(nano, 10, 64)
		if err != nil || hash == "path" {
			if err := f.sweepPath(id); err != nil {
				return waiting, err
			}
			continue
		}
		if age := f.now().Sub(time.Unix(0, at)); age >= 0 && age < keepAside {
			waiting++
			continue
		}
		if err := f.sweepOne(asideDir+"/"+id, asideDir+"/"+e.Name(), hash); err != nil {
			return waiting, err
		}
	}
	return waiting, nil
}

// sweepNew removes files that a crash left half written.
func (f *folder) sweepNew() error {
	entries, err := fs.ReadDir(f.root.FS(), cornerDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "new-") || strings.HasPrefix(e.Name(), "index-") {
			if err := f.root.Remove(cornerDir + "/" + e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// sweepPath removes the record of a name whose file was never taken.
func (f *folder) sweepPath(id string) error {
	left, err := fs.Glob(f.root.FS(), asideDir+"/"+id+".*")
	if err != nil || len(left) != 1 || id == "" {
		return err
	}
	return f.root.Remove(asideDir + "/" + id + ".path")
}

func (f *folder) sweepOne(id, kept, hash string) error {
	if now := f.read(kept); now != nil && now.Hash != hash {
		name, err := f.root.ReadFile(id + ".path")
		if _, problem := pathOf(labelOf(string(name))); err != nil || problem != "" {
			name = []byte(blocksDir + "/found" + extension)
		}
		if err := f.beside(string(name), kept); err != nil {
			return err
		}
	}
	return f.dropAside(id, kept)
}

// replace makes a file contain a text if it still is what was read; hash is empty if the file must not exist.
func (f *folder) replace(name, hash string, data []byte) error {
	if hash != "" {
		if err := f.take(name, hash); err != nil {
			return err
		}
	}
	return f.put(name, data)
}
