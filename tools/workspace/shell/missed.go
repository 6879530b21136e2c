package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"loci/core"
	"loci/core/shellline"
	"loci/tools/internal/plaintext"
)

// Bounds of looking for what the sandbox kept from a line that failed.
const (
	mostAgain  = 3   // how often a line runs again with something opened
	mostRows   = 400 // of its output, from the end
	mostMissed = 50  // paths that are looked at
)

// What programs say, in small letters, of what is not there or closed.
var (
	missingSigns = []string{
		"no such file", "not found", "does not exist", "doesn't exist", "cannot access", "can't open", "cannot open", "enoent",
		"permission denied", "eacces",
	}
	readOnlySigns = []string{"read-only file system", "erofs", "cannot create", "can't create", "cannot touch", "cannot make"}
	refusedSigns  = []string{"connection refused", "econnrefused", "couldn't connect", "could not connect", "failed to connect"}
	uncagedSigns  = []string{
		"operation not permitted", "eperm", "read-only file system", "function not implemented", "network is unreachable",
		"address family not supported", "permission denied (publickey", "docker daemon", "failed to connect to bus",
		"not been booted with systemd", "bad system call",
	}
)

// missed finds what the sandbox may have kept from a line, judged by what it wrote: a folder, else a port, else being outside of the
// sandbox. Nil: nothing, or nothing that a person could open.
func (s *Shell) missed(p *place, line string, r core.JobResult, out *output, opens core.Openings) *core.Opening {
	if opens == nil || len(r.Layers) == 0 || r.Ended != core.JobExited && r.Ended != core.JobSignalled {
		return nil
	}
	rows := strings.Split(out.raw(), "\n")
	rows = rows[max(0, len(rows)-mostRows):]
	if o := s.missedFolder(p, line, rows, opens); o != nil {
		return o
	}
	if !failing(r) {
		return nil
	}
	if o := p.missedPort(rows, opens); o != nil {
		return o
	}
	if r.Signal == "SIGSYS" || slices.ContainsFunc(rows, func(row string) bool { return says(row, uncagedSigns) }) {
		if o, ok := opens.Uncaged(); ok {
			return &o
		}
	}
	return nil
}

func says(row string, signs []string) bool {
	row = strings.ToLower(row)
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(row, sign) })
}

// loopback finds an address of the machine itself, with the port that follows it.
var loopback = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:127\.0\.0\.1|localhost|\[?::1\]?)(?:["'(),:\s]|port)*?[:\s](\d{2,5})\b`)
})

// missedPort finds a port of this machine that refused the line, and that is not open to it.
func (p *place) missedPort(rows []string, opens core.Openings) *core.Opening {
	open := p.reaches(opens)
	for _, row := range rows {
		if !says(row, refusedSigns) {
			continue
		}
		for _, found := range loopback().FindAllStringSubmatch(row, 4) {
			port, err := strconv.ParseUint(found[1], 10, 16)
			if err != nil || slices.Contains(open, uint16(port)) {
				continue
			}
			if o, ok := opens.LocalPort(uint16(port)); ok && listens(uint16(port)) {
				return &o
			}
		}
	}
	return nil
}

// missedFolder finds a path of the machine that the line named or met, and that is not in its sandbox.
func (s *Shell) missedFolder(p *place, line string, rows []string, opens core.Openings) *core.Opening {
	looked := 0
	look := func(path string, writing bool) *core.Opening {
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.real, p.dir, path)
		}
		path = filepath.Clean(path)
		if looked++; looked > mostMissed || p.shows(path, writing) {
			return nil
		}
		if _, err := os.Lstat(path); err != nil && (!writing || !isFolder(filepath.Dir(path))) {
			return nil
		}
		if o, ok := opens.Folder(path, writing); ok && !s.isOurs(o.Dir.Path) {
			return &o
		}
		return nil
	}
	missing, closed := false, false
	for _, row := range rows {
		readOnly := says(row, readOnlySigns)
		if !readOnly && !says(row, missingSigns) {
			continue
		}
		missing, closed = missing || !readOnly, closed || readOnly
		for _, path := range pathsIn(row) {
			if o := look(path, readOnly); o != nil {
				return o
			}
		}
	}
	if !missing && !closed {
		return nil
	}
	parsed := shellline.Parse(line, shellline.Folder{Root: p.named, Dir: filepath.Join(p.named, p.dir)})
	for _, c := range parsed.Commands {
		for _, path := range c.Files {
			if o := look(path, closed && !missing); o != nil {
				return o
			}
		}
	}
	for _, path := range parsed.Writes {
		if o := look(path, true); o != nil {
			return o
		}
	}
	return nil
}

