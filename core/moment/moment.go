// Package moment records the state of an agent and one of its conversations at a step, so that the step's request can be
// reproduced and the agent can be rewound to it.
//
// Promises: every later version can read what is written here, or refuses it with an explanation; what a step had
// attached is named by id and version and never copied, so that texts forgotten since are not kept here.
//
// Layer 1: it imports core, core/compact, whose settings an agent carries, and core/ingest, which numbers lines.
package moment

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"loci/core"
	"loci/core/compact"
	"loci/core/ingest"
)

// State is the state of an agent and one of its conversations apart from the context rows: a step keeps it so that its
// request can be reproduced, and so that the agent can be rewound to it. A rewind keeps the same for what it replaced.
type State struct {
	Type       core.AgentType      `json:"type"`
	Text       string              `json:"text"` // snapshot of the system text before compilation
	Model      core.Handle         `json:"model"`
	Auto       bool                `json:"auto,omitempty"`
	Settings   core.ModelSettings  `json:"settings"`           // those in force: the conversation's own, else the agent's
	Own        *core.ModelSettings `json:"own,omitempty"`      // the agent's, if the conversation's are in force
	Override   core.Handle         `json:"override,omitempty"` // the conversation's model
	Compaction any                 `json:"compaction,omitempty"`
	Recall     *int                `json:"recall,omitempty"` // nil: recorded before recall existed
	Rules      []core.ToolRule     `json:"rules,omitempty"`
	Tools      []core.ToolID       `json:"tools"`
	Archive    core.ArchiveID      `json:"archive,omitempty"`
	Blocks     []BlockAt           `json:"blocks"` // attached, in order
	Folders    []FolderAt          `json:"folders,omitempty"`
	Files      []OpenAt            `json:"files,omitempty"` // open files in those folders, most recently used first
	Facts      Facts               `json:"facts,omitzero"`
	Pin        Pin                 `json:"pin"`
}

// BlockAt is a version of a block.
type BlockAt struct {
	ID      core.BlockID `json:"id"`
	Version int          `json:"version"`
}

