package sandboxtest

import "loci/core"

func memory() []Attempt {
	const class = "memory"
	const hold = `for i in range(0, len(m), 4096): m[i] = 1
time.sleep(0.5); print("ESCAPED")`
	return []Attempt{
		{Class: class, Name: "private", Argv: py(`m = bytearray(400 << 20)
` + hold), Job: narrow, Free: wide},
		{Class: class, Name: "private pages", Argv: py(`m = mmap.mmap(-1, 400 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
` + hold), Job: narrow, Free: wide},
		{Class: class, Name: "shared pages, which the limit of one process doesn't count", Argv: py(
			`m = mmap.mmap(-1, 400 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
` + hold), Job: narrow, Free: wide},
		{Class: class, Name: "in many processes", Argv: py(`for i in range(5):
    if os.fork() == 0:
        m = mmap.mmap(-1, 90 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for i in range(0, len(m), 4096): m[i] = 1
        time.sleep(3); os._exit(0)
for i in range(5): os.wait()
print("ESCAPED")`), Job: narrow, Free: wide},
		{Class: class, Name: "in node", Argv: js(`const all = []; for (let i = 0; i < 40; i++) all.push(Buffer.alloc(10 << 20, 1))
setTimeout(() => console.log("ESCAPED"), 500)`), Job: narrow, Free: wide},
		{Class: class, Name: "a file without a name", Argv: py(`os.memfd_create("x"); print("ESCAPED")`), Without: only("seccomp")},
		{
			Class: class, Name: "a segment that outlives its process",
			Argv:    py(`if libc.shmget(0, 1 << 20, 0o1600) >= 0: print("ESCAPED")`),
			Without: only("seccomp"),
		},
		{
			Class: class, Name: "files in the own folder",
			Argv: sh(`head -c 250000000 /dev/zero > $HOME/a && echo ESCAPED`),
			Job:  largeFiles,
			Free: asShell,
		},
		{Class: class, Name: "files in /dev/shm", Argv: sh(`for i in 1 2 3; do head -c 9000000 /dev/zero > /dev/shm/$MARK$i || exit; done
			rm /dev/shm/$MARK*; echo ESCAPED`)},
		{Class: class, Name: "a large file", Argv: sh(`head -c 90000000 /dev/zero > large && echo ESCAPED`), Free: largeFiles},
		{Class: class, Name: "many descriptors", Argv: py(`for i in range(400): os.dup(0)
print("ESCAPED")`), Free: asShell},
	}
}

// largeFiles is a job whose files may be as large as there is space.
func largeFiles(j *core.Job) { j.Limits.FileSize = 1 << 30 }

func survivors() []Attempt {
	const class = "survivors"
	return []Attempt{
		{Class: class, Name: "in the background", Argv: sh(`sleep $MARK >/dev/null 2>&1 & sleep 0.5`), Survives: true},
		{Class: class, Name: "in its own session", Argv: sh(`setsid sleep $MARK >/dev/null 2>&1 & sleep 0.5`), Survives: true},
		{Class: class, Name: "deaf to hangups", Argv: sh(`nohup setsid sleep $MARK >/dev/null 2>&1 & sleep 0.5`), Survives: true},
		{Class: class, Name: "forked twice", Argv: py(`if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2): os.close(fd)
        os.execv("/usr/bin/sleep", ["sleep", env["MARK"]])
    os._exit(0)
os.wait(); time.sleep(0.5)`), Survives: true},
		{Class: class, Name: "detached by node", Argv: js(`require("child_process").spawn("/usr/bin/sleep", [process.env.MARK],
  {detached: true, stdio: "ignore", argv0: "sleep"}).unref(); setTimeout(() => {}, 500)`), Survives: true},
		{
			Class: class, Name: "many at once",
			Argv:     sh(`for i in 1 2 3 4 5 6 7 8; do setsid sleep $MARK >/dev/null 2>&1 & done; sleep 0.5`),
			Survives: true,
		},
	}
}

func forged() []Attempt {
	const class = "forged results"
	return []Attempt{
		{Class: class, Name: "open what the watcher has open", Argv: sh(`readlink "/proc/$SUPERVISOR/fd/0" | grep -q . && echo ESCAPED`)},
		{
			Class: class, Name: "write to the watcher's outputs",
			Argv: py(`os.open(f"/proc/{env['SUPERVISOR']}/fd/0", os.O_RDONLY); print("ESCAPED")`),
		},
		{Class: class, Name: "read the watcher's memory", Argv: py(`open(f"/proc/{env['SUPERVISOR']}/mem", "rb"); print("ESCAPED")`)},
		{Class: class, Name: "trace the watcher", Argv: py(`libc.ptrace.restype = ctypes.c_long
if libc.ptrace(0x4206, int(env["SUPERVISOR"]), 0, 0) == 0: print("ESCAPED")`)},
		{Class: class, Name: "end the watcher", Argv: sh(`kill -KILL "$SUPERVISOR"; sleep 0.2
			grep -q "^State:.[SRDI]" "/proc/$SUPERVISOR/status" || kill -0 1 2>/dev/null && test "$SUPERVISOR" = 1 || echo ESCAPED`)},
		{
			Class: class, Name: "signal the watcher into its own end",
			Argv: sh(`for s in TERM QUIT ABRT SEGV INT; do kill -$s "$SUPERVISOR"; done; sleep 0.2
			test "$SUPERVISOR" = 1 && kill -0 1 || echo ESCAPED`),
		},
		{Class: class, Name: "take the watcher's descriptors", Argv: py(`p = os.pidfd_open(int(env["SUPERVISOR"]))
call(438, p, 0, 0); print("ESCAPED")`)},
	}
}

func state() []Attempt {
	const class = "state between calls"
	return []Attempt{
		{
			Class: class, Name: "a temporary file",
			Argv: sh(`echo x > /tmp/loci-$MARK`),
			Then: sh(`test -e /tmp/loci-$MARK && rm /tmp/loci-$MARK && echo ESCAPED`),
		},
		{Class: class, Name: "a file at home", Argv: sh(`echo x > $HOME/.profile`), Then: sh(`test -e $HOME/.profile && echo ESCAPED`)},
		{
			Class: class, Name: "a file at home, as a shell",
			Argv: sh(`echo x > $HOME/.profile`),
			Then: sh(`test -e $HOME/.profile && echo ESCAPED`),
			Job:  asShell,
		},
		{
			Class: class, Name: "a temporary file, as a shell", Argv: sh(`echo x > /tmp/loci-$MARK`),
			Then: sh(`test -e /tmp/loci-$MARK && rm /tmp/loci-$MARK && echo ESCAPED`), Job: asShell,
		},
		{
			Class: class, Name: "shared memory", Argv: sh(`echo x > /dev/shm/loci-$MARK`),
			Then: sh(`test -e /dev/shm/loci-$MARK && rm /dev/shm/loci-$MARK && echo ESCAPED`),
		},
		{
			Class: class, Name: "a process",
			Argv: sh(`setsid sleep 30 >/dev/null 2>&1 & echo $! > pid`),
			Then: sh(`kill -KILL $(cat pid) && echo ESCAPED`),
		},
		{
			Class: class, Name: "a queue of messages",
			Argv: py(`if libc.msgget(int(env["MARK"]) % 2**31, 0o1600) < 0: sys.exit("refused")`),
			Then: py(`q = libc.msgget(int(env["MARK"]) % 2**31, 0)
if q >= 0: libc.msgctl(q, 0, None); print("ESCAPED")`),
		},
	}
}
