package sandbox

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"loci/core"
)

// sentry hears of what is replaced outside while jobs run. What is closed to a job is covered by a mount, and the kernel drops
// that when somebody outside moves or removes what it covers, as editors and git do to write a file: what stands there then is
// open to the job. No mount and no lock of the kernel's keeps that from happening.
type sentry struct {
	mu      sync.Mutex // guards what follows
	file    *os.File   // nil until it is needed
	fd      int        // of it
	ended   chan struct{}
	watched map[int32]map[string]map[*vigil][]string // by folder, name in it, and who wants to know: what the name covers
}

// events are what happens to a name. Of a file that lies open, also that it was written.
const events = unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MODIFY | unix.IN_ONLYDIR

// covered is a path that is closed to a job, in a folder of the machine that it sees.
type covered struct{ root, path string }

// vigil is what the sentry watches for one job.
type vigil struct {
	sentry *sentry
	bared  func(path string)
	marks  map[string]os.FileInfo
	open   map[string]int // what lies open now, and how often something happened to it since
}

// guard tells a job of what is bared, from now until end is called.
func (s *sentry) guard(paths []covered, bared func(path string)) (*vigil, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &vigil{sentry: s, bared: bared, marks: map[string]os.FileInfo{}, open: map[string]int{}}
	if len(paths) == 0 {
		return v, nil
	}
	if err := s.start(); err != nil {
		return nil, fault(err)
	}
	for _, p := range paths {
		if err := s.watch(v, p); err != nil {
			s.leave(v)
			return nil, fault(err)
		}
	}
	return v, nil
}

func fault(err error) error {
	return core.E(core.Unavailable, "watch what is closed to the program: %w", err).
		WithHint("sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512")
}

func (s *sentry) start() error {
	if s.file != nil {
		return nil
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return err
	}
	s.fd, s.file, s.ended = fd, os.NewFile(uintptr(fd), "inotify"), make(chan struct{})
	s.watched = map[int32]map[string]map[*vigil][]string{}
	conn, err := s.file.SyscallConn()
	if err != nil {
		return err
	}
	go func() {
		defer close(s.ended)
		_ = conn.Read(func(fd uintptr) bool { // until it is closed
			s.mu.Lock()
			defer s.mu.Unlock()
			s.hear(int(fd))
			return false
		})
	}()
	return nil
}

// close ends the sentry. No job runs any more.
func (s *sentry) close() {
	s.mu.Lock()
	file := s.file
	s.file = nil
	s.mu.Unlock()
	if file != nil {
		_ = file.Close() // only read from
		<-s.ended
	}
}

// watch watches every name on the way to a path.
func (s *sentry) watch(v *vigil, p covered) error {
	rel, err := filepath.Rel(p.root, p.path)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return err
	}
	dir := p.root
	for name := range strings.SplitSeq(rel, "/") {
		wd, err := unix.InotifyAddWatch(s.fd, dir, events)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			return nil // gone since it was found, as for mounts
		}
		if err != nil {
			return err
		}
		names := s.watched[int32(wd)]
		if names == nil {
			names = map[string]map[*vigil][]string{}
			s.watched[int32(wd)] = names
		}
		if names[name] == nil {
			names[name] = map[*vigil][]string{}
		}
		names[name][v] = append(names[name][v], p.path)
		dir = filepath.Join(dir, name)
		if info, err := os.Lstat(dir); err == nil {
			v.marks[dir] = info
		}
	}
	return nil
}

// hear reads what has happened so far.
func (s *sentry) hear(fd int) {
	var buffer [8 << 10]byte
	for {
		n, err := unix.Read(fd, buffer[:])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			head := buffer[at : at+unix.SizeofInotifyEvent]
			wd, mask := int32(binary.NativeEndian.Uint32(head)), binary.NativeEndian.Uint32(head[4:])
			at += unix.SizeofInotifyEvent
			end := min(n, at+int(binary.NativeEndian.Uint32(head[12:])))
			name := strings.TrimRight(string(buffer[at:end]), "\x00")
			at = end
			s.tell(wd, mask, name)
		}
	}
}

func (s *sentry) tell(wd int32, mask uint32, name string) {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		seen := map[*vigil]bool{}
		for _, names := range s.watched {
			for _, vigils := range names {
				for v := range vigils {
					if !seen[v] {
						v.compare()
					}
					seen[v] = true
				}
			}
		}
		return
	}
	for v, paths := range s.watched[wd][name] {
		for _, path := range paths {
			v.happened(path, mask)
		}
	}
}

// happened notes what happened to a name on the way to a path.
func (v *vigil) happened(path string, mask uint32) {
	times, open := v.open[path]
	switch {
	case open:
		v.open[path] = times + 1
	case mask&^unix.IN_ISDIR != unix.IN_MODIFY:
		v.open[path] = 0
		v.bared(path)
	}
}

// compare looks at all names itself: so much has happened that the kernel didn't tell it.
func (v *vigil) compare() {
	for path, was := range v.marks {
		if now, err := os.Lstat(path); err != nil || !os.SameFile(was, now) {
			v.open[path] = 1
			v.bared(path)
		}
	}
}

// end ends a vigil, when no process of the job is left, and says for which of the paths the job could have written what stands
// there now.
func (v *vigil) end() (touched func(path string) bool) {
	s := v.sentry
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.hear(s.fd)
	}
	s.leave(v)
	return func(path string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return v.open[path] > 0
	}
}

// leave takes a vigil out, and watches nothing that nobody else wants to know.
func (s *sentry) leave(v *vigil) {
	for wd, names := range s.watched {
		for name, vigils := range names {
			delete(vigils, v)
			if len(vigils) == 0 {
				delete(names, name)
			}
		}
		if len(names) == 0 {
			delete(s.watched, wd)
			_, _ = unix.InotifyRmWatch(s.fd, uint32(wd)) // the folder may be gone
		}
	}
}
