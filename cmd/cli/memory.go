package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui"
)

// memoryCommand is `loci memory`: the blocks an agent always sees, read and edited by hand.
func (a *app) memoryCommand() *cobra.Command {
	var agent string
	c := parent("memory", "Read and edit what an agent keeps in mind",
		a.memoryShow(&agent), a.memorySet(&agent), a.memoryAppend(&agent), a.memoryEdit(&agent),
		a.memoryHistory(&agent), a.memoryDiff(&agent), a.memoryUndo(&agent), a.memoryRedo(&agent),
		a.memoryMirror(&agent), a.memorySync(&agent), a.memoryImport(&agent))
	agentFlag(c, &agent)
	return c
}

func (a *app) memoryShow(agent *string) *cobra.Command {
	return &cobra.Command{
		Use: "show [LABEL]", Short: "Print the memory blocks, or one of them alone", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, g, err := a.agentOf(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				b, _, err := c.AgentBlock(cmd.Context(), g.ID, args[0])
				if err != nil {
					return noBlock(err, g, args[0])
				}
				if a.json {
					return writeJSON(a.out, b)
				}
				_, err = fmt.Fprintln(a.out, filled(a.shown(b.Value), columnsOf(a.out), 0))
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil([]api.Block(g.Blocks)))
			}
			return a.printBlocks(g)
		},
	}
}

