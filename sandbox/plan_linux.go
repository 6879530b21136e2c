package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"loci/core"
	"loci/sandbox/egress"
	"loci/sandbox/frame"
)

// nobodyOfOurs is who a job is outside if the daemon is root and the job sees nothing but the system: an account that owns
// nothing anywhere. "nobody" owns files of some services.
const nobodyOfOurs = 1_870_000_000

// identity is who a job is outside.
type identity struct{ uid, gid int }

// plan is a job as the sandbox will be told it.
type plan struct {
	spec    frame.Spec
	who     identity
	project *project
	beside  []*project
	since   time.Time // what changed from then on, the job may have changed

	writable bool // the project
	settings []settings
	covered  []covered
}

// prepare looks at the machine for what a job asks for, and makes its temporary folder.
func prepare(job core.Job, scratch string) (*plan, error) {
	p := &plan{
		who: identity{os.Geteuid(), os.Getegid()},
		spec: frame.Spec{
			Argv: job.Argv, Env: job.Env, Dir: job.Dir, Unix: job.Profile == core.JobShell,
			CPU: job.Limits.Wall * time.Duration(max(2, runtime.NumCPU())), FileSize: job.Limits.FileSize, Files: job.Limits.Files,
			Processes: job.Limits.Processes,
		},
	}
	if n := job.Network; n != nil {
		p.spec.Network = &frame.Network{Ports: n.Ports, Local: n.Local, Door: n.Listens != nil}
		if len(n.Ports) == 0 {
			p.spec.Network.Ports = egress.Ports()
		}
	}
	if job.Profile == core.JobTool {
		p.spec.Data = job.Limits.Memory
	}
	if p.who.uid == 0 && len(job.Mounts) == 0 && job.Project == nil && len(job.Beside) == 0 {
		p.who = identity{nobodyOfOurs, nobodyOfOurs}
	}
	if err := p.mounts(job.Mounts); err != nil {
		return nil, err
	}
	if job.Project != nil {
		var err error
		if p.project, err = openProject(job.Project); err != nil {
			return nil, err
		}
		p.writable = job.Project.Writable
		p.spec.Binds = append(p.spec.Binds, p.project.binds...)
		p.covered = append(p.covered, p.project.covered()...)
	}
	if err := p.openBeside(job.Beside); err != nil {
		return nil, err
	}
	if p.spec.Dir == "" {
		p.spec.Dir = core.SandboxHome
		if p.project != nil {
			p.spec.Dir = p.project.path
		}
	}
	if job.Profile == core.JobShell {
		if err := p.makeScratch(scratch); err != nil {
			return nil, err
		}
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil { // the clock that stamps files
		return nil, err
	}
	p.since = time.Unix(now.Unix())
	return p, nil
}

// mounts resolves the links of what a person named, here and now: inside, no link is followed any more.
func (p *plan) mounts(mounts []core.JobMount) error {
	for _, m := range mounts {
		source, err := resolve(m.Source)
		if err != nil {
			return err
		}
		target := m.Target
		if target == "" {
			target = m.Source
		}
		target = filepath.Clean(target)
		p.spec.Binds = append(p.spec.Binds, frame.Bind{Source: source, Target: target, Writable: m.Writable})
		for _, name := range m.Masked {
			p.spec.Binds = append(p.spec.Binds, frame.Bind{Target: filepath.Join(target, name), Masked: true})
			p.covered = append(p.covered, covered{source, filepath.Join(source, name)})
		}
	}
	return nil
}

// openBeside opens what a person opened beside the project. They said yes to these very folders, so that no link is followed.
func (p *plan) openBeside(folders []core.JobProject) error {
	for i := range folders {
		real, err := resolve(folders[i].Path)
		if err != nil {
			return err
		}
		if real != filepath.Clean(folders[i].Path) {
			return core.E(core.Forbidden, "%s leads through a link by now, to another folder than was opened", folders[i].Path).
				WithHint("/add-dir opens it anew")
		}
		opened, err := openProject(&folders[i])
		if err != nil {
			return err
		}
		p.beside = append(p.beside, opened)
		p.covered = append(p.covered, opened.covered()...)
		p.spec.Binds = append(p.spec.Binds, opened.binds...)
	}
	return nil
}

func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", core.E(core.NotFound, "there is no %s to mount", path)
	case err != nil:
		return "", core.E(core.Invalid, "mount %s: %w", path, err)
	case real == "/":
		return "", core.E(core.Forbidden, "%s is the whole machine: it can't be mounted", path)
	}
	return real, nil
}

// makeScratch makes the folder on disk for a job's home and temporary files.
func (p *plan) makeScratch(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return core.E(core.Unavailable, "a folder for temporary files: %w", err)
	}
	made, err := os.MkdirTemp(dir, "job-")
	if err != nil {
		return core.E(core.Unavailable, "a folder for temporary files: %w", err)
	}
	real, err := filepath.EvalSymlinks(made)
	if err != nil {
		return core.E(core.Unavailable, "a folder for temporary files: %w", err)
	}
	p.spec.Scratch = real
	for _, sub := range []string{"tmp", "home"} {
		if err := os.Mkdir(filepath.Join(real, sub), 0o700); err != nil {
			p.clean()
			return core.E(core.Unavailable, "a folder for temporary files: %w", err)
		}
	}
	return nil
}

// clean removes what was made for the job. No process of it is left by then.
func (p *plan) clean() {
	if p.spec.Scratch == "" {
		return
	}
	if os.RemoveAll(p.spec.Scratch) == nil {
		return
	}
	// The job may have taken rights from its own folders. Links are not followed.
	_ = filepath.WalkDir(p.spec.Scratch, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // G302: a folder that is about to go
		}
		return nil
	})
	_ = os.RemoveAll(p.spec.Scratch) // what is left now, the next start of the daemon removes
}

// hint says what a person can do about a step that failed.
func hint(f *frame.Fault) string {
	restricted, _ := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") // absent: not restricted
	const alternative = `; or, in the configuration, sandbox = "reduced" for the layers that there are, sandbox = "off" for none`
	errno := unix.Errno(f.Errno)
	switch {
	case f.Step == frame.LayerLandlock:
		return "a kernel from 5.19 on with landlock among its security modules" + alternative
	case f.Step == frame.LayerSeccomp:
		return "a kernel with seccomp filters, on x86-64 or arm64" + alternative
	case errno == unix.ENOSPC:
		return "sudo sysctl user.max_user_namespaces=15000" + alternative
	case (errno == unix.EPERM || errno == unix.EACCES) && strings.TrimSpace(string(restricted)) == "1":
		return fmt.Sprintf("load an AppArmor profile for %s with the rule userns, or: sudo sysctl "+
			"kernel.apparmor_restrict_unprivileged_userns=0%s", self(), alternative)
	case errno == unix.EPERM:
		return "in a container: allow user namespaces and mounts in its security profile" + alternative
	}
	return "loci doctor says more" + alternative
}

func self() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return "loci"
}
