package tui

import (
	"context"
	"iter"
	"slices"

	"loci/daemon/api"
	"loci/daemon/client"
)

// Thread is a conversation of an agent. Without Conversation it is the agent's
// default one.
type Thread struct{ Agent, Conversation string }

// Backend is what the chat needs of the daemon. Errors have the kinds of
// client.KindOf.
type Backend interface {
	// Open registers the chat and finds or makes the agent to talk to. It starts
	// the daemon if that is not running.
	Open(ctx context.Context, open api.Open) (api.Session, error)

	// Status tells one daemon from the next.
	Status(ctx context.Context) (api.Status, error)

	Agents(ctx context.Context) ([]api.AgentState, error)
	Agent(ctx context.Context, id string) (api.AgentState, error)
	SetModel(ctx context.Context, agent, handle string) error
	Models(ctx context.Context) ([]api.Model, error)

	Conversations(ctx context.Context, agent string) ([]api.Conversation, error)
	CreateConversation(ctx context.Context, agent string) (api.Conversation, error)
	// Messages gives the newest messages, oldest first; after an id only newer ones. Notices among them say what was
	// recalled.
	Messages(ctx context.Context, t Thread, after string, limit int) ([]api.Message, error)
	Context(ctx context.Context, t Thread) (api.ContextWindow, error)
	// Compact replaces what was said earlier by a summary; mode "" is the agent's own.
	Compact(ctx context.Context, t Thread, mode string) (api.Compaction, error)
	Search(ctx context.Context, q api.SearchMessages) ([]api.MessageResult, error)

	past

	Blocks(ctx context.Context, agent string) ([]api.Block, error)
	Block(ctx context.Context, agent, label string) (api.Block, string, error)
	UpdateBlock(ctx context.Context, agent, label, value, etag string) error

	// Send starts a run and gives its messages to its end, over as many
	// connections as it takes. Sending again with the same otid is no second run.
	Send(ctx context.Context, t Thread, text, model, otid string) iter.Seq2[api.Message, error]
	// Follow gives the messages of a run that someone started, from after a
	// seq_id on.
	Follow(ctx context.Context, run string, after int64) iter.Seq2[api.Message, error]
	Cancel(ctx context.Context, t Thread, run string) error
	// Changes gives hints that something changed, until the connection breaks.
	Changes(ctx context.Context) iter.Seq2[api.Change, error]
}

const (
	listMost = 200
)

// daemon is the Backend that a client makes.
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

func (d daemon) Agents(ctx context.Context) ([]api.AgentState, error) {
	return d.Client.Agents(ctx, api.ListAgents{Page: api.Page{Limit: listMost}})
}

func (d daemon) Agent(ctx context.Context, id string) (api.AgentState, error) {
	return d.Client.Agent(ctx, id)
}

func (d daemon) SetModel(ctx context.Context, agent, handle string) error {
	_, err := d.UpdateAgent(ctx, agent, api.UpdateAgent{Model: api.Some(handle)})
	return err
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

func (d daemon) Messages(ctx context.Context, t Thread, after string, limit int) ([]api.Message, error) {
	page := api.Page{After: after, Limit: limit, Order: "desc"}
	if t.Conversation != "" && after != "" { // there it is what comes later in the order that was asked for
		page.Order = "asc"
	}
	// Also of the default one as of a conversation, so that summaries are shown as such.
	list, err := d.ConversationMessages(ctx, t.conversation(), api.ListConversationMessages{Page: page})
	if t.Conversation != "" && page.Order == "desc" { // the default one's list is oldest first, whatever the order
		slices.Reverse(list)
	}
	if err != nil || len(list) == 0 {
		return list, err
	}
	// What was recalled before the oldest is of no use, and far to look for where little was.
	recalled, err := d.Recalled(ctx, t.conversation(), api.Page{After: list[0].ID, Limit: limit, Order: "asc"})
	return withRecalled(list, recalled), err
}

func (d daemon) Context(ctx context.Context, t Thread) (api.ContextWindow, error) {
	return d.Client.Context(ctx, t.Agent, t.Conversation)
}

func (d daemon) Compact(ctx context.Context, t Thread, mode string) (api.Compaction, error) {
	var in api.CompactAgent
	if mode != "" {
		in.CompactionSettings = &api.CompactionSettings{Mode: &mode}
	}
	return d.Client.Compact(ctx, client.Target{AgentID: t.Agent, ConversationID: t.Conversation}, in)
}

func (d daemon) Search(ctx context.Context, q api.SearchMessages) ([]api.MessageResult, error) {
	return d.SearchMessages(ctx, q)
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

// Send starts the run by the contract's stream, which leaves out what only our
// own clients know: that another model answers, that the run waits. So as soon
// as the run has a name, its messages are read by Follow, from the first.
func (d daemon) Send(ctx context.Context, t Thread, text, model, otid string) iter.Seq2[api.Message, error] {
	req := api.StreamingRequest{IncludePings: api.PtrTo(true)}
	req.IncludeCompactionMessages = new(true)
	req.Messages = []api.Input{api.UserInput(text, otid)}
	req.OverrideModel = api.PtrTo(model)
	started := d.Stream(client.Asked(ctx), client.Target{AgentID: t.Agent, ConversationID: t.Conversation}, req)
	return func(yield func(api.Message, error) bool) {
		run := ""
		for m, err := range started {
			if run = m.RunID; run != "" && err == nil {
				break // stopping leaves the run to itself
			}
			if !yield(m, err) {
				return
			}
		}
		if run == "" || !yield(api.Message{MessageType: api.MessagePing, RunID: run}, nil) { // it is accepted, whatever follows
			return
		}
		for m, err := range d.Follow(ctx, run, 0) {
			if !yield(m, err) {
				return
			}
		}
	}
}

func (d daemon) Follow(ctx context.Context, run string, after int64) iter.Seq2[api.Message, error] {
	return d.Events(ctx, run, after)
}

func (d daemon) Cancel(ctx context.Context, t Thread, run string) error {
	_, err := d.Client.Cancel(ctx, t.Agent, run)
	return err
}
