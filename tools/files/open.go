package files

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"loci/core"
	"loci/core/ingest"
)

// OpenDoc tells a model what open_files does.
const OpenDoc = "Read attached files, whole or a range of lines, and keep them open. The return shows them with line numbers. " +
	"When too many are open, those used longest ago are closed."

// OpenArgs are the arguments of open_files.
type OpenArgs struct {
	Requests    Requests `json:"file_requests" jsonschema:"The files to open."`
	CloseOthers bool     `json:"close_all_others,omitempty" jsonschema:"Close every other open file."`
}

// FileRequest asks for a file, or for some of its lines.
type FileRequest struct {
	Name   string `json:"file_name" jsonschema:"Folder and name, as listed: folder/name."`
	Offset *int   `json:"offset,omitempty" jsonschema:"How many lines to skip, default 0."`
	Length *int   `json:"length,omitempty" jsonschema:"How many lines to show, default as many as fit."`
}

// Requests are the files that are asked for. One request without a list, and a name alone, are read as well.
type Requests []FileRequest

// UnmarshalJSON implements json.Unmarshaler.
func (r *Requests) UnmarshalJSON(b []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(b, &items); err != nil {
		items = []json.RawMessage{b}
	}
	*r = make(Requests, len(items))
	for i, item := range items {
		if json.Unmarshal(item, &(*r)[i].Name) == nil {
			continue
		}
		if err := json.Unmarshal(item, &(*r)[i]); err != nil {
			return err
		}
	}
	return nil
}

// sight is a file as a call shows it.
type sight struct {
	file core.File
	name string
	view ingest.View
	open core.OpenFile // what is kept of it
}

// spare is how many characters of a return are left for what the tool says beside the views.
const spare = 2000

// Open is open_files.
func Open(ctx context.Context, args OpenArgs, env core.ToolEnv) (core.ToolResult, error) {
	limits := env.Files
	if limits.Open == 0 {
		limits = core.FileLimitsOf(&env.Agent, core.WindowOf(&env.Agent, core.ModelInfo{}))
	}
	switch n := len(args.Requests); {
	case n == 0:
		return core.ToolResult{}, core.E(core.Invalid, "file_requests names no file")
	case n > limits.Open:
		return core.ToolResult{}, core.E(core.Invalid, "%d files cannot be opened at once: at most %d can be open", n, limits.Open)
	}
	if env.MaxReturn > 0 {
		limits.Chars = min(limits.Chars, max((env.MaxReturn-spare)/len(args.Requests)-100, 200))
	}
	shelf, err := shelfOf(ctx, env.Read, env.Agent.ID)
	if err != nil {
		return core.ToolResult{}, err
	}
	var sights []sight
	for i, r := range args.Requests {
		s, err := shelf.look(ctx, r, limits.Chars)
		if err != nil {
			return core.ToolResult{}, err
		}
		s.open.UsedAt = env.Now.Add(time.Duration(i) * time.Microsecond)
		sights = append(sights, s)
	}
	return core.ToolResult{Apply: func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
		return record(ctx, tx, env.Agent.ID, sights, limits, args.CloseOthers)
	}}, nil
}

// look reads what is asked for.
func (s *shelf) look(ctx context.Context, r FileRequest, limit int) (sight, error) {
	at := ingest.Range{}
	if r.Offset != nil {
		at.Offset = core.Some(*r.Offset)
	}
	if r.Length != nil {
		at.Length = core.Some(*r.Length)
	}
	file, err := s.find(ctx, r.Name)
	if name, line, char, ok := position(r.Name); err != nil && ok {
		if f, within := s.find(ctx, name); within == nil {
			file, err = f, nil
			at.Offset, at.Skip = core.Some(line-1), char-1
		}
	}
	if err != nil {
		return sight{}, err
	}
	doc, err := s.text(ctx, &file)
	if err != nil {
		return sight{}, err
	}
	seen := sight{file: file, name: s.name(&file), open: core.OpenFile{File: file.ID, Open: true}}
	if seen.view, err = ingest.Show(ingest.Lines(doc), at, limit); err != nil {
		return sight{}, core.E(core.KindOf(err), "%s: %w", clip(seen.name, 200), err)
	}
	if at.Offset.Set() || at.Length.Set() {
		seen.open.Start, seen.open.End = seen.view.Start, seen.view.End
	}
	return seen, nil
}

