package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/transcript"
)

// approvalsCommand is `loci approvals`: the way out for every agent that waits for a person.
func (a *app) approvalsCommand() *cobra.Command {
	return parent(
		"approvals",
		"List, show and answer tool calls that wait for a person",
		a.approvalsList(),
		a.approvalsShow(),
		a.approvalsApprove(),
		a.approvalsDeny(),
		a.approvalsClear(),
	)
}

func (a *app) approvalsList() *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use: "list", Short: "List what waits, the oldest first", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			of, err := a.onlyOf(ctx, c, agent)
			if err != nil {
				return err
			}
			waiting, err := c.Approvals(ctx, of)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil(waiting))
			}
			t := table{
				head:   []string{"ID", "AGENT", "SINCE", "TOOL", "TEXT"},
				single: true, spare: []string{"SINCE", "TOOL"},
			}
			for _, w := range waiting {
				for _, call := range w.Calls {
					text := transcript.Reveal(call.Arguments)
					if ask, ok := transcript.AskOf(call.Name, call.Arguments); ok && !call.Client {
						text = ask.Question
					}
					t.add(w.RequestID, w.AgentName, local(w.RequestedAt.Time), transcript.Reveal(call.Name), clip(text, listedArguments))
				}
			}
			return a.list(t, "nothing waits for an approval")
		},
	}
	onlyOfFlag(c, &agent)
	return c
}

// listedArguments is how many characters of a call's arguments a list has.
const listedArguments = 80

func (a *app) approvalsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show what waits: each call with all of its arguments, and why it waits", Args: exactly("the request's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, w, err := a.waitingRequest(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, w)
			}
			return a.printRequest(w)
		},
	}
}

// printRequest prints a request. Arguments stand in full, with escapes for what could not be seen.
func (a *app) printRequest(w api.WaitingRequest) error {
	t := table{head: []string{"REQUEST", w.RequestID}}
	t.add("agent", w.AgentName+" ("+w.AgentID+")")
	t.add("conversation", w.ConversationID)
	t.add("run", w.RunID)
	t.add("since", local(w.RequestedAt.Time))
	if err := t.write(a.out); err != nil {
		return err
	}
	var b strings.Builder
	for _, call := range w.Calls {
		fmt.Fprintf(&b, "\n%s  %s\n", oneLine(transcript.Reveal(call.Name)), oneLine(call.ToolCallID))
		if ask, ok := transcript.AskOf(call.Name, call.Arguments); ok && !call.Client {
			b.WriteString(askText(ask, w.RequestID))
			continue
		}
		for _, arg := range transcript.Arguments(call.Arguments) {
			b.WriteString(argumentText(arg))
		}
		why := call.Why
		if call.Client {
			why = "the program that brought this tool runs it; it can only be denied here"
		}
		if why != "" {
			fmt.Fprintf(&b, "  (%s)\n", oneLine(why))
		}
	}
	_, err := io.WriteString(a.out, b.String())
	return err
}

// askText is what an agent asks the person, with its options as the chat numbers them, and how it is answered.
func askText(ask transcript.Ask, request string) string {
	var b strings.Builder
	b.WriteString("  " + strings.ReplaceAll(ask.Question, "\n", "\n  ") + "\n")
	for i, o := range ask.Options {
		fmt.Fprintf(&b, "    %d %s", i+1, o.Label)
		if o.Description != "" {
			b.WriteString(" · " + o.Description)
		}
		b.WriteByte('\n')
	}
	how := "in your own words"
	switch {
	case ask.Multiple:
		how = "with one or several of these, or in your own words"
	case len(ask.Options) > 0:
		how = "with one of these, or in your own words"
	}
	fmt.Fprintf(&b, "  (answer %s: loci approvals deny %s --reason TEXT)\n", how, request)
	return b.String()
}

// argumentText is an argument with a value of several lines below its name, deeper than any name.
func argumentText(arg transcript.Argument) string {
	switch {
	case arg.Name == "":
		return "    " + strings.ReplaceAll(arg.Value, "\n", "\n    ") + "\n"
	case strings.Contains(arg.Value, "\n"):
		return "  " + arg.Name + ":\n    " + strings.ReplaceAll(arg.Value, "\n", "\n    ") + "\n"
	}
	return "  " + arg.Name + ": " + arg.Value + "\n"
}

