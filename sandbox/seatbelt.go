package sandbox

import (
	slashed "path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"loci/core"
)

// seatbelt is what a job may do, as macOS's own sandbox is told it. Paths are absolute and without links, with slashes. It has no
// way to open single hosts, so that a job reaches none.
type seatbelt struct {
	Read   []string // folders and files
	Write  []string // … that can be changed as well
	Acted  string   // one of them in which git and this program act on what they find; empty: none
	Closed []string // in them: what can't be read
	Kept   []string // in them: what can't be changed
	Fixed  []string // in them: folders that can't be moved
}

// seatbeltSystem is what programs need of the system.
func seatbeltSystem() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/System", "/Library/Developer/CommandLineTools", "/Applications/Xcode.app", "/opt/homebrew", "/opt/local",
		"/private/etc/ssl", "/private/etc/localtime", "/private/etc/shells", "/private/var/db/timezone", "/private/var/select",
	}
}

// most is how many paths a profile names: it is an argument of a program.
const mostSeatbeltPaths = 2000

// profile writes the policy in the system's language, in which the last rule that fits counts. It is a function of the policy
// alone. A path that can't be written there is refused, and nothing runs.
func (s seatbelt) profile() (string, error) {
	if n := len(s.Read) + len(s.Write) + len(s.Closed) + len(s.Kept) + len(s.Fixed); n > mostSeatbeltPaths {
		return "", core.E(core.TooLarge, "the sandbox would name %d paths; at most %d are possible", n, mostSeatbeltPaths)
	}
	p := &seatbeltText{}
	p.b.WriteString(`(version 1)
(deny default)
(import "system.sb")
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))
(allow file-read* (literal "/dev/random") (literal "/dev/urandom") (literal "/"))
(deny network*)
`)
	p.rule("allow file-read* file-map-executable", seatbeltSystem())
	p.rule("allow file-read* file-map-executable", s.Read)
	p.rule("allow file-read* file-map-executable file-write*", s.Write)
	if s.Acted != "" { // what would be run or followed, in any repository there
		p.acted(s.Acted, `/\.git/(hooks|config|config\.worktree|commondir|gitdir|remotes|branches)(/|$)`, "deny file-write*")
		p.acted(s.Acted, `/\.loci(/|$)`, "deny file-write*")
		p.acted(s.Acted, `/\.git$`, "deny file-write-unlink")
	}
	p.rule("deny file-write*", s.Kept)
	p.rule("deny file-read* file-write* file-read-metadata", s.Closed)
	p.fixed(s.Write, slices.Concat(s.Closed, s.Kept), s.Fixed)
	return p.b.String(), p.err
}

// seatbeltText is a profile under way.
type seatbeltText struct {
	b   strings.Builder
	err error
}

// rule writes one rule for each path.
func (p *seatbeltText) rule(what string, paths []string) {
	for _, path := range paths {
		p.b.WriteString("(" + what + " (subpath " + p.quote(path) + "))\n")
	}
}

// acted writes a rule about names below a folder, in small and large letters: the system's disks take them for the same.
func (p *seatbeltText) acted(folder, pattern, what string) {
	var any strings.Builder
	for _, r := range pattern {
		if unicode.IsLower(r) {
			any.WriteString("[" + string(r) + string(unicode.ToUpper(r)) + "]")
		} else {
			any.WriteRune(r)
		}
	}
	p.b.WriteString("(" + what + " (require-all (subpath " + p.quote(folder) + ") (regex #\"" + any.String() + "\")))\n")
}

// fixed keeps the folders above what is closed or kept from being moved: a rule is about a path, and not about what is there.
func (p *seatbeltText) fixed(within, paths, also []string) {
	above := slices.Clone(also)
	for _, name := range paths {
		for dir := slashed.Dir(name); inOneOf(within, dir); dir = slashed.Dir(dir) {
			if !slices.Contains(above, dir) {
				above = append(above, dir)
			}
		}
	}
	slices.Sort(above)
	for _, dir := range slices.Compact(above) {
		p.b.WriteString("(deny file-write-unlink (literal " + p.quote(dir) + "))\n")
	}
}

// inOneOf reports whether a path is below one of the folders.
func inOneOf(folders []string, name string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/") })
}

// quote writes a path as a string of the profile. What could end the string is escaped; what has no plain form there is refused.
func (p *seatbeltText) quote(name string) string {
	odd := func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }
	if !utf8.ValidString(name) || strings.ContainsFunc(name, odd) || !slashed.IsAbs(name) || slashed.Clean(name) != name || name == "/" {
		p.err = core.E(core.Invalid, "the path %q can't be named to the system's sandbox", name).
			WithHint("work in a folder with a plain name")
		return `"/nowhere"`
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

// seatbeltOf is the policy of a job whose own folder is scratch, and its environment. Nothing can be mounted elsewhere on macOS:
// what names a place inside names the true one instead.
func seatbeltOf(job *core.Job, scratch string) (s seatbelt, env []string) {
	places := []string{core.SandboxHome, scratch}
	s.Write = []string{scratch}
	for _, m := range job.Mounts {
		if m.Writable {
			s.Write = append(s.Write, m.Source)
		} else {
			s.Read = append(s.Read, m.Source)
		}
		for _, name := range m.Masked {
			s.Closed = append(s.Closed, slashed.Join(m.Source, name))
		}
		if m.Target != "" && m.Target != m.Source {
			places = append([]string{m.Target, m.Source}, places...) // deeper ones come first
		}
	}
	if p := job.Project; p != nil {
		if s.Read = append(s.Read, p.Path); p.Writable {
			s.Read, s.Write, s.Acted = s.Read[:len(s.Read)-1], append(s.Write, p.Path), p.Path
		}
		for _, name := range p.Masked {
			s.Closed = append(s.Closed, slashed.Join(p.Path, name))
		}
		for _, name := range p.ReadOnly {
			s.Kept = append(s.Kept, slashed.Join(p.Path, name))
		}
		for _, name := range p.Fixed {
			s.Fixed = append(s.Fixed, slashed.Join(p.Path, name))
		}
	}
	for _, v := range job.Env {
		name, value, _ := strings.Cut(v, "=")
		env = append(env, name+"="+relocated(value, places))
	}
	return s, append(env, "TMPDIR="+scratch)
}

// relocated replaces the places in a value, which come in pairs, where they are whole parts of a path.
func relocated(value string, places []string) string {
	parts := strings.Split(value, ":")
	for i, part := range parts {
		for n := 0; n+1 < len(places); n += 2 {
			if rest, ok := strings.CutPrefix(part, places[n]); ok && (rest == "" || rest[0] == '/') {
				parts[i] = places[n+1] + rest
				break
			}
		}
	}
	return strings.Join(parts, ":")
}
