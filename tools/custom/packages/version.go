package packages

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"loci/core"
	"loci/tools/custom/run"
)

// askTime is how long an interpreter may take to say which version it is.
const askTime = 30 * time.Second

// resolve finds the interpreter of a language, and which version it is: packages of one are nothing to another.
func (s *Store) resolve(ctx context.Context, language core.ToolLanguage, requirements []string) (*want, error) {
	const python = "import sys, sysconfig; print(sys.implementation.cache_tag, sysconfig.get_platform())"
	const node = `"node-" + process.versions.modules + " " + process.platform + "-" + process.arch`
	find, asks := s.cfg.Python, []string{"-I", "-c", python}
	if language == core.LanguageTypeScript {
		find, asks = s.cfg.Node, []string{"-p", node}
	}
	if find == nil || s.cfg.Sandbox == nil {
		return nil, core.E(core.Unsupported, "packages of tools can't be installed here")
	}
	with, err := find()
	if err != nil {
		return nil, err
	}
	w := &want{about: about{Language: language, Requirements: requirements}, with: with}
	w.Version, err = s.version(ctx, with, asks)
	return w, err
}

// version asks an interpreter once for each file that it is.
func (s *Store) version(ctx context.Context, with run.Interpreter, asks []string) (string, error) {
	info, err := os.Stat(with.Program)
	if err != nil {
		return "", core.E(core.Unsupported, "the interpreter can't be looked at: %w", err)
	}
	file := fmt.Sprint(with.Program, info.Size(), info.ModTime().UnixNano())
	s.mu.Lock()
	known := s.versions[file]
	s.mu.Unlock()
	if known != "" {
		return known, nil
	}
	r, err := s.cfg.Sandbox.Run(ctx, core.Job{
		Profile: core.JobTool, Argv: append([]string{with.Program}, asks...),
		Env:    []string{"PATH=" + run.SystemPath, "HOME=" + core.SandboxHome},
		Mounts: with.Mounts, Limits: core.JobLimits{Wall: askTime},
	})
	said := strings.TrimSpace(string(r.Stdout.Kept))
	switch {
	case err != nil:
		return "", err
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case !good(r) || said == "" || len(said) > 200:
		return "", core.E(core.Unavailable, "%s does not say which version it is: %s", with.Program,
			strings.Join(tail(r.Stderr.Kept, ""), " | "))
	}
	s.mu.Lock()
	s.versions[file] = said
	s.mu.Unlock()
	return said, nil
}
