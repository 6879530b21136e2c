package core

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// SandboxHome is the folder inside of a sandbox that a job has for itself, its HOME. It is gone after the job.
const SandboxHome = "/work"

// The bounds of what a job may bring along.
const (
	mostJobWords  = 8192     // arguments, and variables
	mostJobText   = 1 << 20  // bytes of arguments and variables together
	mostJobStdin  = 16 << 20 // bytes
	mostJobMounts = 64
	mostJobPorts  = 8
	mostJobLocal  = 4
	mostJobWall   = 24 * time.Hour
)

// MostJobPaths is how many paths of a job can be hidden, kept from being written, or kept where they are.
const MostJobPaths = 1000

// Sandbox runs programs that are not trusted. Run returns within the job's time, when no process of the job is left. What the
// job did is in the result, also when it was stopped; an error means that it was refused or that the sandbox failed.
type Sandbox interface {
	Run(ctx context.Context, job Job) (JobResult, error)
}

// What stands in place of layers where none held.
const (
	LayersOff     = "none, since the configuration turns the sandbox off"
	LayersUncaged = "none, since it ran uncaged"
)

// JobProfile says what a job is for, and so which limits hold where it names none.
type JobProfile string

// The profiles.
const (
	JobTool  JobProfile = "tool"  // a program that somebody wrote for an agent: little memory, its files in memory
	JobShell JobProfile = "shell" // work in a person's project: builds and tests, temporary files on disk
)

// Job is one program to run. It inherits nothing: what it needs is named here.
type Job struct {
	Profile JobProfile
	Argv    []string // the program and its arguments; a name without a slash is searched for in the PATH of Env
	Dir     string   // where it starts; empty: the project, or SandboxHome
	Env     []string // NAME=value
	Stdin   []byte
	Mounts  []JobMount
	Project *JobProject
	Beside  []JobProject // folders that a person opened beside the project, outer ones first; none of them through a link
	Network *JobNetwork  // nil: none but its own
	Limits  JobLimits
	// Channel gets one end of a stream whose other end the program finds as its descriptor 3, and nobody else. It is called once the
	// program begins, its context ends with the program, and what it returns from is closed; nil: there is none.
	Channel func(ctx context.Context, stream io.ReadWriter)
	Uncaged bool      // a person lets it run outside of the sandbox, as they would run it themselves
	Live    io.Writer // gets both outputs while they come, one write at a time; must not block; may be nil
}

// JobMount is a folder or file of the machine that the job sees.
type JobMount struct {
	Source   string // absolute
	Target   string // absolute; empty: its own path
	Writable bool
	Masked   []string // what can't be read, relative to Source; what does not exist is left out
}

// JobProject is the folder that a job works in. It has the same path inside. What git or an editor would later run from it
// without asking is read-only inside, or reported in JobResult.Changed.
type JobProject struct {
	Path     string // absolute
	Writable bool
	Masked   []string // what can't be read, relative to Path; what does not exist is left out
	ReadOnly []string // what cannot be written, relative to Path; what does not exist is left out
	Fixed    []string // folders that cannot be moved, relative to Path, outer ones first; what does not exist is left out
}

// JobNetwork is what a job may reach of the network: hosts by their names, and no addresses.
type JobNetwork struct {
	// Allows reports whether a person allowed a host, and if named is set, whether they did by a rule that names this one alone.
	// Addresses are asked about in the second way only. It is called while the job runs, from several goroutines.
	Allows func(host string, named bool) bool
	// Ask asks a person for what Allows does not, while the job waits, and says why it stays unreached; nil: Allows has it from now
	// on. It returns within its own time and soon after its context ends. It is called from several goroutines; nil: nobody is asked.
	Ask   func(ctx context.Context, ask HostAsk) *JobRefusal
	Ports []uint16 // empty: those of HTTPS and HTTP, and that of SSH for hosts that are named

	Local []uint16 // ports of this machine's own address that the job reaches at its own address
	// Reached tells that the job was connected to one of them, before anything of it is read; nil: nobody wants to know.
	Reached func(port uint16)
	// Listens is asked once for each port on which the job listens, whether this machine reaches it at the same port of its own
	// address. It may ask a person, and is called from several goroutines; nil: none is opened.
	Listens func(ctx context.Context, port uint16) bool
	// Opened tells that such a port is open until the job ends, or why it can't be.
	Opened func(port uint16, err error)
}

