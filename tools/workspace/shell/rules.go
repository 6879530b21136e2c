package shell

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"loci/core"
	"loci/tools/internal/plaintext"
	"loci/tools/workspace/masks"
)

// obey closes to a line what the rules of permission don't let it read or change.
func (p *place) obey(ctx context.Context, paths core.PathRules) error {
	if paths == nil {
		return core.E(core.Internal, "nobody said which files the line may read")
	}
	if rules := paths.Of(p.real); rules != nil {
		found, err := masks.Find(ctx, p.real, rules)
		if err != nil {
			return err
		}
		p.closed = found
	}
	if p.closed.AllHidden {
		return core.E(core.Forbidden, "a rule of permission closes the whole folder %s", p.named).
			WithHint("see which: loci permissions")
	}
	count := len(p.masked) + len(p.closed.Hidden) + len(p.closed.ReadOnly) + len(p.closed.Fixed)
	var open []core.JobMount
	for _, m := range p.mounts {
		closed, err := p.obeyOn(ctx, paths, &m)
		if err != nil {
			return err
		}
		if !closed {
			open = append(open, m)
			count += len(m.Masked)
		}
	}
	p.mounts = open
	if count > core.MostJobPaths {
		return core.E(core.TooLarge, "rules of permission close %d files and folders here, and at most %d can be kept from a line", count,
			core.MostJobPaths).WithHint("a rule about the folder around them counts as one; or one that allows them by name, as in: "+
			"loci permissions add allow 'read(%s)' --folder .", pattern(p.closed.Hidden))
	}
	return nil
}

// obeyOn does it for a folder of the person's that a line sees beside the project, and reports whether all of it is closed.
func (p *place) obeyOn(ctx context.Context, paths core.PathRules, m *core.JobMount) (closed bool, err error) {
	real, err := filepath.EvalSymlinks(m.Source)
	if m.Writable || err != nil {
		return false, nil //nolint:nilerr // the cache of lines; or it is gone, which mounting says
	}
	rules := paths.Of(real)
	if rules == nil {
		return false, nil
	}
	found, err := masks.Find(ctx, real, rules)
	p.closed.Partly = p.closed.Partly || found.Partly
	m.Masked = found.Hidden
	return found.AllHidden, err
}

// pattern is what most of the paths could be named by.
func pattern(paths []string) string {
	often, most := "*", 0
	ends := map[string]int{}
	for _, path := range paths {
		end := "*" + filepath.Ext(path)
		if ends[end]++; ends[end] > most {
			often, most = end, ends[end]
		}
	}
	return often
}

// closedTo says what was closed to a line, so that nobody takes it for missing or empty.
func (p *place) closedTo() string {
	var parts []string
	if hidden := slices.Concat(p.closed.Hidden, p.shut); len(hidden) > 0 {
		parts = append(parts, "to read: "+few(hidden))
	}
	if p.closed.AllReadOnly {
		parts = append(parts, "to change: everything")
	} else if len(p.closed.ReadOnly) > 0 {
		parts = append(parts, "to change: "+few(p.closed.ReadOnly))
	}
	text := ""
	if len(parts) > 0 {
		text = "\n(Closed by rules of permission, " + strings.Join(parts, "; ") + ". A line that names such a file asks the person.)"
	}
	if p.closed.Partly {
		text += "\n(The folder is too large to look at all of it: in its depths, files may be open that rules close.)"
	}
	return text
}

// few names the first paths of a list.
func few(paths []string) string {
	const most = 5
	var names []string
	for _, path := range paths[:min(len(paths), most)] {
		names = append(names, plaintext.Of(strings.ReplaceAll(path, "\n", "\ufffd")))
	}
	if n := len(paths); n > most {
		return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}
