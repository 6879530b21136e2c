package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/past"
	"loci/core/service"
	"loci/daemon/api"
)

// registerHistory registers the undo, rewind and fork operations: the contract has only the fork of a conversation.
func (s *Server) registerHistory(a huma.API) {
	handle(a, "POST", "/v1/conversations/{conversation_id}/fork", s.forkConversation)
	handle(a, "POST", api.PathConversations+"/{conversation_id}/fork", s.forkAt)
	handle(a, "GET", api.PathBlocks+"/{block_id}/versions", s.blockVersions)
	handle(a, "GET", api.PathBlocks+"/{block_id}/diff", s.blockDiff)
	handle(a, "POST", api.PathBlocks+"/{block_id}/undo", s.undoBlock)
	handle(a, "POST", api.PathBlocks+"/{block_id}/redo", s.redoBlock)
	handle(a, "GET", api.PathRewinds, s.listRewinds)
	handle(a, "POST", api.PathRewinds, s.rewind)
	handle(a, "GET", api.PathRewinds+"/blocks", s.rewindBlocks)
	handle(a, "GET", api.PathRewinds+"/files", s.rewindFiles)
	handle(a, "POST", api.PathRewinds+"/{rewind_id}/undo", s.undoRewind)
	handle(a, "POST", api.PathAgents+"/{agent_id}/copy", s.copyAgent)
	handle(a, "GET", api.PathSteps+"/{step_id}/request", s.stepRequest)
}

