package service

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"loci/core"
)

// The bounds of a folder's texts, in characters.
const (
	maxFolderName = 200
	maxFolderText = 20_000
)

// Folders are the use cases of folders.
type Folders struct{ *parts }

// NewFolder says what a folder is made from.
type NewFolder struct {
	Name         string
	Description  string
	Instructions string
	Metadata     map[string]any
	Embedding    core.Handle // empty: the built-in one
	Mirror       *core.Mirror
}

// Create makes a folder. Agents see its name before the names of its files. An embedding that nobody can make is
// not_found.
func (s *Folders) Create(ctx context.Context, in NewFolder, env core.Env) (core.Folder, error) {
	now := s.Clock()
	f := core.Folder{
		ID:           core.NewFolderID(),
		Name:         strings.TrimSpace(in.Name),
		Description:  in.Description,
		Instructions: in.Instructions,
		Metadata:     in.Metadata,
		Embedding:    in.Embedding,
		Mirror:       in.Mirror,
		CreatedAt:    now,
		UpdatedAt:    now,
	}
	if err := checkFolder(&f); err != nil {
		return core.Folder{}, err
	}
	if err := s.checkEmbedding(ctx, f.Embedding, env); err != nil {
		return core.Folder{}, err
	}
	if err := s.Store.Folders().Create(ctx, &f); err != nil {
		return core.Folder{}, err
	}
	return f, nil
}

func checkFolder(f *core.Folder) error {
	switch n := utf8.RuneCountInString(f.Name); {
	case n == 0:
		return core.E(core.Invalid, "a folder needs a name")
	case n > maxFolderName:
		return core.E(core.Invalid, "a folder's name has at most %d characters", maxFolderName)
	case strings.ContainsAny(f.Name, "/\\\n\r\t\x00") || strings.Trim(f.Name, ".") == "":
		return core.E(core.Invalid, "the folder name %q holds a path or control characters", f.Name).WithHint("give a plain name")
	case utf8.RuneCountInString(f.Description) > maxFolderText || utf8.RuneCountInString(f.Instructions) > maxFolderText:
		return core.E(core.Invalid, "description and instructions of a folder have at most %d characters", maxFolderText)
	}
	return nil
}

// Get returns a folder.
func (s *Folders) Get(ctx context.Context, id core.FolderID) (core.Folder, error) {
	return s.Store.Folders().Get(ctx, id)
}

// ByName finds a folder by its name or id.
func (s *Folders) ByName(ctx context.Context, name string) (core.Folder, error) {
	if core.ValidID("source", name) {
		return s.Get(ctx, core.FolderID(name))
	}
	found, err := s.Store.Folders().List(ctx, core.FolderFilter{Name: name}, core.Page{Limit: 1})
	if err != nil {
		return core.Folder{}, err
	}
	if len(found) == 0 {
		return core.Folder{}, core.E(core.NotFound, "there is no folder named %q", name).WithHint("`loci folders` lists them")
	}
	return found[0], nil
}

// List returns folders, fifty by default; of one agent where the filter names it.
func (s *Folders) List(ctx context.Context, f core.FolderFilter, pg core.Page) ([]core.Folder, error) {
	pg, err := pg.Sized(50)
	if err != nil {
		return nil, err
	}
	if f.Agent != "" {
		if _, err := s.Store.Agents().Get(ctx, f.Agent); err != nil {
			return nil, err
		}
	}
	return s.Store.Folders().List(ctx, f, pg)
}

// OfAgent returns all folders of an agent in the order of attachment.
func (s *Folders) OfAgent(ctx context.Context, id core.AgentID) ([]core.Folder, error) {
	return s.Store.Folders().OfAgent(ctx, id)
}

// Count returns how many folders there are.
func (s *Folders) Count(ctx context.Context) (int, error) {
	return s.Store.Folders().Count(ctx, core.FolderFilter{})
}

