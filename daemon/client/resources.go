package client

import (
	"context"
	"net/http"
	"net/url"

	"loci/daemon/api"
)

const (
	get    = http.MethodGet
	post   = http.MethodPost
	patch  = http.MethodPatch
	put    = http.MethodPut
	remove = http.MethodDelete
)

func agentPath(id string) string        { return "/v1/agents/" + url.PathEscape(id) }
func blockPath(id string) string        { return "/v1/blocks/" + url.PathEscape(id) }
func conversationPath(id string) string { return "/v1/conversations/" + url.PathEscape(id) }
func runPath(id string) string          { return "/v1/runs/" + url.PathEscape(id) }
func stepPath(id string) string         { return "/v1/steps/" + url.PathEscape(id) }

// Health asks whether the server is alive.
func (c *Client) Health(ctx context.Context) (api.Health, error) {
	return call[api.Health](ctx, c, request{method: get, path: "/v1/health"})
}

// Agents lists agents.
func (c *Client) Agents(ctx context.Context, p api.ListAgents) ([]api.AgentState, error) {
	return call[[]api.AgentState](ctx, c, request{method: get, path: "/v1/agents", query: p})
}

// Agent returns an agent with the requested relations (api.Include…).
func (c *Client) Agent(ctx context.Context, id string, include ...string) (api.AgentState, error) {
	return call[api.AgentState](ctx, c, request{method: get, path: agentPath(id), query: api.AgentInclude{Include: include}})
}

// CreateAgent creates an agent.
func (c *Client) CreateAgent(ctx context.Context, in api.CreateAgent) (api.AgentState, error) {
	return call[api.AgentState](ctx, c, request{method: post, path: "/v1/agents", body: in})
}

// UpdateAgent changes the fields that are set.
func (c *Client) UpdateAgent(ctx context.Context, id string, in api.UpdateAgent) (api.AgentState, error) {
	return call[api.AgentState](ctx, c, request{method: patch, path: agentPath(id), body: in})
}

// DeleteAgent deletes an agent; its blocks stay.
func (c *Client) DeleteAgent(ctx context.Context, id string) error {
	return c.done(ctx, request{method: remove, path: agentPath(id)})
}

// Context reports what fills an agent's context window.
func (c *Client) Context(ctx context.Context, agentID, conversationID string) (api.ContextWindow, error) {
	return call[api.ContextWindow](ctx, c, request{
		method: get, path: agentPath(agentID) + "/context",
		query: api.ContextParams{ConversationID: conversationID},
	})
}

// Compact replaces the older messages of a conversation with a summary. It takes as long as the summariser does.
func (c *Client) Compact(ctx context.Context, to Target, in api.CompactAgent) (api.Compaction, error) {
	id := to.ConversationID
	if id == "" {
		id = to.AgentID // the agent's default conversation
	}
	return call[api.Compaction](
		ctx,
		c,
		request{method: post, path: conversationPath(id) + "/compact", body: api.CompactConversation{CompactAgent: in}},
	)
}

// Blocks lists blocks.
func (c *Client) Blocks(ctx context.Context, p api.ListBlocks) ([]api.Block, error) {
	return call[[]api.Block](ctx, c, request{method: get, path: "/v1/blocks", query: p})
}

// Block returns a block and its ETag.
func (c *Client) Block(ctx context.Context, id string) (api.Block, string, error) {
	return block(ctx, c, request{method: get, path: blockPath(id)})
}

// CreateBlock creates a block that no agent has yet.
func (c *Client) CreateBlock(ctx context.Context, in api.CreateBlock) (api.Block, error) {
	return call[api.Block](ctx, c, request{method: post, path: "/v1/blocks", body: in})
}

// UpdateBlock changes the fields that are set. With an ETag, it fails with a conflict if the block has changed since.
func (c *Client) UpdateBlock(ctx context.Context, id string, in api.UpdateBlock, ifMatch string) (api.Block, string, error) {
	return block(ctx, c, request{method: patch, path: blockPath(id), body: in, header: matching(ifMatch)})
}

// BlockAgents lists the agents that share a block.
func (c *Client) BlockAgents(ctx context.Context, id string, p api.ListBlockAgents) ([]api.AgentState, error) {
	return call[[]api.AgentState](ctx, c, request{method: get, path: blockPath(id) + "/agents", query: p})
}

