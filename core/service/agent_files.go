package service

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"loci/core"
	"loci/core/ingest"
)

// attachFolder attaches a folder and opens its first files as far as there is room; false: the agent has it already.
func attachFolder(
	ctx context.Context,
	tx core.Store,
	agent core.AgentID,
	folder core.FolderID,
	most int,
	clock func() time.Time,
) (bool, error) {
	if _, err := tx.Folders().Get(ctx, folder); err != nil {
		return false, err
	}
	have, err := tx.Folders().OfAgent(ctx, agent)
	if err != nil || slices.ContainsFunc(have, func(f core.Folder) bool { return f.ID == folder }) {
		return false, err
	}
	if err := tx.Folders().Attach(ctx, agent, folder); err != nil {
		return false, err
	}
	opened, err := tx.Files().Opened(ctx, agent)
	if err != nil {
		return false, err
	}
	room := most - len(stillOpen(opened))
	if room <= 0 {
		return true, nil
	}
	first, err := tx.Files().List(ctx, core.FileFilter{Folders: []core.FolderID{folder}}, core.Page{Limit: room})
	if err != nil {
		return false, err
	}
	for _, f := range first {
		if err := tx.Files().Open(ctx, agent, core.OpenFile{File: f.ID, Open: true, UsedAt: clock()}); err != nil {
			return false, err
		}
	}
	return true, nil
}

func stillOpen(opened []core.OpenFile) []core.OpenFile {
	return slices.DeleteFunc(slices.Clone(opened), func(o core.OpenFile) bool { return !o.Open })
}

// AgentFile is a file of an agent's folders, and whether the agent has it open.
type AgentFile struct {
	File   core.File
	Folder core.Folder
	Open   core.OpenFile // its zero value: the agent never looked at it
	View   string        // what the agent sees of it; empty: nothing
}

// AgentFiles is one page of an agent's files.
type AgentFiles struct {
	Files []AgentFile
	More  bool
}

// AgentFilesQuery asks for an agent's files. After is the id of the last file of the page before.
type AgentFilesQuery struct {
	Open  core.Opt[bool]
	After string
	Limit int // 0: 100
	Desc  bool
}

// OfAgent returns files of an agent's folders by the order of their arrival, with what the agent sees of those open.
func (s *Files) OfAgent(ctx context.Context, id core.AgentID, q AgentFilesQuery, env core.Env) (AgentFiles, error) {
	agent, err := s.Store.Agents().Get(ctx, id)
	if err != nil {
		return AgentFiles{}, err
	}
	pg, err := core.Page{After: q.After, Limit: q.Limit, Desc: q.Desc}.Sized(100)
	if err != nil {
		return AgentFiles{}, err
	}
	folders, opened, err := s.lookedAt(ctx, id)
	if err != nil || len(folders) == 0 {
		return AgentFiles{}, err
	}
	pg.Limit++
	var files []core.File
	if q.Open.Or(false) {
		files, err = s.openOnes(ctx, folders, opened, pg)
	} else {
		files, err = s.filesOf(ctx, folders, opened, q.Open.Present, pg)
	}
	if err != nil {
		return AgentFiles{}, err
	}
	var out AgentFiles
	if out.More = len(files) == pg.Limit; out.More {
		files = files[:pg.Limit-1]
	}
	limit := s.fileLimits(ctx, &agent, env).Chars
	for _, f := range files {
		one := AgentFile{File: f, Folder: folders[f.Folder], Open: opened[f.ID]}
		if one.Open.Open {
			one.View, err = s.view(ctx, one.Open, limit)
			if err != nil {
				return AgentFiles{}, err
			}
		}
		out.Files = append(out.Files, one)
	}
	return out, nil
}

