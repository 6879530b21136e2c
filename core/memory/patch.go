package memory

import (
	"cmp"
	"slices"
	"strings"

	"loci/core"
)

// change is a hunk of a patch: the lines old, which must occur consecutively and exactly once in the value, become the
// lines now.
type change struct {
	old, now []string
	at       int // line where old begins in the value
}

// Patch applies a simplified unified diff to a value: lines starting with a space stay, with - go, with + are added;
// lines starting with @@ separate the hunks, and their numbers are ignored. The lines that stay and go must occur
// exactly once in the value, consecutively. A hunk that only adds is appended.
func Patch(value, patch string) (string, error) {
	changes, err := parseHunks(strings.Split(patch, "\n"))
	if err != nil {
		return "", err
	}
	var lines []string
	if value != "" {
		lines = strings.Split(value, "\n")
	}
	for i := range changes {
		c := &changes[i]
		if len(c.old) == 0 {
			c.at = len(lines)
			continue
		}
		switch at := places(lines, c.old); len(at) {
		case 0:
			return "", core.E(
				core.Invalid,
				"no change was made: the lines of hunk %d beginning %s do not occur in the block one after the other. Copy them "+
					"exactly as the block has them",
				i+1,
				Excerpt(c.old[0]),
			)
		case 1:
			c.at = at[0]
		default:
			return "", core.E(
				core.Invalid,
				"no change was made: the lines of hunk %d beginning %s occur %d times, from lines %s. Add lines around "+
					"them so that they are unique",
				i+1,
				Excerpt(c.old[0]),
				len(at),
				numbers(counted(at)),
			)
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	var out []string
	end := 0
	for _, c := range changes {
		if c.at < end {
			return "", core.E(core.Invalid, "no change was made: two hunks change the same lines. Join them into one")
		}
		out = append(append(out, lines[end:c.at]...), c.now...)
		end = c.at + len(c.old)
	}
	return strings.Join(append(out, lines[end:]...), "\n"), nil
}

// counted returns line numbers as people count them.
func counted(at []int) []int {
	out := make([]int, len(at))
	for i, n := range at {
		out[i] = n + 1
	}
	return out
}

// places returns where old occurs in lines.
func places(lines, old []string) []int {
	var at []int
	for i := 0; i+len(old) <= len(lines); i++ {
		if slices.Equal(lines[i:i+len(old)], old) {
			at = append(at, i)
		}
	}
	return at
}

// parseHunks reads the hunks of one block.
func parseHunks(patch []string) ([]change, error) {
	for len(patch) > 0 && strings.TrimSpace(patch[len(patch)-1]) == "" {
		patch = patch[:len(patch)-1] // what follows the last newline is not a line of the value
	}
	if len(patch) > 1 && strings.HasPrefix(patch[0], "--- ") && strings.HasPrefix(patch[1], "+++ ") {
		patch = patch[2:]
	}
	var changes []change
	open := false
	for _, line := range patch {
		if strings.HasPrefix(line, "@@") {
			open = false
			continue
		}
		if strings.HasPrefix(line, `\`) || !open && line == "" { // "no newline at end of file"
			continue
		}
		if !open {
			changes, open = append(changes, change{}), true
		}
		c := &changes[len(changes)-1]
		mark, text := byte(' '), ""
		if line != "" {
			mark, text = line[0], line[1:]
		}
		switch mark {
		case ' ':
			c.old, c.now = append(c.old, text), append(c.now, text)
		case '-':
			c.old = append(c.old, text)
		case '+':
			c.now = append(c.now, text)
		default:
			return nil, core.E(
				core.Invalid,
				"the line %s of the patch begins with none of: a space (stays), - (goes), + (comes), @@ (next hunk)",
				Excerpt(line),
			)
		}
	}
	if len(changes) == 0 || !slices.ContainsFunc(changes, func(c change) bool { return !slices.Equal(c.old, c.now) }) {
		return nil, core.E(core.Invalid, "the patch changes nothing: give lines that begin with - or +")
	}
	for _, c := range changes {
		if err := CheckNumbers("the patch", strings.Join(slices.Concat(c.old, c.now), "\n")); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// EditKind is what a patch does to a block.
type EditKind string

// The kinds of edits.
const (
	EditAdd    EditKind = "add"
	EditDelete EditKind = "delete"
	EditUpdate EditKind = "update"
)

// BlockEdit is what a patch does to one block.
type BlockEdit struct {
	Kind        EditKind
	Label       string
	Description string // of an added block
	Value       string // of an added block
	Patch       string // of an updated one; empty: only its label changes
	MoveTo      string // its new label; empty: it stays
}

// The headers of a patch of several blocks.
const (
	headAdd    = "*** Add Block:"
	headDelete = "*** Delete Block:"
	headUpdate = "*** Update Block:"
	headMove   = "*** Move to:"
	headBegin  = "*** Begin Patch" // optional
	headEnd    = "*** End Patch"   // … and whatever follows it is ignored
	headFile   = "*** End of File"
)

// Edits reads a patch of several blocks. ok is false if the patch has no headers and so applies to one block.
func Edits(patch string) (edits []BlockEdit, ok bool, err error) {
	lines := strings.Split(patch, "\n")
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "*** ") }) {
		return nil, false, nil
	}
	var body []string
	for _, line := range append(lines, headEnd) {
		if strings.HasPrefix(line, headFile) || strings.HasPrefix(line, headBegin) && len(edits) == 0 {
			continue
		}
		if !strings.HasPrefix(line, "*** ") {
			if len(edits) == 0 && strings.TrimSpace(line) != "" {
				return nil, true, core.E(core.Invalid, "the line %s of the patch stands before the first header", Excerpt(line))
			}
			body = append(body, line)
			continue
		}
		if to, moves := strings.CutPrefix(line, headMove); moves {
			if len(edits) == 0 || edits[len(edits)-1].Kind != EditUpdate || strings.TrimSpace(strings.Join(body, "")) != "" {
				return nil, true, core.E(core.Invalid, "%q belongs right behind %q", headMove, headUpdate)
			}
			edits[len(edits)-1].MoveTo = strings.TrimSpace(to)
			continue
		}
		if len(edits) > 0 {
			if err := edits[len(edits)-1].finish(body); err != nil {
				return nil, true, err
			}
		}
		if strings.HasPrefix(line, headEnd) {
			break
		}
		body = nil
		edit, err := heading(line)
		if err != nil {
			return nil, true, err
		}
		edits = append(edits, edit)
	}
	if len(edits) == 0 {
		return nil, true, core.E(
			core.Invalid,
			"the patch names no block: begin with %s, %s or %s and a label",
			headAdd,
			headUpdate,
			headDelete,
		)
	}
	return edits, true, nil
}

func heading(line string) (BlockEdit, error) {
	for _, h := range []struct {
		head string
		kind EditKind
	}{{headAdd, EditAdd}, {headDelete, EditDelete}, {headUpdate, EditUpdate}} {
		if label, ok := strings.CutPrefix(line, h.head); ok {
			edit := BlockEdit{Kind: h.kind, Label: strings.TrimSpace(label)}
			if edit.Label == "" {
				return edit, core.E(core.Invalid, "%q needs a label", h.head)
			}
			return edit, nil
		}
	}
	return BlockEdit{}, core.E(
		core.Invalid,
		"the header %s of the patch is none of: %s, %s, %s, %s",
		Excerpt(line),
		headAdd,
		headUpdate,
		headDelete,
		headMove,
	)
}

// finish gives an edit the lines that follow its header.
func (e *BlockEdit) finish(body []string) error {
	for len(body) > 0 && strings.TrimSpace(body[len(body)-1]) == "" {
		body = body[:len(body)-1]
	}
	switch e.Kind {
	case EditDelete:
		if len(body) > 0 {
			return core.E(core.Invalid, "%s %s takes no lines", headDelete, e.Label)
		}
	case EditUpdate:
		if len(body) > 0 {
			e.Patch = strings.Join(body, "\n")
		}
		if e.Patch == "" && e.MoveTo == "" {
			return core.E(core.Invalid, "%s %s changes nothing: give hunks, or %s", headUpdate, e.Label, headMove)
		}
	case EditAdd:
		return e.finishAdd(body)
	}
	return nil
}

func (e *BlockEdit) finishAdd(body []string) error {
	if len(body) > 0 {
		if text, ok := strings.CutPrefix(body[0], "Description:"); ok {
			e.Description, body = strings.TrimSpace(text), body[1:]
		}
	}
	var lines []string
	for _, line := range body {
		text, ok := strings.CutPrefix(line, "+")
		if !ok {
			return core.E(core.Invalid, "the line %s of the new block %s must begin with +", Excerpt(line), e.Label)
		}
		lines = append(lines, text)
	}
	if len(lines) > 0 {
		e.Value = strings.Join(lines, "\n")
	}
	return CheckNumbers("the patch", e.Value)
}
