package tui

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/theme"
	"loci/tui/transcript"
)

// replacedMost bounds a file that is read to show what would change in it, in bytes.
const replacedMost = 1 << 20

// learn finds out what the calls touch: the files that they would replace, and what the rules close to their lines.
func (q *question) learn() tea.Cmd {
	request, folder, mode := q.request, q.folder, q.mode()
	if folder == "" {
		return nil
	}
	return func() tea.Msg {
		touches, before := make([]string, len(request.Calls)), map[string]string{}
		for i, c := range request.Calls {
			if path := transcript.Replaces(c.Name, c.Arguments); path != "" {
				before[path] = fileIn(folder, path)
			}
			if about := transcript.Subject(c.Name, c.Arguments); about.Does == "shell" && about.Of != "" {
				touches[i] = q.closedTo(q.ui.ctx, about.Of, folder, mode)
			}
		}
		return loadedMsg{func() tea.Cmd {
			if q.request == request {
				q.learned(touches, before)
			}
			return nil
		}}
	}
}

// learned shows what is known by now, which has to be looked at anew.
func (q *question) learned(touches []string, before map[string]string) {
	q.touches, q.before, q.since = touches, before, time.Time{}
	q.deeds, q.drawn = map[string]transcript.Deed{}, map[drawing][]string{}
}

// deed is what a call would do, as it stands.
func (q *question) deed(i int) transcript.Deed {
	name, arguments := q.request.Calls[i].Name, q.arguments(i)
	deed, known := q.deeds[name+arguments]
	if !known {
		deed = transcript.DeedOf(name, arguments, q.before[transcript.Replaces(name, arguments)])
		q.deeds[name+arguments] = deed
	}
	return deed
}

// drawing is all that the rows of a call depend on.
type drawing struct {
	name, arguments string
	width, most     int
	theme           theme.Kind
}

// rowsOf draws what a call would do. It may be long, and is drawn again with every key.
func (s sheet) rowsOf(i, most int) []string {
	d := drawing{s.request.Calls[i].Name, s.arguments(i), s.render.Width, most, s.ui.theme.Kind}
	rows, known := s.drawn[d]
	if !known {
		rows = s.render.Deed(s.deed(i), most)
		s.drawn[d] = rows
	}
	return rows
}

// closedTo says where a line would run, and what of the folder it couldn't use.
func (q *question) closedTo(ctx context.Context, line, folder, mode string) string {
	v, err := q.backend.CheckPermission(ctx, api.CheckPermission{Does: "shell", Subject: line, Folder: folder, Mode: mode})
	if err != nil {
		return "" // the question is asked without
	}
	parts := []string{"runs in " + folder}
	if len(v.Hidden) > 0 {
		parts = append(parts, "can't read "+fewOf(v.Hidden))
	}
	if len(v.ReadOnly) > 0 {
		parts = append(parts, "can't change "+fewOf(v.ReadOnly))
	}
	return strings.Join(parts, "; ")
}

// fewOf names the first paths of a list. The folder itself is all that there is.
func fewOf(paths []string) string {
	const most = 3
	if paths[0] == "." {
		return "anything there"
	}
	text := strings.Join(paths[:min(len(paths), most)], ", ")
	if n := len(paths) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// fileIn is the text of a file in a folder; empty if there is none, or it is out of reach.
func fileIn(folder, path string) string {
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return ""
		}
		path = rel
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }() // only read from
	info, err := root.Stat(filepath.Clean(path))
	if err != nil || !info.Mode().IsRegular() || info.Size() > replacedMost {
		return ""
	}
	f, err := root.Open(filepath.Clean(path))
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, replacedMost))
	if err = cmp.Or(err, f.Close()); err != nil || bytes.IndexByte(text, 0) >= 0 {
		return ""
	}
	return string(text)
}
