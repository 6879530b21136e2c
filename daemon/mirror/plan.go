package mirror

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loci/core"
)

// file is one Markdown file of the folder as it was read.
type file struct {
	Path string
	Data []byte
	Hash string // empty: it was not read
	Doc  document
	Err  error // why it can't be parsed
}

// verb says what an action does.
type verb int

const (
	record  verb = iota // remember that both are in sync, or how a write before a crash ended
	take                // the file's text goes into the block
	write               // the block's text goes into the file
	clash               // the file's text goes beside it, the block's into it
	aside               // a file in the place of a block's file goes beside it
	move                // the file is renamed to the block's current name
	unplace             // a file leaves a place that another block's file waits for
	forget              // forget what was known about a block's file
	makes               // a new file becomes a block
)

// action is one thing to do, for one block.
type action struct {
	verb  verb
	block core.Block
	row   core.MirrorFile // as it will be, or, for forget, as it is
	path  string
	to    string // of a move
	file  *file  // as it was read; nil: it didn't exist
}

// plan is what to do and what to report.
type plan struct {
	actions []action
	notes   []core.MirrorNote
	alike   int
}

func (p *plan) note(kind core.MirrorNoteKind, path, label, format string, args ...any) {
	p.notes = append(p.notes, core.MirrorNote{Kind: kind, Path: path, Label: label, Text: fmt.Sprintf(format, args...)})
}

// planner compares both sides with what is known from the last time they were in sync.
type planner struct {
	plan
	agent  core.AgentID
	rows   map[core.BlockID]core.MirrorFile
	files  map[string]*file
	claims map[string]core.BlockID // where the files of attached blocks are
	wants  map[string]core.BlockID // where they belong
	folded map[string]bool
}

// planned decides what to do. It depends only on its arguments.
func planned(agent core.AgentID, blocks []core.Block, rows []core.MirrorFile, files map[string]*file) plan {
	p := &planner{
		agent: agent, rows: map[core.BlockID]core.MirrorFile{}, files: files,
		claims: map[string]core.BlockID{}, wants: map[string]core.BlockID{}, folded: map[string]bool{},
	}
	for _, r := range rows {
		p.rows[r.Block] = r
	}
	attached := map[core.BlockID]bool{}
	var placed []core.Block
	for _, b := range blocks {
		attached[b.ID] = true
		if r, ok := p.rows[b.ID]; ok {
			p.claims[r.Path] = b.ID
		}
		want, problem := pathOf(b.Label)
		if problem == "" && p.folded[fold(want)] {
			problem = "another label differs from it in upper and lower case alone"
		}
		if problem != "" {
			p.note(core.MirrorSkipped, "", b.Label, "the block has no file: %s", problem)
			continue
		}
		p.wants[want], p.folded[fold(want)] = b.ID, true
		placed = append(placed, b)
	}
	for _, b := range placed {
		p.place(b)
	}
	for _, r := range rows {
		if !attached[r.Block] {
			p.detached(r)
		}
	}
	p.rest(rows)
	return p.plan
}

func (p *planner) do(v verb, b core.Block, row core.MirrorFile, path string) *action {
	row.Agent, row.Block, row.Path = p.agent, b.ID, path
	p.actions = append(p.actions, action{verb: v, block: b, row: row, path: path, file: p.files[path]})
	return &p.actions[len(p.actions)-1]
}

// place moves a block's file to where it belongs, once both are in sync.
func (p *planner) place(b core.Block) {
	want, _ := pathOf(b.Label)
	row, known := p.rows[b.ID]
	holder, held := p.claims[want]
	held = held && holder != b.ID
	switch {
	case !known && held: // the file there has to go first
	case !known || row.Path == want:
		p.content(b, want, row, known)
	case p.files[row.Path] == nil && held:
		p.do(forget, b, row, row.Path)
	case p.files[row.Path] == nil:
		p.content(b, want, row, known)
	case p.content(b, row.Path, row, known):
		p.relabel(b, row, want, held)
	}
}

// relabel moves a file that is in sync with its block to the block's current name.
func (p *planner) relabel(b core.Block, row core.MirrorFile, want string, held bool) {
	there, here := p.files[want], p.files[row.Path]
	switch {
	case there == nil && fold(want) != fold(row.Path):
		p.do(move, b, row, row.Path).to = want
	case there == nil: // some file systems treat the two names as one: remove the file, then write it under the new one
		p.do(unplace, b, row, row.Path)
	case held:
		p.do(unplace, b, row, row.Path)
	case there.Hash != "" && there.Hash == here.Hash:
		p.do(move, b, row, row.Path).to = want // half of it is done
	default:
		p.do(aside, b, row, want)
	}
}

