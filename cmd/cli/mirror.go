package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
)

// memoryMirror is `loci memory mirror`: the blocks as Markdown files in git, kept in sync both ways.
func (a *app) memoryMirror(agent *string) *cobra.Command {
	var off bool
	c := &cobra.Command{
		Use: "mirror [DIR]", Short: "Keep memory in sync with a folder of Markdown files in git, or show its state",
		Long: `Keep an agent's memory blocks in sync with a folder of Markdown files in git: system/LABEL.md for each block.

What either side edits reaches the other within two seconds. Where both were edited, the block's text stays and the
file's goes to a file of its own beside it, which is shown here until you delete it. Without DIR this says how the mirror
is.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if off && len(args) > 0 {
				return invalid("--off takes no folder").withHint("loci memory mirror --off")
			}
			c, g, err := a.agentOf(ctx, *agent)
			if err != nil {
				return err
			}
			switch {
			case off:
				m, err := c.UnsetMirror(ctx, g.ID)
				if err != nil {
					return err
				}
				return a.report(m, "the memory of %s is not mirrored any more; %s stays as it is", g.Name, m.Path)
			case len(args) == 0:
				m, err := c.Mirror(ctx, g.ID)
				if err != nil {
					return err
				}
				return a.printMirror(g, m)
			}
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			m, err := c.SetMirror(ctx, g.ID, api.SetMemoryMirror{Path: dir})
			if err != nil {
				return err
			}
			return a.printMirror(g, m)
		},
	}
	c.Flags().BoolVar(&off, "off", false, "end it; the folder and the blocks stay as they are")
	return c
}

// memorySync is `loci memory sync`.
func (a *app) memorySync(agent *string) *cobra.Command {
	return &cobra.Command{
		Use: "sync", Short: "Bring the memory and its mirror together now", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, g, err := a.agentOf(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			m, err := c.SyncMirror(cmd.Context(), g.ID)
			if err != nil {
				return err
			}
			return a.printMirror(g, m)
		},
	}
}

func (a *app) printMirror(g api.AgentState, m api.MemoryMirror) error {
	if a.json {
		return writeJSON(a.out, m)
	}
	if !m.On {
		a.note(fmt.Sprintf("the memory of %s has no mirror; make one with: loci memory mirror DIR", g.Name))
		return nil
	}
	word := "blocks are"
	if m.Blocks == 1 {
		word = "block is"
	}
	_, err := fmt.Fprintf(a.out, "%s (branch %s): %d %s in sync with their files\n", oneLine(m.Path), oneLine(m.Branch), m.Blocks, word)
	a.printNotes(m.Notes)
	if m.Error != "" {
		fmt.Fprintln(a.out, filled(fmt.Sprintf("%-10s  %s", "waits", oneLine(m.Error)), columnsOf(a.out), 12))
		if m.Hint != "" {
			fmt.Fprintln(a.out, filled(fmt.Sprintf("%-10s  try: %s", "", oneLine(m.Hint)), columnsOf(a.out), 17))
		}
	}
	return err
}

func (a *app) printNotes(notes []api.MemoryNote) {
	for _, n := range notes {
		fmt.Fprintln(a.out,
			filled(fmt.Sprintf("%-10s  %s: %s", n.Kind, oneLine(cmp.Or(n.Path, n.Label)), oneLine(n.Text)), columnsOf(a.out), 12))
	}
}

// importFlags are the flags of `loci memory import`.
type importFlags struct {
	fresh, replace bool
	name           string
}

// memoryImport is `loci memory import`: it reads the blocks of a memory folder once.
func (a *app) memoryImport(agent *string) *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use: "import DIR", Short: "Read the memory folder of Letta Code, or of another mirror, into an agent", Args: exactly("the folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.name != "" && !f.fresh {
				return invalid("--name names a new agent").withHint("add --new")
			}
			if f.fresh && *agent != "" {
				return invalid("--new makes an agent, --agent names one that exists").withHint("use one of them")
			}
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			return a.importMemory(cmd.Context(), *agent, dir, f)
		},
	}
	c.Flags().BoolVar(&f.fresh, "new", false, "make a new agent for it")
	c.Flags().StringVar(&f.name, "name", "", "the new agent's name")
	c.Flags().BoolVar(&f.replace, "replace", false, "blocks that have another text get the folder's; theirs stays in their history")
	return c
}

func (a *app) importMemory(ctx context.Context, agent, dir string, f importFlags) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	var g api.AgentState
	if f.fresh {
		// A folder that can't be read must not leave a new agent behind.
		if matches, err := filepath.Glob(filepath.Join(dir, "system", "*")); err != nil || len(matches) == 0 {
			return invalid("%s is no memory folder: there is no system/*.md", dir).withHint("name the folder that holds system/")
		}
		s, err := a.register(ctx, c, api.ClientScript, &api.Open{Agent: api.OpenNew, Name: f.name})
		if err != nil {
			return err
		}
		g = api.AgentState{ID: s.AgentID, Name: s.AgentName}
		f.replace = true // nobody has edited its initial blocks
	} else if g, err = a.findAgent(ctx, c, agent); err != nil {
		return err
	}
	done, err := c.ImportMemory(ctx, g.ID, api.ImportMemory{Path: dir, Replace: f.replace})
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.out, struct {
			AgentID   string `json:"agent_id"`
			AgentName string `json:"agent_name"`
			api.ImportResult
		}{g.ID, g.Name, done})
	}
	for _, row := range []struct {
		word   string
		labels []string
	}{
		{"new", done.Made},
		{"filled", done.Filled},
		{"replaced", done.Replaced},
		{"same", done.Same},
		{"kept", done.Kept},
	} {
		if len(row.labels) > 0 {
			fmt.Fprintf(a.out, "%-10s  %s\n", row.word, oneLine(strings.Join(row.labels, ", ")))
		}
	}
	a.printNotes(done.Notes)
	if len(done.Kept) > 0 {
		a.note(g.Name + " has another text under these labels; --replace takes the folder's")
	}
	a.note(fmt.Sprintf("read into %s; to keep both alike from now on: loci memory mirror %s --agent %s",
		g.Name, quoteArg(dir), quoteArg(g.Name)))
	return nil
}