// AgentsOf returns the agents that a folder is attached to, by the time they were made, fifty by default.
func (s *Folders) AgentsOf(ctx context.Context, id core.FolderID, pg core.Page) ([]core.AgentID, error) {
	if _, err := s.Get(ctx, id); err != nil {
		return nil, err
	}
	all, err := s.Store.Folders().AgentsOf(ctx, id)
	if err != nil {
		return nil, err
	}
	return core.PageOf(all, pg, 50)
}

// FolderPatch changes only what is present in it.
type FolderPatch struct {
	Name         core.Opt[string]
	Description  core.Opt[string]
	Instructions core.Opt[string]
	Metadata     core.Opt[map[string]any]
	Embedding    core.Opt[core.Handle]
	Mirror       core.Opt[core.Mirror] // null: it no longer follows a directory
}

// Update changes a folder. With another embedding its files are embedded again, in the background.
func (s *Folders) Update(ctx context.Context, id core.FolderID, p FolderPatch, env core.Env) (core.Folder, error) {
	if p.Name.Present && p.Name.Null {
		return core.Folder{}, core.E(core.Invalid, "the name of a folder cannot be null")
	}
	if err := s.checkEmbedding(ctx, p.Embedding.Value, env); err != nil {
		return core.Folder{}, err
	}
	var f core.Folder
	agents, err := s.editFolder(ctx, id, func(ctx context.Context, tx core.Store) error {
		var err error
		if f, err = tx.Folders().Get(ctx, id); err != nil {
			return err
		}
		set(&f.Name, p.Name)
		f.Name = strings.TrimSpace(f.Name)
		set(&f.Description, p.Description)
		set(&f.Instructions, p.Instructions)
		set(&f.Metadata, p.Metadata)
		set(&f.Embedding, p.Embedding)
		if p.Mirror.Present {
			f.Mirror = nil
			if !p.Mirror.Null {
				f.Mirror = &p.Mirror.Value
			}
		}
		f.UpdatedAt = s.Clock()
		if err := checkFolder(&f); err != nil {
			return err
		}
		return tx.Folders().Update(ctx, &f)
	})
	if err != nil {
		return core.Folder{}, err
	}
	s.changed(agents...)
	return f, nil
}

// editFolder runs fn in one transaction and marks the prompts that show the folder as stale. It returns the agents they
// belong to.
func (p *parts) editFolder(
	ctx context.Context,
	id core.FolderID,
	fn func(ctx context.Context, tx core.Store) error,
) ([]core.AgentID, error) {
	var agents []core.AgentID
	err := p.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if agents, err = tx.Folders().AgentsOf(ctx, id); err != nil {
			return err
		}
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return tx.Conversations().MarkStale(ctx, agents...)
	})
	return agents, err
}

