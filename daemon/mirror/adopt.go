package mirror

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"loci/core"
	"loci/core/service"
)

// Import reads a memory folder into an agent's blocks, once, and leaves the folder as it is. A block whose text
// differs keeps it, unless replace is set: then the old text stays as its earlier version.
func (m *Mirrors) Import(ctx context.Context, agent core.AgentID, dir string, replace bool) (core.MirrorImport, error) {
	var out core.MirrorImport
	if !filepath.IsAbs(dir) {
		return out, core.E(core.Invalid, "a folder is named by its absolute path, not %q", dir)
	}
	if _, err := m.cfg.Store.Agents().Get(ctx, agent); err != nil {
		return out, err
	}
	f, err := openFolder(dir)
	if err != nil {
		return out, core.E(core.NotFound, "%w", err)
	}
	defer f.close()
	files, err := f.scan()
	if err != nil {
		return out, err
	}
	if len(files) == 0 {
		return out, core.E(core.NotFound, "%s is no memory folder: there is no %s/*%s", dir, blocksDir, extension)
	}
	blocks, err := m.cfg.Store.Blocks().OfAgent(ctx, agent)
	if err != nil {
		return out, err
	}
	// Files that don't belong to a block yet are judged like those of a mirror.
	p := &planner{agent: agent, files: files, wants: map[string]core.BlockID{}, folded: map[string]bool{}}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		label := labelOf(path)
		at := slices.IndexFunc(blocks, func(b core.Block) bool { return b.Label == label })
		switch {
		case isConflict(path) || path == generated:
			p.note(core.MirrorSkipped, path, label, "the file is nobody's memory")
		case at < 0:
			p.fresh(files[path], label)
		case refusal(files[path], blocks[at]) != nil:
			p.note(core.MirrorUnreadable, path, label, "the file is not taken into the block: %s", refusal(files[path], blocks[at]))
		default:
			if err := m.importInto(ctx, blocks[at], files[path].Doc, replace, &out); err != nil {
				return out, err
			}
		}
	}
	for _, a := range p.actions {
		b, err := m.cfg.Services.Mirrors.Make(ctx, agent, a.block, nil)
		if err != nil {
			return out, err
		}
		out.Made = append(out.Made, b.Label)
	}
	out.Notes = p.notes
	return out, nil
}

// importInto imports a file into a block that the agent has.
func (m *Mirrors) importInto(ctx context.Context, b core.Block, d document, replace bool, out *core.MirrorImport) error {
	list := &out.Replaced
	switch {
	case d.alike(b) || d.Value == b.Value && !replace:
		out.Same = append(out.Same, b.Label)
		return nil
	case strings.TrimSpace(b.Value) == "":
		list = &out.Filled
	case !replace:
		out.Kept = append(out.Kept, b.Label)
		return nil
	}
	if _, err := m.cfg.Services.Blocks.Update(ctx, b.ID, d.patch(), b.Version, service.MirrorAuthor); err != nil {
		return err
	}
	*list = append(*list, b.Label)
	return nil
}
