package tui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/prompt"
	"loci/tui/transcript"
)

// Bounds of the files that go along with a message.
const (
	attachMost  = 10        // files
	attachBytes = 64 << 10  // of one
	attachAll   = 128 << 10 // of all
	namesAge    = 10 * time.Second
)

// workspaceBackend knows the open folder.
type workspaceBackend interface {
	// WorkspaceFiles lists the names of a folder's files.
	WorkspaceFiles(ctx context.Context, folder string) (api.WorkspaceFiles, error)
}

// attachments are the files that a message names by @path: they go along with it.
type attachments struct {
	ui        *display
	prompt    *prompt.Prompt
	folder    string // that is open; empty: none
	workspace workspaceBackend
	approvals approvalBackend
	now       func() time.Time

	looked  time.Time
	looking bool

	text  string // that was looked through
	files []transcript.Enclosure
	told  map[string]bool // paths about which a rule asks, and the person said that they go along
}

// look reads the names of the folder's files when one is being typed.
func (a *attachments) look() tea.Cmd {
	if a.folder == "" || a.looking || !a.prompt.WantsFiles() || a.now().Sub(a.looked) < namesAge {
		return nil
	}
	a.looking = true
	return func() tea.Msg {
		found, err := a.workspace.WorkspaceFiles(a.ui.ctx, a.folder)
		var files *prompt.Files
		if err == nil {
			files = prompt.NewFiles(found.Files, found.Partial)
		}
		return loadedMsg{func() tea.Cmd {
			if a.looking, a.looked = false, a.now(); files != nil {
				a.prompt.SetFiles(files)
			}
			return nil
		}}
	}
}

var mention = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|\s)@(?:"([^"\n]+)"|(\S+))`) })

// mentions are the paths that a message names, each once, without those that go along already.
func mentions(text string) []string {
	words, heads := transcript.Unfold(text)
	var paths []string
	for _, m := range mention().FindAllStringSubmatch(words, -1) {
		path := m[1] + m[2]
		along := slices.ContainsFunc(heads, func(head string) bool { return strings.HasPrefix(head, "File "+path+", ") })
		if !slices.Contains(paths, path) && !along {
			paths = append(paths, path)
		}
	}
	return paths
}

// pending reports whether a message names files that were not looked for yet.
func (a *attachments) pending(text string) bool {
	return a.folder != "" && a.text != trimmed(text) && len(mentions(text)) > 0
}

// attached is what became of the files that a message names.
type attached struct {
	files []transcript.Enclosure
	notes []string // why some don't go along
	asked []string // about which a rule asks
}

// read reads the files that a message names, and then goes on. Where a rule asks about one, the person says whether it goes
// along; where one forbids it, it doesn't.
func (a *attachments) read(text string, then func() tea.Cmd) tea.Cmd {
	told := maps.Clone(a.told)
	return func() tea.Msg {
		got := a.gather(a.ui.ctx, mentions(text), told)
		return loadedMsg{func() tea.Cmd {
			if a.prompt.Text() != text {
				return nil // changed or sent in the meantime
			}
			for _, note := range got.notes {
				a.ui.notice(note)
			}
			if len(got.asked) == 0 {
				a.text, a.files = trimmed(text), got.files
				return then()
			}
			a.ask(text, got, then)
			return nil
		}}
	}
}

// ask says which files a rule asks about.
func (a *attachments) ask(text string, got attached, then func() tea.Cmd) {
	again := func() tea.Cmd {
		a.ui.closePanels()
		return a.read(text, then)
	}
	tell := func(along bool) func() tea.Cmd {
		return func() tea.Cmd {
			for _, path := range got.asked {
				a.told[path] = along
			}
			return again()
		}
	}
	a.ui.ask("Send "+strings.Join(got.asked, ", ")+" too?", []string{
		"A rule of permission asks before agents read it. If it goes along, the model and its provider read it, and it stays in " +
			"the conversation. esc leaves the message in the prompt.",
	}, []choice{
		{'s', "send it", tell(true)}, {'w', "send the message without it", tell(false)},
	})
}

