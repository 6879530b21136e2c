// Package prompt compiles what a conversation is pinned to: its system prompt with the agent's blocks, rules, folders
// and facts, and the tools as its model sees them.
//
// Promises: prompts are made only here, for runs, recompilation, forks and the overview alike; the same agent gives the
// same bytes except for the time and the counts in them; a key tells whether a pinned text is still valid without
// compiling it. Safe for concurrent use.
//
// Layer 1: it imports core, the pure helpers, and core/request; it reads the store and the tools through their ports.
package prompt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"loci/core"
	"loci/core/memory"
	"loci/core/request"
	"loci/core/rules"
	"loci/core/search"
	"loci/core/toolsearch"
)

// maxPromptTags is how many of an archive's tags a prompt lists, most used first.
const maxPromptTags = 20

// Trust knows what folders bring along and a person trusts.
type Trust interface {
	// Instructions returns the texts that stand in a folder of the open one, "." for that itself.
	Instructions(folder, dir string) []core.Instructions
}

// Compiler makes prompts.
type Compiler struct {
	store core.Store
	tools core.Toolbox
	trust Trust // nil: nothing is trusted
	clock func() time.Time
	// Related is what a search among many tools knows of words that mean nearly the same; nil: nothing.
	Related func(word string) []search.Relative
	sizes   sizes // context windows of models that have answered
}

// New returns a compiler.
func New(store core.Store, tools core.Toolbox, trust Trust, clock func() time.Time) *Compiler {
	return &Compiler{store: store, tools: tools, trust: trust, clock: clock, sizes: sizes{of: map[core.Handle]int{}}}
}

// Prompt is what a conversation would be pinned to if it were pinned now.
type Prompt struct {
	System  string
	Tools   []core.ToolSpec
	Schema  string               // the tools as stored in the snapshot
	Key     string               // a pin becomes invalid when this changes: system text, rules, tools, folders, instructions
	Shown   map[core.BlockID]int // the version of each block in the text
	Blocks  []core.Block         // attached, in order
	Bound   []core.BoundTool     // attached, in order
	Folders []core.Folder        // attached, in order

	Instructions memory.Instructions // of the folder that a person opened
}

// Compile makes every prompt, for runs, recompilation and the overview alike.
func (k *Compiler) Compile(ctx context.Context, s core.Store, a core.Agent, conv *core.Conversation) (Prompt, error) {
	p, err := k.Outline(ctx, s, a, conv.LastFolder)
	if err != nil {
		return Prompt{}, err
	}
	return p, k.Fill(ctx, s, a, conv, &p)
}

// Outline returns a prompt without its text: what is attached, what a person trusts of the folder that is open (empty: none
// is), and the key that tells whether the text is still valid.
func (k *Compiler) Outline(ctx context.Context, s core.Store, a core.Agent, open string) (Prompt, error) {
	policy, ok := core.PolicyOf(a.Type)
	if !ok {
		return Prompt{}, core.E(core.Unsupported, "agent type %q is not built yet", string(a.Type))
	}
	blocks, err := s.Blocks().OfAgent(ctx, a.ID)
	if err != nil {
		return Prompt{}, err
	}
	bound, err := k.tools.Tools(ctx, a.Tools)
	if err != nil {
		return Prompt{}, err
	}
	folders, err := s.Folders().OfAgent(ctx, a.ID)
	if err != nil {
		return Prompt{}, err
	}
	for i := range bound {
		bound[i].Info.Spec = bound[i].Info.SpecFor(&a)
	}
	offered, bound := toolsearch.Gather(bound, k.Related)
	p := Prompt{Blocks: blocks, Bound: bound, Folders: folders, Shown: map[core.BlockID]int{}}
	names, terminal := ToolNames(bound)
	state := rules.New(rules.Input{Rules: a.ToolRules, Attached: names, Terminal: terminal, Policy: policy})
	for _, t := range offered {
		p.Tools = append(p.Tools, request.Spec(t.Info, policy, state.Heartbeat(t.Info.Spec.Name)))
	}
	for _, b := range blocks {
		p.Shown[b.ID] = b.Version
	}
	schema, err := json.Marshal(p.Tools)
	if err != nil {
		return Prompt{}, core.E(core.Internal, "write the tools: %w", err)
	}
	p.Schema = string(schema)
	if p.Tools, err = request.ReadTools(p.Schema); err != nil { // the same bytes that are read from the pin later
		return Prompt{}, err
	}
	if p.inFolders() {
		p.Instructions = k.Instructions(&a, open, ".")
	}
	p.Key = p.key(&a)
	return p, nil
}

// Instructions returns what a person trusts of what stands in a folder of the open one, as far as the agent has room for it.
func (k *Compiler) Instructions(a *core.Agent, open, dir string) memory.Instructions {
	in := memory.Instructions{Folder: filepath.Join(open, filepath.FromSlash(dir)), Room: k.instructionsRoom(a)}
	if k.trust != nil && open != "" {
		in.Texts = k.trust.Instructions(open, dir)
	}
	return in
}

// inFolders reports whether the agent has tools that work in the folder that a person opened.
func (p *Prompt) inFolders() bool {
	return slices.ContainsFunc(p.Bound, func(t core.BoundTool) bool { return t.Info.Touches == core.TouchWrites })
}

