package stage

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"loci/sandbox/frame"
)

// LeastLandlock is the oldest version that is of use: before it, no file could be moved to another folder.
const LeastLandlock = 2

// What Landlock can allow of files, by what it is good for.
const (
	mayList    = unix.LANDLOCK_ACCESS_FS_READ_DIR
	mayRead    = unix.LANDLOCK_ACCESS_FS_READ_FILE | mayList
	mayExecute = unix.LANDLOCK_ACCESS_FS_EXECUTE | mayRead
	mayWrite   = mayExecute | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	everything = mayWrite | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// ofFiles are the rights that can be given for one file.
	ofFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// LandlockVersion asks the kernel, since no file tells it reliably.
func LandlockVersion() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(abi), nil
}

// handled is what a version can restrict.
func handled(abi int) uint64 {
	rights := uint64(everything)
	if abi < 5 {
		rights &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi < 3 {
		rights &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	return rights
}

// lockFiles is the second lock on files, should a mount be wrong. It also keeps signals and sockets without a file inside.
func (c *cell) lockFiles() error {
	abi, err := LandlockVersion()
	if err != nil {
		return err
	}
	if abi < LeastLandlock {
		return fmt.Errorf("the kernel has version %d, and %d or newer is needed: %w", abi, LeastLandlock, unix.EOPNOTSUPP)
	}
	if c.spec.Reduced && abi < leastReducedLandlock {
		return fmt.Errorf("the kernel has version %d, and without namespaces %d or newer is needed: %w", abi, leastReducedLandlock,
			unix.EOPNOTSUPP)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(abi)}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	size := unsafe.Sizeof(attr.Handled_access_fs) * 3 // older kernels know the first fields only
	//nolint:gosec // G103: the system call takes this structure
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return errno
	}
	defer func() { _ = unix.Close(int(ruleset)) }() // in force by then
	rules := c.rules
	if c.spec.Reduced {
		rules = c.grantRules
	}
	for _, r := range rules() {
		if err := allow(int(ruleset), r.path, r.rights&attr.Handled_access_fs); err != nil {
			return fmt.Errorf("%s: %w", r.path, err)
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return errno
	}
	return c.layer(fmt.Sprintf("%s %d", frame.LayerLandlock, abi), nil)
}

type rule struct {
	path   string
	rights uint64
}

// rules are what the mounts give, once more.
func (c *cell) rules() []rule {
	rules := []rule{{"/", mayList}, {"/etc", mayRead}, {"/proc", mayRead}}
	for _, dir := range []string{"/tmp", frame.Home, "/dev/shm"} {
		rules = append(rules, rule{dir, mayWrite})
	}
	for _, name := range devices {
		rules = append(rules, rule{"/dev/" + name, mayRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
			unix.LANDLOCK_ACCESS_FS_IOCTL_DEV})
	}
	for _, path := range c.system {
		rules = append(rules, rule{path, mayExecute})
	}
	for _, b := range c.spec.Binds {
		switch {
		case b.Masked, b.Link != "", c.hidden(b.Target):
		case b.Writable:
			rules = append(rules, rule{b.Target, mayWrite})
		default:
			rules = append(rules, rule{b.Target, mayExecute})
		}
	}
	return rules
}

// hidden reports whether a path is in a folder that is hidden.
func (c *cell) hidden(path string) bool {
	return slices.ContainsFunc(c.spec.Binds, func(b frame.Bind) bool { return b.Masked && strings.HasPrefix(path, b.Target+"/") })
}

func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // it was only a name
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= ofFiles
	}
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	//nolint:gosec // G103: the system call takes this structure
	_, _, errno := unix.Syscall6(
		unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