// AgentBlocks lists an agent's blocks.
func (c *Client) AgentBlocks(ctx context.Context, agentID string, p api.Page) ([]api.Block, error) {
	return call[[]api.Block](ctx, c, request{method: get, path: agentPath(agentID) + "/core-memory/blocks", query: p})
}

// AgentBlock returns an agent's block by its label, and its ETag.
func (c *Client) AgentBlock(ctx context.Context, agentID, label string) (api.Block, string, error) {
	return block(ctx, c, request{method: get, path: agentBlockPath(agentID, label)})
}

// UpdateAgentBlock changes the fields that are set in an agent's block. With an ETag, it fails with a conflict if the
// block has changed since.
func (c *Client) UpdateAgentBlock(
	ctx context.Context,
	agentID, label string,
	in api.UpdateBlock,
	ifMatch string,
) (api.Block, string, error) {
	return block(ctx, c, request{method: patch, path: agentBlockPath(agentID, label), body: in, header: matching(ifMatch)})
}

// AttachBlock attaches a block to an agent.
func (c *Client) AttachBlock(ctx context.Context, agentID, blockID string) error {
	return c.done(ctx, request{method: patch, path: agentPath(agentID) + "/core-memory/blocks/attach/" + url.PathEscape(blockID)})
}

// DetachBlock detaches a block from an agent.
func (c *Client) DetachBlock(ctx context.Context, agentID, blockID string) error {
	return c.done(ctx, request{method: patch, path: agentPath(agentID) + "/core-memory/blocks/detach/" + url.PathEscape(blockID)})
}

func agentBlockPath(agentID, label string) string {
	return agentPath(agentID) + "/core-memory/blocks/" + url.PathEscape(label)
}

func matching(etag string) http.Header {
	if etag == "" {
		return nil
	}
	return http.Header{"If-Match": {etag}}
}

func block(ctx context.Context, c *Client, r request) (api.Block, string, error) {
	b, header, err := callHeader[api.Block](ctx, c, r)
	return b, header.Get("ETag"), err
}

// searched makes a search call and also reports why the search may be incomplete.
func searched[T any](ctx context.Context, c *Client, r request) (found []T, partial api.Partial, err error) {
	found, header, err := callHeader[[]T](ctx, c, r)
	return found, api.Partial(header.Get(api.HeaderPartial)), err
}

// Tools lists tools.
func (c *Client) Tools(ctx context.Context, p api.ListTools) ([]api.Tool, error) {
	return call[[]api.Tool](ctx, c, request{method: get, path: "/v1/tools", query: p})
}

// Tool returns a tool.
func (c *Client) Tool(ctx context.Context, id string) (api.Tool, error) {
	return call[api.Tool](ctx, c, request{method: get, path: "/v1/tools/" + url.PathEscape(id)})
}

// PutTool stores a tool, in place of one of its name.
func (c *Client) PutTool(ctx context.Context, t api.CreateTool) (api.Tool, error) {
	return call[api.Tool](ctx, c, request{method: put, path: "/v1/tools", body: t})
}

// DeleteTool removes a tool, also from the agents that have it.
func (c *Client) DeleteTool(ctx context.Context, id string) error {
	_, err := call[any](ctx, c, request{method: remove, path: "/v1/tools/" + url.PathEscape(id)})
	return err
}

// UpdateTool changes a tool.
func (c *Client) UpdateTool(ctx context.Context, id string, t api.UpdateTool) (api.Tool, error) {
	return call[api.Tool](ctx, c, request{method: patch, path: "/v1/tools/" + url.PathEscape(id), body: t})
}

// RunSource runs a tool without keeping it.
func (c *Client) RunSource(ctx context.Context, in api.RunSource) (api.Message, error) {
	return call[api.Message](ctx, c, request{method: post, path: "/v1/tools/run", body: in})
}

// RunTool runs a tool of an agent.
func (c *Client) RunTool(ctx context.Context, agentID, name string, args api.Arguments) (api.ToolExecution, error) {
	path := "/v1/agents/" + url.PathEscape(agentID) + "/tools/" + url.PathEscape(name) + "/run"
	return call[api.ToolExecution](ctx, c, request{method: post, path: path, body: api.RunTool{Args: args}})
}

// AttachTool attaches a tool to an agent.
func (c *Client) AttachTool(ctx context.Context, agentID, toolID string) error {
	return c.done(ctx, request{method: patch, path: agentPath(agentID) + "/tools/attach/" + url.PathEscape(toolID)})
}

