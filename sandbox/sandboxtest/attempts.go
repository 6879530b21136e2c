package sandboxtest

import "slices"

// only are layers to leave out.
func only(layers ...string) []string { return layers }

func attempts() []Attempt {
	return slices.Concat(
		files(), links(), proc(), sockets(), others(), namespaces(), network(), granted(), memory(), survivors(), forged(), state(),
		git(), besides(), ports(),
	)
}

func files() []Attempt {
	const class = "files"
	return []Attempt{
		{Class: class, Name: "read a file", Argv: sh(`grep -q canary "$SECRET" && echo ESCAPED`)},
		{Class: class, Name: "read a file from Python", Argv: py(`if "canary" in open(env["SECRET"]).read(): print("ESCAPED")`)},
		{Class: class, Name: "read a file from node", Argv: js(
			`if (require("fs").readFileSync(process.env.SECRET, "utf8").includes("canary")) console.log("ESCAPED")`)},
		{Class: class, Name: "make a file", Argv: sh(`echo x > "$OUTSIDE/new" && echo ESCAPED`)},
		{Class: class, Name: "list a folder", Argv: sh(`ls "$OUTSIDE" | grep -q secret && echo ESCAPED`)},
		{Class: class, Name: "write to a read-only project", Argv: sh(`echo x > file && echo ESCAPED`), Job: readable, Free: writable},
		{
			Class: class, Name: "take the rights of a read-only project",
			Argv: sh(`chmod 0 file && echo ESCAPED`),
			Job:  readable,
			Free: writable,
		},
		{Class: class, Name: "read what is masked", Argv: sh(`grep -q canary .env && echo ESCAPED`), Job: masked, Free: unmasked},
		{Class: class, Name: "move a mask away", Argv: sh(`mv .env x && echo ESCAPED`), Job: masked, Free: unmasked},
		{Class: class, Name: "write what is kept", Argv: sh(`echo x > file && echo ESCAPED`), Job: kept, Free: unkept},
		{Class: class, Name: "replace what is kept", Argv: sh(`echo x > new && mv -f new file && echo ESCAPED`), Job: kept, Free: unkept},
		{
			Class: class, Name: "write where only reading is allowed", Argv: sh(`echo x > /proc/self/comm && echo ESCAPED`),
			Without: only("Landlock"),
		},
	}
}

func links() []Attempt {
	const class = "links"
	return []Attempt{
		{Class: class, Name: "a link in the project", Argv: sh(`ln -s "$SECRET" l && grep -q canary l && echo ESCAPED`)},
		{Class: class, Name: "a link to a folder", Argv: sh(`ln -s "$OUTSIDE" l && grep -q canary l/secret && echo ESCAPED`)},
		{Class: class, Name: "a second name", Argv: sh(`ln "$SECRET" l && grep -q canary l && echo ESCAPED`)},
		{Class: class, Name: "up from the project", Argv: sh(`grep -q canary ../outside/secret && echo ESCAPED`)},
		{Class: class, Name: "the root of this process", Argv: sh(`grep -q canary "/proc/self/root$SECRET" && echo ESCAPED`)},
		{Class: class, Name: "the root of another process", Argv: sh(`grep -q canary "/proc/$SUPERVISOR/root$SECRET" && echo ESCAPED`)},
		{Class: class, Name: "the folder of another process", Argv: sh(
			`grep -q canary "/proc/$SUPERVISOR/cwd/secret" && echo ESCAPED`)},
		{Class: class, Name: "a descriptor of the root", Argv: py(`d = os.open("/", os.O_RDONLY)
os.chdir(d); os.chdir("../../..")
if "canary" in open("." + env["SECRET"]).read(): print("ESCAPED")`)},
		{Class: class, Name: "a link made by node", Argv: js(`const fs = require("fs"); fs.symlinkSync(process.env.OUTSIDE, "n")
if (fs.readdirSync("n").includes("secret")) console.log("ESCAPED")`)},
		{Class: class, Name: "a link over a mask", Argv: sh(`ln -sf file .env && echo ESCAPED`), Job: masked, Free: unmasked},
	}
}

