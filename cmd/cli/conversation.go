package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// conversationsCommand is `loci conversations`.
func (a *app) conversationsCommand() *cobra.Command {
	var agent string
	c := parent("conversations", "List, show and delete an agent's conversations",
		a.conversationsList(&agent), a.conversationsShow(), a.conversationsDelete())
	agentFlag(c, &agent)
	return c
}

func (a *app) conversationsList(agent *string) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List the conversations beside the default one, the newest first", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, g, err := a.agentOf(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			found, err := c.Conversations(cmd.Context(), api.ListConversations{AgentID: g.ID, Limit: orDefault(limit, 50), Order: "desc"})
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil(found))
			}
			t := table{head: []string{"ID", "LAST MESSAGE", "SUMMARY"}}
			for _, v := range found {
				t.add(v.ID, moment(v.LastMessageAt), text(v.Summary))
			}
			return a.list(t, "there are no conversations beside the default one")
		},
	}
	c.Flags().IntVar(&limit, "limit", 0, "how many at most (50)")
	return c
}

func (a *app) conversationsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a conversation; an agent's id shows its default one", Args: exactly("the conversation's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.conversationOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			v, err := c.Conversation(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, v)
			}
			t := table{head: []string{"CONVERSATION", v.ID}}
			t.add("agent", v.AgentID)
			t.add("summary", text(v.Summary))
			t.add("in context", counted(len(v.InContextMessageIDs), "message"))
			t.add("made", moment(v.CreatedAt))
			t.add("last message", moment(v.LastMessageAt))
			return t.write(a.out)
		},
	}
}

// conversationOf checks that id is a conversation's, and connects. An agent's id stands for its default
// conversation.
func (a *app) conversationOf(ctx context.Context, id string) (*client.Client, error) {
	if !isID(id, "conv", "agent") {
		return nil, noSuch("conversation", id, "loci conversations")
	}
	return a.connect(ctx)
}

func (a *app) conversationsDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete ID", Short: "Delete a conversation", Args: exactly("the conversation's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.conversationOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := c.DeleteConversation(cmd.Context(), args[0]); err != nil {
				return err
			}
			return a.report(map[string]any{"id": args[0], "deleted": true}, "deleted %s", args[0])
		},
	}
}
