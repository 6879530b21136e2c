// Package frame is what the daemon, the launcher of sandboxes and the first process of each of them say to each other: JSON
// in frames of bounded size, and descriptors. No process that a job starts holds any of these sockets.
package frame

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The hidden sub-commands under which the program starts itself.
const (
	LaunchCommand = "sandbox-launch"
	InitCommand   = "sandbox-init"
	ReduceCommand = "sandbox-reduce"
)

// Home is the folder of the job's own. It equals core.SandboxHome.
const Home = "/work"

// most is the size of the largest frame.
const most = 4 << 20

// Start asks the launcher for a sandbox. With it go the sandbox's end of the control socket, and the job's input and outputs.
type Start struct {
	Call     uint64
	UID, GID int // who the job is, outside
}

// Started answers a Start. With it goes a descriptor of the sandbox's first process, unless it failed.
type Started struct {
	Call   uint64
	PID    int
	Failed *Fault
}

// Fault is the step of setting up that failed.
type Fault struct {
	Step  string
	Errno int // 0: none
	Text  string
}

// Bind puts a file or folder of the machine into the sandbox, or hides what stands there.
type Bind struct {
	Source, Target string
	Writable       bool
	Masked         bool   // an empty file or folder instead of Source
	Link           string // a link to this path inside, instead of Source
}

// Spec is what runs in a sandbox.
type Spec struct {
	Argv, Env []string
	Dir       string
	Binds     []Bind   // in order: later ones lie over earlier ones
	Scratch   string   // a folder of the machine that holds the job's home and temporary files; empty: they are in memory
	Network   *Network // nil: none but the sandbox's own
	Unix      bool     // whether sockets in the file system may be used
	CPU       time.Duration
	Data      int64 // bytes of memory of one process; 0: no limit
	FileSize  int64 // 0: no limit
	Files     int
	Processes int

	Channel bool    // without namespaces: whether it has one
	Free    bool    // nothing confines it: what it leaves is ended with it, no more
	Reduced bool    // it has no namespaces and no root of its own
	Grants  []Grant // what it then may do with files, beside the system's

	Without []string // layers that a test leaves out, to see that its attempt needs them
}

// Grant is what a job without a root of its own may do with a file, or a folder and all that is in it.
type Grant struct {
	Path              string
	List, Read, Write bool
}

// Network is what of a sandbox's network is handed over to the daemon.
type Network struct {
	Ports []uint16 // on which connections to any address of the sandbox are accepted
	Local []uint16 // on which connections to its loopback address are
	Door  bool     // connections into the sandbox are asked for, each by a Knock
}

// Knock asks for a connection to a port of the sandbox. A Knocked answers it, with the connection unless it failed.
type Knock struct{ Port uint16 }

// Knocked answers a Knock.
type Knocked struct{ Errno int }

// Resolver is where programs of a sandbox with a network ask for names.
const Resolver = "127.0.0.53"

// The layers that a test can leave out.
const (
	LayerLandlock = "Landlock"
	LayerSeccomp  = "seccomp"
)

// LayerReduced is named first where there are no namespaces.
const LayerReduced = "reduced: no namespaces"

// Status is what the sandbox says: first which layers are in force, and then how the program ended. Either may be a failed step.
type Status struct {
	Failed *Fault
	Layers []string
	Ended  *Ended
}

// Ended says how the program ended.
type Ended struct {
	Code   int
	Signal int // 0: none
}

// FindProgram finds a program by name in the PATH of an environment; empty: there is none. A name with a slash is its own path.
func FindProgram(name string, env []string) string {
	if strings.Contains(name, "/") {
		return name
	}
	for _, v := range env {
		path, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			file := filepath.Join(dir, name)
			info, err := os.Stat(file)
			if err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
				return file
			}
		}
	}
	return ""
}

// Write sends a value.
func Write(w io.Writer, v any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func encode(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(text) > most {
		return nil, fmt.Errorf("a frame of %d bytes is too large", len(text))
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...), nil
}

// Read receives a value.
func Read(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	return readBody(r, head, v)
}

func readBody(r io.Reader, head [4]byte, v any) error {
	size := binary.BigEndian.Uint32(head[:])
	if size > most {
		return fmt.Errorf("a frame of %d bytes is too large", size)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
