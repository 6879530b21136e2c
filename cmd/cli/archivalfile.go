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
	mostOfPassage  = 32_000 // characters that the daemon takes as one passage
	aimOfPassage   = 1_200  // characters that a passage of a file has at most, headings aside: few enough to be about one thing
	passagesAtOnce = 1_000  // that the daemon takes in one request
)

// archivalAddFiles adds the texts of files as passages. All files are read before the first passage goes in.
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
	return a.report(made, "added %d passages to the archival memory of %s", len(made), g.Name)
}

// textOf is the text of a file, or of standard input.
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

// passagesOf splits a text along its headings and paragraphs. Only a paragraph that is too long by itself is cut, at a
// line's, a sentence's or a word's end if it has one. Nothing but blanks is left out.
func passagesOf(text string) []string {
	var out []string
	var at strings.Builder
	chars, headings := 0, false // of what is gathered; whether it is headings only
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
			under := headings && chars < aimOfPassage // a heading stays with what stands under it
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

// paragraphs are the parts of a text between blank lines; a heading begins one, too.
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

// isHeading says whether a text begins as a heading of Markdown does.
func isHeading(s string) bool {
	rest := strings.TrimLeft(s, "#")
	return len(rest) < len(s) && len(s)-len(rest) <= 6 && strings.HasPrefix(rest, " ")
}

// pieces cuts a text into parts of so many characters at most.
func pieces(s string, most int) []string {
	var out []string
	for {
		end, n := len(s), 0 // the byte behind the last character that fits
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
