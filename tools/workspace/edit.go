package workspace

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"loci/core"
)

// EditDoc tells a model what edit does.
const EditDoc = "Replace text in a file of the open folder: old_string must stand there exactly once, with its white space and " +
	"without line numbers. Several changes go in edits, one after the other; all are made or none."

// Edit is one replacement.
type Edit struct {
	Old string `json:"old_string" jsonschema:"The text to replace."`
	New string `json:"new_string" jsonschema:"The text to put in its place."`
	All bool   `json:"replace_all,omitempty" jsonschema:"Replace it wherever it stands."`
}

// EditArgs are the arguments of edit.
type EditArgs struct {
	Path  string `json:"path" jsonschema:"The file, relative to the folder."`
	Old   string `json:"old_string,omitempty" jsonschema:"The text to replace."`
	New   string `json:"new_string,omitempty" jsonschema:"The text to put in its place."`
	All   bool   `json:"replace_all,omitempty" jsonschema:"Replace it wherever it stands."`
	Edits []Edit `json:"edits,omitempty" jsonschema:"Several changes, instead of the three above."`
}

// Bounds of one call.
const (
	maxEdits  = 100
	maxMixed  = 1000
	maxTried  = 100
	maxPlaces = 10 // lines that an error or a return names
)

// EditFile is the tool edit.
func EditFile(ctx context.Context, args EditArgs, env core.ToolEnv) (core.ToolResult, error) {
	return within(ctx, env, args.Path, func(ctx context.Context, f *folder) (core.ToolResult, error) { return f.edit(ctx, args) })
}

func (f *folder) edit(ctx context.Context, args EditArgs) (core.ToolResult, error) {
	edits, err := args.all()
	if err != nil {
		return core.ToolResult{}, err
	}
	d, err := f.document(args.Path)
	if err != nil {
		return core.ToolResult{}, err
	}
	if d.info == nil {
		return core.ToolResult{}, core.E(core.Invalid, "there is no file %q; write makes one.%s", clip(args.Path, 200), f.alike(d.rel))
	}
	if err := d.decode(); err != nil {
		return core.ToolResult{}, err
	}
	if _, refusal, err := f.changedSince(ctx, d); err != nil || refusal != "" {
		return core.ToolError(refusal), err
	}
	var at []int
	for i, e := range edits {
		places, err := d.text.apply(e)
		if err != nil {
			if len(edits) > 1 {
				err = core.E(core.Invalid, "edit %d of %d: %v; none was made", i+1, len(edits), err)
			}
			return core.ToolResult{}, err
		}
		at = append(at, places...)
	}
	if err := f.save(ctx, d, d.enc.encode(d.text.raw())); err != nil {
		return core.ToolResult{}, err
	}
	return core.ToolResult{Text: fmt.Sprintf("%s is changed in %s: %s.", args.Path, core.Count(len(at), "place"), numbered(at))}, nil
}

// all returns the edits in their order.
func (a *EditArgs) all() ([]Edit, error) {
	edits := a.Edits
	if a.Old != "" || a.New != "" {
		if len(edits) > 0 {
			return nil, core.E(core.Invalid, "give either old_string and new_string, or edits, not both")
		}
		edits = []Edit{{a.Old, a.New, a.All}}
	}
	if len(edits) == 0 || len(edits) > maxEdits {
		return nil, core.E(core.Invalid, "give old_string and new_string, or 1 to %d edits", maxEdits)
	}
	for _, e := range edits {
		if err := cmp.Or(checkText(a.Path, e.Old), checkText(a.Path, e.New)); err != nil {
			return nil, err
		}
		if e.Old == "" {
			return nil, core.E(core.Invalid, "old_string is empty; name the text to replace, or make a new file with write")
		}
		if e.Old == e.New {
			return nil, core.E(core.Invalid, "old_string and new_string are the same, so there is nothing to change")
		}
	}
	return edits, nil
}

// apply makes one replacement and returns the lines where it stands.
func (l *lines) apply(e Edit) (at []int, err error) {
	old := e.Old
	if len(l.crlf) > 0 {
		old = strings.ReplaceAll(old, "\r\n", "\n")
	}
	n := strings.Count(l.text, old)
	switch {
	case n == 0:
		return nil, l.absent(old)
	case n > 1 && !e.All:
		return nil, core.E(core.Invalid, "old_string stands in the file %d times, at %s; add lines around it until it is the only one, or "+
			"set replace_all", n, numbered(l.places(old)))
	}
	with := e.New
	if len(l.crlf) > 0 {
		with = strings.ReplaceAll(with, "\r\n", "\n")
	}
	if uniform := len(l.crlf) == 0 || len(l.crlf) == strings.Count(l.text, "\n"); n > 1 && uniform { // in one go: there may be many
		at = l.places(old)
		windows := len(l.crlf) > 0
		l.text, l.crlf = strings.ReplaceAll(l.text, old, with), nil
		for i := 0; windows && i < len(l.text); i++ {
			if l.text[i] == '\n' {
				l.crlf = append(l.crlf, i)
			}
		}
		return at, nil
	}
	if n > maxMixed {
		return nil, core.E(core.Invalid, "old_string stands in the file %d times, more than the %d that can be replaced at once where "+
			"lines end in different ways", n, maxMixed)
	}
	for from := 0; ; {
		i := strings.Index(l.text[from:], old)
		if i < 0 {
			return at, nil
		}
		at = append(at, l.line(from+i))
		l.replace(from+i, from+i+len(old), with)
		from += i + len(with)
	}
}

// line is the number of the line at an offset.
func (l *lines) line(offset int) int { return 1 + strings.Count(l.text[:offset], "\n") }

// places returns the lines where a text stands.
func (l *lines) places(text string) (at []int) {
	number, from := 1, 0
	for {
		i := strings.Index(l.text[from:], text)
		if i < 0 {
			return at
		}
		number += strings.Count(l.text[from:from+i], "\n")
		at = append(at, number)
		number += strings.Count(text, "\n")
		from += i + len(text)
	}
}

// numbered words lines: all of few, the first of many.
func numbered(at []int) string {
	words := make([]string, 0, maxPlaces)
	for _, n := range at[:min(len(at), maxPlaces)] {
		words = append(words, strconv.Itoa(n))
	}
	text := "line " + strings.Join(words, ", ")
	if len(at) > 1 {
		text = "lines " + strings.Join(words, ", ")
	}
	if len(at) > maxPlaces {
		text += fmt.Sprintf(" and %d more", len(at)-maxPlaces)
	}
	return text
}

// absent says why a text was not found, as near as can be told.
func (l *lines) absent(old string) error {
	loose := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	have, want := strings.Split(l.text, "\n"), strings.Split(strings.Trim(old, "\n"), "\n")
	first, all, tried := loose(want[0]), loose(old), 0
	for i := 0; first != "" && i+len(want) <= len(have) && tried < maxTried; i++ {
		if loose(have[i]) != first {
			continue
		}
		if tried++; loose(strings.Join(have[i:i+len(want)], "\n")) == all {
			return core.E(core.Invalid, "old_string is not in the file as given; lines %d to %d are the same but for white space. Copy "+
				"them exactly, tabs as tabs", i+1, i+len(want))
		}
	}
	for i := range have {
		if line := strings.TrimSpace(want[0]); len(line) > 3 && strings.Contains(have[i], line) {
			return core.E(core.Invalid, "old_string is not in the file; its first line stands at line %d, but what follows differs. Read "+
				"the file there and copy it exactly", i+1)
		}
	}
	return core.E(core.Invalid, "old_string is not in the file, nor is its first line; read the file and copy what stands there")
}