func (a *app) approvalsApprove() *cobra.Command {
	var only []string
	c := &cobra.Command{
		Use: "approve ID", Short: "Allow what waits, this once, and print how the agent goes on", Args: exactly("the request's id"),
		Long: "Allow what waits, this once, and print how the agent goes on.\n\n" +
			"All calls of a request are answered together: with --call the ones named are allowed, and the others denied.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, w, err := a.waitingRequest(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			for _, id := range only {
				if !slices.ContainsFunc(w.Calls, func(call api.WaitingCall) bool { return call.ToolCallID == id }) {
					return noSuch("call", id, "loci approvals show "+w.RequestID)
				}
			}
			decisions := make([]api.Decision, len(w.Calls))
			for i, call := range w.Calls {
				approve := len(only) == 0 || slices.Contains(only, call.ToolCallID)
				if approve && call.Client {
					name := oneLine(transcript.Reveal(call.Name))
					return (&fault{kind: api.KindConflict, msg: name + " is run by the program that brought it"}).
						withHint("let that program answer, or: loci approvals deny %s", w.RequestID)
				}
				decisions[i] = decision(w, call, approve, "")
			}
			return a.answerRequest(cmd.Context(), c, w, decisions)
		},
	}
	c.Flags().StringSliceVar(&only, "call", nil, "allow only this call, by `ID`, and deny the others; may be repeated")
	return c
}

func (a *app) approvalsDeny() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "deny ID", Short: "Deny what waits, and print how the agent goes on", Args: exactly("the request's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, w, err := a.waitingRequest(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			decisions := make([]api.Decision, len(w.Calls))
			for i, call := range w.Calls {
				decisions[i] = decision(w, call, false, reason)
			}
			return a.answerRequest(cmd.Context(), c, w, decisions)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, in a `TEXT` that the agent reads")
	return c
}

func (a *app) approvalsClear() *cobra.Command {
	return &cobra.Command{
		Use: "clear ID", Short: "Deny what waits without asking the model again", Args: exactly("the request's id"),
		Long: "Deny what waits without asking the model again.\n\n" +
			"The agent is free for the next message, whatever became of its tools and its model.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, w, err := a.waitingRequest(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := c.ClearApproval(cmd.Context(), w.RequestID); err != nil {
				return err
			}
			return a.report(map[string]any{"request_id": w.RequestID, "agent_id": w.AgentID, "cleared": true},
				"%s is denied; %s can be spoken to again", callNames(w), w.AgentName)
		},
	}
}

// decision is an answer to a call, bound to the arguments that it had when it was read.
func decision(w api.WaitingRequest, call api.WaitingCall, approve bool, reason string) api.Decision {
	return api.Decision{
		Type: api.ApprovalDecision, ToolCallID: call.ToolCallID, Approve: &approve, Reason: api.PtrTo(reason),
		RequestID: w.RequestID, Hash: call.Hash,
	}
}

// waitingRequest connects and finds what waits by its id.
func (a *app) waitingRequest(ctx context.Context, id string) (*client.Client, api.WaitingRequest, error) {
	c, err := a.connect(ctx)
	if err != nil {
		return nil, api.WaitingRequest{}, err
	}
	waiting, err := c.Approvals(ctx, "")
	if err != nil {
		return nil, api.WaitingRequest{}, err
	}
	for _, w := range waiting {
		if w.RequestID == id {
			return c, w, nil
		}
	}
	return nil, api.WaitingRequest{}, (&fault{kind: api.KindNotFound, msg: fmt.Sprintf("nothing waits under %q (any more)", clip(id, 60))}).
		withHint("loci approvals")
}

// answerRequest answers a request and prints the run that goes on, as a one-shot prompt is printed.
func (a *app) answerRequest(ctx context.Context, c *client.Client, w api.WaitingRequest, decisions []api.Decision) error {
	defer failBrokenWrites()()
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	if _, err := a.register(ctx, c, api.ClientPrint, nil); err != nil { // so that our keys find its model
		return err
	}
	f := &chatFlags{format: formatText}
	if a.json {
		f.format = formatJSON
	}
	t := newExchange(a, f, leave)
	t.session = api.Session{AgentID: w.AgentID, AgentName: w.AgentName, ConversationID: w.ConversationID}
	return t.finish(lostRace(ctx, c, w, t.follow(ctx, c, t.answered(c, decisions))))
}

// lostRace says, of an answer that the daemon refused, whether somebody else answered first.
func lostRace(ctx context.Context, c *client.Client, w api.WaitingRequest, err error) error {
	var ce *client.Error
	if !errors.As(err, &ce) || ce.Status != http.StatusBadRequest {
		return err
	}
	waiting, looked := c.Approvals(ctx, w.AgentID)
	if looked != nil || slices.ContainsFunc(waiting, func(x api.WaitingRequest) bool { return x.RequestID == w.RequestID }) {
		return err
	}
	return &fault{kind: api.KindConflict, msg: "somebody else has answered it first; this answer was not needed"}
}
