package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// messagesCommand is `loci messages`: what was said.
func (a *app) messagesCommand() *cobra.Command {
	var agent string
	c := parent("messages", "Read and search what was said", a.messagesList(&agent), a.messagesSearch(&agent))
	agentFlag(c, &agent)
	return c
}

func (a *app) messagesList(agent *string) *cobra.Command {
	var limit int
	var conversation string
	c := &cobra.Command{
		Use: "list", Short: "Print the last messages, the newest at the end", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.listMessages(cmd.Context(), *agent, conversation, orDefault(limit, 50))
		},
	}
	c.Flags().IntVar(&limit, "limit", 0, "how many at most (50)")
	c.Flags().StringVar(&conversation, "conversation", "", "of this conversation, by `ID`, in place of the agent's default one")
	return c
}

func (a *app) listMessages(ctx context.Context, agent, conversation string, limit int) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	if isID(conversation, "agent") { // it stands for its default conversation
		agent, conversation = conversation, ""
	}
	agentID := ""
	if conversation == "" {
		g, err := a.findAgent(ctx, c, agent)
		if err != nil {
			return err
		}
		agentID = g.ID
	}
	msgs, err := lastMessages(ctx, c, agentID, conversation, limit)
	if err != nil {
		return err
	}
	if a.json {
		return errors.Join(writeJSON(a.out, nonNil(msgs)), a.tellLost(ctx, c, agentID, conversation, msgs))
	}
	lines := 0
	for _, m := range msgs {
		if line := messageLine(m); line != "" {
			lines++
			if _, err := fmt.Fprintln(a.out, filled(line, columnsOf(a.out), messageIndent)); err != nil {
				return err
			}
		}
	}
	if lines == 0 { // an agent's instructions aren't shown to people
		a.note("there are no messages yet")
	}
	return a.tellLost(ctx, c, agentID, conversation, msgs)
}

// lastMessages returns the newest messages of a conversation, or of an agent's default one, oldest first.
func lastMessages(ctx context.Context, c *client.Client, agentID, conversation string, limit int) ([]api.Message, error) {
	// Even the default one is read as a conversation, so that summaries show up as such.
	msgs, err := c.ConversationMessages(
		ctx,
		cmp.Or(conversation, agentID),
		api.ListConversationMessages{Page: api.Page{Limit: limit, Order: "desc"}},
	)
	if conversation != "" {
		slices.Reverse(msgs) // only this list comes in the order asked for
	}
	return msgs, err
}

// tellLost says that the last run failed if its input isn't among the messages.
func (a *app) tellLost(ctx context.Context, c *client.Client, agentID, conversation string, listed []api.Message) error {
	q := api.ListRuns{Page: api.Page{Limit: 1, Order: "desc"}, ConversationID: conversation, AgentID: agentID}
	runs, err := c.Runs(ctx, q)
	if err != nil || len(runs) == 0 {
		return err
	}
	kept := func(m api.Message) bool { return m.RunID == runs[0].ID } // a cancelled answer is kept along with its input
	if slices.ContainsFunc(listed, kept) {
		return nil
	}
	switch r := runs[0]; r.Status {
	case api.RunFailed, api.RunCancelled:
		steps, err := c.RunSteps(ctx, r.ID, api.Page{})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(steps, func(s api.Step) bool { return api.Val(s.Status) == stepSucceeded }) {
			return nil // once a step succeeds, the input is a message
		}
		a.note(fmt.Sprintf("the last run %s, and what it was asked was not delivered: loci runs show %s", map[api.RunStatus]string{
			api.RunFailed: "failed", api.RunCancelled: "was cancelled",
		}[r.Status], r.ID))
	case api.RunCreated, api.RunRunning, api.RunCompleted:
	}
	return nil
}

// stepSucceeded is the status of a successful step.
const stepSucceeded = "success"

// messageIndent is where a message begins on its line.
const messageIndent = 27

// messageLine formats a message for a person: when, who, what.
func messageLine(m api.Message) string {
	var who, what string
	switch m.MessageType {
	case api.MessageUser:
		who, what = "you", m.Content.Shown()
	case api.MessageAssistant:
		who, what = "agent", m.Content.String()
	case api.MessageReasoning:
		who, what = "thinks", m.Reasoning
	case api.MessageToolCall, api.MessageApprovalRequest:
		who = "calls"
		calls := make([]string, len(m.ToolCalls))
		for i, c := range m.ToolCalls {
			calls[i] = c.Name + " " + c.Arguments
		}
		what = strings.Join(calls, "; ")
	case api.MessageToolReturn:
		who = "returns"
		returns := make([]string, len(m.ToolReturns))
		for i, r := range m.ToolReturns {
			returns[i] = r.ToolReturn.Shown()
		}
		what = strings.Join(returns, "; ")
	case api.MessageSummary:
		who, what = "summary", m.Summary
	case api.MessageSystem, api.MessageHiddenReasoning, api.MessageApprovalResponse, api.MessageEvent,
		api.MessagePing, api.MessageStopReason, api.MessageUsage, api.MessageError, api.MessageUserInput, api.MessageNotice:
		return ""
	default:
		return ""
	}
	return fmt.Sprintf(
		"%s  %-8s %s",
		local(m.Date.Time),
		who,
		safe(strings.ReplaceAll(strings.TrimSpace(what), "\n", "\n"+strings.Repeat(" ", messageIndent))),
	)
}
