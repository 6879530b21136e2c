package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"loci/core"
	"loci/core/ingest"
	"loci/core/search"
)

// Files are the use cases of files.
type Files struct{ *parts }

// Duplicates says what to do with a file whose name is already used in the folder.
type Duplicates string

// The ways to treat duplicates.
const (
	DuplicateSuffix  Duplicates = "suffix"  // it gets another name: report_(1).pdf
	DuplicateSkip    Duplicates = "skip"    // the existing one stays
	DuplicateReplace Duplicates = "replace" // it replaces the existing one, unless the contents are equal
	DuplicateError   Duplicates = "error"   // it is refused
)

// Upload is a file to upload.
type Upload struct {
	Name       string // with folders, a relative path
	MIME       string
	Data       []byte
	Duplicates Duplicates // empty: suffix
	Metadata   map[string]any
}

// UploadResult is the result of an upload.
type UploadResult struct {
	File    core.File
	Skipped bool      // nothing was stored: File is the existing one
	Same    core.File // another file of the folder with the same content; its zero value: none
}

// MaxUpload bounds the bytes of one file.
func MaxUpload() int64 { return ingest.DefaultLimits().Input }

// Upload accepts a file: it is stored with its bytes, and read in the background.
func (s *Files) Upload(ctx context.Context, folder core.FolderID, in Upload) (UploadResult, error) {
	if in.Duplicates == "" {
		in.Duplicates = DuplicateSuffix
	}
	kind, err := checkUpload(in)
	if err != nil {
		return UploadResult{}, err
	}
	sum := sha256.Sum256(in.Data)
	now := s.Clock()
	draft := core.File{
		Folder:    folder,
		Name:      in.Name,
		Original:  in.Name,
		Kind:      kind,
		MIME:      in.MIME,
		Size:      int64(len(in.Data)),
		Hash:      hex.EncodeToString(sum[:]),
		Status:    core.FilePending,
		Metadata:  in.Metadata,
		CreatedAt: now,
		UpdatedAt: now,
	}
	var out UploadResult
	agents, err := s.editFolder(ctx, folder, func(ctx context.Context, tx core.Store) error {
		out = UploadResult{File: draft}
		return s.accept(ctx, tx, &out, in)
	})
	if err != nil || out.Skipped {
		return out, err
	}
	s.Accepted()
	s.changed(agents...)
	return out, nil
}

// checkUpload refuses files that could never be read, so that the uploader hears about it at once.
func checkUpload(in Upload) (core.FileKind, error) {
	if err := ingest.CheckName(in.Name); err != nil {
		return "", err
	}
	if n := int64(len(in.Data)); n > MaxUpload() {
		return "", core.E(core.TooLarge, "%q has %d bytes, more than the %d allowed", in.Name, n, MaxUpload()).WithHint("split the file")
	}
	switch in.Duplicates {
	case DuplicateSuffix, DuplicateSkip, DuplicateReplace, DuplicateError:
	default:
		return "", core.E(core.Invalid, "duplicate_handling cannot be %q", string(in.Duplicates)).
			WithHint("use suffix, skip, replace or error")
	}
	return ingest.Detect(in.Name, in.Data)
}

