package shell

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"loci/core"
	"loci/tools/internal/authorities"
)

// cacheInside is the cache folder of the project, as a line sees it.
const cacheInside = core.SandboxHome + "/.cache"

// mostSmall is how much is read of a small file.
const mostSmall = 64 << 10

// chain is a toolchain of the person's home. What is not there is left out.
type chain struct {
	mount string   // relative to the home
	paths []string // of it, relative to the home: where programs are; patterns
	vars  []string // NAME=value, in which ~ is the home
}

var chains = []chain{
	{mount: ".nvm", paths: []string{".nvm/versions/node/*/bin"}},
	{mount: ".cargo/bin", paths: []string{".cargo/bin"}},
	{mount: ".rustup", vars: []string{"RUSTUP_HOME=~/.rustup"}},
	{mount: ".local/share/uv"},
	{mount: ".pyenv", paths: []string{".pyenv/shims", ".pyenv/bin"}, vars: []string{"PYENV_ROOT=~/.pyenv"}},
	{mount: "go/bin", paths: []string{"go/bin"}},
	// The modules that the person has, so that a build needs no network.
	{mount: "go/pkg/mod/cache/download", vars: []string{"GOPROXY=file://~/go/pkg/mod/cache/download,https://proxy.golang.org,direct"}},
}

// systemPath is where programs of the system are; each is mounted.
var systemPath = []string{"/usr/local/go/bin", "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// hasBash reports whether the system has the shell in whose grammar lines are judged.
func hasBash() bool {
	return slices.ContainsFunc(systemPath, func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "bash"))
		return err == nil
	})
}

// equip sets the variables of a line and mounts the toolchains.
func (s *Shell) equip(p *place) {
	var paths, vars []string
	for _, c := range chains {
		source := filepath.Join(s.cfg.Home, c.mount)
		if info, err := os.Stat(source); s.cfg.Home == "" || err != nil || !info.IsDir() || s.touches(p, source) {
			continue
		}
		p.mounts = append(p.mounts, core.JobMount{Source: source})
		for _, pattern := range c.paths {
			found, _ := filepath.Glob(filepath.Join(s.cfg.Home, pattern)) // the patterns are well formed
			slices.Reverse(found)                                         // of versions, mostly the newest first
			paths = append(paths, found...)
		}
		for _, v := range c.vars {
			vars = append(vars, strings.ReplaceAll(v, "~", s.cfg.Home))
		}
	}
	p.env = append(append(authorities.Env(), vars...),
		"PATH="+strings.Join(append(paths, systemPath...), ":"), "HOME="+core.SandboxHome, "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "PAGER=cat", "XDG_CACHE_HOME="+cacheInside,
		"GOCACHE="+cacheInside+"/go-build", "GOMODCACHE="+cacheInside+"/go-mod", "GOFLAGS=-modcacherw", "CARGO_HOME="+cacheInside+"/cargo",
		"npm_config_cache="+cacheInside+"/npm", "PIP_CACHE_DIR="+cacheInside+"/pip",
	)
}

// touches reports whether a folder holds something of ours, or the project already shows it.
func (s *Shell) touches(p *place, source string) bool {
	real, err := filepath.EvalSymlinks(source)
	if err != nil {
		return true
	}
	if _, inside := below(p.real, real); inside {
		return true
	}
	return s.isOurs(real)
}

// isOurs reports whether something of ours is in a folder, or around it.
func (s *Shell) isOurs(real string) bool {
	return slices.ContainsFunc(s.cfg.Hidden, func(path string) bool {
		hidden, err := filepath.EvalSymlinks(path)
		if err != nil {
			return false
		}
		_, holds := below(real, hidden)
		_, within := below(hidden, real)
		return holds || within
	})
}

// openCache makes the project's cache folder and mounts it.
func (s *Shell) openCache(p *place) (*os.Root, error) {
	sum := sha256.Sum256([]byte(p.real))
	dir := filepath.Join(s.cfg.Caches, hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, core.E(core.Unavailable, "the project's cache folder: %w", err).WithHint("make room for %s", s.cfg.Caches)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, core.E(core.Unavailable, "the project's cache folder: %w", err)
	}
	p.mounts = append(p.mounts, core.JobMount{Source: dir, Target: cacheInside, Writable: true})
	return root, nil
}

// readSmall reads a file that a line may have put there; nothing, where it is none, or large.
func readSmall(root *os.Root, name string) string {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read from
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(file, mostSmall+1))
	if err != nil || len(text) > mostSmall {
		return ""
	}
	return string(text)
}
