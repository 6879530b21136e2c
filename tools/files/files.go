// Package files holds the built-in tools that look into the folders attached to an agent: open_files shows part of a file
// and keeps it open, grep_files searches by regular expression, semantic_search_files by meaning.
//
// Promises: an agent reaches the files of its own folders and no others; every return is bounded, and every search ends
// within its time whatever the pattern and the files; what a file says stands in returns behind line numbers or under a
// heading of the tool, never as a text of the program.
//
// Layer 1, below tools: it imports core and core/ingest.
package files

import (
	"context"
	"fmt"
	"html"
	"iter"
	"strings"
	"unicode/utf8"

	"loci/core"
)

// The bounds of lists of names.
const (
	maxNameList = 600 // characters of the names that an error lists
	pageSize    = 500 // files read at once
)

// shelf is what an agent has attached.
type shelf struct {
	files   core.FileReader
	folders []core.Folder
}

func shelfOf(ctx context.Context, read core.ToolReads, agent core.AgentID) (*shelf, error) {
	folders, err := read.Folders.OfAgent(ctx, agent)
	return &shelf{files: read.Files, folders: folders}, err
}

func (s *shelf) ids() []core.FolderID {
	ids := make([]core.FolderID, len(s.folders))
	for i := range s.folders {
		ids[i] = s.folders[i].ID
	}
	return ids
}

// name is what the agent calls a file.
func (s *shelf) name(f *core.File) string {
	for i := range s.folders {
		if s.folders[i].ID == f.Folder {
			return core.FileName(&s.folders[i], f)
		}
	}
	return f.Name
}

// find returns the file that a name means: <folder>/<file>, or the file's own name where only one has it.
func (s *shelf) find(ctx context.Context, name string) (core.File, error) {
	name = strings.TrimSpace(name)
	for _, try := range []string{name, html.UnescapeString(name)} { // prompts write < and " in names as entities
		for i := range s.folders {
			rest, ok := strings.CutPrefix(try, s.folders[i].Name+"/")
			if !ok {
				continue
			}
			found, err := s.named(ctx, rest, s.folders[i].ID)
			if err != nil {
				return core.File{}, err
			}
			if len(found) > 0 {
				return found[0], nil
			}
		}
	}
	found, err := s.named(ctx, name, s.ids()...)
	if err != nil {
		return core.File{}, err
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return core.File{}, s.unknown(ctx, name)
}

func (s *shelf) named(ctx context.Context, name string, in ...core.FolderID) ([]core.File, error) {
	if name == "" || len(in) == 0 {
		return nil, nil
	}
	return s.files.List(ctx, core.FileFilter{Folders: in, Names: []string{name}}, core.Page{Limit: 2})
}

// unknown says which files there are, those with a similar name first, as far as there is room.
func (s *shelf) unknown(ctx context.Context, name string) error {
	if len(s.folders) == 0 {
		return core.E(core.Invalid, "no files are attached")
	}
	base := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	var alike, others []string
	total := 0
	for f, err := range s.all(ctx) {
		if err != nil {
			return err
		}
		total++
		full := s.name(&f)
		switch {
		case base != "" && strings.Contains(strings.ToLower(full), base):
			alike = append(alike, full)
		case len(others) < pageSize:
			others = append(others, full)
		}
		if total >= 10*pageSize {
			break
		}
	}
	if total == 0 {
		return core.E(core.Invalid, "the attached folders hold no files yet")
	}
	return core.E(core.Invalid, "there is no file %q. Attached files: %s", clip(name, 120), listed(append(alike, others...), total))
}

// listed joins names as far as there is room, and counts the rest.
func listed(names []string, total int) string {
	var b strings.Builder
	for i, n := range names {
		n = clip(n, 200)
		if i > 0 && utf8.RuneCountInString(b.String())+utf8.RuneCountInString(n) > maxNameList {
			fmt.Fprintf(&b, " and %d more", total-i)
			return b.String()
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n)
	}
	if total > len(names) {
		fmt.Fprintf(&b, " and %d more", total-len(names))
	}
	return b.String()
}

// clip cuts a text from outside for a message.
func clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// all returns every file of the shelf, folder by folder, by name.
func (s *shelf) all(ctx context.Context) iter.Seq2[core.File, error] {
	return func(yield func(core.File, error) bool) {
		for i := range s.folders {
			for after := ""; ; {
				page, err := s.files.List(
					ctx,
					core.FileFilter{Folders: []core.FolderID{s.folders[i].ID}},
					core.Page{After: after, Limit: pageSize, OrderBy: "name"},
				)
				if core.KindOf(err) == core.NotFound && after != "" {
					break // the file that the page began behind was deleted meanwhile
				}
				if err != nil {
					yield(core.File{}, err)
					return
				}
				for _, f := range page {
					if !yield(f, nil) {
						return
					}
				}
				if len(page) < pageSize {
					break
				}
				after = string(page[len(page)-1].ID)
			}
		}
	}
}

// text returns what a file says, or why that is not known.
func (s *shelf) text(ctx context.Context, f *core.File) (core.Document, error) {
	doc, err := s.files.Document(ctx, f.ID)
	if core.KindOf(err) != core.NotFound {
		return doc, err
	}
	if f.Status == core.FileFailed {
		return doc, core.E(core.Invalid, "the file %q could not be read: %s", clip(s.name(f), 200), clip(f.Error, 300))
	}
	return doc, core.E(core.Invalid, "the file %q has not been read yet; try again in a moment", clip(s.name(f), 200))
}
