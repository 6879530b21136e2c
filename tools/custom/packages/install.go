package packages

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"loci/core"
	"loci/tools/custom/run"
)

// build is a folder in which an environment is made.
type build struct {
	s      *Store
	folder string
	say    func(string)
}

func (b *build) files() string   { return filepath.Join(b.folder, partFiles) }
func (b *build) scratch() string { return filepath.Join(b.folder, "tmp") }

// install makes an environment and gives it its name, which is all that makes it count.
func (s *Store) install(ctx context.Context, w *want, say func(string)) (err error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return core.E(core.Unavailable, "the daemon is shutting down: no package is installed any more")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, InstallTime, core.E(core.Timeout, "the installation took longer than %s", InstallTime))
	defer cancel()
	b := &build{s: s, say: say}
	if err := os.MkdirAll(s.cfg.Dir, 0o700); err != nil {
		return core.E(core.Unavailable, "a folder for packages: %w", err)
	}
	if err := s.makeRoom(); err != nil {
		return err
	}
	if b.folder, err = os.MkdirTemp(s.cfg.Dir, unfinished); err != nil {
		return core.E(core.Unavailable, "a folder for packages: %w", err)
	}
	defer func() { _ = remove(b.folder) }() // the next start removes what is left; once it has its name, nothing is
	if err := b.empty(); err != nil {
		return err
	}
	say("installing " + strings.Join(w.Requirements, ", "))
	switch w.Language {
	case core.LanguagePython:
		err = b.pip(ctx, w)
	case core.LanguageTypeScript:
		err = b.npm(ctx, w)
	case core.LanguageProgram:
	}
	if err != nil {
		return err
	}
	return b.finish(w)
}

// empty makes the folders anew that an installer writes to.
func (b *build) empty() error {
	for _, dir := range []string{b.files(), b.scratch()} {
		if err := remove(dir); err != nil {
			return core.E(core.Unavailable, "a folder for packages: %w", err)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return core.E(core.Unavailable, "a folder for packages: %w", err)
		}
	}
	return nil
}

// finish looks through what was made and gives it its name.
func (b *build) finish(w *want) error {
	made := w.about
	var err error
	if made.Bytes, made.Files, err = b.whole(); err != nil {
		return err
	}
	made.MadeAt = b.s.cfg.Clock()
	if err := remove(b.scratch()); err != nil {
		return core.E(core.Unavailable, "a folder for packages: %w", err)
	}
	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return core.E(core.Internal, "write what was installed: %w", err)
	}
	if err := os.WriteFile(filepath.Join(b.folder, partAbout), text, 0o600); err != nil {
		return core.E(core.Unavailable, "write what was installed: %w", err)
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	named := filepath.Join(b.s.cfg.Dir, w.key())
	if err := remove(named); err != nil { // what lacks its files is none
		return core.E(core.Unavailable, "a folder for packages: %w", err)
	}
	if err := os.Rename(b.folder, named); err != nil {
		return core.E(core.Unavailable, "keep what was installed: %w", err)
	}
	return nil
}

// whole refuses what no environment may hold: links that lead out of it, and what is neither a file nor a folder.
func (b *build) whole() (size int64, files int, err error) {
	root := b.files()
	if info, err := os.Lstat(root); err != nil || !info.IsDir() {
		return 0, 0, core.E(core.Invalid, "the installer replaced the folder of packages, and nothing of it is used")
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return core.E(core.Invalid, "what was installed can't be looked through: %w", err)
		}
		name, _ := filepath.Rel(root, path)
		switch kind := d.Type(); {
		case kind.IsDir(), kind.IsRegular():
		case kind&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return core.E(core.Invalid, "what was installed can't be looked through: %w", err)
			}
			if within := filepath.Join(filepath.Dir(name), to); filepath.IsAbs(to) || !filepath.IsLocal(within) {
				return core.E(core.Forbidden, "%.100q leads out of what was installed, and nothing of it is used", name)
			}
		default:
			return core.E(core.Forbidden, "%.100q is no file, and nothing of what was installed is used", name)
		}
		info, err := d.Info()
		if err != nil {
			return core.E(core.Invalid, "what was installed can't be looked through: %w", err)
		}
		if size, files = size+info.Size(), files+1; size > b.s.cfg.Bytes || files > mostFiles {
			return b.tooLarge()
		}
		return nil
	})
	return size, files, err
}

