package service

import (
	"context"
	"time"

	"loci/core"
)

// DiskFile is a file as it stands in the directory that its folder follows.
type DiskFile struct {
	Name string
	Kind core.FileKind
	Size int64
	Hash string
	// ModifiedAt is never zero: that is how these files are told from added ones.
	ModifiedAt time.Time
	Was        core.FileID // the file that had this content under a name that is gone; empty: none
}

// Follow makes files of a folder what they are in the directory at path, in one transaction: those of put are made,
// renamed or marked to be read anew under the id they have, those of gone are deleted. It returns the files of put in their
// order, the zero value where the name belongs to a file that was added. A folder that does not follow path is a conflict.
func (s *Files) Follow(ctx context.Context, folder core.FolderID, path string, put []DiskFile, gone []core.FileID) ([]core.File, error) {
	var out []core.File
	agents, err := s.editFolder(ctx, folder, func(ctx context.Context, tx core.Store) error {
		f, err := tx.Folders().Get(ctx, folder)
		if err != nil {
			return err
		}
		if f.Mirror == nil || f.Mirror.Path != path {
			return core.E(core.Conflict, "folder %s does not follow %s any more", folder, path)
		}
		for _, id := range gone {
			if err := tx.Files().Delete(ctx, id); err != nil && core.KindOf(err) != core.NotFound {
				return err
			}
		}
		out = make([]core.File, len(put))
		for i, p := range put {
			if out[i], err = s.put(ctx, tx, folder, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.Accepted()
	s.changed(agents...)
	return out, nil
}

// put makes one file what it is in the directory.
func (s *Files) put(ctx context.Context, tx core.Store, folder core.FolderID, p DiskFile) (core.File, error) {
	f, taken, err := named(ctx, tx, folder, p.Name)
	switch {
	case err != nil:
		return f, err
	case taken && f.ModifiedAt.IsZero():
		return core.File{}, nil
	case taken:
		return s.renew(ctx, tx, f, p)
	}
	if p.Was != "" {
		f, err := fileIn(ctx, tx, folder, p.Was)
		if err == nil {
			return s.renew(ctx, tx, f, p)
		}
		if core.KindOf(err) != core.NotFound {
			return f, err
		}
	}
	now := s.Clock()
	f = core.File{
		ID: core.NewFileID(), Folder: folder, Name: p.Name, Original: p.Name, Kind: p.Kind, Size: p.Size, Hash: p.Hash,
		Status: core.FilePending, ModifiedAt: p.ModifiedAt, CreatedAt: now, UpdatedAt: now,
	}
	if err := tx.Files().Create(ctx, &f, nil); err != nil {
		return f, err
	}
	return f, s.openWhereThereIsRoom(ctx, tx, &f)
}

// renew gives a file the name, the time and the content it has now. With another content it is read anew; the text it
// had stays until then.
func (s *Files) renew(ctx context.Context, tx core.Store, f core.File, p DiskFile) (core.File, error) {
	if f.Hash != p.Hash || f.Status == core.FileFailed {
		f.Status, f.Error, f.Kind = core.FilePending, "", p.Kind
	}
	f.Name, f.Original, f.Hash, f.Size, f.ModifiedAt, f.UpdatedAt = p.Name, p.Name, p.Hash, p.Size, p.ModifiedAt, s.Clock()
	return f, tx.Files().Update(ctx, &f)
}

// Looked keeps how a folder is with the directory it follows. One that follows another by now, or none, stays as it is.
func (s *Folders) Looked(ctx context.Context, id core.FolderID, m core.Mirror) error {
	return s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		f, err := tx.Folders().Get(ctx, id)
		if err != nil {
			return err
		}
		if f.Mirror == nil || f.Mirror.Path != m.Path {
			return nil
		}
		f.Mirror = &m
		return tx.Folders().Update(ctx, &f)
	})
}

// Mirror lets a folder follow the directory at path, which was checked. What it holds must have come from a directory:
// added files would be mixed with others that come and go.
func (s *Folders) Mirror(ctx context.Context, id core.FolderID, path string) (core.Folder, error) {
	var f core.Folder
	err := s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if f, err = tx.Folders().Get(ctx, id); err != nil {
			return err
		}
		switch {
		case f.Mirror != nil && f.Mirror.Path == path:
			return nil
		case f.Mirror != nil:
			return core.E(core.Conflict, "the folder %q follows %s already", f.Name, f.Mirror.Path).
				WithHint("end that first: loci folders unmirror %s", f.ID)
		case f.Files > 0:
			return core.E(core.Conflict, "the folder %q holds files already", f.Name).
				WithHint("make a new folder for the directory: loci folders mirror NAME DIR")
		}
		f.Mirror, f.UpdatedAt = &core.Mirror{Path: path}, s.Clock()
		return tx.Folders().Update(ctx, &f)
	})
	return f, err
}

// Unmirror ends that a folder follows a directory; its files stay.
func (s *Folders) Unmirror(ctx context.Context, id core.FolderID) (core.Folder, error) {
	return s.Update(ctx, id, FolderPatch{Mirror: core.Opt[core.Mirror]{Present: true, Null: true}}, nil)
}
