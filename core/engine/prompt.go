package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"loci/core"
	"loci/core/memory"
	"loci/core/rules"
)

// maxPromptTags is how many of an archive's tags a prompt lists, the most used ones.
const maxPromptTags = 20

// prompt is what a conversation would be pinned to if its pin moved now.
type prompt struct {
	system  string
	tools   []core.ToolSpec
	schema  string               // the tools as the snapshot keeps them
	key     string               // a pin does not outlive a change of this: system text, rules, tools, folders
	shown   map[core.BlockID]int // the version of each block that the text holds
	blocks  []core.Block         // attached, in order
	bound   []core.BoundTool     // attached, in order
	folders []core.Folder        // attached, in order
}

// compile is the one place where a prompt is made, for runs, recompilation and the overview alike.
func (e *Engine) compile(ctx context.Context, s core.Store, a core.Agent, conv *core.Conversation) (prompt, error) {
	p, err := e.outline(ctx, s, a)
	if err != nil {
		return prompt{}, err
	}
	return p, e.fill(ctx, s, a, conv, &p)
}

// outline is a prompt without its text: what is attached, and the key that tells whether the text still holds.
func (e *Engine) outline(ctx context.Context, s core.Store, a core.Agent) (prompt, error) {
	policy, ok := core.PolicyOf(a.Type)
	if !ok {
		return prompt{}, core.E(core.Unsupported, "agent type %q is not built yet", string(a.Type))
	}
	blocks, err := s.Blocks().OfAgent(ctx, a.ID)
	if err != nil {
		return prompt{}, err
	}
	bound, err := e.cfg.Tools.Tools(ctx, a.Tools)
	if err != nil {
		return prompt{}, err
	}
	folders, err := s.Folders().OfAgent(ctx, a.ID)
	if err != nil {
		return prompt{}, err
	}
	p := prompt{blocks: blocks, bound: bound, folders: folders, shown: map[core.BlockID]int{}}
	names, terminal := toolNames(bound)
	state := rules.New(rules.Input{Rules: a.ToolRules, Attached: names, Terminal: terminal, Policy: policy})
	for _, t := range bound {
		p.tools = append(p.tools, policySpec(t.Info, policy, state.Heartbeat(t.Info.Spec.Name)))
	}
	for _, b := range blocks {
		p.shown[b.ID] = b.Version
	}
	schema, err := json.Marshal(p.tools)
	if err != nil {
		return prompt{}, core.E(core.Internal, "write the tools: %w", err)
	}
	p.schema = string(schema)
	if p.tools, err = readTools(p.schema); err != nil { // the same bytes as those that are read from the pin later
		return prompt{}, err
	}
	p.key = digest(a.System, p.schema, mustJSON(a.ToolRules))
	if len(folders) > 0 {
		attached, listing := foldersKey(folders)
		p.key = digest(a.System, p.schema, mustJSON(a.ToolRules), attached) + listingMark + listing
	}
	return p, nil
}