func (a *app) printBlocks(g api.AgentState) error {
	if len(g.Blocks) == 0 {
		a.note(g.Name + " has no memory blocks")
	}
	for i, b := range g.Blocks {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		note := ""
		if b.ReadOnly {
			note = ", read-only"
		}
		fmt.Fprintf(a.out, "%s (%d of %d characters%s)\n", oneLine(text(b.Label)), len([]rune(b.Value)), b.Limit, note)
		value := cmp.Or(strings.TrimRight(a.shown(b.Value), "\n"), "(empty)")
		if _, err := fmt.Fprintln(a.out, filled(indent(value), columnsOf(a.out), 2)); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) memorySet(agent *string) *cobra.Command {
	return &cobra.Command{
		Use: "set LABEL [TEXT...|-]", Short: "Replace a block by the text, or by standard input", Args: atLeast("the block's label"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeBlock(cmd.Context(), *agent, args, func(_, said string) string { return said })
		},
	}
}

func (a *app) memoryAppend(agent *string) *cobra.Command {
	return &cobra.Command{
		Use: "append LABEL [TEXT...|-]", Short: "Add a line to a block", Args: atLeast("the block's label"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeBlock(cmd.Context(), *agent, args, func(old, said string) string {
				if old == "" || strings.HasSuffix(old, "\n") {
					return old + said
				}
				return old + "\n" + said
			})
		},
	}
}

func (a *app) memoryEdit(agent *string) *cobra.Command {
	return &cobra.Command{
		Use: "edit LABEL", Short: "Edit a block in your editor", Args: exactly("the block's label"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, g, err := a.agentOf(ctx, *agent)
			if err != nil {
				return err
			}
			b, tag, err := c.AgentBlock(ctx, g.ID, args[0])
			if err != nil {
				return noBlock(err, g, args[0])
			}
			edited, kept, err := a.editText(ctx, "block.md", b.Value)
			switch {
			case kept == "":
				return err
			case edited == b.Value:
				_ = os.RemoveAll(filepath.Dir(kept))
				if err != nil {
					return err
				}
				return a.report(b, "nothing changed")
			case err == nil:
				err = a.saveBlock(ctx, c, g, args[0], edited, tag)
			}
			if err != nil {
				a.note("your text is kept in " + kept)
				return err
			}
			return os.RemoveAll(filepath.Dir(kept))
		},
	}
}

// changeBlock rewrites a block from its old value and the given text.
func (a *app) changeBlock(ctx context.Context, agent string, args []string, change func(old, said string) string) error {
	said, err := a.said(ctx, args[1:])
	if err != nil {
		return err
	}
	c, g, err := a.agentOf(ctx, agent)
	if err != nil {
		return err
	}
	b, tag, err := c.AgentBlock(ctx, g.ID, args[0])
	if err != nil {
		return noBlock(err, g, args[0])
	}
	return a.saveBlock(ctx, c, g, args[0], change(b.Value, said), tag)
}

// said is the text of the arguments, or standard input if there are none or just a dash.
func (a *app) said(ctx context.Context, words []string) (string, error) {
	if len(words) > 0 && (len(words) > 1 || words[0] != "-") {
		return strings.Join(words, " "), nil
	}
	if len(words) == 0 && isTerminal(a.in) {
		return "", invalid("there is no text").withHint("give it as an argument, or pipe it in")
	}
	said, err := readAll(ctx, a.in)
	return strings.TrimRight(said, "\n"), err
}

// saveBlock writes the value unless somebody else has changed the block in the meantime; in that case it shows the
// newest text.
func (a *app) saveBlock(ctx context.Context, c *client.Client, g api.AgentState, label, value, tag string) error {
	b, _, err := c.UpdateAgentBlock(ctx, g.ID, label, api.UpdateBlock{Value: api.Some(value)}, tag)
	if err == nil {
		n, over := len([]rune(b.Value)), ""
		if n > b.Limit {
			over = fmt.Sprintf(", over its limit of %d: until it is within, the agent can only make it shorter", b.Limit)
		}
		return a.report(b, "%s of %s now has %d of %d characters%s", label, g.Name, n, b.Limit, over)
	}
	var ce *client.Error
	if !errors.As(err, &ce) || ce.Kind != api.KindConflict {
		return err
	}
	newest, _, readErr := c.AgentBlock(ctx, g.ID, label)
	if readErr != nil {
		return err
	}
	fmt.Fprintf(a.errOut, "loci: the newest text of %s is:\n%s\n", oneLine(label), indent(a.shownErr(newest.Value)))
	return (&fault{kind: api.KindConflict, msg: fmt.Sprintf("%s was changed by somebody else meanwhile; nothing was written", label)}).
		withHint("look at the newest text above and do it again")
}

// noBlock says which labels exist when the one named doesn't.
func noBlock(err error, g api.AgentState, label string) error {
	if kind, _ := explain(err); kind != api.KindNotFound {
		return err
	}
	labels := make([]string, len(g.Blocks))
	for i, b := range g.Blocks {
		labels[i] = text(b.Label)
	}
	return (&fault{kind: api.KindNotFound, msg: fmt.Sprintf("%s has no memory block %q", g.Name, clip(label, 40))}).
		withHint("one of: %s", strings.Join(labels, ", "))
}

// editText opens a text in the person's editor. The file is private, and removing it is up to the caller, so that a
// text that couldn't be saved isn't lost, even if the editor failed. If there is no file, path is empty.
func (a *app) editText(ctx context.Context, name, value string) (edited, path string, failed error) {
	command, err := a.editor()
	switch {
	case err != nil:
		return "", "", err
	case strings.TrimSpace(command) == "":
		return "", "", invalid("no editor is set").withHint("set `editor` in the configuration, or $EDITOR: export EDITOR=nano")
	}
	dir, err := os.MkdirTemp("", "loci-edit-")
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, name)
	open := strings.TrimSuffix(value, "\n") + "\n" // with an end of line, as editors leave it, so that a line can be put behind it
	if err := os.WriteFile(path, []byte(open), 0o600); err != nil {
		return "", "", err
	}
	words := append(strings.Fields(command), path)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := tui.EditorFailure(command, cmd.Run()); err != nil {
		failed = invalid("%v; nothing was written", err).withHint("set `editor` in the configuration, or $EDITOR, to an editor that works")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", "", errors.Join(failed, err, os.RemoveAll(dir))
	}
	edited = string(data)
	if !strings.HasSuffix(value, "\n") {
		edited = strings.TrimSuffix(edited, "\n")
	}
	return edited, path, failed
}

// editor is the command that a person edits texts with; empty: none is set.
func (a *app) editor() (string, error) {
	l, err := a.config()
	if err != nil {
		return "", err
	}
	return cmp.Or(l.Editor, os.Getenv("VISUAL"), os.Getenv("EDITOR")), nil
}

// shown makes a text safe for a terminal; a pipe gets it unchanged.
func (a *app) shown(s string) string { return shownOn(a.out, s) }

func (a *app) shownErr(s string) string { return shownOn(a.errOut, s) }

func shownOn(w io.Writer, s string) string {
	if isTerminal(w) {
		return safe(s)
	}
	return s
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }
