package tools

import (
	"context"
	"slices"
	"strings"

	"loci/core"
	"loci/tools/archival"
	"loci/tools/files"
	"loci/tools/memory"
	"loci/tools/messages"
	"loci/tools/recall"
	"loci/tools/web"
	"loci/tools/work"
	"loci/tools/workspace"
	"loci/tools/workspace/shell"
)

// builtins is the table of the tools that need no row in the store.
func builtins(machine shell.Config, network web.Config) []core.BoundTool {
	if machine.Watch == nil {
		machine.Watch = workspace.NewWatcher("").Watch
	}
	sh, net := shell.New(machine), web.New(network)
	return []core.BoundTool{
		row(core.ToolCore, Typed("archival_memory_delete", archival.DeleteDoc, archival.Delete)),
		row(core.ToolCore, Typed("archival_memory_insert", archival.InsertDoc, archival.Insert)),
		row(core.ToolCore, Typed("archival_memory_replace", archival.ReplaceDoc, archival.Replace)),
		row(core.ToolCore, widened(
			Typed("archival_memory_search", archival.SearchDoc, archival.Search),
			Typed("archival_memory_search", archival.TerminalSearchDoc, archival.TerminalSearch),
		), whole),
		row(core.ToolCore, widened(
			Typed("conversation_search", recall.SearchDoc, recall.Search),
			Typed("conversation_search", recall.TerminalDoc, recall.TerminalSearch),
		), whole),
		row(core.ToolMemory, Typed("core_memory_append", memory.AppendDoc, memory.Append)),
		row(core.ToolMemory, Typed("core_memory_replace", memory.ReplaceDoc, memory.Replace)),
		row(core.ToolBuiltin, Typed("ask", work.AskDoc, work.Ask), minds, asks),
		row(core.ToolBuiltin, Typed("edit", workspace.EditDoc, workspace.EditFile), whole, changes),
		row(core.ToolBuiltin, sideBySide(Typed("fetch", web.FetchDoc, net.Fetch)), whole, fetches),
		row(core.ToolBuiltin, sideBySide(Typed("glob", workspace.GlobDoc, workspace.Glob)), whole, looks),
		row(core.ToolBuiltin, sideBySide(Typed("grep", workspace.GrepDoc, workspace.Grep)), whole, looks),
		row(core.ToolFiles, Typed("grep_files", files.GrepDoc, files.Grep), whole),
		row(core.ToolBuiltin, Typed("job", shell.JobDoc, sh.Job), whole, minds),
		row(core.ToolBuiltin, sideBySide(Typed("list", workspace.ListDoc, workspace.List)), whole, looks),
		row(core.ToolMemory, Typed("memory", memory.OmniDoc, memory.Omni)),
		row(core.ToolMemory, Typed("memory_apply_patch", memory.PatchDoc, memory.ApplyPatch)),
		row(core.ToolMemory, Typed("memory_create", memory.CreateDoc, memory.Create)),
		row(core.ToolMemory, Typed("memory_finish_edits", memory.FinishDoc, memory.Finish), terminal),
		row(core.ToolMemory, Typed("memory_insert", memory.InsertDoc, memory.Insert)),
		row(core.ToolMemory, Typed("memory_replace", memory.ReplaceUniqueDoc, memory.ReplaceUnique)),
		row(core.ToolMemory, Typed("memory_rethink", memory.RethinkDoc, memory.Rethink)),
		row(core.ToolFiles, Typed("open_files", files.OpenDoc, files.Open), whole),
		row(core.ToolBuiltin, sideBySide(Typed("read", workspace.ReadDoc, workspace.Read)), whole, looks),
		row(core.ToolFiles, Typed("semantic_search_files", files.SemanticDoc, files.Semantic), whole),
		row(core.ToolCore, Typed("send_message", messages.SendDoc, messages.Send), terminal),
		row(core.ToolBuiltin, Typed("shell", shell.Doc, sh.Run), whole, runs),
		row(core.ToolBuiltin, Typed("todo", work.TodoDoc, work.SetTodos)),
		row(core.ToolBuiltin, sideBySide(Typed("web_search", web.SearchDoc, net.Search)), whole, searches),
		row(core.ToolBuiltin, Typed("write", workspace.WriteDoc, workspace.Write), whole, changes),
	}
}

