package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"loci/daemon/api"
)

const (
	mostOfPassage  = 32_000 // characters the daemon accepts in one passage
	aimOfPassage   = 1_200  // upper bound for a passage from a file, not counting headings: small enough to be about one thing
	passagesAtOnce = 1_000  // passages the daemon accepts in one request
)

// archivalAddFiles adds the texts of files as passages. It reads all files before adding the first passage.
func (a *app) archivalAddFiles(ctx context.Context, agent string, args, files, tags []string) error {
	if len(args) > 0 {
		return invalid("give a text or --file, not both").withHint("--file - takes standard input")
	}
	var all []api.CreateArchivePassage
	for _, path := range files {
		text, err := a.textOf(ctx, path)
		if err != nil {
			return err
		}
		parts := passagesOf(text)
		if len(parts) == 0 {
			return invalid("there is no text in %s", clip(path, 100))
		}
		for _, part := range parts {
			all = append(all, api.CreateArchivePassage{CreatePassage: api.CreatePassage{Text: part, Tags: tags}})
		}
	}
	c, g, err := a.agentOf(ctx, agent)
	if err != nil {
		return err
	}
	archive, err := archiveOf(ctx, c, g)
	if err != nil {
		return err
	}
	made := []api.Passage{}
	for batch := range slices.Chunk(all, passagesAtOnce) {
		some, err := c.CreateArchivePassages(ctx, archive.ID, api.CreateArchivePassages{Passages: batch})
		if err != nil {
			if len(made) > 0 {
				a.note(fmt.Sprintf("the first %d of %d passages are in the archival memory of %s", len(made), len(all), g.Name))
			}
			return err
		}
		made = append(made, some...)
	}
	return a.report(made, "added %s to the archival memory of %s", counted(len(made), "passage"), g.Name)
}

// textOf reads the text of a file, or of standard input.
func (a *app) textOf(ctx context.Context, path string) (string, error) {
	if path == "-" {
		return readAll(ctx, a.in)
	}
	name := clip(path, 100)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", &fault{kind: api.KindNotFound, msg: "there is no file " + name}
	case info.IsDir():
		return "", invalid("%s is a directory", name).withHint("name its files, or keep them as files: loci files add")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", invalid("%s cannot be read: %v", name, err)
	}
	defer f.Close()
	return readText(ctx, f, name)
}

// passagesOf splits a text at its headings and paragraphs. Only a paragraph that is too long on its own is cut, if
// possible at the end of a line, a sentence or a word. Only whitespace is dropped.
func passagesOf(text string) []string {
	var out []string
	var at strings.Builder
	chars, headings := 0, false // of the text collected so far; whether it is headings only
	flush := func() {
		if chars > 0 {
			out = append(out, at.String())
		}
		at.Reset()
		chars, headings = 0, false
	}
	for _, paragraph := range paragraphs(text) {
		heading := isHeading(paragraph)
		for i, piece := range pieces(paragraph, aimOfPassage) {
			n := utf8.RuneCountInString(piece)
			under := headings && chars < aimOfPassage // a heading stays with the text under it
			if i > 0 || !under && (heading || chars+n > aimOfPassage) {
				flush()
			}
			if chars > 0 {
				at.WriteString("\n\n")
			}
			headings = (chars == 0 || headings) && heading && i == 0 && !strings.Contains(piece, "\n")
			at.WriteString(piece)
			chars += n
		}
	}
	flush()
	return out
}

// paragraphs splits a text at blank lines and before headings.
func paragraphs(text string) []string {
	var out, lines []string
	end := func() {
		if p := strings.Join(lines, "\n"); strings.TrimSpace(p) != "" {
			out = append(out, p)
		}
		lines = nil
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		blank := strings.TrimSpace(line) == ""
		if blank || isHeading(line) {
			end()
		}
		if !blank {
			lines = append(lines, strings.TrimRight(line, " \t"))
		}
	}
	end()
	return out
}

// isHeading says whether a text starts with a Markdown heading.
func isHeading(s string) bool {
	rest := strings.TrimLeft(s, "#")
	return len(rest) < len(s) && len(s)-len(rest) <= 6 && strings.HasPrefix(rest, " ")
}

// pieces cuts a text into parts of at most most characters.
func pieces(s string, most int) []string {
	var out []string
	for {
		end, n := len(s), 0 // the byte after the last character that fits
		for i := range s {
			if n++; n > most {
				end = i
				break
			}
		}
		if end == len(s) {
			return append(out, s)
		}
		window := s[:end]
		for _, mark := range []string{"\n", ". ", "! ", "? ", "。", " "} {
			if at := strings.LastIndex(window, mark); at > len(window)/2 {
				window = window[:at+len(mark)]
				break
			}
		}
		s = strings.TrimLeft(s[len(window):], " \n")
		if part := strings.TrimSpace(window); part != "" {
			out = append(out, part)
		}
		if s == "" {
			return out
		}
	}
}