// lookedAt returns an agent's folders and what it looked at, by id.
func (s *Files) lookedAt(ctx context.Context, id core.AgentID) (map[core.FolderID]core.Folder, map[core.FileID]core.OpenFile, error) {
	list, err := s.Store.Folders().OfAgent(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	folders := make(map[core.FolderID]core.Folder, len(list))
	for _, f := range list {
		folders[f.ID] = f
	}
	seen, err := s.Store.Files().Opened(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	opened := make(map[core.FileID]core.OpenFile, len(seen))
	for _, o := range seen {
		opened[o.File] = o
	}
	return folders, opened, nil
}

// openOnes returns a page of the files that are open: never many. The one that the page begins behind may have been closed
// since.
func (s *Files) openOnes(
	ctx context.Context, folders map[core.FolderID]core.Folder, opened map[core.FileID]core.OpenFile, pg core.Page,
) ([]core.File, error) {
	behind := func(core.File) bool { return true }
	order := func(a, b core.File) int {
		if pg.Desc {
			a, b = b, a
		}
		return cmp.Compare(a.Seq, b.Seq)
	}
	if pg.After != "" {
		of := core.FileFilter{Folders: slices.Collect(maps.Keys(folders))}
		next, err := s.Store.Files().List(ctx, of, core.Page{After: pg.After, Desc: pg.Desc, Limit: 1})
		if err != nil || len(next) == 0 {
			return nil, err
		}
		behind = func(f core.File) bool { return order(f, next[0]) >= 0 }
	}
	var files []core.File
	for id, o := range opened {
		if !o.Open {
			continue
		}
		f, err := s.Store.Files().Get(ctx, id)
		if core.Absent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if behind(f) {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, order)
	return files[:min(len(files), pg.Limit)], nil
}

// filesOf returns a page of the files of folders; closed leaves the open ones out.
func (s *Files) filesOf(
	ctx context.Context, folders map[core.FolderID]core.Folder, opened map[core.FileID]core.OpenFile, closed bool, pg core.Page,
) ([]core.File, error) {
	of := core.FileFilter{Folders: slices.Collect(maps.Keys(folders))}
	var out []core.File
	for len(out) < pg.Limit {
		files, err := s.Store.Files().List(ctx, of, pg)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if !closed || !opened[f.ID].Open {
				out = append(out, f)
			}
		}
		if len(files) < pg.Limit {
			break
		}
		pg.After = string(files[len(files)-1].ID)
	}
	return out[:min(len(out), pg.Limit)], nil
}

// view is what an agent sees of an open file; nothing before the file is read.
func (s *Files) view(ctx context.Context, o core.OpenFile, limit int) (string, error) {
	doc, err := s.Store.Files().Document(ctx, o.File)
	if core.KindOf(err) == core.NotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	v, err := ingest.ShowOpen(doc, o, limit)
	return v.Text, err
}

// Open opens a file for an agent, from its start, and returns the names of those that were closed to make room.
func (s *Files) Open(ctx context.Context, id core.AgentID, file core.FileID, env core.Env) ([]string, error) {
	most, _, err := s.fileRoom(ctx, id, env)
	if err != nil {
		return nil, err
	}
	closed := []string{}
	_, err = s.change(ctx, id, func(ctx context.Context, tx core.Store, _ *core.Agent) (bool, error) {
		if err := hasFile(ctx, tx, id, file); err != nil {
			return false, err
		}
		opened, err := tx.Files().Opened(ctx, id)
		if err != nil {
			return false, err
		}
		out := core.LeastRecent(opened, []core.FileID{file}, most)
		if closed, err = agentNames(ctx, tx, id, out); err != nil {
			return false, err
		}
		if err := tx.Files().Close(ctx, id, out...); err != nil {
			return false, err
		}
		return true, tx.Files().Open(ctx, id, core.OpenFile{File: file, Open: true, UsedAt: s.Clock()})
	})
	return closed, err
}

// Close closes a file for an agent.
func (s *Files) Close(ctx context.Context, id core.AgentID, file core.FileID) error {
	_, err := s.change(ctx, id, func(ctx context.Context, tx core.Store, _ *core.Agent) (bool, error) {
		if err := hasFile(ctx, tx, id, file); err != nil {
			return false, err
		}
		return true, tx.Files().Close(ctx, id, file)
	})
	return err
}

// CloseAll closes every file of an agent and returns their names.
func (s *Files) CloseAll(ctx context.Context, id core.AgentID) ([]string, error) {
	var names []string
	_, err := s.change(ctx, id, func(ctx context.Context, tx core.Store, _ *core.Agent) (bool, error) {
		opened, err := tx.Files().Opened(ctx, id)
		if err != nil {
			return false, err
		}
		var open []core.FileID
		for _, o := range stillOpen(opened) {
			open = append(open, o.File)
		}
		if names, err = agentNames(ctx, tx, id, open); err != nil {
			return false, err
		}
		return len(open) > 0, tx.Files().Close(ctx, id, open...)
	})
	return names, err
}

// hasFile fails unless the file is in one of the agent's folders.
func hasFile(ctx context.Context, tx core.Store, agent core.AgentID, id core.FileID) error {
	f, err := tx.Files().Get(ctx, id)
	if err != nil {
		return err
	}
	folders, err := tx.Folders().OfAgent(ctx, agent)
	if err == nil && !slices.ContainsFunc(folders, func(d core.Folder) bool { return d.ID == f.Folder }) {
		err = core.E(core.NotFound, "file %s is in no folder of agent %s", id, agent)
	}
	return err
}

// agentNames returns the names by which an agent knows files.
func agentNames(ctx context.Context, tx core.Store, agent core.AgentID, ids []core.FileID) ([]string, error) {
	names := []string{}
	folders, err := tx.Folders().OfAgent(ctx, agent)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		f, err := tx.Files().Get(ctx, id)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(folders, func(d core.Folder) bool { return d.ID == f.Folder })
		if at >= 0 {
			names = append(names, core.FileName(&folders[at], &f))
		}
	}
	return names, nil
}
