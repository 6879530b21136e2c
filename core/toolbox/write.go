package toolbox

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"loci/core"
)

// Draft is a tool as somebody sends it. What it leaves out, an older one of that name keeps.
type Draft struct {
	Source      string
	Language    core.ToolLanguage // empty: Python
	Schema      *core.ToolSpec    // in place of what the source says
	ArgsSchema  json.RawMessage   // in place of the function's own parameters
	Description *string
	Tags        *[]string
	Pip, Npm    *[]core.Requirement
	ReturnChars *int
	Asks        *bool
	Parallel    *bool
	Metadata    map[string]any
}

// tool makes a tool of a draft, over what there was.
func (t *Tools) tool(was core.CustomTool, d Draft) (core.CustomTool, error) {
	if t.cfg.Maker == nil {
		return was, core.E(core.Unsupported, "this daemon keeps no tools of your own")
	}
	given := was.Language == core.LanguageTypeScript // its schema was sent, and its source says nothing of it
	if d.Language != "" {
		given = given && d.Language == was.Language
		was.Language = d.Language
	}
	if was.Language == "" {
		was.Language = core.LanguagePython
	}
	set(&was.Tags, d.Tags)
	set(&was.Pip, d.Pip)
	set(&was.Npm, d.Npm)
	set(&was.ReturnChars, d.ReturnChars)
	set(&was.Asks, d.Asks)
	set(&was.Parallel, d.Parallel)
	if d.Metadata != nil {
		was.Metadata = d.Metadata
	}
	if d.Source != "" || d.Schema != nil || d.ArgsSchema != nil {
		if d.Source != "" {
			was.Source = d.Source
		}
		was.ArgsSchema = d.ArgsSchema
		switch {
		case d.Schema != nil:
			was.Name, was.Parameters, was.Description = d.Schema.Name, d.Schema.Parameters, d.Schema.Description
		case !given:
			was.Name, was.Parameters, was.Description = "", nil, ""
		}
		if err := t.cfg.Maker.Describe(&was); err != nil {
			return was, err
		}
	}
	set(&was.Description, d.Description)
	return was, was.Validate()
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Put stores a tool, in place of one of that name.
func (t *Tools) Put(ctx context.Context, d Draft) (core.ToolInfo, error) {
	draft, err := t.tool(core.CustomTool{}, d)
	if err != nil {
		return core.ToolInfo{}, err
	}
	if err := t.free(ctx, draft.Name); err != nil {
		return core.ToolInfo{}, err
	}
	return t.store(ctx, func(ctx context.Context, tx core.Store) (core.CustomTool, error) {
		was, ok, err := tx.Tools().Find(ctx, draft.Name)
		if err != nil {
			return was, err
		}
		if !ok {
			was = core.CustomTool{ID: core.NewToolID(), CreatedAt: t.cfg.Clock()}
		}
		return t.tool(was, d)
	})
}

// Update changes a tool. A new source without a schema is described anew, if its language says what it takes.
func (t *Tools) Update(ctx context.Context, id core.ToolID, d Draft) (core.ToolInfo, error) {
	if err := t.own(ctx, id); err != nil {
		return core.ToolInfo{}, err
	}
	was, err := t.cfg.Store.Tools().Get(ctx, id)
	if err != nil {
		return core.ToolInfo{}, err
	}
	draft, err := t.tool(was, d)
	if err != nil {
		return core.ToolInfo{}, err
	}
	if draft.Name != was.Name {
		if err := t.free(ctx, draft.Name); err != nil { // it reads files, which no transaction waits for
			return core.ToolInfo{}, err
		}
	}
	return t.store(ctx, func(ctx context.Context, tx core.Store) (core.CustomTool, error) {
		was, err := tx.Tools().Get(ctx, id)
		if err != nil {
			return was, err
		}
		return t.tool(was, d)
	})
}

// store puts a tool within one transaction, with those told who have it.
func (t *Tools) store(
	ctx context.Context, write func(ctx context.Context, tx core.Store) (core.CustomTool, error),
) (core.ToolInfo, error) {
	var made core.CustomTool
	var having []core.AgentID
	err := t.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if made, err = write(ctx, tx); err != nil {
			return err
		}
		made.UpdatedAt = t.cfg.Clock()
		if err := tx.Tools().Put(ctx, &made); err != nil {
			return err
		}
		having, err = Retell(ctx, tx, t.cfg.Clock(), made.ID)
		return err
	})
	if err != nil {
		return core.ToolInfo{}, err
	}
	t.cfg.Changed(having...)
	return t.cfg.Maker.Bind(&made).Info, nil
}