// DetachTool detaches a tool from an agent.
func (c *Client) DetachTool(ctx context.Context, agentID, toolID string) error {
	return c.done(ctx, request{method: patch, path: agentPath(agentID) + "/tools/detach/" + url.PathEscape(toolID)})
}

// Messages lists the messages of an agent's default conversation, or of the one in the parameters.
func (c *Client) Messages(ctx context.Context, agentID string, p api.ListMessages) ([]api.Message, error) {
	return call[[]api.Message](ctx, c, request{method: get, path: agentPath(agentID) + "/messages", query: p})
}

// SearchMessages searches the messages of all agents, or of the one in the body.
func (c *Client) SearchMessages(ctx context.Context, in api.SearchMessages) (found []api.MessageResult, partial api.Partial, err error) {
	return searched[api.MessageResult](ctx, c, request{method: post, path: "/v1/messages/search", body: in})
}

// SearchAgentMessages searches the messages of all agents, or of the one in the body, and explains each result.
func (c *Client) SearchAgentMessages(ctx context.Context, in api.SearchAgentMessages) (
	found []api.AgentMessageResult, partial api.Partial, err error,
) {
	return searched[api.AgentMessageResult](ctx, c, request{method: post, path: "/v1/agents/messages/search", body: in})
}

// Cancel cancels runs of an agent: all active ones if none is named. The answer maps ids to statuses.
func (c *Client) Cancel(ctx context.Context, agentID string, runIDs ...string) (map[string]string, error) {
	return call[map[string]string](ctx, c, request{
		method: post, path: agentPath(agentID) + "/messages/cancel",
		body: api.CancelRuns{RunIDs: runIDs},
	})
}

// Conversations lists conversations.
func (c *Client) Conversations(ctx context.Context, p api.ListConversations) ([]api.Conversation, error) {
	return call[[]api.Conversation](ctx, c, request{method: get, path: "/v1/conversations", query: p})
}

// Conversation returns a conversation.
func (c *Client) Conversation(ctx context.Context, id string) (api.Conversation, error) {
	return call[api.Conversation](ctx, c, request{method: get, path: conversationPath(id)})
}

// CreateConversation starts a conversation with an agent.
func (c *Client) CreateConversation(ctx context.Context, agentID string, in api.CreateConversation) (api.Conversation, error) {
	return call[api.Conversation](
		ctx,
		c,
		request{method: post, path: "/v1/conversations", query: api.AgentParam{AgentID: agentID}, body: in},
	)
}

// UpdateConversation changes the fields that are set.
func (c *Client) UpdateConversation(ctx context.Context, id string, in api.UpdateConversation) (api.Conversation, error) {
	return call[api.Conversation](ctx, c, request{method: patch, path: conversationPath(id), body: in})
}

// DeleteConversation deletes a conversation.
func (c *Client) DeleteConversation(ctx context.Context, id string) error {
	return c.done(ctx, request{method: remove, path: conversationPath(id)})
}

// ConversationMessages lists a conversation's messages.
func (c *Client) ConversationMessages(ctx context.Context, id string, p api.ListConversationMessages) ([]api.Message, error) {
	return call[[]api.Message](ctx, c, request{method: get, path: conversationPath(id) + "/messages", query: p})
}

// Runs lists runs.
func (c *Client) Runs(ctx context.Context, p api.ListRuns) ([]api.Run, error) {
	return call[[]api.Run](ctx, c, request{method: get, path: "/v1/runs", query: p})
}

// Run returns a run.
func (c *Client) Run(ctx context.Context, id string) (api.Run, error) {
	return call[api.Run](ctx, c, request{method: get, path: runPath(id)})
}

// RunMessages lists a run's messages, including its input.
func (c *Client) RunMessages(ctx context.Context, id string, p api.Page) ([]api.Message, error) {
	return call[[]api.Message](ctx, c, request{method: get, path: runPath(id) + "/messages", query: p})
}

// RunCalls lists a run's tool calls with what let them pass.
func (c *Client) RunCalls(ctx context.Context, id string) ([]api.RunCall, error) {
	out, err := call[api.RunCalls](ctx, c, request{method: get, path: api.PathRuns + "/" + url.PathEscape(id) + "/calls"})
	return out.Calls, err
}

// RunTrace lists what a run sent to models, as far as it is kept.
func (c *Client) RunTrace(ctx context.Context, id string) ([]api.Trace, error) {
	return call[[]api.Trace](ctx, c, request{method: get, path: runPath(id) + "/trace"})
}