// gather reads what may go along.
func (a *attachments) gather(ctx context.Context, paths []string, told map[string]bool) (out attached) {
	left := attachAll
	root, err := os.OpenRoot(a.folder)
	if err != nil {
		return attached{notes: []string{"no file goes along: " + a.folder + " cannot be opened"}}
	}
	defer func() { _ = root.Close() }() // only read from
	for _, named := range paths {
		path, ok := a.inside(root, named)
		if !ok {
			continue // a word with an @
		}
		shown := transcript.OneLine(transcript.Reveal(path))
		if len(out.files) == attachMost {
			out.notes = append(out.notes, fmt.Sprintf("%s does not go along: with one message %d files do", shown, attachMost))
			continue
		}
		v, err := a.approvals.CheckPermission(ctx, api.CheckPermission{Does: "read", Subject: path, Folder: a.folder, Mode: modeAsk})
		along, said := told[path]
		switch {
		case err != nil:
			out.notes = append(out.notes, shown+" does not go along: "+explain(err))
		case v.Effect == api.EffectDeny:
			out.notes = append(out.notes, shown+" does not go along. "+transcript.OneLine(v.Why))
		case v.Effect == api.EffectAsk && !said:
			out.asked = append(out.asked, shown)
		case v.Effect == api.EffectAsk && !along:
		default:
			e, size, why := readAttached(root, path, min(left, attachBytes))
			if why != "" {
				out.notes = append(out.notes, shown+" does not go along: "+why)
				continue
			}
			left -= size
			out.files = append(out.files, e)
		}
	}
	return out
}

// inside is the path in the folder of a file that is named, if there is one.
func (a *attachments) inside(root *os.Root, named string) (string, bool) {
	for _, name := range []string{named, strings.TrimRight(named, ".,;:!?)")} {
		if filepath.IsAbs(name) {
			rel, err := filepath.Rel(a.folder, name)
			if err != nil {
				continue
			}
			name = rel
		}
		name = filepath.Clean(name)
		if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() {
			return filepath.ToSlash(name), true
		}
	}
	return "", false
}

// readAttached reads a file as far as it goes along, in whole lines.
func readAttached(root *os.Root, path string, most int) (e transcript.Enclosure, size int, why string) {
	f, err := root.Open(filepath.FromSlash(path))
	if err != nil {
		return e, 0, "it cannot be opened"
	}
	defer func() { _ = f.Close() }() // only read from
	text, err := io.ReadAll(io.LimitReader(f, 16<<20))
	kind := imageKind(text)
	switch {
	case err != nil:
		return e, 0, "it cannot be read"
	case kind != "":
		return e, 0, "it is an image (" + kind + "); one is sent by its path without the @"
	case bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text):
		return e, 0, "it is no text"
	case most <= 0:
		return e, 0, fmt.Sprintf("with one message %d KB do", attachAll>>10)
	}
	lines := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		lines++
	}
	shown := lines
	if len(text) > most {
		text = text[:bytes.LastIndexByte(text[:most], '\n')+1]
		shown = bytes.Count(text, []byte("\n"))
		if shown == 0 {
			return e, 0, "its first line is too long"
		}
	}
	return transcript.File(path, string(text), shown, lines), len(text), ""
}

// imageKind recognises the images that models can look at.
func imageKind(content []byte) string {
	for kind, head := range map[string]string{"PNG": "\x89PNG\r\n", "JPEG": "\xff\xd8\xff", "GIF": "GIF8"} {
		if bytes.HasPrefix(content, []byte(head)) {
			return kind
		}
	}
	if len(content) > 12 && string(content[:4]) == "RIFF" && string(content[8:12]) == "WEBP" {
		return "WebP"
	}
	return ""
}

// trimmed is a message as the prompt hands it out.
func trimmed(text string) string { return strings.TrimRight(text, " \n") }

// with puts the files that were read for a message behind it, once.
func (a *attachments) with(text string) string {
	files := a.files
	if a.text != trimmed(text) {
		files = nil
	}
	a.text, a.files = "", nil
	for _, e := range files {
		a.prompt.Know(e.String())
	}
	return transcript.Enclose(text, files)
}

// size is how much goes along with the message that was looked through, in bytes.
func (a *attachments) size() (n int) {
	for _, e := range a.files {
		n += len(e.Text)
	}
	return n
}