func proc() []Attempt {
	const class = "proc"
	return []Attempt{
		{Class: class, Name: "variables of another process", Argv: sh(`grep -q LOCI_CANARY "/proc/$SUPERVISOR/environ" && echo ESCAPED`)},
		{Class: class, Name: "memory map of another process", Argv: py(
			`if open(f"/proc/{env['SUPERVISOR']}/maps").read(): print("ESCAPED")`)},
		{Class: class, Name: "processes of the machine", Argv: sh(`test -d "/proc/$PID" && echo ESCAPED`)},
		{
			Class: class, Name: "the kernel's command line",
			Argv: sh(`test -s /proc/cmdline && cat /proc/cmdline >/dev/null && echo ESCAPED`),
		},
		{Class: class, Name: "the kernel's settings", Argv: sh(`test -r /proc/sys/kernel/osrelease && echo ESCAPED`)},
		{Class: class, Name: "the machine's memory", Argv: sh(`grep -q MemTotal /proc/meminfo && echo ESCAPED`)},
		{Class: class, Name: "the kernel's symbols", Argv: sh(`grep -q . /proc/kallsyms && echo ESCAPED`)},
		{Class: class, Name: "another process from node", Argv: js(
			`if (require("fs").readFileSync("/proc/" + process.env.PID + "/cmdline", "utf8").includes("sleep")) console.log("ESCAPED")`)},
	}
}

func sockets() []Attempt {
	const class = "sockets"
	const abstract = `s = socket.socket(socket.AF_UNIX); s.connect("\0" + env["ABSTRACT"])
if b"canary" in s.recv(64): print("ESCAPED")`
	const named = `s = socket.socket(socket.AF_UNIX); s.connect(env["SOCKET"])
if b"canary" in s.recv(64): print("ESCAPED")`
	return []Attempt{
		{Class: class, Name: "one without a file", Argv: py(abstract)},
		{Class: class, Name: "one without a file, as a shell", Argv: py(abstract), Job: asShell},
		{Class: class, Name: "one with a file", Argv: py(named)},
		{Class: class, Name: "one with a file, as a shell", Argv: py(named), Job: asShell},
		{Class: class, Name: "one with a file, from node", Argv: js(`const s = require("net").connect(process.env.SOCKET)
s.on("data", d => { if (String(d).includes("canary")) console.log("ESCAPED") }); s.on("error", () => {})`), Job: asShell},
		{
			Class: class, Name: "a family that is not for tools",
			Argv:    py(`socket.socket(socket.AF_UNIX); print("ESCAPED")`),
			Without: only("seccomp"),
		},
		{
			Class: class, Name: "netlink",
			Argv:    py(`socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); print("ESCAPED")`),
			Without: only("seccomp"),
		},
		{
			Class: class, Name: "netlink, as a shell",
			Argv:    py(`socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15); print("ESCAPED")`),
			Job:     asShell,
			Without: only("seccomp"),
		},
	}
}

func others() []Attempt {
	const class = "other processes"
	return []Attempt{
		{Class: class, Name: "see one", Argv: sh(`kill -0 "$PID" && echo ESCAPED`)},
		{Class: class, Name: "signal one", Argv: sh(`kill -CONT "$PID" && echo ESCAPED`)},
		{Class: class, Name: "signal one from node", Argv: js(`process.kill(Number(process.env.PID), 0); console.log("ESCAPED")`)},
		{Class: class, Name: "hold one", Argv: py(`os.pidfd_open(int(env["PID"])); print("ESCAPED")`)},
		{Class: class, Name: "ask for its priority", Argv: py(`os.getpriority(os.PRIO_PROCESS, int(env["PID"])); print("ESCAPED")`)},
		{Class: class, Name: "be traced", Argv: py(`libc.ptrace.restype = ctypes.c_long
if libc.ptrace(0, 0, 0, 0) == 0: print("ESCAPED")`), Without: only("seccomp")},
		{Class: class, Name: "read memory of a child", Argv: py(`pid = os.fork()
if pid == 0: time.sleep(20); os._exit(0)
b = ctypes.create_string_buffer(b"canary"); to = ctypes.create_string_buffer(8)
class iovec(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
here, there = iovec(ctypes.addressof(to), 6), iovec(ctypes.addressof(b), 6)
n = libc.process_vm_readv(os.getpid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
os.kill(pid, 9)
if n == 6: print("ESCAPED")`), Without: only("seccomp")},
		{
			Class: class, Name: "stop the one that watches",
			Argv: sh(
				`kill -STOP "$SUPERVISOR"; sleep 0.2
				kill -0 "$SUPERVISOR" && grep -q "^State:.T" "/proc/$SUPERVISOR/status" && echo ESCAPED`),
		},
	}
}