// Facts are the facts about a model that shaped a request.
type Facts struct {
	Provider string `json:"provider,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	Tools    bool   `json:"tools,omitempty"`
	Binds    bool   `json:"binds,omitempty"`

	Images core.ImageInput `json:"images,omitempty"`
}

// Info returns a model of which only these facts are known.
func (f Facts) Info() core.ModelInfo {
	return core.ModelInfo{Provider: f.Provider, Endpoint: f.Endpoint, Tools: f.Tools, BindsPrefix: f.Binds, Images: f.Images}
}

// Pin is what a conversation is pinned to, and what its window shows.
type Pin struct {
	System string               `json:"system"`
	Tools  string               `json:"tools"`
	Key    string               `json:"key,omitempty"` // empty: the pin is renewed at the next run
	Prefix string               `json:"prefix"`
	Cut    int                  `json:"cut,omitempty"`
	Stored string               `json:"stored"` // message 0
	Stale  bool                 `json:"stale,omitempty"`
	Folder string               `json:"folder,omitempty"`
	Shown  map[core.BlockID]int `json:"shown,omitempty"`
	Before map[core.BlockID]int `json:"before,omitempty"` // Shown without the input, if an announcement came with it
	Told   int64                `json:"told,omitempty"`
	At     time.Time            `json:"at,omitzero"` // of the last message; only kept by rewinds
}

// OpenAt is a file that an agent had open, as stored in a snapshot.
type OpenAt struct {
	File  core.FileID `json:"file"`
	Hash  string      `json:"hash,omitempty"` // start of the hash of its bytes
	Start int         `json:"start,omitempty"`
	End   int         `json:"end,omitempty"`
	Used  int64       `json:"used,omitempty"` // microseconds
	Own   bool        `json:"own,omitempty"`  // Start and End count the file's own lines; false: as lines were first counted
}

// FolderAt is a folder that an agent had, as stored in a snapshot.
type FolderAt struct {
	ID   core.FolderID `json:"id"`
	Name string        `json:"name"`
}

// Attachments are what belongs to an agent besides its own row.
type Attachments struct {
	Blocks  []core.Block
	Archive core.ArchiveID
	Folders []core.Folder
	Files   []core.OpenFile // the open ones
	hashes  map[core.FileID]string
}

// Attached reads what an agent has now.
func Attached(ctx context.Context, s core.Store, agent core.AgentID) (has Attachments, err error) {
	if has.Blocks, err = s.Blocks().OfAgent(ctx, agent); err != nil {
		return has, err
	}
	archive, _, err := s.Archives().OfAgent(ctx, agent)
	if err != nil {
		return has, err
	}
	has.Archive = archive.ID
	if has.Folders, err = s.Folders().OfAgent(ctx, agent); err != nil {
		return has, err
	}
	return has, has.Look(ctx, s, agent)
}

// Look reads which files are open, and with which bytes; files that were only looked at are left out.
func (has *Attachments) Look(ctx context.Context, s core.Store, agent core.AgentID) (err error) {
	if len(has.Folders) == 0 {
		return nil
	}
	if has.Files, err = s.Files().Opened(ctx, agent); err != nil {
		return err
	}
	has.Files = slices.DeleteFunc(has.Files, func(o core.OpenFile) bool { return !o.Open })
	has.hashes = map[core.FileID]string{}
	for _, o := range has.Files {
		f, err := s.Files().Get(ctx, o.File)
		if err != nil && !core.Absent(err) {
			return err
		}
		has.hashes[o.File] = shortHash(&f)
	}
	return nil
}

// Changed reports whether an open file's bytes have changed.
func (at OpenAt) Changed(f *core.File) bool { return shortHash(f) != at.Hash }

// OpenFile returns what was open, by the current line numbering.
func (at OpenAt) OpenFile(ctx context.Context, s core.Store) (core.OpenFile, error) {
	o := core.OpenFile{File: at.File, Open: true, Start: at.Start, End: at.End, UsedAt: time.UnixMicro(at.Used).UTC()}
	if at.Own || at.Start <= 0 {
		return o, nil
	}
	doc, err := s.Files().Document(ctx, at.File)
	if core.KindOf(err) == core.NotFound {
		return o, nil // opening it tells whether it is gone
	}
	if err != nil {
		return o, err
	}
	if numbers, changed := ingest.NewRenumbering(doc); changed {
		o.Start, o.End = numbers.Range(at.Start, at.End)
	}
	return o, nil
}

// shortHash returns enough of a file's hash to notice that the file changed.
func shortHash(f *core.File) string { return f.Hash[:min(len(f.Hash), 16)] }

// FoldersAt and OpenedAt return the attachments as stored in a snapshot.
func (has *Attachments) FoldersAt() (out []FolderAt) {
	for i := range has.Folders {
		out = append(out, FolderAt{has.Folders[i].ID, has.Folders[i].Name})
	}
	return out
}

func (has *Attachments) OpenedAt() (out []OpenAt) {
	for _, o := range has.Files {
		out = append(
			out,
			OpenAt{File: o.File, Hash: has.hashes[o.File], Start: o.Start, End: o.End, Used: o.UsedAt.UnixMicro(), Own: o.Start > 0},
		)
	}
	return out
}

// Of describes the current state of an agent and one of its conversations; text is the snapshot of the agent's system
// text.
func Of(a *core.Agent, c *core.Conversation, has Attachments, text string) State {
	recalled := a.Recall
	s := State{
		Type:       a.Type,
		Text:       text,
		Model:      a.Model,
		Auto:       a.ModelAuto,
		Settings:   a.Settings,
		Override:   c.Model,
		Compaction: a.Extra[compact.ExtraKey],
		Recall:     &recalled,
		Rules:      a.ToolRules,
		Tools:      a.Tools,
		Archive:    has.Archive,
		Blocks:     []BlockAt{},
		Folders:    has.FoldersAt(),
		Files:      has.OpenedAt(),
		Pin: Pin{
			System: c.PinSystem, Tools: c.PinTools, Key: c.PinKey, Prefix: c.Prefix, Cut: c.Cut, Stored: c.System, Stale: c.Stale,
			Folder: c.LastFolder, Shown: c.Shown, Told: c.Told,
		},
	}
	if c.Settings != nil {
		s.Settings, s.Own = c.Settings.Over(a.Settings), &a.Settings
	}
	for _, b := range has.Blocks {
		s.Blocks = append(s.Blocks, BlockAt{b.ID, b.Version})
	}
	return s
}

// At reads the agent's state that a step kept.
func At(ctx context.Context, s core.Store, step *core.Step) (State, error) {
	if step.AgentHash == "" {
		return State{}, core.E(core.Conflict, "step %s never came to a request", step.ID)
	}
	_, body, err := s.Snapshots().Get(ctx, step.AgentHash)
	if err != nil {
		return State{}, err
	}
	return Read(body)
}

// Read reads a state kept by a step or a rewind.
func Read(body string) (State, error) {
	var s State
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		return s, core.E(core.Internal, "read the snapshot of an agent: %w", err)
	}
	if s.Pin.System == "" {
		return s, core.E(core.Unsupported, "this was recorded by an older version, which did not keep enough to go back to it")
	}
	return s, nil
}

// Now describes the current state of an agent and one of its conversations.
func Now(ctx context.Context, tx core.Store, a *core.Agent, c *core.Conversation) (State, error) {
	has, err := Attached(ctx, tx, a.ID)
	if err != nil {
		return State{}, err
	}
	text, err := tx.Snapshots().Put(ctx, core.SnapshotText, a.System)
	if err != nil {
		return State{}, err
	}
	s := Of(a, c, has, text)
	s.Pin.At = c.LastMessageAt
	return s, nil
}

// Into restores an agent's settings from a snapshot.
func (s *State) Into(a *core.Agent, text string) {
	a.System, a.Model, a.ModelAuto, a.Settings, a.ToolRules, a.Tools = text, s.Model, s.Auto, s.Settings, s.Rules, s.Tools
	if s.Own != nil {
		a.Settings = *s.Own
	}
	if s.Recall != nil {
		a.Recall = *s.Recall
	}
	a.Extra = maps.Clone(a.Extra)
	switch {
	case s.Compaction == nil:
		delete(a.Extra, compact.ExtraKey)
	case a.Extra == nil:
		a.Extra = map[string]any{compact.ExtraKey: s.Compaction}
	default:
		a.Extra[compact.ExtraKey] = s.Compaction
	}
}
