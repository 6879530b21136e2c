package stage

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"loci/sandbox/frame"
)

// systemPaths are what programs of this machine need of it. Those that exist are mounted read-only; links stay links.
var systemPaths = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt/homebrew",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust", "/etc/alternatives",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/timezone",
}

// devices are all that there is in /dev.
var devices = []string{"null", "zero", "full", "random", "urandom"}

// ownFiles stand in for the machine's, which name people, hosts and services.
var ownFiles = map[string]string{
	"etc/passwd":        "loci:x:1000:1000::" + frame.Home + ":/bin/sh\n",
	"etc/group":         "loci:x:1000:\n",
	"etc/hosts":         "127.0.0.1 localhost loci\n::1 localhost\n",
	"etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
	"etc/resolv.conf":   "",
}

const (
	quiet      = unix.MS_NOSUID | unix.MS_NODEV
	mostInodes = 16 << 10
)

// openRoot puts an empty folder in memory in the place of the machine's root, which stays reachable below it for now. Below
// it too, "new" becomes the root of the sandbox.
func (c *cell) openRoot() error {
	const base = "/usr" // any folder does, and this one is everywhere
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", base, "tmpfs", quiet, "mode=0755,size=1m"); err != nil {
		return fmt.Errorf("a folder in memory: %w", err)
	}
	if err := unix.Chdir(base); err != nil {
		return err
	}
	for _, dir := range []string{"old", "new"} {
		if err := unix.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.PivotRoot(".", "old"); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", "new", "tmpfs", quiet, fmt.Sprintf("mode=0755,size=8m,nr_inodes=%d", mostInodes)); err != nil {
		return err
	}
	var err error
	if c.root, err = unix.Open("/new", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	c.old, err = unix.Open("/old", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return c.layer("namespaces", err)
}

// mountSystem mounts the machine's programs and libraries.
func (c *cell) mountSystem() error {
	for _, name := range systemPaths {
		rel := strings.TrimPrefix(name, "/")
		if to, err := os.Readlink("/old" + name); err == nil {
			if err := c.folder(path.Dir(rel)); err != nil {
				return err
			}
			if err := unix.Symlinkat(to, c.root, rel); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			continue
		}
		err := c.bind(frame.Bind{Source: name, Target: name}, unix.RESOLVE_IN_ROOT)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return err
		}
		c.system = append(c.system, name)
	}
	return nil
}

// mountDevices makes a /dev of the few devices that are harmless.
func (c *cell) mountDevices() error {
	for _, name := range devices {
		name = "/dev/" + name
		b := frame.Bind{Source: name, Target: name}
		if err := c.attach(b, unix.RESOLVE_IN_ROOT, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := unix.Symlinkat(to, c.root, "dev/"+name); err != nil {
			return err
		}
	}
	return nil
}

// mountProc shows the job its own processes and nothing of the machine. Where proc itself is masked, as in some containers,
// the kernel refuses: then /proc stays empty, and the layers say so.
func (c *cell) mountProc() error {
	if err := c.folder("proc"); err != nil {
		return err
	}
	err := unix.Mount("proc", "/new/proc", "proc", quiet|unix.MS_NOEXEC, "subset=pid,hidepid=invisible")
	if errors.Is(err, unix.EPERM) {
		return c.layer("empty /proc", nil)
	}
	return err
}

// mountMemory makes the job's own folders, in memory.
func (c *cell) mountMemory() error {
	for dir, size := range map[string]int{"tmp": 64, strings.TrimPrefix(frame.Home, "/"): 128, "dev/shm": 16} {
		if err := c.folder(dir); err != nil {
			return err
		}
		options := fmt.Sprintf("mode=0700,size=%dm,nr_inodes=%d", size, mostInodes)
		if err := unix.Mount("tmpfs", "/new/"+dir, "tmpfs", quiet, options); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// writeFiles writes the few files of /etc that programs look for.
func (c *cell) writeFiles() error {
	if err := c.folder("etc"); err != nil {
		return err
	}
	for name, text := range ownFiles {
		if err := os.WriteFile("/new/"+name, []byte(text), 0o644); err != nil { //nolint:gosec // G306: everyone inside reads them
			return err
		}
	}
	// What masks are made of. Nobody can open them: were they only empty, git would store emptiness in place of what is hidden.
	for name, mode := range map[string]uint32{"/empty": unix.S_IFDIR, "/none": unix.S_IFREG} {
		if err := makeEmpty(name, mode); err != nil {
			return err
		}
		if err := unix.Chmod(name, 0); err != nil {
			return err
		}
	}
	return nil
}

func makeEmpty(name string, mode uint32) error {
	if mode == unix.S_IFDIR {
		return unix.Mkdir(name, 0o555)
	}
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// mountJob mounts what the job named, in its order, and makes the root read-only.
func (c *cell) mountJob() error {
	if c.spec.Scratch != "" {
		for inside, dir := range map[string]string{"/tmp": "tmp", frame.Home: "home"} {
			b := frame.Bind{Source: filepath.Join(c.spec.Scratch, dir), Target: inside, Writable: true}
			if err := c.bind(b, unix.RESOLVE_NO_SYMLINKS); err != nil {
				return err
			}
		}
	}
	for i, b := range c.spec.Binds {
		var err error
		switch {
		case b.Masked:
			err = c.mask(b.Target)
		case b.Link != "":
			err = c.link(fmt.Sprintf("/link-%d", i), b)
		default:
			err = c.bind(b, unix.RESOLVE_NO_SYMLINKS)
		}
		if err != nil {
			return err
		}
		c.placed = append(c.placed, b.Target)
	}
	return unix.MountSetattr(c.root, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// bind mounts a file or folder of the machine with everything below it.
func (c *cell) bind(b frame.Bind, resolve uint64) error {
	attr := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
	if !b.Writable {
		attr |= unix.MOUNT_ATTR_RDONLY
	}
	return c.attach(b, resolve, attr)
}

// attach mounts a copy of a tree. Its attributes are set before anybody can see it.
func (c *cell) attach(b frame.Bind, resolve, attr uint64) error {
	from, err := unix.Openat2(c.old, strings.TrimPrefix(b.Source, "/"), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve | unix.RESOLVE_IN_ROOT,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", b.Source, err)
	}
	defer func() { _ = unix.Close(from) }() // it was only a name
	return c.place(from, b.Target, attr)
}

// place mounts what a descriptor names.
func (c *cell) place(from int, target string, attr uint64) error {
	tree, err := unix.OpenTree(from, "", unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return fmt.Errorf("copy the mounts for %s: %w", target, err)
	}
	defer func() { _ = unix.Close(tree) }() // mounted by then, or dropped
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr}); err != nil {
		return fmt.Errorf("restrict %s: %w", target, err)
	}
	at, err := c.target(target, from)
	if err != nil {
		return fmt.Errorf("a place for %s: %w", target, err)
	}
	defer func() { _ = unix.Close(at) }() // likewise
	if err := unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}

// mask lays something empty over a path, of the same kind.
func (c *cell) mask(target string) error {
	at, err := c.open(target)
	if errors.Is(err, unix.ENOENT) {
		return nil // gone since it was found: there is nothing to hide
	}
	if err != nil {
		return fmt.Errorf("hide %s: %w", target, err)
	}
	defer func() { _ = unix.Close(at) }() // it was only a name
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return err
	}
	empty := "/none"
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		empty = "/empty"
	}
	from, err := unix.Open(empty, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(from) }() // likewise
	return c.place(from, target, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
}

// link lays a link over a file. Being a mount, it can't be replaced; what is written through it goes to where it leads.
func (c *cell) link(name string, b frame.Bind) error {
	if err := unix.Symlink(b.Link, name); err != nil {
		return fmt.Errorf("a link for %s: %w", b.Target, err)
	}
	from, err := unix.Open(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(from) }() // it was only a name
	return c.place(from, b.Target, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

// open opens a path of the new root by name. A link in it is an error: the project's links are its own, and could lead anywhere.
func (c *cell) open(target string) (int, error) {
	return unix.Openat2(c.root, strings.TrimPrefix(target, "/"), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS,
	})
}

// target opens the place of a mount, and makes it where it is missing and belongs to us: nothing is made in a folder of
// the machine.
func (c *cell) target(target string, like int) (int, error) {
	at, err := c.open(target)
	if !errors.Is(err, unix.ENOENT) {
		return at, err
	}
	if slices.ContainsFunc(c.placed, func(p string) bool { return strings.HasPrefix(target, p+"/") }) {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(like, &st); err != nil {
		return -1, err
	}
	rel := strings.TrimPrefix(target, "/")
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		err = c.folder(rel)
	} else if err = c.folder(path.Dir(rel)); err == nil {
		err = makeEmpty("/new/"+rel, unix.S_IFREG)
	}
	if err != nil {
		return -1, err
	}
	return c.open(target)
}

// folder makes a folder of the new root, and those above it.
func (c *cell) folder(rel string) error {
	for i, r := range rel + "/" {
		if r != '/' {
			continue
		}
		if err := unix.Mkdirat(c.root, rel[:i], 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("%s: %w", rel[:i], err)
		}
	}
	return nil
}

// leaveRoot makes the new root the only one. The machine's is gone for good.
func (c *cell) leaveRoot() error {
	if err := unix.Fchdir(c.root); err != nil {
		return err
	}
	// Unmounted first, the machine's root could not come back through a mistake below.
	if err := unix.Unmount("/old", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the machine's root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	for _, fd := range []int{c.root, c.old} {
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	return unix.Chdir("/")
}
