package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/daemon/api"
	"loci/daemon/client"
)

const (
	maxQuestion = 100_000 // bytes
	// callersKey is where a request names the agents on whose behalf it asks, the first one first, by their ids.
	callersKey = "loci/callers"
	maxCallers = 4
	cancelling = 5 * time.Second
)

type askArgs struct {
	Agent   string `json:"agent,omitempty" jsonschema:"whom to ask; only needed where several agents are offered"`
	Message string `json:"message" jsonschema:"the question or the message, with what is needed to understand it"`
}

func (s *server) addAsk(m *mcp.Server) {
	mcp.AddTool(m, &mcp.Tool{
		Name: "ask_agent", Title: "Ask the agent",
		Description: "Ask the agent itself and wait for its answer, which may take minutes: it thinks, searches its memory and uses its " +
			"own tools. Use memory_search where a search is enough. It remembers what you asked before.",
	}, s.ask)
}

func (s *server) ask(ctx context.Context, req *mcp.CallToolRequest, in askArgs) (*mcp.CallToolResult, any, error) {
	if strings.TrimSpace(in.Message) == "" || len(in.Message) > maxQuestion {
		return nil, nil, fmt.Errorf("a message has 1 to %d bytes", maxQuestion)
	}
	g, err := s.agent(ctx, in.Agent)
	if err != nil {
		return nil, nil, err
	}
	who := caller(req.ClientInfo())
	chain, err := callers(req.Params.Meta, g)
	if err != nil {
		return nil, nil, err
	}
	conversation, err := s.conversation(ctx, g.ID, who)
	if err != nil {
		return nil, nil, err
	}
	answer, err := s.answer(ctx, req, g, conversation, introduced(who, chain)+in.Message)
	if err != nil {
		return nil, nil, err
	}
	return text("%s", answer), nil, nil
}

// introduced says to an agent who speaks, since its user messages are otherwise a person's.
func introduced(who string, chain []string) string {
	behalf := ""
	if len(chain) > 0 {
		behalf = ", on behalf of " + strings.Join(chain, ", of ")
	}
	return fmt.Sprintf("[From the program %s%s, through MCP. No person wrote this.]\n\n", who, behalf)
}

// callers are the agents that wait for the answer, by their ids. One of them can't be asked in turn.
func callers(meta mcp.Meta, g api.AgentState) ([]string, error) {
	given, ok := meta[callersKey]
	if !ok {
		return nil, nil
	}
	var chain []string
	if data, err := json.Marshal(given); err != nil || json.Unmarshal(data, &chain) != nil {
		return nil, fmt.Errorf("%s is a list of ids of agents", callersKey)
	}
	for _, id := range chain {
		odd := func(r rune) bool { return r <= ' ' || r > '~' }
		if !strings.HasPrefix(id, "agent-") || len(id) > len(g.ID)+8 || strings.ContainsFunc(id, odd) {
			return nil, fmt.Errorf("%s holds what is no id of an agent", callersKey)
		}
	}
	if slices.Contains(chain, g.ID) {
		return nil, fmt.Errorf("%s waits for this very answer, so it can't be asked: answer with what there is", g.Name)
	}
	if len(chain) >= maxCallers {
		return nil, fmt.Errorf("%d agents wait for each other already: answer with what there is", len(chain))
	}
	return chain, nil
}

// conversation is where a program and an agent talk, apart from the person's own thread. It is made at the first question.
func (s *server) conversation(ctx context.Context, agent, who string) (string, error) {
	summary := "MCP: " + who
	found, err := s.cfg.Client.Conversations(ctx, api.ListConversations{AgentID: agent, SummarySearch: summary, Limit: 100, Order: "asc"})
	if err != nil {
		return "", err
	}
	for _, c := range found {
		if api.Val(c.Summary) == summary {
			return c.ID, nil
		}
	}
	made, err := s.cfg.Client.CreateConversation(ctx, agent, api.CreateConversation{Summary: &summary})
	return made.ID, err
}

