package tui

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"loci/daemon/api"
	"loci/daemon/client"
)

// Thread is a conversation of an agent. An empty Conversation is the agent's
// default one.
type Thread struct{ Agent, Conversation string }

// conversation is how API paths name the thread.
func (t Thread) conversation() string { return cmp.Or(t.Conversation, t.Agent) }

// Span selects messages of a conversation: by default the newest between Before
// and After.
type Span struct {
	Before string // an id: only messages above it
	After  string // an id: only messages below it
	Oldest bool   // the oldest of these instead of the newest
	Limit  int
}

// lately is the end of a conversation, as much as is read on opening it.
func lately() Span { return Span{Limit: historyMost} }

// messageReader reads conversations.
type messageReader interface {
	// Messages returns part of a conversation, oldest first. Notices among them say
	// what was recalled.
	Messages(ctx context.Context, t Thread, s Span) ([]api.Message, error)
}

// Backend is what the chat needs from the daemon. client.KindOf tells the kinds
// of its errors.
type Backend interface {
	linkBackend
	conversationBackend
	agentBackend
	conversationLister
	modelBackend
	memoryBackend
	searchBackend
	timelineBackend
	fitBackend
	compactBackend
	approvalBackend
	trustBackend
	writtenBackend
	jobBackend
	questionBackend
	workspaceBackend
	permissionBackend
	toolBackend
	costBackend
	providerBackend
}

const (
	listMost = 200
)

// daemon is the Backend on top of a client.
type daemon struct {
	*client.Client
	who api.Client
}

var _ Backend = daemon{}

func (d daemon) Open(ctx context.Context, open api.Open) (api.Session, error) {
	who := d.who
	who.Open = &open
	return d.Register(client.Asked(ctx), who)
}

func (d daemon) Brought(ctx context.Context) (api.FolderItems, error) {
	if d.who.Folder == "" {
		return api.FolderItems{Whole: true}, nil
	}
	return d.FolderItems(ctx, d.who.Folder)
}

func (d daemon) ItemText(ctx context.Context, path string) (api.FolderText, error) {
	return d.FolderText(ctx, d.who.Folder, path)
}

func (d daemon) Written(ctx context.Context) ([]api.Command, error) {
	return d.Commands(ctx, d.who.Folder)
}

func (d daemon) Decide(ctx context.Context, decision api.TrustDecision) error {
	return d.DecideTrust(ctx, api.DecideTrust{Folder: d.who.Folder, Items: []api.TrustDecision{decision}})
}

func (d daemon) Agents(ctx context.Context) ([]api.AgentState, error) {
	return d.Client.Agents(ctx, api.ListAgents{Page: api.Page{Limit: listMost}})
}

func (d daemon) Agent(ctx context.Context, id string) (api.AgentState, error) {
	return d.Client.Agent(ctx, id)
}

func (d daemon) SetModel(ctx context.Context, agent, handle string) (warning string, err error) {
	if _, err := d.UpdateAgent(ctx, agent, api.UpdateAgent{Model: api.Some(handle)}); err != nil {
		return "", err
	}
	choice, err := d.Model(ctx, agent, handle)
	if err != nil {
		return "", nil //nolint:nilerr // the model is set; the next run will say what is wrong
	}
	return choice.Notice, nil
}

func (d daemon) Models(ctx context.Context) ([]api.Model, error) {
	return d.Client.Models(ctx, api.ListModels{})
}

func (d daemon) Conversations(ctx context.Context, agent string) ([]api.Conversation, error) {
	return d.Client.Conversations(ctx, api.ListConversations{AgentID: agent, Limit: listMost, Order: "desc", OrderBy: "last_message_at"})
}

func (d daemon) CreateConversation(ctx context.Context, agent string) (api.Conversation, error) {
	return d.Client.CreateConversation(ctx, agent, api.CreateConversation{})
}

