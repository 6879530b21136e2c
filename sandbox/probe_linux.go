package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// usefulLandlock is the first version that also confines signals and abstract sockets.
const usefulLandlock = 6

func probe(ctx context.Context) []Layer {
	return []Layer{namespaces(ctx), landlock(), seccomp(), cgroup()}
}

// namespaces starts a program in its own namespaces, as a sandbox would.
func namespaces(ctx context.Context) Layer {
	const name = "namespaces"
	program, err := exec.LookPath("true")
	if err != nil {
		return Layer{Name: name, Detail: "could not be tried: there is no program \"true\""}
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID |
			syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Run(); err != nil {
		return Layer{Name: name, Detail: err.Error(), Fix: namespaceFix(err)}
	}
	return Layer{Name: name, Works: true, Detail: "user, mount, process and network"}
}

// namespaceFix names the usual cause of a refusal.
func namespaceFix(err error) string {
	restricted, _ := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") // absent: not restricted
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "raise user.max_user_namespaces with sysctl"
	case strings.TrimSpace(string(restricted)) == "1":
		return "load an AppArmor profile that gives this program the right userns"
	case errors.Is(err, syscall.EPERM):
		return "in a container: allow user namespaces in its seccomp profile"
	}
	return ""
}

// landlock asks the kernel for the version, since no file tells it reliably.
func landlock() Layer {
	const name, version = "Landlock", 1 // the flag LANDLOCK_CREATE_RULESET_VERSION
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version)
	if errno != 0 {
		return Layer{Name: name, Detail: errno.Error(), Fix: "a kernel from 5.13 on with landlock among its security modules"}
	}
	return Layer{
		Name:   name,
		Works:  abi >= usefulLandlock,
		Detail: fmt.Sprintf("version %d, of which %d or newer is needed", abi, usefulLandlock),
	}
}

// seccomp asks whether filters exist: if they do, the kernel refuses the missing filter, not the mode.
func seccomp() Layer {
	const name = "seccomp"
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, 0)
	if errno == unix.EFAULT {
		return Layer{Name: name, Works: true, Detail: "filters"}
	}
	return Layer{Name: name, Detail: errno.Error(), Fix: "a kernel with seccomp filters"}
}

// cgroup reports whether the memory of a whole process tree can be limited.
func cgroup() Layer {
	const name = "cgroup"
	missing := Layer{
		Name: name, Detail: "this account may not limit the memory of a program and its children",
		Fix: "a systemd user session allows it",
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return missing
	}
	for line := range strings.Lines(string(own)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if ok && unix.Access(filepath.Join("/sys/fs/cgroup", filepath.Clean("/"+path), "cgroup.subtree_control"), unix.W_OK) == nil {
			return Layer{Name: name, Works: true, Detail: "version 2, delegated"}
		}
	}
	return missing
}
