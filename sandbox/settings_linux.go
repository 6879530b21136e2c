package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"loci/core"
	"loci/core/gitconfig"
	"loci/sandbox/frame"
)

// copiesInside is where a job finds the git configurations that it may change.
const copiesInside = "/gitconfig"

// lockTime is how long another program may hold the lock of a configuration.
const lockTime = 2 * time.Second

// settings are a git configuration of the project, of which the job sees a copy in its place.
type settings struct {
	file string // the project's
	copy string
	base *gitconfig.File // as it was when the job began
}

// copyConfigs gives a job that may change the project copies of its git configurations. The files themselves can't be
// written inside, since git would run what they say outside.
func (p *plan) copyConfigs() error {
	if p.spec.Scratch == "" || p.project == nil || !p.writable {
		return nil
	}
	dir := filepath.Join(p.spec.Scratch, "git")
	for i, file := range p.project.configs {
		text, err := readRegular(file, gitconfig.MostBytes)
		if err != nil {
			continue // it stays read-only
		}
		base, err := gitconfig.Parse(text)
		if err != nil {
			continue // likewise: what it would become can't be told
		}
		name := filepath.Join(strconv.Itoa(i), "config")
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			return core.E(core.Unavailable, "a copy of the git configuration: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return core.E(core.Unavailable, "a copy of the git configuration: %w", err)
		}
		p.settings = append(p.settings, settings{file, filepath.Join(dir, name), base})
		for j, b := range p.spec.Binds {
			if b.Target == file && !b.Masked {
				p.spec.Binds[j] = frame.Bind{Target: file, Link: filepath.Join(copiesInside, name)}
			}
		}
	}
	if len(p.settings) > 0 {
		p.spec.Binds = append(p.spec.Binds, frame.Bind{Source: dir, Target: copiesInside, Writable: true})
	}
	return nil
}

// settle writes what a job changed in copies to the project's configurations, as far as it is safe there. No process of the
// job is left by then. touched are configurations that the job may have written itself.
func (p *plan) settle(touched func(file string) bool) []core.JobSetting {
	var out []core.JobSetting
	for _, s := range p.settings {
		out = append(out, s.settle(touched(s.file))...)
	}
	return out
}

// unsafeSetting is why a setting was not written that git could act on.
const unsafeSetting = "git could run or read something because of it"

// changedOutside is why a setting was not written that is another one by now.
const changedOutside = "it was changed outside meanwhile"

// allow writes settings of the job that are not safe and that a person allowed, as core.JobResult has it.
func (p *plan) allow(allowed []core.JobSetting) []core.JobSetting {
	out := slices.Clone(allowed)
	for _, s := range p.settings {
		err := change(s.file, func(now *gitconfig.File) (string, error) {
			var changes []gitconfig.Change
			for i := range out {
				w := &out[i]
				if w.File != s.file || w.May == "" {
					continue
				}
				if w.Why = changedOutside; slices.Equal(now.Values(w.Name), s.base.Values(w.Name)) {
					w.Why = ""
					changes = append(changes, gitconfig.Change{Name: w.Name, Key: w.Key, Values: w.Values})
				}
			}
			return now.With(changes)
		})
		for i := range out {
			if err != nil && out[i].File == s.file {
				out[i].Why = err.Error()
			}
		}
	}
	return out
}

// takeAway removes what would lead git to a configuration that the job wrote, unless that says nothing that isn't safe.
func (p *plan) takeAway() []core.JobSetting {
	var out []core.JobSetting
	for _, in := range append([]*project{p.project}, p.beside...) {
		if in == nil || !in.writable {
			continue
		}
		for _, path := range in.absent {
			if _, err := os.Lstat(path); err != nil || filepath.Base(path) == "config.worktree" && harmless(path) {
				continue
			}
			why := "git would read a configuration there that the line wrote, so it was removed"
			if err := os.RemoveAll(path); err != nil {
				why = "git would read a configuration there that the line wrote: " + err.Error()
			}
			out = append(out, core.JobSetting{File: path, Name: filepath.Base(path), Why: why})
		}
	}
	return out
}

// harmless reports whether a configuration says only what git can't run or follow. How much of a tree is checked out is no danger.
func harmless(path string) bool {
	text, err := readRegular(path, gitconfig.MostBytes)
	if err != nil {
		return false
	}
	file, err := gitconfig.Parse(text)
	if err != nil {
		return false
	}
	none, err := gitconfig.Parse("")
	if err != nil {
		return false
	}
	_, unsafe := none.Split(gitconfig.Diff(none, file))
	return !slices.ContainsFunc(unsafe, func(c gitconfig.Change) bool {
		return !strings.HasPrefix(strings.ToLower(c.Name), "core.sparsecheckout")
	})
}

