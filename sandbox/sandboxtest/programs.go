package sandboxtest

import "loci/core"

// The interpreters that attempts are written for.
const (
	shell  = "/usr/bin/sh"
	bash   = "/usr/bin/bash"
	python = "/usr/bin/python3"
	node   = "/usr/bin/node"
)

func sh(script string) []string { return []string{shell, "-c", script} }

// py runs Python, with a way to make any system call. One that fails ends the program.
func py(script string) []string {
	return []string{python, "-I", "-S", "-c", `import os, sys, ctypes, socket, mmap, struct, time
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    r = libc.syscall(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if r < 0: sys.exit(os.strerror(ctypes.get_errno()))
    return r
env = os.environ
` + script}
}

func js(script string) []string { return []string{node, "-e", script} }

// The ways in which an attempt's job differs.

func masked(j *core.Job)   { j.Project.Masked = []string{".env"} }
func unmasked(j *core.Job) { j.Project.Masked = nil }
func readable(j *core.Job) { j.Project.Writable = false }
func writable(j *core.Job) { j.Project.Writable = true }
func kept(j *core.Job)     { j.Project.ReadOnly = []string{"file"} }
func unkept(j *core.Job)   { j.Project.ReadOnly = nil }

// asShell is a job of the other profile, which may use sockets of its own.
func asShell(j *core.Job) { j.Profile = core.JobShell }

// narrow is a job with little memory, and wide one with more.
func narrow(j *core.Job) { j.Limits.Memory = 128 << 20 }
func wide(j *core.Job)   { j.Limits.Memory = 2 << 30 }