func (b *build) tooLarge() error {
	return core.E(core.TooLarge, "the packages take more than %d MB or %d files, and are not kept", b.s.cfg.Bytes>>20, mostFiles)
}

// job runs a program that may write to the build and reach the index.
func (b *build) job(ctx context.Context, with run.Interpreter, from index, argv, env []string) (core.JobResult, error) {
	ctx, stop := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { b.watch(ctx, stop) })
	defer watching.Wait()
	defer stop(nil)
	out := &lines{say: b.say, hide: from.hide}
	r, err := b.s.cfg.Sandbox.Run(ctx, core.Job{
		Profile: core.JobTool, Argv: argv,
		Env: append([]string{
			"PATH=" + run.SystemPath, "HOME=" + b.scratch(), "TMPDIR=" + b.scratch(), "LANG=C.UTF-8", "TZ=UTC",
		}, env...),
		Mounts:  append([]core.JobMount{{Source: b.files(), Writable: true}, {Source: b.scratch(), Writable: true}}, with.Mounts...),
		Network: from.network, Live: out,
		Limits: core.JobLimits{
			Wall: InstallTime, Memory: mostMemory, Processes: 256, Output: 256 << 10, Files: 4096, FileSize: mostFile, Traffic: mostTraffic,
		},
	})
	switch cause := context.Cause(ctx); {
	case err != nil:
		return r, err
	case core.KindOf(cause) == core.TooLarge, core.KindOf(cause) == core.Timeout:
		return r, cause
	case cause != nil:
		return r, core.E(core.Unavailable, "the daemon is shutting down: no package is installed any more")
	case r.Ended != core.JobExited && r.Ended != core.JobSignalled:
		return r, core.E(core.Unavailable, "the installation was stopped: %s", strings.ReplaceAll(string(r.Ended), "_", " "))
	}
	return r, nil
}

// watchEvery is how often is looked how much an installer has written.
const watchEvery = 500 * time.Millisecond

// watch stops an installer that writes too much.
func (b *build) watch(ctx context.Context, stop context.CancelCauseFunc) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var size int64
		files := 0
		_ = filepath.WalkDir(b.folder, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || ctx.Err() != nil {
				return nil //nolint:nilerr // it was there a moment ago: what is written changes
			}
			if info, err := d.Info(); err == nil {
				size, files = size+info.Size(), files+1
			}
			return nil
		})
		if size > b.s.cfg.Bytes || files > mostFiles {
			stop(b.tooLarge())
			return
		}
	}
}

// failed is the error of an installer that failed: the package, and what was said last.
func failed(w *want, r core.JobResult, from index) error {
	said := append(tail(r.Stdout.Kept, from.hide), tail(r.Stderr.Kept, from.hide)...)
	said = said[max(0, len(said)-mostLines):]
	names := make([]string, len(w.Requirements))
	blamed := ""
	for i, word := range w.Requirements {
		names[i] = word
		if name := strings.ToLower(nameOf(word)); blamed == "" && strings.Contains(strings.ToLower(strings.Join(said, "\n")), name) {
			blamed = word
		}
	}
	if blamed == "" || len(names) == 1 {
		blamed = strings.Join(names, ", ")
	}
	text := fmt.Sprintf("%s could not be installed from %s", blamed, from.host)
	var hosts []string
	for _, refused := range r.Refused {
		hosts = append(hosts, refused.Host+" ("+refused.Why+")")
	}
	if len(hosts) > 0 {
		text += "; the installer also wanted to reach " + strings.Join(hosts, ", ") + ", and it reaches the index alone"
	}
	return core.E(core.Unavailable, "%s. The installer says: %s", text, strings.Join(said, " | ")).
		WithHint("check the name and the version of the package; another index is set with pip_index or npm_registry in the configuration")
}
