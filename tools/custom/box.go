// Package custom makes tools of what people wrote, beside those that are built in.
//
// Promises: what a tool takes is read from its source, which nothing executes before a call; a call runs in a sandbox, with what its
// agent's variables entitle it to and nothing else of the machine's; what it did to its agent's blocks is written by the transaction
// that saves its return. No tool hides a built-in one.
//
// Layer 1, below tools: it imports core, core/jobs, tools/memory, tools/custom/pysource, tools/custom/packages and the packages that run
// a language.
package custom

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"loci/core"
	"loci/core/jobs"
	"loci/tools/custom/packages"
	"loci/tools/custom/run"
)

// Config is what a Box needs.
type Config struct {
	BuiltIn core.Toolbox
	Store   core.Store
	Sandbox core.Sandbox // nil: there is none, and nothing runs
	Folder  string       // with scripts that are tools; empty: there is none
	Logger  *slog.Logger // of what is wrong with those; nil: nobody is told

	Python     *run.Runner // likewise
	JavaScript *run.Runner
	Packages   *packages.Store // nil: none are installed
	Jobs       *jobs.Registry  // of calls that run, which ask a person there; nil: nobody is asked
}

// Box is all tools there are, and the maker of those that people write. Safe for concurrent use.
type Box struct {
	cfg      Config
	code     core.BoundTool
	programs programs
}

var (
	_ core.Toolbox   = (*Box)(nil)
	_ core.ToolMaker = (*Box)(nil)
)

// New returns a box.
func New(cfg Config) *Box {
	b := &Box{cfg: cfg, programs: programs{dir: cfg.Folder, logger: cfg.Logger}}
	b.code = codeTool(&b.cfg)
	return b
}

// Tools implements core.Toolbox.
func (b *Box) Tools(ctx context.Context, ids []core.ToolID) ([]core.BoundTool, error) {
	found, err := b.cfg.BuiltIn.Tools(ctx, ids)
	if err != nil || len(found) == len(ids) {
		return found, err
	}
	if slices.Contains(ids, b.code.Info.ID) {
		found = append(found, b.code)
	}
	var others []core.ToolID
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(t core.BoundTool) bool { return t.Info.ID == id }) {
			others = append(others, id)
		}
	}
	written, err := b.cfg.Store.Tools().Among(ctx, others)
	if err != nil {
		return nil, err
	}
	if len(written) < len(others) {
		files, err := b.files(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range files {
			if slices.Contains(others, t.ID) {
				written = append(written, t)
			}
		}
	}
	for i := range written {
		found = append(found, b.Bind(&written[i]))
	}
	at := make(map[core.ToolID]int, len(ids))
	for i, id := range ids {
		at[id] = i
	}
	slices.SortStableFunc(found, func(a, b core.BoundTool) int { return at[a.Info.ID] - at[b.Info.ID] })
	return found, nil
}

// Find implements core.Toolbox.
func (b *Box) Find(ctx context.Context, name string) (core.BoundTool, bool, error) {
	if found, ok, err := b.unhidden(ctx, name); ok || err != nil {
		return found, ok, err
	}
	all := b.programs.find(ctx)
	i := slices.IndexFunc(all, func(p core.CustomTool) bool { return p.Name == name })
	if i < 0 {
		return core.BoundTool{}, false, nil
	}
	return b.Bind(&all[i]), true, nil
}

// unhidden finds a tool that is built in or stored, which no file hides.
func (b *Box) unhidden(ctx context.Context, name string) (core.BoundTool, bool, error) {
	if found, ok, err := b.cfg.BuiltIn.Find(ctx, name); ok || err != nil {
		return found, ok, err
	}
	if name == b.code.Info.Spec.Name {
		return b.code, true, nil
	}
	t, ok, err := b.cfg.Store.Tools().Find(ctx, name)
	if err != nil || !ok {
		return core.BoundTool{}, false, err
	}
	return b.Bind(&t), true, nil
}

// files returns the tools of the folder, but for those whose name another tool has: of two files, the first one has it.
func (b *Box) files(ctx context.Context) (free []core.CustomTool, err error) {
	for _, p := range b.programs.find(ctx) {
		_, taken, err := b.unhidden(ctx, p.Name)
		if err != nil {
			return nil, err
		}
		if taken || slices.ContainsFunc(free, func(t core.CustomTool) bool { return t.Name == p.Name }) {
			b.programs.tell(ctx, p.File, core.E(core.Conflict, "another tool is named %s", p.Name))
			continue
		}
		free = append(free, p)
	}
	return free, nil
}

// List implements core.Toolbox.
func (b *Box) List(ctx context.Context) ([]core.BoundTool, error) {
	all, err := b.cfg.BuiltIn.List(ctx)
	if err != nil {
		return nil, err
	}
	written, err := b.cfg.Store.Tools().List(ctx)
	if err != nil {
		return nil, err
	}
	files, err := b.files(ctx)
	if err != nil {
		return nil, err
	}
	all = append(all, b.code)
	written = append(written, files...)
	for i := range written {
		all = append(all, b.Bind(&written[i]))
	}
	slices.SortFunc(all, func(a, b core.BoundTool) int { return strings.Compare(a.Info.Spec.Name, b.Info.Spec.Name) })
	return all, nil
}

// Bind implements core.ToolMaker.
func (b *Box) Bind(t *core.CustomTool) core.BoundTool {
	own := *t
	spec := own.Spec()
	return core.BoundTool{
		Info: core.ToolInfo{
			ID: own.ID, Kind: core.ToolCustom, Effect: core.EffectOutside, Spec: spec, Tags: own.Tags, ReturnCharLimit: own.ReturnChars,
			Custom: &own,
		},
		Tool: &tool{cfg: &b.cfg, of: &own},
	}
}

// Prepare implements core.ToolMaker.
func (b *Box) Prepare(ctx context.Context, t *core.CustomTool, tell func(string)) error {
	if b.cfg.Packages == nil {
		return nil
	}
	_, err := b.cfg.Packages.Environment(ctx, t, tell)
	return err
}