// RunSteps lists a run's steps.
func (c *Client) RunSteps(ctx context.Context, id string, p api.Page) ([]api.Step, error) {
	return call[[]api.Step](ctx, c, request{method: get, path: runPath(id) + "/steps", query: p})
}

// RunUsage returns a run's token totals.
func (c *Client) RunUsage(ctx context.Context, id string) (api.RunUsage, error) {
	return call[api.RunUsage](ctx, c, request{method: get, path: runPath(id) + "/usage"})
}

// RunMetrics returns a run's times and counts.
func (c *Client) RunMetrics(ctx context.Context, id string) (api.RunMetrics, error) {
	return call[api.RunMetrics](ctx, c, request{method: get, path: runPath(id) + "/metrics"})
}

// Steps lists steps.
func (c *Client) Steps(ctx context.Context, p api.ListSteps) ([]api.Step, error) {
	return call[[]api.Step](ctx, c, request{method: get, path: "/v1/steps", query: p})
}

// Step returns a step.
func (c *Client) Step(ctx context.Context, id string) (api.Step, error) {
	return call[api.Step](ctx, c, request{method: get, path: stepPath(id)})
}

// StepMetrics returns a step's times.
func (c *Client) StepMetrics(ctx context.Context, id string) (api.StepMetrics, error) {
	return call[api.StepMetrics](ctx, c, request{method: get, path: stepPath(id) + "/metrics"})
}

// StepMessages lists a step's messages.
func (c *Client) StepMessages(ctx context.Context, id string, p api.Page) ([]api.Message, error) {
	return call[[]api.Message](ctx, c, request{method: get, path: stepPath(id) + "/messages", query: p})
}

// Models lists the chat models that the daemon can reach.
func (c *Client) Models(ctx context.Context, p api.ListModels) ([]api.Model, error) {
	return call[[]api.Model](ctx, c, request{method: get, path: "/v1/models", query: p})
}

// EmbeddingModels lists the models that texts can be embedded with.
func (c *Client) EmbeddingModels(ctx context.Context) ([]api.EmbeddingModel, error) {
	return call[[]api.EmbeddingModel](ctx, c, request{method: get, path: "/v1/models/embedding"})
}

// Passages lists an agent's archival memory.
func (c *Client) Passages(ctx context.Context, agentID string, p api.ListPassages) ([]api.Passage, error) {
	return call[[]api.Passage](ctx, c, request{method: get, path: agentPath(agentID) + "/archival-memory", query: p})
}

// CreatePassage adds to an agent's archival memory.
func (c *Client) CreatePassage(ctx context.Context, agentID string, in api.CreatePassage) ([]api.Passage, error) {
	return call[[]api.Passage](ctx, c, request{method: post, path: agentPath(agentID) + "/archival-memory", body: in})
}

// SearchArchival searches an agent's archival memory.
func (c *Client) SearchArchival(ctx context.Context, agentID string, p api.SearchArchival) (api.ArchivalSearch, error) {
	return call[api.ArchivalSearch](ctx, c, request{method: get, path: agentPath(agentID) + "/archival-memory/search", query: p})
}

// DeletePassage deletes a passage from an agent's archival memory.
func (c *Client) DeletePassage(ctx context.Context, agentID, passageID string) error {
	return c.done(ctx, request{method: remove, path: agentPath(agentID) + "/archival-memory/" + url.PathEscape(passageID)})
}

// UpdatePassage edits a passage in an agent's archive.
func (c *Client) UpdatePassage(ctx context.Context, agentID, passageID string, in api.UpdatePassage) (api.Passage, error) {
	path, query := api.PathArchival+"/"+url.PathEscape(passageID), api.UpdatePassageParams{AgentID: agentID}
	return call[api.Passage](ctx, c, request{method: patch, path: path, query: query, body: in})
}

// SearchPassages searches the passages of an agent or an archive.
func (c *Client) SearchPassages(ctx context.Context, in api.SearchPassages) (found []api.PassageResult, partial api.Partial, err error) {
	return searched[api.PassageResult](ctx, c, request{method: post, path: "/v1/passages/search", body: in})
}

// CreateArchive creates an archive that no agent has yet.
func (c *Client) CreateArchive(ctx context.Context, in api.CreateArchive) (api.Archive, error) {
	return call[api.Archive](ctx, c, request{method: post, path: "/v1/archives", body: in})
}

