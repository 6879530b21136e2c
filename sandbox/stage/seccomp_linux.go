package stage

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"loci/sandbox/frame"
)

// reviewed is the highest system call that was looked at. Newer ones don't exist for a job.
const reviewed = unix.SYS_REMOVEXATTRAT

// namespaceFlags are those of clone that would make a new namespace, in which a job would have capabilities again.
const namespaceFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// denied are calls that no program for which the sandbox is meant needs, and that reach far into the kernel, plus those that
// hold memory where no limit counts it. Each architecture adds its own.
var denied = []uint32{
	unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_PERSONALITY,
	unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES, unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN,
}

// changers are calls that change what Landlock does not guard, of files that they name, or of other processes.
var changers = []uint32{
	unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_REMOVEXATTR,
	unix.SYS_LREMOVEXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_SETPRIORITY, unix.SYS_SCHED_SETAFFINITY,
}

// filterCalls takes system calls away from this thread and what it starts.
func (c *cell) filterCalls() error {
	if architecture == 0 {
		return unix.ENOTSUP
	}
	families := []uint32{unix.AF_INET, unix.AF_INET6}
	if c.spec.Unix {
		families = append(families, unix.AF_UNIX)
	}
	var more []uint32
	if c.spec.Reduced { // the machine's network is the job's, and files that Landlock doesn't know are reached by their names
		families, more = nil, slices.Concat(changers, changersHere)
	}
	code := filter(families, more)
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	//nolint:gosec // G103: the system call takes this structure
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return c.layer(frame.LayerSeccomp, nil)
}

// Where the kernel puts what a filter reads.
const (
	atNumber       = 0
	atArchitecture = 4
	atFirst        = 16 // the low half of the first argument, as both architectures have it
	atSecond       = 24
)

// What a filter answers.
const (
	answerAllow = unix.SECCOMP_RET_ALLOW
	answerKill  = unix.SECCOMP_RET_KILL_PROCESS
	answerErrno = unix.SECCOMP_RET_ERRNO
)

// filter is the program that judges a call. It can't follow pointers: clone3, which takes its flags by one, is said to be
// missing, and libraries fall back to clone. Sockets are judged where they are made, and nowhere else.
func filter(families, more []uint32) []unix.SockFilter {
	missing, refused := uint32(answerErrno|unix.ENOSYS), uint32(answerErrno|unix.EPERM)
	code := []unix.SockFilter{
		load(atArchitecture),
		jump(unix.BPF_JEQ, architecture, 1, 0),
		answer(answerKill),
		load(atNumber),
		jump(unix.BPF_JGT, reviewed, 0, 1), // the numbers of x32 are above, too
		answer(missing),
		jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1),
		answer(missing),
	}
	for _, call := range slices.Concat(denied, deniedHere, more) {
		code = append(code, jump(unix.BPF_JEQ, call, 0, 1), answer(refused))
	}
	if more != nil { // times are set of open files only
		code = append(code, jump(unix.BPF_JEQ, unix.SYS_UTIMENSAT, 0, 6), load(atSecond), jump(unix.BPF_JEQ, 0, 0, 2), load(atSecond+4),
			jump(unix.BPF_JEQ, 0, 1, 0), answer(refused), answer(answerAllow))
	}
	code = append(
		code,
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4),
		load(atFirst),
		jump(unix.BPF_JSET, namespaceFlags, 0, 1),
		answer(refused),
		answer(answerAllow),

		jump(unix.BPF_JEQ, unix.SYS_IOCTL, 0, 5),
		load(atSecond),
		jump(unix.BPF_JEQ, unix.TIOCSTI, 1, 0),
		jump(unix.BPF_JEQ, unix.TIOCLINUX, 0, 1),
		answer(refused),
		answer(answerAllow),

		jump(unix.BPF_JEQ, unix.SYS_SOCKET, 0, uint8(2*len(families)+2)),
		load(atFirst),
	)
	for _, family := range families {
		code = append(code, jump(unix.BPF_JEQ, family, 0, 1), answer(answerAllow))
	}
	return append(code, answer(answerErrno|uint32(unix.EAFNOSUPPORT)), answer(answerAllow))
}

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

// jump compares, and skips as many instructions as it says for either outcome.
func jump(how uint16, with uint32, skipTrue, skipFalse uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | how, Jt: skipTrue, Jf: skipFalse, K: with}
}

func answer(value uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
}