// pathsIn are what may be paths in a row of output: absolute, or leading upwards.
func pathsIn(row string) (paths []string) {
	for word := range strings.FieldsFuncSeq(row, func(r rune) bool { return strings.ContainsRune(" \t'\"`‘’“”:,;()[]<>|=", r) }) {
		if strings.HasPrefix(word, "/") || strings.HasPrefix(word, "../") {
			paths = append(paths, strings.TrimRight(word, "."))
		}
	}
	return paths
}

// own are folders that every sandbox has of its own, or shows as they are.
var own = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/dev", "/proc", "/sys", "/run", core.SandboxHome,
}

// shows reports whether a path is in the sandbox, or is the sandbox's own there.
func (p *place) shows(path string, writing bool) bool {
	in := func(dir string) bool { _, inside := below(dir, path); return inside }
	if in("/dev/shm") && path != "/dev/shm" {
		return p.holds(path, writing)
	}
	return slices.ContainsFunc(own, in) || path == "/" || path == "/tmp" || p.holds(path, writing)
}

// holds reports whether a path is in a folder that is mounted.
func (p *place) holds(path string, writing bool) bool {
	in := func(dir string) bool { _, inside := below(dir, path); return inside }
	return in(p.real) || in(p.named) ||
		slices.ContainsFunc(p.mounts, func(m core.JobMount) bool { return in(m.Source) }) ||
		slices.ContainsFunc(p.beside, func(b core.JobProject) bool { return in(b.Path) && (b.Writable || !writing) })
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// openMissed opens to a line what a person said yes to, for its next attempt.
func (s *Shell) openMissed(ctx context.Context, p *place, o core.Opening, env *core.ToolEnv) error {
	w := &env.Workspace
	switch o.Kind {
	case core.OpenFolder:
		p.opened = append(p.opened, o.Dir)
		w.Dirs = append(slices.Clip(w.Dirs), o.Dir)
		slices.SortFunc(w.Dirs, func(a, b core.WorkspaceDir) int { return strings.Compare(a.Path+"/", b.Path+"/") })
		w.Paths, p.beside, p.shut = w.Opens.Paths(p.opened), nil, nil
		return p.openBeside(ctx, *w)
	case core.OpenLocalPort:
		p.local = append(p.local, o.Port)
	case core.OpenUncaged:
		s.uncage(p, env.Variables)
	case core.OpenPort:
	}
	return nil
}

// failing reports whether a program says that something went wrong.
func failing(r core.JobResult) bool {
	return r.Ended == core.JobSignalled || r.Ended == core.JobExited && r.ExitCode != 0
}

func exit(r core.JobResult) string {
	if r.Ended == core.JobSignalled {
		return "It was ended by the signal " + r.Signal + "."
	}
	return fmt.Sprintf("Exit code %d.", r.ExitCode)
}

// thing is what is opened, in words.
func thing(o *core.Opening) string {
	switch o.Kind {
	case core.OpenFolder:
		if o.Dir.Writable {
			return plaintext.Of(o.Dir.Path) + ", also to change it,"
		}
		return plaintext.Of(o.Dir.Path)
	case core.OpenLocalPort:
		return fmt.Sprintf("the port %d of this machine", o.Port)
	case core.OpenPort:
		return fmt.Sprintf("this machine the port %d of the sandbox", o.Port)
	case core.OpenUncaged:
	}
	return "the way out of the sandbox"
}

// tell says what the sandbox kept from a line, and what a person can do about it.
func tell(o *core.Opening, shut string) string {
	if o == nil {
		return ""
	}
	var what, helps string
	switch o.Kind {
	case core.OpenFolder:
		dir, start := plaintext.Of(o.Dir.Path), plaintext.Of(o.Dir.Path)
		what = dir + " is on this machine, but not in the sandbox"
		if o.Dir.Writable {
			what = dir + " is not open to be changed in the sandbox"
			dir, start = dir+" --write", start+":rw"
		} else if strings.HasSuffix(dir, ":rw") { // which would open another one, to be changed
			dir, start = dir+"/", start+"/"
		}
		helps = "/add-dir " + dir + " in the chat, or --add-dir " + start
	case core.OpenLocalPort:
		what = fmt.Sprintf("this machine listens on its port %d, but localhost in the sandbox is the sandbox's own", o.Port)
	case core.OpenUncaged:
		what = "the sandbox may be why it failed"
		helps = "to answer u when such a line asks, which runs it outside of the sandbox"
	case core.OpenPort:
	}
	if o.Kind != core.OpenFolder && len(o.Rules) > 0 {
		if helps != "" {
			helps += ", or "
		}
		helps += "loci permissions add allow '" + strings.ReplaceAll(o.Rules[0], "'", `'\''`) + "' --folder ."
	}
	if shut != "" {
		what += "; " + shut
	}
	return "\n(" + strings.ToUpper(what[:1]) + what[1:] + ". What helps, and only the person can do it: " + helps + ")"
}
