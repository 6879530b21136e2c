package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// rewindFlags are the flags of `loci agents rewind`.
type rewindFlags struct {
	agent, conversation string
	before, shared      bool
	what                []string
	undo, redo, list    bool
	limit               int
}

// agentsRewind is `loci agents rewind`: back to a step, or to before a run, and forward again.
func (a *app) agentsRewind() *cobra.Command {
	var f rewindFlags
	c := &cobra.Command{
		Use:   "rewind STEP|RUN  |  rewind --undo [REWIND]  |  rewind --redo  |  rewind --list",
		Short: "Take an agent back to a step, or to before a run; nothing is lost by it",
		Long: `Take an agent back to what it was when a step was sent to its model, or to before a run.

The conversation, the settings and tools, what is attached and the agent's own memory blocks become what they were, what the
agent itself put into its own archive since is set aside, and files that it changed in the folder where you worked with it are
put back; --what leaves parts out. A file that you changed after it stays and is named, and so does what it shares with other
agents; --shared takes shared blocks back, too. "loci runs list" and "loci runs show RUN" tell of runs and steps.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.rewind(cmd.Context(), &f, first(args)) },
	}
	fs := c.Flags()
	fs.BoolVar(&f.before, "before", false, "with a step: go to before the message that it answered")
	fs.BoolVar(&f.shared, "shared", false, "take back the blocks that other agents have as well")
	fs.StringSliceVar(&f.what, "what", nil, "which `PARTS` go back, of thread, memory and files; by default all three")
	fs.BoolVar(&f.undo, "undo", false, "bring back what was before a rewind, by default the last one")
	fs.BoolVar(&f.redo, "redo", false, "take the last undo back")
	fs.BoolVar(&f.list, "list", false, "list the rewinds of a conversation")
	fs.StringVar(
		&f.agent,
		"agent",
		"",
		"the agent, by `NAME|ID`: whose last rewind is meant, by default that of the one last used here; a step or "+
			"run of another is refused",
	)
	fs.StringVar(&f.conversation, "conversation", "", "… and the conversation's `ID`; by default the agent's main one")
	fs.IntVar(&f.limit, "limit", 0, "of --list: how many at most (20)")
	c.MarkFlagsMutuallyExclusive("undo", "redo", "list")
	return c
}

func (a *app) rewind(ctx context.Context, f *rewindFlags, to string) error {
	going := !f.undo && !f.redo && !f.list
	switch {
	case going && to == "":
		return invalid("where to? name a step or a run").withHint("loci runs list; loci runs show RUN")
	case going && !strings.HasPrefix(to, "step-") && !strings.HasPrefix(to, "run-"):
		return invalid("%q is neither a step nor a run", clip(to, 60)).withHint("loci runs list; loci runs show RUN")
	case !going && len(f.what) > 0:
		return invalid("--what goes with a step or a run; an undo takes back what the rewind did")
	case (f.redo || f.list) && to != "":
		return invalid("unexpected %q", clip(to, 60)).withHint("loci agents rewind --help")
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	if going {
		if err := a.rewindsIts(ctx, c, f, to); err != nil {
			return err
		}
		in := api.RewindRequest{Before: f.before, Shared: f.shared}
		for _, part := range f.what {
			in.What = append(in.What, api.RewindPart(part))
		}
		if strings.HasPrefix(to, "run-") {
			in.RunID = to
		} else {
			in.StepID = to
		}
		r, err := c.Rewind(ctx, in)
		if err != nil {
			return err
		}
		return a.report(r, "%s; to undo this: loci agents rewind --undo %s", rewound(r, "went back"), r.ID)
	}
	if f.undo && to != "" {
		return a.undoRewind(ctx, c, to)
	}
	rewinds, err := a.rewindsOf(ctx, c, f)
	if err != nil {
		return err
	}
	if f.list {
		return a.printRewinds(rewinds)
	}
	id, err := lastRewind(rewinds, f.redo)
	if err != nil {
		return err
	}
	return a.undoRewind(ctx, c, id)
}

// rewindsIts refuses a step or run that doesn't belong to the agent or conversation named along with it.
func (a *app) rewindsIts(ctx context.Context, c *client.Client, f *rewindFlags, to string) error {
	if f.agent == "" && f.conversation == "" {
		return nil
	}
	run := to
	if strings.HasPrefix(to, "step-") {
		s, err := c.Step(ctx, to)
		if err != nil {
			return err
		}
		run = api.Val(s.RunID)
	}
	r, err := c.Run(ctx, run)
	if err != nil {
		return err
	}
	if f.agent != "" {
		g, err := a.findAgent(ctx, c, f.agent)
		if err != nil {
			return err
		}
		if g.ID != r.AgentID {
			return invalid("%s is not of %s", to, oneLine(g.Name)).withHint("loci runs list --agent %s", quoteArg(g.Name))
		}
	}
	conv := api.Val(r.ConversationID)
	if conv == "" {
		conv = r.AgentID // the default one
	}
	if f.conversation != "" && f.conversation != conv {
		return invalid("%s is not of the conversation %s", to, clip(f.conversation, 60)).withHint("the same with --conversation %s", conv)
	}
	return nil
}

func (a *app) undoRewind(ctx context.Context, c *client.Client, id string) error {
	r, err := c.UndoRewind(ctx, id)
	if err != nil {
		return err
	}
	return a.report(r, "%s; to take that back: loci agents rewind --undo %s", rewound(r, "is as before "+text(r.Undoes)), r.ID)
}

// maxMissing is how many of the things that couldn't be restored are named.
const maxMissing = 5

// rewound says what a rewind did.
func rewound(r api.Rewind, what string) string {
	parts := []string{"the conversation " + what}
	if len(r.What) > 0 && !slices.Contains(r.What, api.RewindThread) {
		parts[0] = partsOf(r) + " " + what
	}
	for _, p := range []struct {
		n          int
		what, done string
	}{
		{len(r.BlockIDs), "memory block", "changed"},
		{r.PassagesTaken, "passage", "set aside"},
		{r.PassagesReturned, "passage", "brought back"},
		{len(r.Files.Back), "file", "put back: " + listed(r.Files.Back)},
	} {
		if p.n > 0 {
			parts = append(parts, counted(p.n, p.what)+" "+p.done)
		}
	}
	for i, k := range r.Files.Kept {
		if i == maxMissing {
			parts = append(parts, fmt.Sprintf("and %d more files stay as they are", len(r.Files.Kept)-i))
			break
		}
		parts = append(parts, oneLine(k.Path)+" stays as it is: "+k.Why)
	}
	for i, m := range r.Missing {
		if i == maxMissing {
			parts = append(parts, fmt.Sprintf("and %d more things are missing", len(r.Missing)-i))
			break
		}
		parts = append(parts, m)
	}
	return strings.Join(parts, ", ")
}

// partsOf names what went back.
func partsOf(r api.Rewind) string {
	var names []string
	for _, part := range r.What {
		names = append(names, string(part))
	}
	return strings.Join(names, " and ")
}

// listed names the first of some files.
func listed(paths []string) string {
	var names []string
	for i, p := range paths {
		if i == maxMissing {
			names = append(names, fmt.Sprintf("and %d more", len(paths)-i))
			break
		}
		names = append(names, oneLine(p))
	}
	return strings.Join(names, ", ")
}

// rewindsOf lists the rewinds of the conversation that the flags name, newest first.
func (a *app) rewindsOf(ctx context.Context, c *client.Client, f *rewindFlags) ([]api.Rewind, error) {
	conversation := f.conversation
	if conversation == "" {
		g, err := a.findAgent(ctx, c, f.agent)
		if err != nil {
			return nil, err
		}
		conversation = g.ID
	}
	limit := 200
	if f.list {
		limit = orDefault(f.limit, 20)
	}
	return c.Rewinds(ctx, api.ListRewinds{ConversationID: conversation, Page: api.Page{Limit: limit}})
}

func (a *app) printRewinds(rewinds []api.Rewind) error {
	if a.json {
		return writeJSON(a.out, nonNil(rewinds))
	}
	t := table{head: []string{"ID", "WHEN", "WENT TO", "BLOCKS", "PASSAGES", "FILES"}}
	for _, r := range rewinds {
		to := text(r.StepID)
		switch {
		case r.Undoes != nil:
			to = "before " + *r.Undoes
		case r.Before:
			to = "before " + to
		}
		t.add(r.ID, moment(&r.CreatedAt), to, fmt.Sprint(len(r.BlockIDs)), fmt.Sprintf("-%d +%d", r.PassagesTaken, r.PassagesReturned),
			fmt.Sprint(len(r.Files.Back)))
	}
	return a.list(t, "nothing was rewound yet")
}

// lastRewind finds the rewind that --undo or --redo refers to.
func lastRewind(newestFirst []api.Rewind, redo bool) (string, error) {
	find, nothing := client.LastRewind, "there is no rewind to undo"
	if redo {
		find, nothing = client.LastUndo, "there is nothing to redo: the last rewind was not undone"
	}
	r, ok := find(newestFirst)
	if !ok {
		return "", (&fault{kind: api.KindConflict, msg: nothing}).withHint("loci agents rewind --list")
	}
	return r.ID, nil
}

// agentsFork is `loci agents fork`: a new agent that starts with everything this one remembers and then goes its
// own way.
func (a *app) agentsFork() *cobra.Command {
	var name, conversation, step string
	c := &cobra.Command{
		Use: "fork [NAME|ID]", Short: "Make a new agent from one, its memory and its conversation copied", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.copyAgent(
				cmd.Context(),
				first(args),
				api.CopyAgent{Name: name, History: true, ConversationID: conversation, StepID: step},
			)
		},
	}
	c.Flags().StringVar(&name, "name", "", "what the new agent is called")
	c.Flags().StringVar(&conversation, "conversation", "", "copy this conversation's `ID`; by default the agent's main one")
	c.Flags().StringVar(&step, "step", "", "as the agent was at this `STEP`")
	c.MarkFlagsMutuallyExclusive("conversation", "step")
	return c
}

// agentsCopy is `loci agents copy`.
func (a *app) agentsCopy() *cobra.Command {
	var name string
	var history bool
	c := &cobra.Command{
		Use: "copy [NAME|ID]", Short: "Copy an agent and its memory; with --history its conversation, too", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.copyAgent(cmd.Context(), first(args), api.CopyAgent{Name: name, History: history})
		},
	}
	c.Flags().StringVar(&name, "name", "", "what the new agent is called")
	c.Flags().BoolVar(&history, "history", false, "copy the conversation, too")
	return c
}

func (a *app) copyAgent(ctx context.Context, ref string, in api.CopyAgent) error {
	c, g, err := a.agentOf(ctx, ref)
	if err != nil {
		return err
	}
	if in.Name != "" {
		same, err := c.Agents(ctx, api.ListAgents{Page: api.Page{Limit: 1}, AgentFilter: api.AgentFilter{Name: in.Name}})
		if err != nil {
			return err
		}
		if len(same) > 0 { // the API allows it, but no command could tell them apart
			return (&fault{
				kind: api.KindConflict, msg: fmt.Sprintf("there is an agent %q already: %s", clip(in.Name, 60), same[0].ID),
			}).withHint(
				"another --name",
			)
		}
	}
	made, err := c.CopyAgent(ctx, g.ID, in)
	if err != nil {
		return err
	}
	if a.json {
		whole, err := c.Agent(ctx, made.ID, wholeAgent()...)
		if err != nil {
			return err
		}
		return writeJSON(a.out, whole)
	}
	fmt.Fprintln(a.out, made.ID)
	a.note(fmt.Sprintf("made %s from %s; talk to it with: loci --agent %s", made.Name, g.Name, quoteArg(made.Name)))
	return nil
}

func writeImages(b *strings.Builder, images []api.SentImage) {
	for _, i := range images {
		fmt.Fprintf(b, "[%s, before byte %d of the text]\n", i.About, i.At)
	}
}

// printSent prints what a step sent in readable form; --json prints all of it.
func (a *app) printSent(ctx context.Context, c *client.Client, step string) error {
	sent, err := c.StepRequest(ctx, step)
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.out, sent)
	}
	if sent.Redacted {
		a.note("a text of it was forgotten since; this is what is left")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "=== %s to %s ===\n", sent.StepID, sent.Model)
	fmt.Fprintf(&b, "\n=== system ===\n%s\n", sent.System)
	for _, t := range sent.Tools {
		fmt.Fprintf(&b, "\n=== tool %s ===\n%s\n", t.Name, t.Description)
		if err := writeLine(&b, t.Parameters); err != nil {
			return err
		}
	}
	for _, m := range sent.Messages {
		fmt.Fprintf(&b, "\n=== %s ===\n", m.Role)
		for _, part := range []string{m.Reasoning, m.Text} {
			if part != "" {
				b.WriteString(part + "\n")
			}
		}
		for _, call := range m.Calls {
			fmt.Fprintf(&b, "calls %s %s\n", call.Name, call.Arguments)
		}
		for _, r := range m.Returns {
			fmt.Fprintf(&b, "%s returned %s\n", r.Name, r.Text)
			writeImages(&b, r.Images)
		}
		writeImages(&b, m.Images)
	}
	_, err = fmt.Fprint(a.out, a.shown(b.String()))
	return err
}