// content decides what happens to a block and the file at path. It reports whether they are in sync.
func (p *planner) content(b core.Block, path string, row core.MirrorFile, known bool) bool {
	f := p.files[path]
	if f == nil {
		p.do(write, b, row, path)
		return false
	}
	if known {
		row = p.settled(b, row, f)
	}
	hash := hashBlock(b)
	same := known && f.Hash != "" && f.Hash == row.FileHash // nobody else has edited the file
	switch {
	case same && hash == row.BlockHash && row.Path == path:
		p.alike++
		return true
	case f.Err == nil && f.Doc.alike(b):
		p.alike++
		p.do(record, b, core.MirrorFile{BlockHash: hash, FileHash: f.Hash}, path)
		return true
	case same:
		p.do(write, b, row, path)
	case refusal(f, b) != nil:
		p.note(core.MirrorUnreadable, path, b.Label, "the file is not taken into the block: %s", refusal(f, b))
	case known && hash == row.BlockHash && row.NextFile == "":
		p.do(take, b, row, path)
	case !known && strings.TrimSpace(b.Value) == "":
		p.do(take, b, row, path)
	case !known && strings.TrimSpace(f.Doc.Value) == "":
		p.do(write, b, row, path)
	default:
		p.do(clash, b, row, path)
	}
	return false
}

// settled resolves an unfinished write: it either happened or it didn't. If the file is neither what was there before
// nor what was being written, nobody can say which of the two it was edited from.
func (p *planner) settled(b core.Block, row core.MirrorFile, f *file) core.MirrorFile {
	switch {
	case row.NextFile == "":
		return row
	case f.Hash == row.NextFile:
		row.BlockHash, row.FileHash = row.NextBlock, row.NextFile
	case f.Hash != row.FileHash:
		return row
	}
	row.NextBlock, row.NextFile = "", ""
	p.do(record, b, row, row.Path)
	return row
}

// detached handles a file whose block no longer belongs to the agent. The file stays.
func (p *planner) detached(row core.MirrorFile) {
	f := p.files[row.Path]
	_, wanted := p.wants[row.Path]
	switch {
	case f == nil || wanted:
		p.do(forget, core.Block{ID: row.Block}, row, row.Path)
	case f.Hash == row.FileHash || f.Hash == row.NextFile:
		p.note(
			core.MirrorDetached,
			row.Path,
			labelOf(row.Path),
			"its block is not attached to the agent any more; delete the file if you do not need it",
		)
	default:
		p.note(
			core.MirrorDetached,
			row.Path,
			labelOf(row.Path),
			"its block is not attached to the agent any more, and what was edited here goes nowhere; save the text under another name "+
				"to make a new block of it",
		)
	}
}

// rest handles the files that belong to no block: conflicts and new ones.
func (p *planner) rest(rows []core.MirrorFile) {
	known := map[string]bool{}
	for _, r := range rows {
		known[r.Path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(p.files)) {
		f := p.files[path]
		_, wanted := p.wants[path]
		label := labelOf(path)
		switch {
		case isConflict(path):
			p.note(
				core.MirrorConflict,
				path,
				labelOf(conflictOf(path)),
				"both sides were edited: this is the file's text, %s has the block's; join them there, then delete this file",
				conflictOf(path),
			)
		case known[path] || wanted || path == generated:
		case p.folded[fold(path)]:
			p.note(core.MirrorSkipped, path, label, "the file is no block: another label differs from it in upper and lower case alone")
		default:
			p.fresh(f, label)
		}
	}
}

// fresh makes a block from a new file.
func (p *planner) fresh(f *file, label string) {
	if err := refusal(f, core.Block{Limit: core.DefaultBlockLimit}); err != nil {
		p.note(core.MirrorUnreadable, f.Path, label, "the file does not become a block: %s", err)
		return
	}
	b := f.Doc.over(core.Block{Label: label, Limit: core.DefaultBlockLimit})
	path, problem := pathOf(label)
	if err := b.Validate(); err != nil {
		problem = err.Error()
	} else if path != f.Path && problem == "" {
		problem = "its name is no label"
	}
	if problem != "" {
		p.note(core.MirrorSkipped, f.Path, label, "the file does not become a block: %s", problem)
		return
	}
	p.folded[fold(f.Path)] = true
	p.do(makes, b, core.MirrorFile{FileHash: f.Hash}, f.Path)
}
