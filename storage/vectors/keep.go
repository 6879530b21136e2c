package vectors

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Ending is the extension of code files. They are numbered: a new generation gets a new name, so that a mapped file is
// never overwritten.
const Ending = ".codes"

func (x *Index) name(number int) string { return x.cfg.Path + "." + strconv.Itoa(number) + Ending }

// files returns the numbers of the existing files, newest first.
func (x *Index) files() []int {
	paths, _ := filepath.Glob(escape(x.cfg.Path) + ".*" + Ending) // the pattern is well-formed
	var numbers []int
	for _, p := range paths {
		text := strings.TrimSuffix(strings.TrimPrefix(p, x.cfg.Path+"."), Ending)
		if n, err := strconv.Atoi(text); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	slices.Reverse(numbers)
	return numbers
}

// escape keeps a path from being interpreted as a pattern.
func escape(path string) string {
	if os.PathSeparator == '\\' {
		return path // Windows patterns have no escapes
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func removeFile(path string) error { return os.Remove(path) }

// fresh creates an empty state with its own file. Deletions up to gone don't concern it.
func (x *Index) fresh(gone int64) (*state, error) {
	number := 1
	if have := x.files(); len(have) > 0 {
		number = have[0] + 1
	}
	s := &state{
		l: layoutOf(
			x.rot.padded / 64,
		),
		rot:    x.rot,
		mean:   make([]float32, x.cfg.Dim),
		path:   x.name(number),
		slots:  slotMap{},
		gone:   gone,
		missed: true,
	}
	var err error
	s.file, err = createFile(s.path, header{Home: x.cfg.Home, Set: x.cfg.Set, Dim: int64(x.cfg.Dim)}, s.mean, s.l)
	return s, err
}

// reuse opens the newest code file that can be trusted and removes all others; if there is none, it says why.
func (x *Index) reuse(b Bounds) (*state, string) {
	var found *state
	why := "missing"
	for _, n := range x.files() {
		path := x.name(n)
		if found == nil {
			s, err := x.trusted(path, b)
			if err == nil {
				found = s
				continue
			}
			why = err.Error()
		}
		_ = removeFile(path) // the next start tries again
	}
	return found, why
}

// trusted opens a code file and checks that it belongs to this home, set and epoch, is whole, and isn't ahead of the
// facts.
func (x *Index) trusted(path string, b Bounds) (*state, error) {
	file, mean, err := openFile(path)
	if err != nil {
		return nil, err
	}
	s := &state{l: file.l, rot: x.rot, mean: mean, file: file, path: path, slots: slotMap{}, missed: true}
	h := file.head
	switch {
	case h.Home != x.cfg.Home || h.Set != x.cfg.Set || h.Dim != int64(x.cfg.Dim):
		err = fmt.Errorf("of other vectors")
	case h.Epoch != x.cfg.Before:
		err = fmt.Errorf("of another state of the facts")
	case h.Last > b.Last || h.Gone > b.Gone:
		err = fmt.Errorf("ahead of the facts")
	case h.Gone < b.Pruned:
		err = fmt.Errorf("too far behind")
	default:
		err = guarded(s.load)
	}
	if err == nil {
		for _, v := range mean {
			if v != 0 {
				s.meanRows = min(betterMean, s.rows)
			}
		}
		err = x.save(s)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// checkpoint saves the current state if it has changed. The caller holds applying.
func (x *Index) checkpoint() error {
	s := x.cur
	x.mu.RLock()
	clean := s.full == s.written && !s.struck && s.file.head.Epoch == x.cfg.Now
	x.mu.RUnlock()
	if clean {
		return nil
	}
	return x.save(s)
}

// save writes the header. Only the holder of applying changes its contents.
func (x *Index) save(s *state) error {
	h := header{Home: x.cfg.Home, Set: x.cfg.Set, Dim: int64(x.cfg.Dim), Epoch: x.cfg.Now, Blocks: int64(s.full), Gone: s.gone}
	err := guarded(func() error {
		if s.full > 0 {
			h.Last = s.blocks[s.full-1].id(blockRows - 1)
		}
		return s.file.write(h)
	})
	if err != nil {
		return err
	}
	s.written, s.struck = s.full, false
	x.saved.Store(s.gone)
	return nil
}

// remade writes another mean to a file that has no blocks yet.
func (c *codeFile) remade(mean []float32) (*codeFile, error) {
	next, err := createFile(c.f.Name(), c.head, mean, c.l)
	_ = c.f.Close()
	return next, err
}
