package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"loci/core"
	"loci/core/ingest"
	"loci/core/memory"
)

// What of a context window folders may take in a prompt: views a quarter, the list of files a sixteenth, at most so many
// tokens; and both together never more than half of what the rest of the prompt and the tools leave.
const (
	viewShare   = 4
	listShare   = 16
	maxListRoom = 8000
	fewestFiles = 10 // that are read for the list of one folder
	fileTokens  = 10 // the least that a file takes in the list
)

// directories reads what a prompt, whose rest takes so many tokens, tells of the folders attached to an agent; nil: none is.
func (e *Engine) directories(ctx context.Context, s core.Store, a *core.Agent, folders []core.Folder, rest int) (*memory.Directories, error) {
	if len(folders) == 0 {
		return nil, nil
	}
	window := e.windowFor(a)
	room := max(window*9/10-rest, 0) / 2
	d := &memory.Directories{Limits: core.FileLimitsOf(a, window), ListRoom: min(window/listShare, maxListRoom, room/4)}
	opened, err := s.Files().Opened(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	views, files, err := viewsOf(ctx, s, opened, d.Limits.Chars, min(window/viewShare, room-d.ListRoom))
	if err != nil {
		return nil, err
	}
	d.FilesOpen = len(files)
	most := max(fewestFiles, 2*d.ListRoom/fileTokens/len(folders))
	for i := range folders {
		f := &folders[i]
		list, err := s.Files().List(ctx, core.FileFilter{Folders: []core.FolderID{f.ID}}, core.Page{Limit: most, OrderBy: "name"})
		if err != nil {
			return nil, err
		}
		for _, file := range files { // those that are open stand in the list whatever their names
			if file.Folder == f.ID && !slices.ContainsFunc(list, func(l core.File) bool { return l.ID == file.ID }) {
				list = append(list, file)
			}
		}
		slices.SortStableFunc(list, func(a, b core.File) int { return strings.Compare(a.Name, b.Name) })
		dir := memory.Directory{Name: f.Name, Description: f.Description, Instructions: f.Instructions, Total: max(f.Files, len(list))}
		for j := range list {
			view, open := views[list[j].ID]
			dir.Files = append(dir.Files, memory.DirectoryFile{
				Name: core.FileName(f, &list[j]), Open: open, View: view, Status: list[j].Status, Lines: list[j].Lines, Chars: list[j].Chars,
			})
		}
		d.Folders = append(d.Folders, dir)
	}
	return d, nil
}

// viewsOf returns the open files and their views: of those used last first, as many as there is room for.
func viewsOf(ctx context.Context, s core.Store, opened []core.OpenFile, limit, room int) (map[core.FileID]string, []core.File, error) {
	views, files := map[core.FileID]string{}, []core.File{}
	for _, o := range opened {
		if !o.Open {
			continue
		}
		f, err := s.Files().Get(ctx, o.File)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
		views[o.File] = ""
		if room <= 0 {
			continue
		}
		doc, err := s.Files().Document(ctx, o.File)
		if core.KindOf(err) == core.NotFound {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		v, err := ingest.ShowOpen(doc, o, limit)
		if err != nil {
			return nil, nil, err
		}
		if n := core.EstimateTokens(v.Text); n <= room {
			views[o.File] = v.Text
			room -= n
		}
	}
	return views, files, nil
}

// foldersKey is what of its folders an agent's prompt does not outlive: that they are attached. listing is what changes
// the text as well, for which a prompt is not compiled anew while a provider's cache still knows it.
func foldersKey(folders []core.Folder) (attached, listing string) {
	parts := make([]string, 0, len(folders))
	var about []any
	for i := range folders {
		f := &folders[i]
		parts = append(parts, string(f.ID))
		about = append(about, f.Name, f.Description, f.Instructions, f.Files, f.Bytes)
	}
	return digest(parts...), digest(mustJSON(about))
}

// sameAttached compares the keys of two prompts but for the listing of the folders.
func sameAttached(a, b string) bool {
	a, _, _ = strings.Cut(a, listingMark)
	b, _, _ = strings.Cut(b, listingMark)
	return a == b
}

// listingMark stands before the part of a key that is of the listing.
const listingMark = "."

// sizes remembers the context windows of models that answered, since a prompt is also compiled where no model is asked.
type sizes struct {
	mu sync.Mutex // guards of
	of map[core.Handle]int
}

func (s *sizes) note(h core.Handle, window int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[h] = window
}

// windowFor is the context window of an agent as far as it is known without asking its model.
func (e *Engine) windowFor(a *core.Agent) int {
	e.sizes.mu.Lock()
	known := e.sizes.of[a.Model]
	e.sizes.mu.Unlock()
	return windowOf(a, core.ModelInfo{ContextWindow: known})
}

// openAt is a file that an agent had open, as a snapshot keeps it.
type openAt struct {
	File  core.FileID `json:"file"`
	Hash  string      `json:"hash,omitempty"` // the beginning of that of its bytes
	Start int         `json:"start,omitempty"`
	End   int         `json:"end,omitempty"`
	Used  int64       `json:"used,omitempty"` // microseconds
}

// folderAt is a folder that an agent had, as a snapshot keeps it.
type folderAt struct {
	ID   core.FolderID `json:"id"`
	Name string        `json:"name"`
}

// look reads what is open, and of which bytes; what was only looked at is left out.
func (has *attachments) look(ctx context.Context, s core.Store, agent core.AgentID) (err error) {
	if len(has.folders) == 0 {
		return nil
	}
	if has.files, err = s.Files().Opened(ctx, agent); err != nil {
		return err
	}
	has.files = slices.DeleteFunc(has.files, func(o core.OpenFile) bool { return !o.Open })
	has.hashes = map[core.FileID]string{}
	for _, o := range has.files {
		f, err := s.Files().Get(ctx, o.File)
		if err != nil {
			return err
		}
		has.hashes[o.File] = shortHash(&f)
	}
	return nil
}

// shortHash is enough of a file's hash to see that it is another file.
func shortHash(f *core.File) string { return f.Hash[:min(len(f.Hash), 16)] }

// foldersAt and openedAt are the attachments as a snapshot keeps them.
func (has *attachments) foldersAt() (out []folderAt) {
	for i := range has.folders {
		out = append(out, folderAt{has.folders[i].ID, has.folders[i].Name})
	}
	return out
}

func (has *attachments) openedAt() (out []openAt) {
	for _, o := range has.files {
		out = append(out, openAt{File: o.File, Hash: has.hashes[o.File], Start: o.Start, End: o.End, Used: o.UsedAt.UnixMicro()})
	}
	return out
}

// folders attaches the folders of then, in their order, and opens what was open. Files themselves stay as they are.
func (r *restoring) folders(ctx context.Context) error {
	now, err := r.tx.Folders().OfAgent(ctx, r.agent.ID)
	if err != nil {
		return err
	}
	for i := range now {
		if err := r.tx.Folders().Detach(ctx, r.agent.ID, now[i].ID); err != nil {
			return err
		}
	}
	missing, err := restoreFolders(ctx, r.tx, r.agent.ID, r.m.Folders, r.m.Files)
	if err != nil {
		return err
	}
	for _, at := range r.m.Files {
		f, err := r.tx.Files().Get(ctx, at.File)
		if core.KindOf(err) == core.NotFound {
			continue // told already
		}
		if err != nil {
			return err
		}
		if shortHash(&f) != at.Hash {
			missing = append(missing, fmt.Sprintf("the open file %q has changed since and stays as it is", f.Name))
		}
	}
	r.stale = r.stale || len(missing) > 0
	r.record.Missing = missing
	return nil
}

// restoreFolders gives an agent that has none the folders of a snapshot, and says which of them, and how many of the files
// that were open, are gone.
func restoreFolders(ctx context.Context, tx core.Store, agent core.AgentID, folders []folderAt, files []openAt) (missing []string, err error) {
	for _, at := range folders {
		err := tx.Folders().Attach(ctx, agent, at.ID)
		if core.KindOf(err) == core.NotFound {
			missing = append(missing, fmt.Sprintf("the folder %q is deleted", at.Name))
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	gone := 0
	for _, at := range files {
		o := core.OpenFile{File: at.File, Open: true, Start: at.Start, End: at.End, UsedAt: time.UnixMicro(at.Used).UTC()}
		err := tx.Files().Open(ctx, agent, o)
		if core.KindOf(err) == core.NotFound {
			gone++
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	if gone > 0 {
		missing = append(missing, fmt.Sprintf("%d files that were open are deleted", gone))
	}
	return missing, nil
}