func (d daemon) Messages(ctx context.Context, t Thread, s Span) ([]api.Message, error) {
	page := api.Page{Before: s.Before, After: s.After, Limit: s.Limit, Order: "desc"}
	if s.Oldest || t.Conversation != "" && s.After != "" {
		page.Order = "asc"
	} else if t.Conversation != "" { // in these lists, After means later in the order asked for
		page.Before, page.After = "", s.Before
	}
	// Even the default one is read as a conversation, so that summaries show up as
	// such.
	list, err := d.ConversationMessages(ctx, t.conversation(), api.ListConversationMessages{Page: page})
	if t.Conversation != "" && page.Order == "desc" { // the default one's list is always oldest first
		slices.Reverse(list)
	}
	if err != nil || len(list) == 0 {
		return list, err
	}
	// What was recalled before the oldest message is no use here, and finding it
	// takes a long search if little was recalled.
	recalled, err := d.Recalled(ctx, t.conversation(), api.Page{After: list[0].ID, Limit: s.Limit, Order: "asc"})
	return withRecalled(list, recalled), err
}

func (d daemon) Context(ctx context.Context, t Thread) (api.ContextWindow, error) {
	return d.Client.Context(ctx, t.Agent, t.Conversation)
}

func (d daemon) Fit(ctx context.Context, t Thread, text, model string) (api.FitResult, error) {
	return d.Client.Fit(ctx, t.conversation(), api.Fit{Text: text, Model: model})
}

func (d daemon) Compact(ctx context.Context, t Thread, mode string) (api.Compaction, error) {
	var in api.CompactAgent
	if mode != "" {
		in.CompactionSettings = &api.CompactionSettings{Mode: &mode}
	}
	return d.Client.Compact(ctx, client.Target{AgentID: t.Agent, ConversationID: t.Conversation}, in)
}

func (d daemon) Search(ctx context.Context, q api.SearchMessages) ([]api.MessageResult, api.Partial, error) {
	return d.SearchMessages(ctx, q)
}

// Reasons searches once more: the contract's search of messages says nothing
// about why.
func (d daemon) Reasons(ctx context.Context, q api.SearchMessages) (map[string]reason, error) {
	found, _, err := d.SearchAgentMessages(ctx, api.SearchAgentMessages{
		Query: &q.Query, AgentID: q.AgentID, Limit: q.Limit, StartDate: q.StartDate, EndDate: q.EndDate,
	})
	out := map[string]reason{}
	for _, f := range found {
		r := reason{words: slices.Concat(wordsIn(f.Metadata["words"]), wordsIn(f.Metadata["also"]))}
		if inherited, _ := f.Metadata["inherited"].([]any); len(inherited) > 0 {
			strongest, _ := inherited[0].(map[string]any)
			r.beside = wordsIn(strongest["words"])
		}
		out[f.Message.ID] = r
	}
	return out, err
}

func wordsIn(list any) []string {
	var out []string
	words, _ := list.([]any)
	for _, w := range words {
		if word, ok := w.(string); ok {
			out = append(out, word)
		}
	}
	return out
}

func (d daemon) Blocks(ctx context.Context, agent string) ([]api.Block, error) {
	return d.AgentBlocks(ctx, agent, api.Page{Limit: listMost})
}

func (d daemon) Block(ctx context.Context, agent, label string) (api.Block, string, error) {
	return d.AgentBlock(ctx, agent, label)
}

func (d daemon) UpdateBlock(ctx context.Context, agent, label, value, etag string) error {
	_, _, err := d.UpdateAgentBlock(ctx, agent, label, api.UpdateBlock{Value: api.Some(value)}, etag)
	return err
}

// Send starts the run. The stream a session gets for its own message carries
// everything, so no other stream is needed.
func (d daemon) Send(ctx context.Context, t Thread, text, model, otid string) iter.Seq2[api.Message, error] {
	req := api.StreamingRequest{IncludePings: api.PtrTo(true)}
	req.IncludeCompactionMessages = new(true)
	req.Messages = []api.Input{api.UserInput(text, otid)}
	req.OverrideModel = api.PtrTo(model)
	if err := withImages(req.Messages); err != nil {
		return failed(err)
	}
	return d.Stream(client.Asked(ctx), client.Target{AgentID: t.Agent, ConversationID: t.Conversation}, req)
}

// withImages puts the images that messages name in their places.
func withImages(messages []api.Input) error {
	for _, m := range messages {
		if m.Content == nil || m.Content.Parts != nil {
			continue
		}
		content, err := client.Written(m.Content.Text)
		if err != nil {
			return err
		}
		*m.Content = content
	}
	return nil
}

