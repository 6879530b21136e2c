package shell

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"loci/core"
)

// Bounds of where the output of a line comes from.
const (
	mostSources = 20
	mostWords   = 200 // of a line that are looked at
	mostRead    = 10  // files that it names whose content is compared with what was downloaded
)

// origin is where the output of a line may come from that is not the person's: hosts that it reached, and files which others
// wrote and it names. It is known while the line runs.
type origin struct {
	mu      sync.Mutex // guards what follows
	named   []string   // by the line
	reached []string   // hosts
}

// origin finds what a line names that is not the person's.
func (s *Shell) origin(ctx context.Context, p *place, line string, w core.WorkspaceEnv) *origin {
	o := &origin{}
	if core.ForeignPath(filepath.ToSlash(p.dir)) {
		o.named = append(o.named, filepath.ToSlash(p.dir))
	}
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;|&<>(){}=,:$", r) })
	read := 0
	for _, word := range words[:min(len(words), mostWords)] {
		switch word = filepath.ToSlash(filepath.Clean(word)); {
		case len(o.named) == mostSources || slices.Contains(o.named, word):
		case core.ForeignPath(word):
			o.named = append(o.named, word)
		case read < mostRead:
			rel, inside := below(p.real, filepath.Join(p.real, p.dir, word))
			if filepath.IsAbs(word) {
				if rel, inside = below(p.real, word); !inside {
					rel, inside = below(p.named, word)
				}
			}
			if !inside || rel == "." {
				continue
			}
			source, known := downloaded(ctx, p.real, rel, w)
			if known {
				read++
			}
			for host := range strings.Lines(source) {
				o.named = append(o.named, strings.TrimSpace(host))
			}
		}
	}
	return o
}

// downloaded are the hosts that a file came from which is as a line made it, and whether lines made one there at all.
func downloaded(ctx context.Context, folder, rel string, w core.WorkspaceEnv) (source string, known bool) {
	if w.Files == nil {
		return "", false
	}
	made, err := w.Files.Changes(ctx, core.FileChanges{
		Downloaded: &core.FilePath{Workspace: w.Path, Path: filepath.ToSlash(rel)}, Limit: mostSources,
	})
	if err != nil || len(made) == 0 {
		return "", false
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", true
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(rel)
	if err != nil || !info.Mode().IsRegular() || info.Size() > core.MaxKeptContent {
		return "", true
	}
	file, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", true
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, core.MaxKeptContent+1))
	i := slices.IndexFunc(made, func(c core.FileChange) bool { return c.After.Hash == core.ContentHash(content) })
	if err != nil || i < 0 {
		return "", true
	}
	return made[i].Source, true
}

// add notes a host that the line reached.
func (o *origin) add(host string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.reached) < mostSources && !slices.Contains(o.reached, host) {
		o.reached = append(o.reached, host)
	}
}

// hosts are those that the line has reached so far, one a line.
func (o *origin) hosts() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.reached, "\n")
}

// source is where the output may come from, one a line.
func (o *origin) source() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := slices.Concat(o.reached, o.named)
	return strings.Join(all[:min(len(all), mostSources)], "\n")
}

// mark marks an output that may not be the person's.
func (o *origin) mark(text string) string {
	source := o.source()
	if source == "" || text == "" {
		return text
	}
	return core.Foreign(strings.ReplaceAll(source, "\n", ", "), text)
}
