package prompt

import (
	"context"
	"slices"
	"strings"
	"sync"

	"loci/core"
	"loci/core/ingest"
	"loci/core/memory"
	"loci/core/request"
)

// How much of a context window folders may take in a prompt: a quarter for views and a sixteenth for the list of files,
// up to a fixed number of tokens; both together never more than half of what the rest of the prompt and the tools leave.
const (
	viewShare   = 4
	listShare   = 16
	maxListRoom = 8000
	fewestFiles = 10 // smallest number of files read for one folder's list
	fileTokens  = 10 // least that a file takes in the list
)

// How many characters the instructions of an open folder may take: as many as an eighth of a window has in English, up to a
// fixed number.
const (
	instructionsShare   = 8
	charsPerToken       = 4
	maxInstructionsRoom = 24_000
)

func (k *Compiler) instructionsRoom(a *core.Agent) int {
	return min(k.WindowFor(a)*charsPerToken/instructionsShare, maxInstructionsRoom)
}

// directories reads what to say about the folders attached to an agent, in a prompt whose rest takes so many tokens;
// nil: none is attached.
func (k *Compiler) directories(
	ctx context.Context,
	s core.Store,
	a *core.Agent,
	folders []core.Folder,
	rest int,
) (*memory.Directories, error) {
	if len(folders) == 0 {
		return nil, nil
	}
	window := k.WindowFor(a)
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
		for _, file := range files { // open files are listed whatever their names
			if file.Folder == f.ID && !slices.ContainsFunc(list, func(l core.File) bool { return l.ID == file.ID }) {
				list = append(list, file)
			}
		}
		slices.SortStableFunc(list, func(a, b core.File) int { return strings.Compare(a.Name, b.Name) })
		dir := memory.Directory{Name: f.Name, Description: f.Description, Instructions: f.Instructions, Total: max(f.Files, len(list))}
		for j := range list {
			view, open := views[list[j].ID]
			dir.Files = append(dir.Files, memory.DirectoryFile{
				Name: core.FileName(
					f,
					&list[j],
				),
				Open:   open,
				View:   view,
				Status: list[j].Status,
				Lines:  list[j].Lines,
				Chars:  list[j].Chars,
			})
		}
		d.Folders = append(d.Folders, dir)
	}
	return d, nil
}

// viewsOf returns the open files and their views: most recently used first, as many as fit.
func viewsOf(ctx context.Context, s core.Store, opened []core.OpenFile, limit, room int) (map[core.FileID]string, []core.File, error) {
	views, files := map[core.FileID]string{}, []core.File{}
	for _, o := range opened {
		if !o.Open {
			continue
		}
		f, err := s.Files().Get(ctx, o.File)
		if core.Absent(err) {
			continue
		}
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

// foldersKey returns the parts of a prompt's key that depend on its folders. When attached changes, the prompt is
// recompiled. listing changes the text as well, but the prompt isn't recompiled for it while a provider may still have
// it cached.
func foldersKey(folders []core.Folder) (attached, listing string) {
	parts := make([]string, 0, len(folders))
	var about []any
	for i := range folders {
		f := &folders[i]
		parts = append(parts, string(f.ID))
		about = append(about, f.Name, f.Description, f.Instructions, f.Files, f.Bytes)
	}
	return digest(parts...), digest(request.JSON(about))
}

// SameAttached compares the keys of two prompts, ignoring the folder listing.
func SameAttached(a, b string) bool {
	a, _, _ = strings.Cut(a, listingMark)
	b, _, _ = strings.Cut(b, listingMark)
	return a == b
}

// listingMark precedes the part of a key that stands for the listing.
const listingMark = "."

// sizes remembers the context windows of models that have answered, since prompts are also compiled when no model is
// asked.
type sizes struct {
	mu sync.Mutex // guards of
	of map[core.Handle]int
}

func (s *sizes) note(h core.Handle, window int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[h] = window
}

// NoteWindow records how many tokens a model takes, for prompts and windows made before it is asked; 0 says nothing.
func (k *Compiler) NoteWindow(model core.Handle, tokens int) {
	if tokens > 0 {
		k.sizes.note(model, tokens)
	}
}

// WindowFor returns an agent's context window as far as it is known without asking its model.
func (k *Compiler) WindowFor(a *core.Agent) int {
	k.sizes.mu.Lock()
	known := k.sizes.of[a.Model]
	k.sizes.mu.Unlock()
	return core.WindowOf(a, core.ModelInfo{ContextWindow: known})
}