func (p *Prompt) key(a *core.Agent) string {
	parts := []string{a.System, p.Schema, request.JSON(a.ToolRules)}
	attached, listing := foldersKey(p.Folders)
	if len(p.Folders) > 0 {
		parts = append(parts, attached)
	}
	if len(p.Instructions.Texts) > 0 {
		parts = append(parts, request.JSON(p.Instructions))
	}
	if len(p.Folders) > 0 {
		return digest(parts...) + listingMark + listing
	}
	return digest(parts...)
}

// Fill compiles the text of a prompt.
func (k *Compiler) Fill(ctx context.Context, s core.Store, a core.Agent, conv *core.Conversation, p *Prompt) error {
	policy, _ := core.PolicyOf(a.Type)
	names, _ := ToolNames(p.Bound)
	in := memory.CompileInput{
		System: a.System, Blocks: p.Blocks, LineNumbers: policy.LineNumbers, Rules: rules.Explain(a.ToolRules, names), Agent: a.ID,
		Workspace:    p.inFolders(),
		Conversation: conv.ID, CompiledAt: k.clock().In(a.Location()), Messages: conv.MessageCount, Instructions: p.Instructions,
	}
	if archive, ok, err := s.Archives().OfAgent(ctx, a.ID); err != nil {
		return err
	} else if ok {
		in.Passages = archive.Passages
		tags, err := s.Passages().TopTags(ctx, archive.ID, maxPromptTags)
		if err != nil {
			return err
		}
		for _, t := range tags {
			in.Tags = append(in.Tags, t.Tag)
		}
	}
	p.System = memory.Compile(in)
	rest := core.EstimateTokens(p.System) + core.EstimateTokens(p.Schema)
	var err error
	if in.Directories, err = k.directories(ctx, s, &a, p.Folders, rest); err != nil || in.Directories == nil {
		return err
	}
	p.System = memory.Compile(in)
	return nil
}

// ToolNames returns the names of the tools, and of those that end the turn of a tool-forced agent even without a rule.
func ToolNames(bound []core.BoundTool) (names, terminal []string) {
	for _, b := range bound {
		names = append(names, b.Info.Spec.Name)
		if b.Info.Terminal {
			terminal = append(terminal, b.Info.Spec.Name)
		}
	}
	return names, terminal
}

// Pin makes the conversation send this prompt from now on; the caller must store the conversation.
func (p *Prompt) Pin(conv *core.Conversation, systemHash, toolsHash string) {
	conv.PinSystem, conv.PinTools, conv.PinKey = systemHash, toolsHash, p.Key
	conv.Shown = maps.Clone(p.Shown)
	conv.Prefix = prefixOf(systemHash, toolsHash, conv.Cut)
}

// keep stores the texts of a prompt as snapshots.
func (k *Compiler) keep(ctx context.Context, tx core.Store, p *Prompt) (system, tools string, err error) {
	if system, err = tx.Snapshots().Put(ctx, core.SnapshotSystem, p.System); err != nil {
		return "", "", err
	}
	tools, err = tx.Snapshots().Put(ctx, core.SnapshotTools, p.Schema)
	return system, tools, err
}

// Hash returns the same hash as SnapshotStore.Put.
func Hash(kind core.SnapshotKind, body string) string {
	sum := sha256.Sum256([]byte(string(kind) + "\n" + body))
	return hex.EncodeToString(sum[:])
}

func prefixOf(system, tools string, cut int) string {
	return digest(system, tools, request.JSON(cut))
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(request.JSON(len(p)) + ":" + p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Newer returns the attached blocks whose version differs from what the window shows, and whether a shown one is gone.
func Newer(blocks []core.Block, shown map[core.BlockID]int) (changed []core.Block, gone bool) {
	for _, b := range blocks {
		if shown[b.ID] < b.Version {
			changed = append(changed, b)
		}
	}
	for id := range shown {
		if !slices.ContainsFunc(blocks, func(b core.Block) bool { return b.ID == id }) {
			gone = true
		}
	}
	return changed, gone
}

// Pinned loads what a conversation is pinned to.
func (k *Compiler) Pinned(ctx context.Context, c *core.Conversation) (system, schema string, err error) {
	if _, system, err = k.store.Snapshots().Get(ctx, c.PinSystem); err != nil {
		return "", "", err
	}
	_, schema, err = k.store.Snapshots().Get(ctx, c.PinTools)
	return system, schema, err
}

// Announcement words the block versions that a window doesn't show yet.
func (k *Compiler) Announcement(ctx context.Context, changed []core.Block, shown map[core.BlockID]int) (string, error) {
	text := ""
	for _, b := range changed {
		value, have := "", shown[b.ID] > 0
		if have {
			v, err := k.store.Blocks().Version(ctx, b.ID, shown[b.ID])
			switch {
			case err == nil:
				value = v.Value
			case core.KindOf(err) == core.NotFound:
				have = false
			default:
				return "", err
			}
		}
		if text != "" {
			text += "\n\n"
		}
		text += memory.Announce(b, value, have)
	}
	return text, nil
}