// accept stores a file under a free name.
func (s *Files) accept(ctx context.Context, tx core.Store, out *UploadResult, in Upload) error {
	f := &out.File
	if _, err := tx.Folders().Get(ctx, f.Folder); err != nil {
		return err
	}
	old, taken, err := named(ctx, tx, f.Folder, f.Name)
	if err != nil {
		return err
	}
	if taken {
		switch in.Duplicates {
		case DuplicateError:
			return core.E(core.Invalid, "the folder has a file named %q already", f.Name).
				WithHint("give it another name, or say what becomes of duplicates")
		case DuplicateSkip:
			out.File, out.Skipped = old, true
			return nil
		case DuplicateReplace:
			if old.Hash == f.Hash && old.Status != core.FileFailed {
				out.File, out.Skipped = old, true
				return nil
			}
			if err := tx.Files().Delete(ctx, old.ID); err != nil {
				return err
			}
		case DuplicateSuffix:
			if f.Name, err = freeName(ctx, tx, f.Folder, f.Name); err != nil {
				return err
			}
		}
	}
	same, err := tx.Files().List(ctx, core.FileFilter{Folders: []core.FolderID{f.Folder}, Hash: f.Hash}, core.Page{Limit: 1})
	if err != nil {
		return err
	}
	if len(same) > 0 {
		out.Same = same[0]
	}
	f.ID = core.NewFileID()
	if err := tx.Files().Create(ctx, f, in.Data); err != nil {
		return err
	}
	return s.openWhereThereIsRoom(ctx, tx, f)
}

func named(ctx context.Context, tx core.Store, folder core.FolderID, name string) (core.File, bool, error) {
	found, err := tx.Files().List(ctx, core.FileFilter{Folders: []core.FolderID{folder}, Names: []string{name}}, core.Page{Limit: 1})
	if err != nil || len(found) == 0 {
		return core.File{}, false, err
	}
	return found[0], true, nil
}

// nameTries is how many names are looked up at a time.
const nameTries = 100

// freeName returns the name with the first free number before its extension.
func freeName(ctx context.Context, tx core.Store, folder core.FolderID, name string) (string, error) {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for first := 1; ; first += nameTries {
		tries := make([]string, nameTries)
		for i := range tries {
			tries[i] = fmt.Sprintf("%s_(%d)%s", stem, first+i, ext)
		}
		found, err := tx.Files().List(ctx, core.FileFilter{Folders: []core.FolderID{folder}, Names: tries}, core.Page{Limit: nameTries})
		if err != nil {
			return "", err
		}
		for _, try := range tries {
			if !slices.ContainsFunc(found, func(f core.File) bool { return f.Name == try }) {
				return try, nil
			}
		}
	}
}

// openWhereThereIsRoom opens a new file for the folder's agents that may have more files open.
func (s *Files) openWhereThereIsRoom(ctx context.Context, tx core.Store, f *core.File) error {
	agents, err := tx.Folders().AgentsOf(ctx, f.Folder)
	if err != nil {
		return err
	}
	for _, id := range agents {
		agent, err := tx.Agents().Get(ctx, id)
		if err != nil {
			return err
		}
		opened, err := tx.Files().Opened(ctx, id)
		if err != nil {
			return err
		}
		if len(stillOpen(opened)) >= core.FileLimitsOf(&agent, s.Engine.Prompts().WindowFor(&agent)).Open {
			continue
		}
		if err := tx.Files().Open(ctx, id, core.OpenFile{File: f.ID, Open: true, UsedAt: s.Clock()}); err != nil {
			return err
		}
	}
	return nil
}

// Get returns a file of a folder.
func (s *Files) Get(ctx context.Context, folder core.FolderID, id core.FileID) (core.File, error) {
	return fileIn(ctx, s.Store, folder, id)
}

func fileIn(ctx context.Context, store core.Store, folder core.FolderID, id core.FileID) (core.File, error) {
	f, err := store.Files().Get(ctx, id)
	if core.IgnoreDamage(err) == nil && f.Folder != folder {
		err = core.E(core.NotFound, "folder %s has no file %s", folder, id)
	}
	return f, err
}

// Text returns the text of a file; empty until it is read.
func (s *Files) Text(ctx context.Context, id core.FileID) (string, error) {
	doc, err := s.Store.Files().Document(ctx, id)
	if core.KindOf(err) == core.NotFound {
		return "", nil
	}
	return doc.Text, err
}

// List returns files, a thousand by default.
func (s *Files) List(ctx context.Context, f core.FileFilter, pg core.Page) ([]core.File, error) {
	pg, err := pg.Sized(1000)
	if err != nil {
		return nil, err
	}
	for _, id := range f.Folders {
		if _, err := s.Store.Folders().Get(ctx, id); err != nil {
			return nil, err
		}
	}
	return s.Store.Files().List(ctx, f, pg)
}

