package engine

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"loci/core"
	"loci/core/compact"
)

// agentSnapshot is the state of an agent and of one of its conversations beside its context rows: what a step keeps so
// that its request can be made again, and so that the agent can be taken back to it. A rewind keeps the same of what it
// replaced.
type agentSnapshot struct {
	Type       core.AgentType      `json:"type"`
	Text       string              `json:"text"` // snapshot of the system text before it is compiled
	Model      core.Handle         `json:"model"`
	Auto       bool                `json:"auto,omitempty"`
	Settings   core.ModelSettings  `json:"settings"`           // that count: the conversation's own, else the agent's
	Own        *core.ModelSettings `json:"own,omitempty"`      // the agent's, where the conversation's count
	Override   core.Handle         `json:"override,omitempty"` // the conversation's model
	Compaction any                 `json:"compaction,omitempty"`
	Recall     *int                `json:"recall,omitempty"` // nil: recorded before there was one
	Rules      []core.ToolRule     `json:"rules,omitempty"`
	Tools      []core.ToolID       `json:"tools"`
	Archive    core.ArchiveID      `json:"archive,omitempty"`
	Blocks     []blockAt           `json:"blocks"` // attached, in order
	Folders    []folderAt          `json:"folders,omitempty"`
	Files      []openAt            `json:"files,omitempty"` // of those folders, open, those used last first
	Facts      modelFacts          `json:"facts,omitzero"`
	Pin        pinState            `json:"pin"`
}

// blockAt is a version of a block.
type blockAt struct {
	ID      core.BlockID `json:"id"`
	Version int          `json:"version"`
}

// modelFacts is what of a model shaped a request.
type modelFacts struct {
	Provider string `json:"provider,omitempty"`
	Tools    bool   `json:"tools,omitempty"`
	Binds    bool   `json:"binds,omitempty"`
}

func (f modelFacts) info() core.ModelInfo {
	return core.ModelInfo{Provider: f.Provider, Tools: f.Tools, BindsPrefix: f.Binds}
}

// pinState is what a conversation is pinned to, and what its window shows.
type pinState struct {
	System string               `json:"system"`
	Tools  string               `json:"tools"`
	Key    string               `json:"key,omitempty"` // empty: the pin moves at the next run
	Prefix string               `json:"prefix"`
	Cut    int                  `json:"cut,omitempty"`
	Stored string               `json:"stored"` // message 0
	Stale  bool                 `json:"stale,omitempty"`
	Folder string               `json:"folder,omitempty"`
	Shown  map[core.BlockID]int `json:"shown,omitempty"`
	Before map[core.BlockID]int `json:"before,omitempty"` // Shown without the input, where an announcement came with it
	At     time.Time            `json:"at,omitzero"`      // of the last message, kept by rewinds alone
}

// attachments are what an agent has beside its own row.
type attachments struct {
	blocks  []core.Block
	archive core.ArchiveID
	folders []core.Folder
	files   []core.OpenFile // those that are open
	hashes  map[core.FileID]string
}

// attached reads what an agent has now.
func attached(ctx context.Context, s core.Store, agent core.AgentID) (has attachments, err error) {
	if has.blocks, err = s.Blocks().OfAgent(ctx, agent); err != nil {
		return has, err
	}
	archive, _, err := s.Archives().OfAgent(ctx, agent)
	if err != nil {
		return has, err
	}
	has.archive = archive.ID
	if has.folders, err = s.Folders().OfAgent(ctx, agent); err != nil {
		return has, err
	}
	return has, has.look(ctx, s, agent)
}

// snapshotOf describes an agent and one of its conversations as they are; text is the snapshot of the agent's system text.
func snapshotOf(a *core.Agent, c *core.Conversation, has attachments, text string) agentSnapshot {
	recalled := a.Recall
	s := agentSnapshot{
		Type: a.Type, Text: text, Model: a.Model, Auto: a.ModelAuto, Settings: a.Settings, Override: c.Model, Compaction: a.Extra[compact.ExtraKey],
		Recall: &recalled, Rules: a.ToolRules, Tools: a.Tools, Archive: has.archive, Blocks: []blockAt{}, Folders: has.foldersAt(), Files: has.openedAt(),
		Pin: pinState{
			System: c.PinSystem, Tools: c.PinTools, Key: c.PinKey, Prefix: c.Prefix, Cut: c.Cut, Stored: c.System, Stale: c.Stale,
			Folder: c.LastFolder, Shown: c.Shown,
		},
	}
	if c.Settings != nil {
		s.Settings, s.Own = *c.Settings, &a.Settings
	}
	for _, b := range has.blocks {
		s.Blocks = append(s.Blocks, blockAt{b.ID, b.Version})
	}
	return s
}

// snapshot describes what the turn's step sent, with its input.
func (t *turn) snapshot(c *commit, has attachments, text string) string {
	conv := c.conv
	conv.Settings, conv.Model = t.conv.Settings, t.conv.Model
	if conv.Prefix != t.prefix {
		// Somebody compiled the prompt anew while the run went on with the old one: so does who goes back to here, and the
		// pin moves with the next run.
		conv.PinSystem, conv.PinTools = snapshotHash(core.SnapshotSystem, t.pinned.system), snapshotHash(core.SnapshotTools, t.pinned.schema)
		conv.PinKey, conv.Prefix, conv.Cut = "", t.prefix, t.conv.Cut
	}
	s := snapshotOf(&t.agent, &conv, has, text)
	s.Facts = modelFacts{Provider: t.choice.Info.Provider, Tools: t.choice.Info.Tools, Binds: t.choice.Info.BindsPrefix}
	if !c.failed {
		s.Pin.Shown = t.shownAfter(c.conv.Shown, nil)
		if !maps.Equal(s.Pin.Shown, c.conv.Shown) {
			s.Pin.Before = c.conv.Shown
		}
	}
	return mustJSON(s)
}

// snapshotAt reads what a step kept of its agent.
func snapshotAt(ctx context.Context, s core.Store, step *core.Step) (agentSnapshot, error) {
	if step.AgentHash == "" {
		return agentSnapshot{}, core.E(core.Conflict, "step %s never came to a request", step.ID)
	}
	_, body, err := s.Snapshots().Get(ctx, step.AgentHash)
	if err != nil {
		return agentSnapshot{}, err
	}
	return readSnapshot(body)
}

func readSnapshot(body string) (agentSnapshot, error) {
	var s agentSnapshot
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		return s, core.E(core.Internal, "read the snapshot of an agent: %w", err)
	}
	if s.Pin.System == "" {
		return s, core.E(core.Unsupported, "this was recorded by an older version, which did not keep enough to go back to it")
	}
	return s, nil
}