// HostAsk is a host that a job wants to reach and no rule allows.
type HostAsk struct {
	Host   string // a name in small letters, or an address
	Port   uint16 // 0: only its name was asked for yet
	Behind string // of an address: the name that leads to it
	Why    string // of an address: what it is, in words
	// Unasked is what is told of it where nobody is asked.
	Unasked JobRefusal
}

// JobLimits are what a job may use; 0 is the profile's own limit.
type JobLimits struct {
	Wall      time.Duration
	Memory    int64 // bytes of all processes together
	Processes int
	Output    int   // bytes of each output that are kept
	Files     int   // open in one process
	FileSize  int64 // bytes of one file
	Traffic   int64 // bytes from and to other hosts
}

// JobEnd says how a job ended.
type JobEnd string

// The ways to end. Only JobExited and JobSignalled are the program's own doing.
const (
	JobExited        JobEnd = "exited"
	JobSignalled     JobEnd = "signalled"
	JobTimedOut      JobEnd = "timed_out"
	JobCancelled     JobEnd = "cancelled"
	JobOverMemory    JobEnd = "over_memory"
	JobOverProcesses JobEnd = "over_processes"
	JobOverOutput    JobEnd = "over_output"
	JobOverDisk      JobEnd = "over_disk" // it left next to no space
	JobUncovered     JobEnd = "uncovered" // what was closed to it was replaced outside, where it would have been open
	JobKilled        JobEnd = "killed"    // from outside: the kernel was out of memory, or a person ended it
)

// JobResult is what became of a job.
type JobResult struct {
	Ended    JobEnd
	ExitCode int    // for JobExited
	Signal   string // for JobSignalled
	Bared    string // for JobUncovered: the path
	Stdout   JobOutput
	Stderr   JobOutput
	Layers   []string // what confined it; empty: nothing did
	Changed  []string // paths of the project, new or changed, that other programs would act on
	Settings []JobSetting
	// Allow writes those of the settings that are not safe and that a person allowed, and returns them with what became of them.
	// What was changed outside meanwhile stays. nil: there are none.
	Allow   func(allowed []JobSetting) []JobSetting
	Refused []JobRefusal
	Setup   time.Duration
	Took    time.Duration // from its start to its end
}

// JobSetting is a setting of the project's git configuration that a job changed. Inside, it changed a copy: what can't make git
// run anything is written to the project itself afterwards.
type JobSetting struct {
	File   string // the configuration
	Name   string // as in gitconfig.Setting
	Key    string // as it was written
	Values []string
	Was    []string // what it held before
	Why    string   // it was not written; empty: it was
	May    string   // why it is not safe, to follow the name: what git may do because of it; empty: something else is wrong
}

// JobRefusal is a host that a job did not reach.
type JobRefusal struct {
	Host string // a name in small letters
	Why  string // to follow the name: "no rule allows it"
	Rule string // the host that a rule would have to name, for this one to be reached; empty: none would help
}

// JobOutput is what a job wrote: its first bytes, and how many there were.
type JobOutput struct {
	Kept  []byte
	Total int64
}