// failed is the stream of a message that was not sent.
func failed(err error) iter.Seq2[api.Message, error] {
	return func(yield func(api.Message, error) bool) { yield(api.Message{}, err) }
}

func (d daemon) Answer(ctx context.Context, t Thread, req api.AnswerRequest, model string) iter.Seq2[api.Message, error] {
	req.IncludePings, req.IncludeCompactionMessages = api.PtrTo(true), new(true)
	req.OverrideModel = api.PtrTo(model)
	if err := withImages(req.Messages); err != nil {
		return failed(err)
	}
	return d.Client.Answer(client.Asked(ctx), client.Target{AgentID: t.Agent, ConversationID: t.Conversation}, req)
}

func (d daemon) Follow(ctx context.Context, run string, after int64) iter.Seq2[api.Message, error] {
	return d.Events(ctx, run, after)
}

func (d daemon) Cancel(ctx context.Context, t Thread, run string) error {
	_, err := d.Client.Cancel(ctx, t.Agent, run)
	return err
}

func (d daemon) Said(ctx context.Context, t Thread) ([]api.Message, error) {
	list, err := d.ConversationMessages(ctx, t.conversation(), api.ListConversationMessages{
		Page: api.Page{Limit: listMost, Order: "desc"}, IncludeReturnMessageTypes: []string{string(api.MessageUser)},
	})
	if t.Conversation == "" { // the default one's list is always oldest first
		slices.Reverse(list)
	}
	return list, err
}

func (d daemon) Turn(ctx context.Context, run string) (runDetails, error) {
	r, err := d.Run(ctx, run)
	if err != nil {
		return runDetails{}, err
	}
	page := api.Page{Limit: listMost, Order: "asc"}
	out := runDetails{thread: threadOf(r.AgentID, api.Val(r.ConversationID))}
	if out.steps, err = d.RunSteps(ctx, run, page); err == nil {
		out.messages, err = d.RunMessages(ctx, run, page)
	}
	return out, err
}

func (d daemon) Rewinds(ctx context.Context, t Thread) ([]api.Rewind, error) {
	return d.Client.Rewinds(ctx, api.ListRewinds{ConversationID: t.conversation(), Page: api.Page{Limit: listMost}})
}

func (d daemon) RewindBlocks(ctx context.Context, to api.RewindRequest) ([]api.BlockVersion, error) {
	return d.Client.RewindBlocks(ctx, api.RewindTarget{StepID: to.StepID, RunID: to.RunID})
}

func (d daemon) RewindFiles(ctx context.Context, to api.RewindRequest) (api.RewindOfFiles, error) {
	return d.Client.RewindFiles(ctx, api.RewindTarget{StepID: to.StepID, RunID: to.RunID})
}

func (d daemon) Fork(ctx context.Context, t Thread, step string) (api.Conversation, error) {
	return d.ForkConversation(ctx, t.conversation(), t.Agent, api.ForkConversation{StepID: step})
}

func (d daemon) Versions(ctx context.Context, block string) ([]api.BlockVersion, error) {
	return d.BlockVersions(ctx, block, api.Page{Limit: listMost})
}

func (d daemon) Sharers(ctx context.Context, block string) (int, error) {
	agents, err := d.BlockAgents(ctx, block, api.ListBlockAgents{Page: api.Page{Limit: listMost}})
	return len(agents), err
}

func (d daemon) BlockDiff(ctx context.Context, block string, from, to int) (string, error) {
	diff, err := d.Client.BlockDiff(ctx, block, api.BlockDiffParams{From: api.Given(from), To: api.Given(to)})
	return diff.Diff, err
}

func (d daemon) UndoBlock(ctx context.Context, block, etag string) (api.BlockUndone, error) {
	return d.Client.UndoBlock(ctx, block, api.UndoBlock{}, etag)
}

func (d daemon) UndoPassage(ctx context.Context, agent, passage, etag string) (api.PassageUndone, error) {
	return d.Client.UndoPassage(ctx, agent, passage, api.UndoPassage{}, etag)
}