func row(kind core.ToolKind, tool core.BoundTool, traits ...func(*core.ToolInfo)) core.BoundTool {
	tool.Info.Kind = kind
	tool.Info.Tags = []string{string(kind)}
	for _, trait := range traits {
		trait(&tool.Info)
	}
	return tool
}

// whole marks a tool that bounds its returns itself, by whole results.
func whole(i *core.ToolInfo) { i.WholeReturn = true }

// terminal marks a tool that ends the turn of a tool-forced agent.
func terminal(i *core.ToolInfo) { i.Terminal = true }

// looks marks a tool that reads the workspace.
func looks(i *core.ToolInfo) {
	i.Effect, i.Touches, i.Subject = core.EffectOutside, core.TouchReads, "path"
}

// changes marks a tool that changes the workspace.
func changes(i *core.ToolInfo) {
	i.Effect, i.Touches, i.Subject = core.EffectOutside, core.TouchWrites, "path"
}

// runs marks a tool that starts programs in the workspace.
func runs(i *core.ToolInfo) {
	i.Effect, i.Touches, i.Subject = core.EffectOutside, core.TouchRuns, "command"
}

// minds marks a tool that sees and ends what the agent began.
func minds(i *core.ToolInfo) { i.Effect, i.Touches = core.EffectOutside, core.TouchOwn }

// fetches marks a tool that reads what a host serves.
func fetches(i *core.ToolInfo) {
	i.Effect, i.Touches, i.Subject = core.EffectOutside, core.TouchNetwork, "url"
}

// searches marks a tool that asks a search service.
func searches(i *core.ToolInfo) { i.Effect, i.Touches = core.EffectOutside, core.TouchSearch }

// asks marks a tool whose calls are questions to a person.
func asks(i *core.ToolInfo) { i.Asks = true }

// sideBySide marks a tool whose calls may run at the same time.
func sideBySide(tool core.BoundTool) core.BoundTool {
	tool.Tool = parallelTool{tool.Tool}
	return tool
}

type parallelTool struct{ core.Tool }

// ParallelSafe implements core.ParallelSafe.
func (parallelTool) ParallelSafe() bool { return true }

type toolbox struct {
	tools []core.BoundTool // by name
	byID  map[core.ToolID]core.BoundTool
}

// New returns the built-in tools where there is no sandbox and no network: shell runs nothing, and nothing is fetched.
func New() core.Toolbox { return NewOn(shell.Config{}, web.Config{}) }

// NewOn returns the built-in tools of a machine.
func NewOn(machine shell.Config, network web.Config) core.Toolbox {
	t := &toolbox{tools: builtins(machine, network), byID: map[core.ToolID]core.BoundTool{}}
	slices.SortFunc(t.tools, func(a, b core.BoundTool) int { return strings.Compare(a.Info.Spec.Name, b.Info.Spec.Name) })
	for _, tool := range t.tools {
		t.byID[tool.Info.ID] = tool
	}
	return t
}

// Tools implements core.Toolbox.
func (t *toolbox) Tools(_ context.Context, ids []core.ToolID) ([]core.BoundTool, error) {
	found := make([]core.BoundTool, 0, len(ids))
	for _, id := range ids {
		if tool, ok := t.byID[id]; ok {
			found = append(found, tool)
		}
	}
	return found, nil
}

// Find implements core.Toolbox.
func (t *toolbox) Find(_ context.Context, name string) (core.BoundTool, bool, error) {
	tool, ok := t.byID[core.BuiltinToolID(name)]
	return tool, ok, nil
}

// List implements core.Toolbox.
func (t *toolbox) List(context.Context) ([]core.BoundTool, error) { return slices.Clone(t.tools), nil }