// Validate reports the first fault of a job.
func (j *Job) Validate() error {
	switch {
	case j.Profile != JobTool && j.Profile != JobShell:
		return E(Invalid, "the job's profile is %q; it can be %s or %s", j.Profile, JobTool, JobShell)
	case len(j.Argv) == 0 || j.Argv[0] == "":
		return E(Invalid, "the job names no program")
	case len(j.Argv) > mostJobWords || len(j.Env) > mostJobWords:
		return E(TooLarge, "a job has at most %d arguments and as many variables", mostJobWords)
	case len(j.Stdin) > mostJobStdin:
		return E(TooLarge, "the job's input is %d bytes; at most %d are passed", len(j.Stdin), mostJobStdin)
	case j.Dir != "" && !filepath.IsAbs(j.Dir):
		return E(Invalid, "the job's folder %q is no absolute path", j.Dir)
	}
	if err := j.validateWords(); err != nil {
		return err
	}
	if err := j.validatePaths(); err != nil {
		return err
	}
	if err := j.Network.validate(); err != nil {
		return err
	}
	return j.Limits.validate()
}

func (n *JobNetwork) validate() error {
	switch {
	case n == nil:
		return nil
	case n.Allows == nil:
		return E(Invalid, "the job's network doesn't say what it allows")
	case len(n.Ports) > mostJobPorts:
		return E(TooLarge, "the job names %d ports; at most %d are possible", len(n.Ports), mostJobPorts)
	case len(n.Local) > mostJobLocal:
		return E(TooLarge, "the job names %d ports of this machine; at most %d are possible", len(n.Local), mostJobLocal)
	case slices.Contains(n.Ports, 0), slices.Contains(n.Local, 0):
		return E(Invalid, "the port 0 of the job's network is none")
	case (n.Listens == nil) != (n.Opened == nil):
		return E(Invalid, "the job's network doesn't say who is told of ports that are opened")
	}
	return nil
}

func (j *Job) validateWords() error {
	size := 0
	for _, list := range [][]string{j.Argv, j.Env} {
		for _, word := range list {
			size += len(word)
			if strings.ContainsRune(word, 0) {
				return E(Invalid, "an argument or variable of the job contains a zero byte")
			}
		}
	}
	if size > mostJobText {
		return E(TooLarge, "the job's arguments and variables are %d bytes; at most %d are passed", size, mostJobText)
	}
	for _, v := range j.Env {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return E(Invalid, "the job's variable %q is not written as NAME=value", v)
		}
	}
	return nil
}

func (j *Job) validatePaths() error {
	mounts := j.Mounts
	if len(mounts)+len(j.Beside) > mostJobMounts {
		return E(TooLarge, "the job has %d mounts; at most %d are possible", len(mounts)+len(j.Beside), mostJobMounts)
	}
	var paths []string
	projects := j.Beside
	if j.Project != nil {
		projects = append(slices.Clip(projects), *j.Project)
	}
	for _, p := range projects {
		mounts = append([]JobMount{{Source: p.Path}}, mounts...)
		paths = slices.Concat(paths, p.Masked, p.ReadOnly, p.Fixed)
	}
	for _, m := range mounts {
		paths = append(paths, m.Masked...)
	}
	if len(paths) > MostJobPaths {
		return E(TooLarge, "the job has %d paths to hide or to keep; at most %d are possible", len(paths), MostJobPaths)
	}
	for _, path := range paths {
		if !filepath.IsLocal(path) || filepath.Clean(path) == "." {
			return E(Invalid, "%q is no path inside of what is mounted", path)
		}
	}
	for _, m := range mounts {
		for _, path := range []string{m.Source, m.Target} {
			if path == "" && m.Source != "" {
				continue
			}
			if !filepath.IsAbs(path) || filepath.Clean(path) == "/" || strings.ContainsRune(path, 0) {
				return E(Invalid, "the job's mount %q is no absolute path below the root", path)
			}
		}
	}
	return nil
}

func (l *JobLimits) validate() error {
	if l.Wall < 0 || l.Wall > mostJobWall || l.Memory < 0 || l.Processes < 0 || l.Output < 0 || l.Files < 0 || l.FileSize < 0 ||
		l.Traffic < 0 {
		return E(Invalid, "the job's limits make no sense: %s", fmt.Sprintf("%+v", *l))
	}
	return nil
}