func (s *settings) settle(touched bool) []core.JobSetting {
	wanted, fault := s.wanted()
	var out []core.JobSetting
	if fault != nil {
		out = append(out, core.JobSetting{
			File: s.file, Name: filepath.Base(s.file),
			Why: "nothing that the line set was written, for what it left can't be read: " + fault.Error(),
		})
	}
	if len(wanted) == 0 && !touched {
		return out
	}
	tell := func(changes []gitconfig.Change, why string) {
		for _, c := range changes {
			told := core.JobSetting{File: s.file, Name: c.Name, Key: c.Key, Values: c.Values, Was: s.base.Values(c.Name), Why: why}
			if why == unsafeSetting {
				told.May = gitconfig.May(c)
			}
			out = append(out, told)
		}
	}
	err := change(s.file, func(now *gitconfig.File) (string, error) {
		var back []gitconfig.Change
		if touched {
			_, strange := s.base.Split(gitconfig.Diff(s.base, now))
			tell(strange, "it came into the file while the line could write it, and was taken back")
			for _, c := range strange {
				back = append(back, gitconfig.Change{Name: c.Name, Key: c.Key, Values: s.base.Values(c.Name)})
			}
		}
		var late, still []gitconfig.Change
		for _, c := range wanted {
			if slices.Equal(now.Values(c.Name), s.base.Values(c.Name)) {
				still = append(still, c)
			} else {
				late = append(late, c)
			}
		}
		safe, unsafe := now.Split(still)
		tell(unsafe, unsafeSetting)
		tell(late, changedOutside)
		text, err := now.With(append(back, safe...))
		if err == nil {
			tell(safe, "")
		}
		return text, err
	})
	if err != nil {
		out = nil
		tell(wanted, err.Error())
	}
	return out
}

// wanted are the job's changes. A copy that was broken or removed changes nothing.
func (s *settings) wanted() ([]gitconfig.Change, error) {
	text, err := readRegular(s.copy, gitconfig.MostBytes)
	if err != nil {
		return nil, err
	}
	file, err := gitconfig.Parse(text)
	if err != nil {
		return nil, err
	}
	return gitconfig.Diff(s.base, file), nil
}

// change changes a git configuration as git does, under its lock, but for the last step: the file is written over. In its
// place, a new one would be open to jobs that run in the same project.
func change(file string, how func(*gitconfig.File) (string, error)) error {
	lock, err := acquire(file + ".lock")
	if err != nil {
		return err
	}
	defer func() {
		_ = lock.Close()           // what counts was flushed
		_ = os.Remove(lock.Name()) // it is ours
	}()
	text, err := readRegular(file, gitconfig.MostBytes)
	if err != nil {
		return fmt.Errorf("the configuration can't be read: %w", err)
	}
	now, err := gitconfig.Parse(text)
	if err != nil {
		return err
	}
	after, err := how(now)
	if err != nil || after == text {
		return err
	}
	// Should the machine stop in the middle, the whole text is in the lock's file.
	if _, err := lock.WriteString(after); err != nil {
		return fmt.Errorf("the configuration can't be written: %w", err)
	}
	if err := lock.Sync(); err != nil {
		return fmt.Errorf("the configuration can't be written: %w", err)
	}
	return overwrite(file, after, len(text))
}

// overwrite writes over a file in one go: until the end is cut off, empty lines stand there.
func overwrite(file, text string, size int) error {
	to, err := os.OpenFile(file, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("the configuration can't be written: %w", err)
	}
	_, err = to.WriteString(text + strings.Repeat("\n", max(0, size-len(text))))
	if err == nil {
		err = to.Truncate(int64(len(text)))
	}
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}

// acquire makes a lock file, and waits for whoever holds it.
func acquire(name string) (*os.File, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(lockTime); ; <-tick.C {
		lock, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		switch {
		case err == nil:
			return lock, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, fmt.Errorf("the configuration can't be locked: %w", err)
		case time.Now().After(until):
			return nil, fmt.Errorf("another program holds %s", name)
		}
	}
}

// readRegular reads a regular file of a bounded size, and follows no link to it.
func readRegular(name string, most int64) (string, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read from
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return "", fmt.Errorf("%s is no file of at most %d bytes", name, most)
	}
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return string(text), err
}