// Delete removes a tool, also from the agents that have it.
func (t *Tools) Delete(ctx context.Context, id core.ToolID) error {
	if err := t.own(ctx, id); err != nil && !core.Absent(err) {
		return err
	}
	var having []core.AgentID
	err := t.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		if err := tx.Tools().Delete(ctx, id); err != nil {
			return err
		}
		var err error
		having, err = Withdraw(ctx, tx, t.cfg.Clock(), id)
		return err
	})
	if err == nil {
		t.cfg.Changed(having...)
	}
	return err
}

// Retell compiles anew the conversations of the agents that have one of these tools, and returns them.
func Retell(ctx context.Context, tx core.Store, now time.Time, tools ...core.ToolID) ([]core.AgentID, error) {
	return retell(ctx, tx, now, tools, func(*core.Agent) {})
}

// Withdraw takes tools away from the agents that have one of them, and returns these.
func Withdraw(ctx context.Context, tx core.Store, now time.Time, tools ...core.ToolID) ([]core.AgentID, error) {
	return retell(ctx, tx, now, tools, func(a *core.Agent) {
		a.Tools = slices.DeleteFunc(slices.Clone(a.Tools), func(one core.ToolID) bool { return slices.Contains(tools, one) })
	})
}

// retell changes the agents that have one of these tools, whose conversations are compiled anew, and returns them.
func retell(
	ctx context.Context, tx core.Store, now time.Time, tools []core.ToolID, change func(*core.Agent),
) ([]core.AgentID, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	all, err := core.ListAll(func(p core.Page) ([]core.Agent, error) {
		return tx.Agents().List(ctx, core.AgentFilter{Hidden: true}, p)
	}, func(a core.Agent) string { return string(a.ID) })
	if err != nil {
		return nil, err
	}
	var having []core.AgentID
	for i := range all {
		a := &all[i]
		if !slices.ContainsFunc(a.Tools, func(id core.ToolID) bool { return slices.Contains(tools, id) }) {
			continue
		}
		change(a)
		a.Rev++
		a.UpdatedAt = now
		if err := tx.Agents().Update(ctx, a); err != nil {
			return nil, err
		}
		having = append(having, a.ID)
	}
	return having, tx.Conversations().MarkStale(ctx, having...)
}

// own refuses to change a tool that nobody wrote.
func (t *Tools) own(ctx context.Context, id core.ToolID) error {
	info, err := t.Get(ctx, id)
	if err == nil && info.Remote != nil {
		return core.E(core.Invalid, "%s is a tool of an MCP server: it can't be changed or deleted by itself", info.Spec.Name).
			WithHint("detach it from agents that shouldn't have it, or remove its server: loci mcp list")
	}
	if err == nil && info.Kind.Ours() {
		return core.E(core.Invalid, "%s is built in: it can't be changed or deleted", info.Spec.Name).
			WithHint("detach it from agents that shouldn't have it")
	}
	if err == nil && info.Custom.File != "" {
		return core.E(core.Invalid, "%s stands in the file %s", info.Spec.Name, info.Custom.File).WithHint("change or delete it there")
	}
	return err
}

// free refuses the name of a built-in tool.
func (t *Tools) free(ctx context.Context, name string) error {
	found, ok, err := t.cfg.Box.Find(ctx, name)
	if err == nil && ok && found.Info.Kind == core.ToolCustom && found.Info.Custom.File != "" {
		return core.E(core.Conflict, "the tool %s stands in the file %s already", name, found.Info.Custom.File)
	}
	if err == nil && ok && found.Info.Remote != nil {
		return core.E(core.Conflict, "a tool of an MCP server is named %s already", name).WithHint("name the function otherwise")
	}
	if err == nil && ok && found.Info.Kind.Ours() {
		return core.E(core.Invalid, "the tool %s is built in, and no other can have its name", name).WithHint("name the function otherwise")
	}
	return err
}