// Passages returns the chunks of a folder's files.
func (s *Files) Passages(ctx context.Context, folder core.FolderID, pg core.Page) ([]core.Passage, error) {
	f, err := s.Store.Folders().Get(ctx, folder)
	if err != nil {
		return nil, err
	}
	if pg, err = pg.Sized(100); err != nil {
		return nil, err
	}
	return s.Store.Passages().List(ctx, core.PassageFilter{Archives: []core.ArchiveID{f.Archive}}, pg)
}

// Delete deletes a file of a folder.
func (s *Files) Delete(ctx context.Context, folder core.FolderID, id core.FileID) error {
	agents, err := s.editFolder(ctx, folder, func(ctx context.Context, tx core.Store) error {
		if _, err := tx.Folders().Get(ctx, folder); core.IgnoreDamage(err) != nil {
			return err
		}
		if _, err := fileIn(ctx, tx, folder, id); core.IgnoreDamage(err) != nil {
			return err
		}
		return tx.Files().Delete(ctx, id)
	})
	if err != nil {
		return err
	}
	s.changed(agents...)
	return nil
}

// FileQuery asks for places in files. Of Folders and Agent at most one is set; neither asks everywhere.
type FileQuery struct {
	Text    string
	Folders []core.FolderID
	Agent   core.AgentID // its folders
	Files   []core.FileID
	Limit   int
}

// FileHit is a place in a file, best first.
type FileHit struct {
	core.PassageHit
	File   core.File
	Folder core.Folder
}

// Excerpt is what was found of the passage: its text around the words.
func (h *FileHit) Excerpt() string {
	const most = 300 // characters: a few rows of a terminal
	return search.Found(h.Passage.Text, slices.Concat(h.Words, h.Why.Also), most)
}

// Search finds places in files by meaning and by words.
func (s *Files) Search(ctx context.Context, q FileQuery) (none core.Results[FileHit], err error) {
	query, err := searchQuery(q.Text, q.Limit)
	if err != nil {
		return none, err
	}
	if query.Today, err = s.today(ctx, q.Agent); err != nil {
		return none, err
	}
	folders, err := s.asked(ctx, q)
	if err != nil || len(folders) == 0 {
		return none, err
	}
	filter := core.PassageFilter{Files: q.Files}
	byArchive := map[core.ArchiveID]core.Folder{}
	for _, f := range folders {
		filter.Archives = append(filter.Archives, f.Archive)
		byArchive[f.Archive] = f
	}
	found, err := s.Config.Search.Passages(ctx, query, filter)
	if err != nil {
		return none, err
	}
	out := core.Results[FileHit]{Hits: make([]FileHit, 0, len(found.Hits)), Partial: found.Partial, Building: found.Building}
	for _, h := range found.Hits {
		f, err := s.Store.Files().Get(ctx, h.Passage.File)
		if core.Absent(err) {
			continue // gone since, or damaged
		}
		if err != nil {
			return none, err
		}
		out.Hits = append(out.Hits, FileHit{PassageHit: h, File: f, Folder: byArchive[h.Passage.Archive]})
	}
	return out, nil
}

// asked returns the folders to search.
func (s *Files) asked(ctx context.Context, q FileQuery) ([]core.Folder, error) {
	if q.Agent != "" {
		return s.Store.Folders().OfAgent(ctx, q.Agent)
	}
	if len(q.Folders) > 0 {
		var out []core.Folder
		for _, id := range q.Folders {
			f, err := s.Store.Folders().Get(ctx, id)
			if err != nil {
				return nil, err
			}
			out = append(out, f)
		}
		return out, nil
	}
	return s.Store.Folders().List(ctx, core.FolderFilter{}, core.Page{Limit: core.MaxPage})
}