// RewindPath names a rewind.
type RewindPath struct {
	RewindID string `path:"rewind_id" pattern:"^rewind-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
}

func (s *Server) forkConversation(ctx context.Context, in *conversationInput) (*body[api.Conversation], error) {
	conv, err := s.resolve(ctx, in.ConversationPath, in.AgentID)
	if err != nil {
		return nil, err
	}
	conv, err = s.services().History.Fork(ctx, conv.ID, "")
	return s.conversation(ctx, conv, err)
}

type forkAtInput struct {
	ConversationPath
	api.AgentParam
	Body *api.ForkConversation
}

func (s *Server) forkAt(ctx context.Context, in *forkAtInput) (*body[api.Conversation], error) {
	conv, err := s.resolve(ctx, in.ConversationPath, in.AgentID)
	if err != nil {
		return nil, err
	}
	var step core.StepID
	if in.Body != nil {
		step = core.StepID(in.Body.StepID)
	}
	conv, err = s.services().History.Fork(ctx, conv.ID, step)
	return s.conversation(ctx, conv, err)
}

type blockVersionsInput struct {
	BlockPath
	api.Page
}

func (s *Server) blockVersions(ctx context.Context, in *blockVersionsInput) (*body[[]api.BlockVersion], error) {
	versions, err := s.services().History.Versions(ctx, core.BlockID(in.BlockID), pageOf(in.Page, true))
	return list(versions, err, wireVersion)
}

type blockDiffInput struct {
	BlockPath
	api.BlockDiffParams
}

func (s *Server) blockDiff(ctx context.Context, in *blockDiffInput) (*body[api.BlockDiff], error) {
	d, err := s.services().History.Diff(ctx, core.BlockID(in.BlockID), opted(in.From), opted(in.To))
	return answer(api.BlockDiff{From: d.From, To: d.To, Diff: d.Text}, err)
}

// opted converts an optional parameter.
func opted[T any](p api.Param[T]) core.Opt[T] { return core.Opt[T]{Present: p.Set, Value: p.Value} }

type undoBlockInput struct {
	BlockPath
	IfMatch string `header:"If-Match"`
	Body    *api.UndoBlock
}

func (s *Server) undoBlock(ctx context.Context, in *undoBlockInput) (*body[api.BlockUndone], error) {
	version, err := ifMatch(in.IfMatch)
	if err != nil {
		return nil, err
	}
	to := 0
	if in.Body != nil {
		to = api.Val(in.Body.Version)
	}
	b, restores, err := s.services().History.Undo(ctx, core.BlockID(in.BlockID), to, version, string(callOf(ctx).client.ID))
	return answer(api.BlockUndone{Block: wireBlock(b), Version: b.Version, Restores: restores}, err)
}

type redoBlockInput struct {
	BlockPath
	IfMatch string `header:"If-Match"`
}

func (s *Server) redoBlock(ctx context.Context, in *redoBlockInput) (*body[api.BlockUndone], error) {
	version, err := ifMatch(in.IfMatch)
	if err != nil {
		return nil, err
	}
	b, restores, err := s.services().History.Redo(ctx, core.BlockID(in.BlockID), version, string(callOf(ctx).client.ID))
	return answer(api.BlockUndone{Block: wireBlock(b), Version: b.Version, Restores: restores}, err)
}

func (s *Server) listRewinds(ctx context.Context, in *api.ListRewinds) (*body[[]api.Rewind], error) {
	rewinds, err := s.services().History.Rewinds(ctx, core.ConversationID(in.ConversationID), pageOf(in.Page, true))
	return list(rewinds, err, wireRewind)
}

type rewindInput struct{ Body api.RewindRequest }

func (s *Server) rewind(ctx context.Context, in *rewindInput) (*body[api.Rewind], error) {
	what, err := rewindParts(in.Body.What)
	if err != nil {
		return nil, err
	}
	r, err := s.services().History.Rewind(ctx, service.RewindTo{
		Step: core.StepID(in.Body.StepID), Run: core.RunID(in.Body.RunID), What: what, Before: in.Body.Before, Shared: in.Body.Shared,
		By: string(callOf(ctx).client.ID),
	})
	return answer(wireRewind(r), err)
}

func (s *Server) rewindBlocks(ctx context.Context, in *api.RewindTarget) (*body[[]api.BlockVersion], error) {
	to := service.RewindTo{Step: core.StepID(in.StepID), Run: core.RunID(in.RunID)}
	versions, err := s.services().History.BlocksAt(ctx, to)
	return list(versions, err, wireVersion)
}

// maxNamedFiles is how many files an answer names.
const maxNamedFiles = 1000

func (s *Server) rewindFiles(ctx context.Context, in *api.RewindTarget) (*body[api.RewindOfFiles], error) {
	plan, err := s.services().History.FilesAt(ctx, service.RewindTo{Step: core.StepID(in.StepID), Run: core.RunID(in.RunID)})
	files := core.FilesBack{Kept: plan.Kept}
	for i := range plan.Changes {
		files.Back = append(files.Back, plan.Changes[i].Absolute())
	}
	return answer(wireFiles(files.Named(maxNamedFiles)), err)
}

func (s *Server) undoRewind(ctx context.Context, in *RewindPath) (*body[api.Rewind], error) {
	r, err := s.services().History.UndoRewind(ctx, core.RewindID(in.RewindID), string(callOf(ctx).client.ID))
	return answer(wireRewind(r), err)
}

type copyAgentInput struct {
	AgentPath
	Body *api.CopyAgent
}

func (s *Server) copyAgent(ctx context.Context, in *copyAgentInput) (*body[api.CopyResult], error) {
	o := past.CopyOptions{}
	if b := in.Body; b != nil {
		o = past.CopyOptions{
			Name:         b.Name,
			History:      b.History,
			Conversation: core.ConversationID(b.ConversationID),
			Step:         core.StepID(b.StepID),
		}
	}
	a, err := s.services().History.Copy(ctx, in.id(), o)
	return answer(api.CopyResult{ID: string(a.ID), Name: a.Name}, err)
}

func (s *Server) stepRequest(ctx context.Context, in *StepPath) (*body[api.SentRequest], error) {
	req, err := s.services().History.Sent(ctx, in.id())
	if err != nil {
		return nil, err
	}
	out := wireSent(in.StepID, req)
	out.Redacted, err = s.services().History.Redacted(ctx, in.id())
	return answer(out, err)
}
