package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"loci/core"
)

// refusedMark ends the name of a note that says why the Markdown file beside it is not taken into a block.
const refusedMark = ".refused.txt"

// The first and last lines of such a note. One that a person has added to differs from them and is left alone.
const (
	refusedHead = "Loci does not take the file beside this note into the agent's memory:"
	refusedTail = "Nothing of it is lost. This note goes away once the file is taken, or gone."
)

// refusal says why a file can't become the value of a block; nil if it can. Every block is part of every prompt, so a
// longer text than blocks have by default needs a limit that says so.
func refusal(f *file, b core.Block) error {
	if f.Err != nil {
		return f.Err
	}
	most := max(core.DefaultBlockLimit, f.Doc.over(b).Limit)
	switch n := utf8.RuneCountInString(f.Doc.Value); {
	case n > most:
		return fmt.Errorf(
			"it has %d characters, and a block at most %d; keep it in a folder of files, or raise limit in its front matter", n, most)
	case strings.ContainsFunc(f.Doc.Value, noText):
		return errors.New("it has control characters, so it is no text")
	}
	return nil
}

func noText(r rune) bool { return r <= unicode.MaxASCII && unicode.IsControl(r) && !unicode.IsSpace(r) }

// tellRefused leaves a note beside each file that is not taken, and removes those of files that are.
func (f *folder) tellRefused(notes []core.MirrorNote) error {
	want := map[string]string{}
	for _, n := range notes {
		if n.Kind == core.MirrorUnreadable {
			reason := strings.Join(strings.Fields(n.Text), " ") // one line, so that ours can be told from a person's
			want[strings.TrimSuffix(n.Path, extension)+refusedMark] = refusedHead + "\n" + reason + "\n" + refusedTail + "\n"
		}
	}
	have := map[string]bool{}
	err := f.walk(isRefusedNote, func(name string, d fs.DirEntry) error {
		have[name] = d.Type().IsRegular()
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		said, ours := f.refusedNote(name)
		switch {
		case !have[name] || !ours || said == want[name]:
			delete(want, name)
		case f.root.Remove(name) != nil:
			delete(want, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if putErr := f.put(name, []byte(want[name])); putErr != nil && !errors.Is(putErr, errChanged) {
			err = errors.Join(err, fmt.Errorf("write the note %s: %w", path.Base(name), putErr))
		}
	}
	return err
}

// refusedNote reads a note and reports whether it is as we write them.
func (f *folder) refusedNote(name string) (text string, ours bool) {
	one := f.read(name)
	if one == nil || one.Hash == "" {
		return "", false
	}
	text = string(one.Data)
	lines := strings.Split(text, "\n")
	return text, len(lines) == 4 && lines[0] == refusedHead && lines[2] == refusedTail && lines[3] == ""
}

func isRefusedNote(name string) bool {
	return strings.HasSuffix(name, refusedMark) && !strings.HasPrefix(name, ".") && utf8.ValidString(name)
}