// position reads a name that says where in the file to begin: at which character of which line, both from 1. A view that
// ends within a long line gives it.
func position(name string) (file string, line, char int, ok bool) {
	rest, last, ok := cutLast(name)
	if !ok {
		return "", 0, 0, false
	}
	file, first, ok := cutLast(rest)
	if !ok {
		return "", 0, 0, false
	}
	line, lineErr := strconv.Atoi(first)
	char, charErr := strconv.Atoi(last)
	return file, line, char, lineErr == nil && charErr == nil && line > 0 && char > 0
}

func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexByte(name, ':')
	if i < 0 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}

// record keeps what is open now, and says what was opened and what was closed for it.
func record(
	ctx context.Context,
	tx core.ToolEdits,
	agent core.AgentID,
	sights []sight,
	limits core.FileLimits,
	alone bool,
) (core.ToolResult, error) {
	before, err := tx.Files.Opened(ctx, agent)
	if err != nil {
		return core.ToolResult{}, err
	}
	var opening []core.FileID
	for _, s := range sights {
		if !slices.Contains(opening, s.file.ID) {
			opening = append(opening, s.file.ID)
		}
	}
	room := limits.Open
	if alone {
		room = 0 // none but those that are opened
	}
	closing := core.LeastRecent(before, opening, room)
	if err := tx.Files.Close(ctx, agent, closing...); err != nil {
		return core.ToolResult{}, err
	}
	var b strings.Builder
	for i, s := range sights {
		err := tx.Files.Open(ctx, agent, s.open)
		if core.KindOf(err) == core.NotFound {
			return core.ToolResult{}, core.E(core.Invalid, "the file %q was deleted just now", clip(s.name, 200))
		}
		if err != nil {
			return core.ToolResult{}, err
		}
		if i > 0 {
			b.WriteString("\n\n")
		}
		s.write(&b, before)
	}
	if err := closed(ctx, tx, agent, &b, closing, limits.Open, alone); err != nil {
		return core.ToolResult{}, err
	}
	return core.ToolResult{Text: b.String()}, tx.Conversations.MarkStale(ctx, agent)
}

// write says what was opened, and shows it.
func (s *sight) write(b *strings.Builder, before []core.OpenFile) {
	fmt.Fprintf(b, "* Opened %s (%s)", s.name, span(s.view.Start, s.view.End))
	for _, o := range before {
		if o.File == s.file.ID && o.Open {
			fmt.Fprintf(b, " (previously %s)", span(o.Start, o.End))
		}
	}
	b.WriteString("\n" + s.view.Text)
	switch offset, skip, ok := s.view.Next(); {
	case ok && skip > 0:
		fmt.Fprintf(b, "\n(Line %d goes on: to read on, open it under the name %s:%d:%d.)", s.view.End, s.name, offset+1, skip+1)
	case ok:
		fmt.Fprintf(b, "\n(More does not fit into one view: go on with offset=%d.)", offset)
	}
}

func span(start, end int) string {
	switch {
	case start == 0 && end == 0:
		return "from its start"
	case start == end:
		return fmt.Sprintf("line %d", start)
	default:
		return fmt.Sprintf("lines %d-%d", start, end)
	}
}

// closed says which files were closed and why.
func closed(ctx context.Context, tx core.ToolEdits, agent core.AgentID, b *strings.Builder, ids []core.FileID, most int, alone bool) error {
	if len(ids) == 0 {
		return nil
	}
	shelf, err := shelfOf(ctx, tx.Read, agent)
	if err != nil {
		return err
	}
	var names []string
	for _, id := range ids {
		f, err := tx.Read.Files.Get(ctx, id)
		if err != nil {
			return err
		}
		names = append(names, shelf.name(&f))
		if utf8.RuneCountInString(strings.Join(names, ", ")) > maxNameList {
			break
		}
	}
	why := fmt.Sprintf("at most %d can be open, and these were used longest ago", most)
	if alone {
		why = "as asked"
	}
	fmt.Fprintf(b, "\n\nNote: closed %d (%s): %s", len(ids), why, listed(names, len(ids)))
	return nil
}
