package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// forgetFlags are the flags of `loci forget`.
type forgetFlags struct{ yes, dry, ignoreCase bool }

func (a *app) forgetCommand() *cobra.Command {
	var f forgetFlags
	c := &cobra.Command{
		Use:   "forget ID|TEXT|-",
		Short: "Remove a text for good, wherever it stands; shows that first, and asks",
		Long: `Remove a text for good: from messages, memory and its versions, archives, files, the prompts that were sent, logs and
the search index, until no byte of it is in the home. A mark stands in its place.

An ID is that of a message, a passage or a memory block: its whole content goes, with the copies of it. A TEXT is removed
as it is typed; "-" reads it from standard input, so that it is not in the history of your shell.

Without --yes it shows where the text stands, and asks; where there is no terminal to ask at, it ends with code 4.
Backups and other copies that hold the text are named, not touched.`,
		Args: atLeast("an id or a text"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.forget(cmd.Context(), f, args) },
	}
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "only show where it stands")
	c.Flags().BoolVar(&f.ignoreCase, "ignore-case", false, "upper and lower case are the same")
	c.MarkFlagsMutuallyExclusive("yes", "dry-run")
	return c
}

func (a *app) forget(ctx context.Context, f forgetFlags, words []string) error {
	in, err := a.forgetRequest(ctx, f, words)
	if err != nil {
		return err
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	if f.yes {
		return a.forgetNow(ctx, c, in)
	}
	plan, err := c.Forget(ctx, in)
	if err != nil {
		return err
	}
	if err := a.printForgetting(plan); err != nil {
		return err
	}
	switch {
	case f.dry && plan.Records > 0:
		return nil
	case plan.Records == 0:
		return nowhere(plan).withHint("--ignore-case, or a part of it; --yes wipes what deleted records may have left in the files")
	}
	question := fmt.Sprintf("remove it from %s, for good?", counted(plan.Records, "record"))
	if err := a.sure(false, question, "nothing was forgotten", "the same with --yes"); err != nil {
		return err
	}
	return a.forgetNow(ctx, c, in)
}

// nowhere says that no record contains a text or, if nothing else may hold it either, that it isn't stored at all.
func nowhere(f api.Forgetting) *fault {
	if len(f.Copies) > 0 {
		return &fault{kind: api.KindNotFound, msg: "it stands in no record; only what is named here holds it, or may"}
	}
	return &fault{kind: api.KindNotFound, msg: "it is not stored anywhere"}
}

// forgetRequest tells ids from texts.
func (a *app) forgetRequest(ctx context.Context, f forgetFlags, words []string) (api.ForgetRequest, error) {
	in := api.ForgetRequest{IgnoreCase: f.ignoreCase}
	text, err := a.said(ctx, words)
	switch {
	case err != nil:
		return in, err
	case isID(text, "message", "passage", "block"):
		in.ID = text
	case isID(text, "agent", "conv", "run", "step", "archive", "source", "file"):
		return in, invalid(
			"what can be forgotten by its id is a message, a passage or a memory block",
		).withHint("loci messages, loci archival, loci memory --json show their ids")
	case strings.TrimSpace(text) == "":
		return in, invalid("there is no text to forget")
	default:
		in.Text = text
	}
	return in, nil
}

func (a *app) forgetNow(ctx context.Context, c *client.Client, in api.ForgetRequest) error {
	in.Confirm = true
	if !a.json {
		a.note("removing it and writing all files of the home anew; messages wait meanwhile, and Ctrl-C leaves that to the daemon")
	}
	done, err := c.Forget(ctx, in)
	if err != nil {
		return err
	}
	if !a.json {
		a.printCopies(done)
	}
	if done.Records == 0 {
		err := nowhere(done).withHint("--ignore-case, or a part of it; what deleted records may have left in the files is wiped")
		if a.json {
			return errors.Join(err, writeJSON(a.out, done))
		}
		return err
	}
	rest := "no file of the home holds it any more"
	if len(done.Copies) > 0 {
		rest = "only what is named here still holds it, or may"
	}
	return a.report(done, "forgotten: %s; %s", counted(done.Records, "record"), rest)
}

// printForgetting shows where a text was found.
func (a *app) printForgetting(f api.Forgetting) error {
	if a.json {
		return writeJSON(a.out, f)
	}
	t := table{head: []string{"WHERE", "RECORDS", "ID", "FOR EXAMPLE"}}
	for _, p := range f.Places {
		name, count := p.Name, strconv.Itoa(p.Count)
		for _, e := range p.Examples {
			t.add(name, count, e.ID, e.Line)
			name, count = "", ""
		}
	}
	if err := t.write(a.out); err != nil {
		return err
	}
	if f.Conversations > 0 {
		a.note(fmt.Sprintf(
			"it is in the window or the prompt of %s, whose next request a provider reads anew",
			counted(f.Conversations, "conversation"),
		))
	}
	a.printCopies(f)
	return nil
}

// printCopies names the copies that aren't touched, and says what to do about them.
func (a *app) printCopies(f api.Forgetting) {
	for _, c := range f.Copies {
		k, ok := copyKinds()[c.Kind]
		if !ok {
			k = copyKind{"the file", "take it out there, or delete the file"}
		}
		verb := "still holds it"
		switch {
		case c.Unknown && c.Kind == "git":
			verb, k.do = "may hold it: git could not be asked", "look into it yourself"
		case c.Unknown:
			verb = "cannot be read, and may hold it"
		}
		a.note(fmt.Sprintf("%s %s %s; %s", k.what, c.Path, verb, k.do))
	}
}

// copyKind is what a person calls a kind of copy, and what they can do about it.
type copyKind struct{ what, do string }

func copyKinds() map[string]copyKind {
	return map[string]copyKind{
		"backup":    {"the backup", "delete it: who restores it brings the text back"},
		"migration": {"the copy made before a migration", "delete it when you are content with the newer format"},
		"replaced":  {"the file put aside", "delete it when you do not need it any more"},
		"followed":  {"your own file", "take it out there, or it comes back when the file changes"},
		"mirrored":  {"the file of the mirrored folder", "take over what you need of it, then delete it"},
		"git":       {"the git history of", "rewrite it with git, or keep it to yourself"},
		"mirror":    {"the name of the mirrored", "give it another one"},
	}
}
