package stage

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// initCapabilities are those that an init needs in its namespaces. It starts as an ordinary account there, so that it would
// lose them all when it is executed if they weren't ambient.
func initCapabilities() []uintptr {
	return []uintptr{
		unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SETUID, unix.CAP_SETGID,
		unix.CAP_NET_BIND_SERVICE,
	}
}

// dropCapabilities removes every capability from every thread, and returns how it says so.
func dropCapabilities() (layer string, err error) {
	layer, all := "capabilities", true
	// A program that links C has threads that Go can't reach. There, the thread that starts the job loses them, and layer says so.
	each := func(trap, a1, a2, a3 uintptr) syscall.Errno {
		if all {
			_, _, errno := syscall.AllThreadsSyscall(trap, a1, a2, a3)
			if !errors.Is(errno, syscall.ENOTSUP) {
				return errno
			}
			layer, all = "capabilities (of the job)", false
		}
		_, _, errno := syscall.RawSyscall(trap, a1, a2, a3)
		return errno
	}
	if errno := each(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0); errno != 0 {
		return "", fmt.Errorf("ambient: %w", errno)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	//nolint:gosec // G103: the system call takes these structures
	errno := each(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	if errno != 0 {
		return "", fmt.Errorf("capset: %w", errno)
	}
	return layer, nil
}

// dropBounds removes every capability from what programs executed by this thread may ever gain.
func dropBounds() error {
	for c := range uintptr(64) {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) { // the kernel knows no more
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