// fill compiles the text of a prompt.
func (e *Engine) fill(ctx context.Context, s core.Store, a core.Agent, conv *core.Conversation, p *prompt) error {
	policy, _ := core.PolicyOf(a.Type)
	names, _ := toolNames(p.bound)
	in := memory.CompileInput{
		System: a.System, Blocks: p.blocks, LineNumbers: policy.LineNumbers, Rules: rules.Explain(a.ToolRules, names), Agent: a.ID,
		Conversation: conv.ID, CompiledAt: e.cfg.Clock().In(a.Location()), Messages: conv.MessageCount,
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
	p.system = memory.Compile(in)
	rest := core.EstimateTokens(p.system) + core.EstimateTokens(p.schema)
	var err error
	if in.Directories, err = e.directories(ctx, s, &a, p.folders, rest); err != nil || in.Directories == nil {
		return err
	}
	p.system = memory.Compile(in)
	return nil
}

// toolNames returns the names of the tools, and of those that end the turn of a tool-forced agent without a rule.
func toolNames(bound []core.BoundTool) (names, terminal []string) {
	for _, b := range bound {
		names = append(names, b.Info.Spec.Name)
		if b.Info.Terminal {
			terminal = append(terminal, b.Info.Spec.Name)
		}
	}
	return names, terminal
}

// pin makes the conversation send this prompt from now on; the caller stores the conversation.
func (p *prompt) pin(conv *core.Conversation, systemHash, toolsHash string) {
	conv.PinSystem, conv.PinTools, conv.PinKey = systemHash, toolsHash, p.key
	conv.Shown = maps.Clone(p.shown)
	conv.Prefix = prefixOf(systemHash, toolsHash, conv.Cut)
}

// keep stores the texts of a prompt as snapshots.
func (e *Engine) keep(ctx context.Context, tx core.Store, p *prompt) (system, tools string, err error) {
	if system, err = tx.Snapshots().Put(ctx, core.SnapshotSystem, p.system); err != nil {
		return "", "", err
	}
	tools, err = tx.Snapshots().Put(ctx, core.SnapshotTools, p.schema)
	return system, tools, err
}

// Begin creates, inside tx, a conversation with its message 0 compiled and pinned, and its first messages (the boot
// messages of the agent type when first is nil). c.ID and c.Agent must be set; the agent and its attachments exist.
func (e *Engine) Begin(ctx context.Context, tx core.Store, c *core.Conversation, first []core.Message) error {
	a, err := tx.Agents().Get(ctx, c.Agent)
	if err != nil {
		return err
	}
	now := e.cfg.Clock()
	if first == nil {
		policy, _ := core.PolicyOf(a.Type)
		first = memory.Boot(policy, now.In(a.Location()))
	}
	if err := e.beginEmpty(ctx, tx, a, c); err != nil {
		return err
	}
	return e.enterFirst(ctx, tx, c, first)
}

// beginEmpty creates a conversation that holds its message 0 alone.
func (e *Engine) beginEmpty(ctx context.Context, tx core.Store, a core.Agent, c *core.Conversation) error {
	now := e.cfg.Clock()
	c.SystemMessage, c.Rev, c.CreatedAt, c.UpdatedAt = core.NewMessageID(), 1, now, now
	p, err := e.compile(ctx, tx, a, c)
	if err != nil {
		return err
	}
	system, tools, err := e.keep(ctx, tx, &p)
	if err != nil {
		return err
	}
	p.pin(c, system, tools)
	c.System = system
	if err := tx.Conversations().Create(ctx, c); err != nil {
		return err
	}
	zero := core.Message{ID: c.SystemMessage, Agent: a.ID, Conversation: c.ID, Role: core.RoleSystem, Content: []core.Content{core.Text(p.system)}, CreatedAt: now}
	zero.Tokens = core.EstimateTokens(p.system)
	if err := tx.Messages().Insert(ctx, &zero); err != nil {
		return err
	}
	return tx.Messages().EnterFirst(ctx, c.ID, c.Rev, zero.ID)
}

// enterFirst stores the messages that open a conversation.
func (e *Engine) enterFirst(ctx context.Context, tx core.Store, c *core.Conversation, first []core.Message) error {
	var ids []core.MessageID
	for i := range first {
		m := &first[i]
		if m.ID == "" {
			m.ID = core.NewMessageID()
		}
		m.Agent, m.Conversation = c.Agent, c.ID
		if m.CreatedAt.IsZero() {
			m.CreatedAt = e.cfg.Clock()
		}
		m.Tokens = tokensOf(m)
		if err := tx.Messages().Insert(ctx, m); err != nil {
			return err
		}
		ids = append(ids, m.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	return tx.Messages().Enter(ctx, c.ID, c.Rev, ids, nil)
}

// recompile compiles message 0 anew inside tx; with pin also what is sent. It changes c and stores it.
func (e *Engine) recompile(ctx context.Context, tx core.Store, c *core.Conversation, pin bool) (prompt, error) {
	a, err := tx.Agents().Get(ctx, c.Agent)
	if err != nil {
		return prompt{}, err
	}
	p, err := e.compile(ctx, tx, a, c)
	if err != nil {
		return prompt{}, err
	}
	return p, e.storePrompt(ctx, tx, c, &p, pin)
}

func (e *Engine) storePrompt(ctx context.Context, tx core.Store, c *core.Conversation, p *prompt, pin bool) error {
	system, tools, err := e.keep(ctx, tx, p)
	if err != nil {
		return err
	}
	if err := tx.Messages().SetText(ctx, c.SystemMessage, p.system); err != nil {
		return err
	}
	c.System, c.Stale = system, false
	if pin {
		p.pin(c, system, tools)
	}
	return tx.Conversations().Update(ctx, c)
}

// Reset leaves the conversation with a newly compiled message 0 only, and the boot messages when asked.
func (e *Engine) Reset(ctx context.Context, conv core.ConversationID, boot bool) error {
	return e.Exclusive(ctx, conv, func(ctx context.Context, tx core.Store) error {
		c, err := tx.Conversations().Get(ctx, conv)
		if err != nil {
			return err
		}
		rows, err := tx.Messages().Context(ctx, conv)
		if err != nil {
			return err
		}
		var ids []core.MessageID
		for _, r := range rows {
			if r.Row.Position != 0 {
				ids = append(ids, r.Row.Message)
			}
		}
		c.Rev++
		c.Cut = c.Rev
		if err := tx.Messages().Leave(ctx, conv, c.Rev, core.LeftReset, ids); err != nil {
			return err
		}
		if _, err := e.recompile(ctx, tx, &c, true); err != nil {
			return err
		}
		if !boot {
			return nil
		}
		a, err := tx.Agents().Get(ctx, c.Agent)
		if err != nil {
			return err
		}
		policy, _ := core.PolicyOf(a.Type)
		return e.enterFirst(ctx, tx, &c, memory.Boot(policy, e.cfg.Clock().In(a.Location())))
	})
}

// Recompile compiles message 0 and the pin anew and returns the text; dry stores nothing.
func (e *Engine) Recompile(ctx context.Context, conv core.ConversationID, dry bool) (string, error) {
	if dry {
		c, err := e.cfg.Store.Conversations().Get(ctx, conv)
		if err != nil {
			return "", err
		}
		a, err := e.cfg.Store.Agents().Get(ctx, c.Agent)
		if err != nil {
			return "", err
		}
		p, err := e.compile(ctx, e.cfg.Store, a, &c)
		return p.system, err
	}
	var text string
	err := e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		c, err := tx.Conversations().Get(ctx, conv)
		if err != nil {
			return err
		}
		p, err := e.recompile(ctx, tx, &c, true)
		text = p.system
		return err
	})
	return text, err
}

// Refresh compiles message 0 of a conversation whose stored text is stale; call it before showing its messages.
func (e *Engine) Refresh(ctx context.Context, conv core.ConversationID) error {
	c, err := e.cfg.Store.Conversations().Get(ctx, conv)
	if err != nil || !c.Stale {
		return err
	}
	return e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		c, err := tx.Conversations().Get(ctx, conv)
		if err != nil || !c.Stale {
			return err
		}
		_, err = e.recompile(ctx, tx, &c, false)
		return err
	})
}

// hashes remembers which snapshots are stored, so that what did not change costs no statement.
type hashes struct {
	mu  sync.Mutex // guards set
	set map[string]struct{}
}

const maxHashes = 8192

func newHashes() *hashes { return &hashes{set: map[string]struct{}{}} }

func (h *hashes) has(hash string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.set[hash]
	return ok
}

func (h *hashes) add(hash string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.set) >= maxHashes {
		clear(h.set)
	}
	h.set[hash] = struct{}{}
}

func (h *hashes) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.set)
}

// snapshotHash is the hash that SnapshotStore.Put returns.
func snapshotHash(kind core.SnapshotKind, body string) string {
	sum := sha256.Sum256([]byte(string(kind) + "\n" + body))
	return hex.EncodeToString(sum[:])
}

func prefixOf(system, tools string, cut int) string {
	return digest(system, tools, mustJSON(cut))
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(mustJSON(len(p)) + ":" + p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// mustJSON writes a value that has a JSON form by construction.
func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a bug: only our own plain structs come here
	}
	return string(b)
}

// newer returns the attached blocks whose version is not the one the window shows, and whether a shown one is gone.
func newer(blocks []core.Block, shown map[core.BlockID]int) (changed []core.Block, gone bool) {
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