// Delete deletes a folder with its files and detaches it everywhere.
func (s *Folders) Delete(ctx context.Context, id core.FolderID) error {
	tools, err := s.fileTools(ctx)
	if err != nil {
		return err
	}
	agents, err := s.editFolder(ctx, id, func(ctx context.Context, tx core.Store) error {
		agents, err := tx.Folders().AgentsOf(ctx, id)
		if err != nil {
			return err
		}
		if err := tx.Folders().Delete(ctx, id); err != nil {
			return err
		}
		for _, a := range agents {
			if err := s.retool(ctx, tx, a, tools); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.changed(agents...)
	return nil
}

// fileToolNames are the tools that an agent has while a folder is attached to it.
var fileToolNames = []string{"open_files", "grep_files", "semantic_search_files"}

// fileTools returns those of the file tools that there are.
func (p *parts) fileTools(ctx context.Context) ([]core.ToolID, error) {
	var out []core.ToolID
	for _, name := range fileToolNames {
		tool, ok, err := p.Tools.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, tool.Info.ID)
		}
	}
	return out, nil
}

// retool gives an agent the file tools while it has a folder, and takes them away with the last one.
func (p *parts) retool(ctx context.Context, tx core.Store, id core.AgentID, tools []core.ToolID) error {
	agent, err := tx.Agents().Get(ctx, id)
	if err != nil {
		return core.IgnoreDamage(err) // a damaged agent keeps no folder from going
	}
	if err := withFileTools(ctx, tx, &agent, tools); err != nil {
		return err
	}
	agent.UpdatedAt = p.Clock()
	return tx.Agents().Update(ctx, &agent)
}

func withFileTools(ctx context.Context, tx core.Store, agent *core.Agent, tools []core.ToolID) error {
	have, err := tx.Folders().OfAgent(ctx, agent.ID)
	if err != nil {
		return err
	}
	agent.Tools = slices.DeleteFunc(
		slices.Clone(agent.Tools),
		func(t core.ToolID) bool { return len(have) == 0 && slices.Contains(tools, t) },
	)
	if len(have) == 0 {
		return nil
	}
	for _, t := range tools {
		if !slices.Contains(agent.Tools, t) {
			agent.Tools = append(agent.Tools, t)
		}
	}
	return nil
}

// Attach gives an agent a folder: the file tools, and its first files opened as far as there is room.
func (s *Folders) Attach(ctx context.Context, id core.AgentID, folder core.FolderID, env core.Env) (core.Agent, error) {
	most, tools, err := s.fileRoom(ctx, id, env)
	if err != nil {
		return core.Agent{}, err
	}
	return s.change(ctx, id, func(ctx context.Context, tx core.Store, agent *core.Agent) (bool, error) {
		moved, err := attachFolder(ctx, tx, agent.ID, folder, most, s.Clock)
		if err != nil || !moved {
			return false, err
		}
		return true, withFileTools(ctx, tx, agent, tools)
	})
}

// fileRoom says what must be known of an agent before a transaction: how many files it may have open, and which tools
// there are for them.
func (p *parts) fileRoom(ctx context.Context, id core.AgentID, env core.Env) (most int, tools []core.ToolID, err error) {
	agent, err := p.Store.Agents().Get(ctx, id)
	if err != nil {
		return 0, nil, err
	}
	tools, err = p.fileTools(ctx)
	return p.fileLimits(ctx, &agent, env).Open, tools, err
}

// fileLimits are an agent's own, or those that suit its model.
func (p *parts) fileLimits(ctx context.Context, agent *core.Agent, env core.Env) core.FileLimits {
	return core.FileLimitsOf(agent, core.WindowOf(agent, p.models.Info(ctx, agent.Model, env)))
}

// Detach takes a folder away; one that is not attached is not_found.
func (s *Folders) Detach(ctx context.Context, id core.AgentID, folder core.FolderID) (core.Agent, error) {
	tools, err := s.fileTools(ctx)
	if err != nil {
		return core.Agent{}, err
	}
	return s.change(ctx, id, func(ctx context.Context, tx core.Store, agent *core.Agent) (bool, error) {
		if err := tx.Folders().Detach(ctx, id, folder); err != nil {
			return false, err
		}
		return true, withFileTools(ctx, tx, agent, tools)
	})
}

// replaceFolders makes the agent's folders exactly these and reports whether that moved anything.
func (p *parts) replaceFolders(
	ctx context.Context,
	tx core.Store,
	agent *core.Agent,
	want []core.FolderID,
	most int,
	tools []core.ToolID,
) (bool, error) {
	have, err := tx.Folders().OfAgent(ctx, agent.ID)
	if err != nil {
		return false, err
	}
	moved := false
	for _, f := range have {
		if slices.Contains(want, f.ID) {
			continue
		}
		if err := tx.Folders().Detach(ctx, agent.ID, f.ID); err != nil {
			return false, err
		}
		moved = true
	}
	for _, id := range want {
		added, err := attachFolder(ctx, tx, agent.ID, id, most, p.Clock)
		if err != nil {
			return false, err
		}
		moved = moved || added
	}
	return moved, withFileTools(ctx, tx, agent, tools)
}