// CreateArchivePassages adds passages to an archive, all or none.
func (c *Client) CreateArchivePassages(ctx context.Context, id string, in api.CreateArchivePassages) ([]api.Passage, error) {
	return call[[]api.Passage](ctx, c, request{method: post, path: "/v1/archives/" + url.PathEscape(id) + "/passages/batch", body: in})
}

// AttachArchive attaches an archive to an agent that has none.
func (c *Client) AttachArchive(ctx context.Context, agentID, archiveID string) error {
	return c.done(ctx, request{method: patch, path: agentPath(agentID) + "/archives/attach/" + url.PathEscape(archiveID)})
}

// DetachArchive detaches an archive from an agent; the archive and its passages stay as they are.
func (c *Client) DetachArchive(ctx context.Context, agentID, archiveID string) error {
	return c.done(ctx, request{method: patch, path: agentPath(agentID) + "/archives/detach/" + url.PathEscape(archiveID)})
}

// EmbedArchive changes an archive's embedding model, or reports what that would mean.
func (c *Client) EmbedArchive(ctx context.Context, archiveID string, in api.EmbedArchive) (api.EmbeddingPlan, error) {
	return call[api.EmbeddingPlan](
		ctx,
		c,
		request{method: put, path: api.PathArchives + "/" + url.PathEscape(archiveID) + "/embedding", body: in},
	)
}

// Archives lists archives.
func (c *Client) Archives(ctx context.Context, p api.ListArchives) ([]api.Archive, error) {
	return call[[]api.Archive](ctx, c, request{method: get, path: "/v1/archives", query: p})
}

// Archive returns an archive.
func (c *Client) Archive(ctx context.Context, id string) (api.Archive, error) {
	return call[api.Archive](ctx, c, request{method: get, path: "/v1/archives/" + url.PathEscape(id)})
}

// Tags lists the tags of agents.
func (c *Client) Tags(ctx context.Context, p api.ListTags) ([]string, error) {
	return call[[]string](ctx, c, request{method: get, path: "/v1/tags", query: p})
}

// Status returns the daemon's state. It works before the daemon is ready.
func (c *Client) Status(ctx context.Context) (api.Status, error) {
	return call[api.Status](ctx, c, request{method: get, path: api.PathStatus})
}

// Model returns the model that a run of an agent would use, or, given a handle, checks that one.
func (c *Client) Model(ctx context.Context, agentID, handle string) (api.ModelChoice, error) {
	return call[api.ModelChoice](ctx, c, request{method: get, path: api.PathModel, query: api.ModelParams{AgentID: agentID, Model: handle}})
}

// AllModels lists the models of all providers that the daemon can reach, including those that can't chat.
func (c *Client) AllModels(ctx context.Context) ([]api.ListedModel, error) {
	return call[[]api.ListedModel](ctx, c, request{method: get, path: api.PathModels})
}

// SilentProviders says which providers that are set up offer no model, and why, as sentences without a full stop.
func (c *Client) SilentProviders(ctx context.Context) ([]string, error) {
	return call[[]string](ctx, c, request{method: get, path: api.PathSilent})
}

// Doctor asks the daemon to check itself.
func (c *Client) Doctor(ctx context.Context) ([]api.Check, error) {
	return call[[]api.Check](ctx, c, request{method: get, path: api.PathDoctor})
}

// Logs returns the log level and the log's path.
func (c *Client) Logs(ctx context.Context) (api.Logs, error) {
	return call[api.Logs](ctx, c, request{method: get, path: api.PathLogs})
}

// SetLogLevel changes the running daemon's log level.
func (c *Client) SetLogLevel(ctx context.Context, level string) (api.Logs, error) {
	return call[api.Logs](ctx, c, request{method: patch, path: api.PathLogs, body: api.Logs{Level: level}})
}

// Backup copies the facts to a new file on the daemon's machine and verifies the copy.
func (c *Client) Backup(ctx context.Context, path string) (api.BackupResult, error) {
	return call[api.BackupResult](ctx, c, request{method: post, path: api.PathBackup, body: api.Backup{Path: path}})
}

// Shutdown asks the daemon to stop; with ifIdle, a busy one refuses.
func (c *Client) Shutdown(ctx context.Context, ifIdle bool) error {
	return c.done(ctx, request{method: post, path: api.PathShutdown, body: api.Shutdown{IfIdle: ifIdle}})
}