// answer sends a message and waits for the end of its run. Where another question is being answered, it waits for that first.
func (s *server) answer(ctx context.Context, req *mcp.CallToolRequest, g api.AgentState, conversation, message string) (string, error) {
	for {
		said, err := s.answered(ctx, req, g, conversation, message)
		var busy *client.Error
		if !errors.As(err, &busy) {
			return said, err
		}
		if waits, ok := busy.Pending(); ok {
			const wait = "%s waits for a person's word on a call first; tell them to run: loci approvals (%s)"
			return "", fmt.Errorf(wait, g.Name, clip(waits.Message, 200))
		}
		if busy.RunID == "" {
			return said, err
		}
		for _, err := range s.cfg.Client.Events(ctx, busy.RunID, 0) {
			if err != nil {
				return "", err
			}
		}
	}
}

// answered sends a message and waits for the end of its run. A caller that withdraws it cancels it.
func (s *server) answered(ctx context.Context, req *mcp.CallToolRequest, g api.AgentState, conversation, message string) (string, error) {
	a := asking{name: g.Name}
	stream := s.cfg.Client.Stream(ctx, client.Target{ConversationID: conversation}, api.StreamingRequest{
		Request:      api.Request{Messages: []api.Input{api.UserInput(message, client.NewOTID())}},
		StreamTokens: new(bool),
	})
	for m, err := range stream {
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return "", err
		}
		if doing := a.take(m); doing != "" {
			a.tell(ctx, req, doing)
		}
	}
	if ctx.Err() != nil {
		s.cancel(context.WithoutCancel(ctx), g.ID, a.run)
		return "", ctx.Err()
	}
	return a.result()
}

func (s *server) cancel(ctx context.Context, agent, run string) {
	if run == "" {
		return
	}
	ctx, stop := context.WithTimeout(ctx, cancelling)
	defer stop()
	if _, err := s.cfg.Client.Cancel(ctx, agent, run); err != nil {
		s.cfg.Logger.WarnContext(
			ctx, "a question that nobody waits for could not be cancelled", slog.String("run", run), slog.Any("error", err),
		)
	}
}

// asking is a question and what came back so far.
type asking struct {
	name, run string
	said      []string
	waits     string // the tool that a person must allow
	failed    string
	told      int
}

// take takes a message of the run and says what the agent does, if it does something new.
func (a *asking) take(m api.Message) string {
	if m.RunID != "" {
		a.run = m.RunID
	}
	switch m.MessageType { //nolint:exhaustive // the others say nothing of how far it is
	case api.MessageAssistant:
		if t := strings.TrimSpace(m.Content.String()); t != "" {
			a.said = append(a.said, t)
		}
	case api.MessageToolCall:
		if len(m.ToolCalls) > 0 {
			return a.name + " calls " + clip(m.ToolCalls[0].Name, 60)
		}
	case api.MessageApprovalRequest:
		a.waits = "a tool"
		if len(m.ToolCalls) > 0 {
			a.waits = clip(m.ToolCalls[0].Name, 60)
		}
	case api.MessageReasoning:
		return a.name + " thinks"
	case api.MessageError:
		a.failed = m.ErrorText
	}
	return ""
}

// tell reports progress to a caller that asked for it.
func (a *asking) tell(ctx context.Context, req *mcp.CallToolRequest, doing string) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return
	}
	a.told++
	// A caller that can't be told still gets the answer.
	_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(a.told), Message: doing})
}

func (a *asking) result() (string, error) {
	switch {
	case a.failed != "":
		return "", errors.New(a.name + " could not answer: " + clip(a.failed, 500))
	case a.waits != "":
		return "", fmt.Errorf("%s wants to use %s, which a person must allow first; tell them to run: loci approvals", a.name, a.waits)
	case len(a.said) == 0:
		return "", errors.New(a.name + " ended without an answer")
	}
	return strings.Join(a.said, "\n\n"), nil
}