func namespaces() []Attempt {
	const class = "namespaces"
	return []Attempt{
		{Class: class, Name: "a user namespace", Argv: sh(`unshare -U true && echo ESCAPED`), Without: only("seccomp")},
		{
			Class: class, Name: "be root in one",
			Argv:    sh(`unshare -Ur id -u | grep -qx 0 && echo ESCAPED`),
			Without: only("Landlock", "seccomp"),
		},
		{
			Class: class, Name: "mount in one",
			Argv:    sh(`unshare -Urm mount -t tmpfs x /tmp && echo ESCAPED`),
			Without: only("Landlock", "seccomp"),
		},
		{
			Class: class, Name: "rename the machine",
			Argv:    sh(`unshare -Uru hostname other && echo ESCAPED`),
			Without: only("Landlock", "seccomp"),
		},
		{Class: class, Name: "by clone", Argv: py(`import platform
pid = call({"x86_64": 56, "aarch64": 220}[platform.machine()], 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
print("ESCAPED")`), Without: only("seccomp")},
		{Class: class, Name: "by clone3", Argv: py(`args = struct.pack("8Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0)
pid = call(435, ctypes.c_char_p(args), 64)
if pid == 0: os._exit(0)
print("ESCAPED")`), Without: only("seccomp")},
		{
			Class: class, Name: "another root in one",
			Argv:    sh(`unshare -Ur chroot / true && echo ESCAPED`),
			Without: only("Landlock", "seccomp"),
		},
		{Class: class, Name: "a keyring", Argv: py(`import platform
call({"x86_64": 250, "aarch64": 219}[platform.machine()], 0, -3, 1); print("ESCAPED")`), Without: only("seccomp")},
		{Class: class, Name: "another personality", Argv: py(`libc.personality.restype = ctypes.c_int
if libc.personality(0x40000) >= 0: print("ESCAPED")`), Without: only("seccomp")},
		{Class: class, Name: "faults in user space", Argv: py(`import platform
call({"x86_64": 323, "aarch64": 282}[platform.machine()], 1); print("ESCAPED")`), Without: only("seccomp")},
	}
}

func network() []Attempt {
	const class = "network"
	return []Attempt{
		{Class: class, Name: "a local port from Python", Argv: py(`s = socket.create_connection(("127.0.0.1", int(env["PORT"])), 5)
if b"canary" in s.recv(64): print("ESCAPED")`)},
		{Class: class, Name: "a local port from node", Argv: js(`const s = require("net").connect(Number(process.env.PORT), "127.0.0.1")
s.on("data", d => { if (String(d).includes("canary")) console.log("ESCAPED") }); s.on("error", () => {})`)},
		{
			Class: class, Name: "a local port from bash",
			Argv: []string{bash, "-c", `read -r x < /dev/tcp/127.0.0.1/$PORT && test "$x" = canary && echo ESCAPED`},
		},
		{Class: class, Name: "a packet", Argv: py(`s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
s.sendto(b"x", ("127.0.0.1", int(env["UDP"])))
if s.recv(64) == b"canary": print("ESCAPED")`)},
		{Class: class, Name: "a local port by its name", Argv: py(`s = socket.create_connection(("localhost", int(env["PORT"])), 5)
if b"canary" in s.recv(64): print("ESCAPED")`)},
		{Class: class, Name: "a local port as a shell", Argv: py(`s = socket.create_connection(("127.0.0.1", int(env["PORT"])), 5)
if b"canary" in s.recv(64): print("ESCAPED")`), Job: asShell},
		{Class: class, Name: "a local port over IPv6", Argv: py(`s = socket.socket(socket.AF_INET6); s.settimeout(5)
s.connect(("::ffff:127.0.0.1", int(env["PORT"])))
if b"canary" in s.recv(64): print("ESCAPED")`)},
	}
}
