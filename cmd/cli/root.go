// Package cli is the command line: it reads flags, talks to the daemon through its client like any other program,
// and prints. It exists for scripts and for people at a shell, and holds none of the product's own rules.
//
// Promises: standard output carries the answer and nothing else; exit codes are documented (`loci help
// exit-codes`); nothing happens before the command is known: `loci version` opens no file.
//
// Layer 6: it imports the terminal, the daemon (to run it, and to work on files while it is stopped), the client
// and the wire types; never core, storage or providers.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Main runs one command and returns its exit code. Ending ctx interrupts it.
func Main(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	a := &app{in: in, out: out, errOut: errOut, patience: daemonPatience()}
	do := a.run
	if len(args) == 1 && slices.Contains([]string{"version", "--version", "-v"}, args[0]) { // doesn't need the command tree
		do = func(context.Context, []string) error { return a.printVersion() }
	}
	if err := do(ctx, args); err != nil {
		return fail(errOut, err)
	}
	return exitOK
}

// run chooses between the chat, a one-shot prompt and a command. Any words can be a prompt, even the name of a
// command, so a print flag before the first word wins.
func (a *app) run(ctx context.Context, args []string) error {
	if err := checkText(args); err != nil {
		return err
	}
	var f chatFlags
	first := chatFlagSet(&f)
	first.SetInterspersed(false)
	err := first.Parse(args)
	if err == nil && (f.print || first.NArg() == 0) {
		return a.talk(ctx, args)
	}
	if err == nil && !isCommand(first.Arg(0)) {
		if all := (&chatFlags{}); chatFlagSet(all).Parse(args) == nil && all.print {
			return a.talk(ctx, args)
		}
	}
	return a.command(ctx, args)
}

// command runs a cobra command.
func (a *app) command(ctx context.Context, args []string) error {
	lost := &lostOutput{}
	if closedOutput(a.out) {
		a.out = lost
	}
	root := a.root()
	if completing(args) {
		a.offerNames(root, map[*pflag.Flag]bool{})
	}
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.errOut)
	if err := root.ExecuteContext(ctx); err != nil || !lost.some {
		return err
	}
	return invalid("standard output is closed: nobody could read what was printed").withHint("to throw it away: >/dev/null")
}

// lostOutput takes what is written to a standard output that a shell closed.
type lostOutput struct{ some bool }

func (l *lostOutput) Write(p []byte) (int, error) {
	l.some = l.some || len(p) > 0
	return len(p), nil
}

const rootLong = `Loci is a home for agents that remember.

  loci                          chat with the agent last used here
  loci -p "what do I like?"     ask once, answer on standard output
  git diff | loci -p "review"   the same with piped input
  loci memory show              what the agent keeps in mind
  loci doctor                   what works, what does not, and how to fix it

A daemon in the background owns the agents; any command that needs it starts it.`

// root builds the command tree. It is cheap: it opens no file and looks nothing up.
func (a *app) root() *cobra.Command {
	var shown chatFlags
	root := &cobra.Command{
		Use:   "loci [flags]  |  loci -p \"prompt\" [flags]  |  loci command",
		Short: "A home for agents that remember",
		Long:  rootLong,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.unknown(args[0])
			}
			return nil
		},
		RunE:          func(cmd *cobra.Command, _ []string) error { return a.talk(cmd.Context(), nil) },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.Flags().SortFlags = false
	root.PersistentFlags().AddFlagSet(a.globalFlags())
	chatFlagSet(&shown).VisitAll(func(f *pflag.Flag) {
		if root.PersistentFlags().Lookup(f.Name) == nil {
			root.Flags().AddFlag(f)
		}
	})
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return flagFault(err).withHint("%s --help", cmd.CommandPath())
	})
	root.SetHelpCommandGroupID("home")
	root.SetCompletionCommandGroupID("home")
	root.AddGroup(
		&cobra.Group{ID: "agents", Title: "Agents and what they know:"},
		&cobra.Group{ID: "home", Title: "The home and its daemon:"},
	)
	for _, c := range a.agentCommands() {
		c.GroupID = "agents"
		root.AddCommand(c)
	}
	for _, c := range a.homeCommands() {
		c.GroupID = "home"
		root.AddCommand(c)
	}
	root.AddCommand(exitCodesTopic())
	strictCompletion(root)
	a.strictHelp(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return checkFlags(cmd) }
	return root
}

// strictCompletion makes an unknown shell a usage error; by default cobra would only print help.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return invalid("there is no completion for %q", clip(args[0], 40)).withHint("%s --help", cmd.CommandPath())
		}
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// strictHelp makes an unknown topic a usage error; by default cobra would only print help.
func (a *app) strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	page := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		width := columnsOf(a.out)
		if width == 0 {
			page(cmd, args)
			return
		}
		var b strings.Builder
		cmd.SetOut(&b)
		page(cmd, args)
		cmd.SetOut(nil)
		_, _ = io.WriteString(a.out, filledHelp(b.String(), width))
	})
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.Run = nil
		c.RunE = func(_ *cobra.Command, args []string) error {
			topic, rest, err := root.Find(args)
			switch {
			case err != nil || topic == root && len(rest) > 0:
				return a.unknown(args[0])
			case len(rest) > 0 && topic.HasSubCommands():
				return unknownBelow(topic, rest[0])
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		}
	}
}

// flagFault says what is wrong with a flag without exposing Go's own wording.
func flagFault(err error) *fault {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return invalid("%s", err)
	}
	wants := map[string]string{
		"int": "a whole number", "duration": "a time like 90s or 5m", "bool": "true or false",
	}[wrong.GetFlag().Value.Type()]
	if wants == "" {
		return invalid("--%s cannot be %q", wrong.GetFlag().Name, clip(wrong.GetValue(), 40))
	}
	return invalid("--%s wants %s, not %q", wrong.GetFlag().Name, wants, clip(wrong.GetValue(), 40))
}

// checkFlags rejects values that no command can mean: an empty variable in a script must not select the agent last
// used.
func checkFlags(cmd *cobra.Command) error {
	if f := cmd.Flags().Lookup("agent"); f != nil && f.Changed && f.Value.String() == "" {
		return noName("--agent")
	}
	if f := cmd.Flags().Lookup("limit"); f != nil && f.Changed {
		if n, err := strconv.Atoi(f.Value.String()); err == nil && n < 1 {
			return invalid("--limit must be 1 or more")
		}
	}
	return nil
}

// noName is the error for an empty name.
func noName(what string) *fault { return invalid("%s needs a name or an id, not nothing", what) }

// checkText requires arguments to be valid text. Files may have any name.
func checkText(args []string) error {
	if len(args) > 0 && (args[0] == "backup" || args[0] == "restore") {
		return nil
	}
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return invalid("argument %d is not text in UTF-8", i+1).withHint("send text; describe or convert anything else first")
		}
	}
	return nil
}

func (a *app) agentCommands() []*cobra.Command {
	return []*cobra.Command{
		a.agentsCommand(), a.conversationsCommand(), a.memoryCommand(), a.archivalCommand(), a.foldersCommand(), a.filesCommand(),
		a.toolsCommand(), a.messagesCommand(), a.approvalsCommand(), a.jobsCommand(), a.contextCommand(),
		a.modelsCommand(), a.runsCommand(),
	}
}

func (a *app) homeCommands() []*cobra.Command {
	return []*cobra.Command{
		a.daemonCommand(), a.doctorCommand(), a.pathsCommand(), a.configCommand(), a.backupCommand(),
		a.restoreCommand(), a.forgetCommand(), a.permissionsCommand(), a.trustCommand(), a.secretsCommand(), a.providersCommand(),
		a.mcpCommand(), a.costCommand(), a.budgetCommand(), a.uninstallCommand(), a.versionCommand(),
	}
}

// isCommand says whether a word is the name of a command. The list duplicates the tree (a test compares them), so
// that telling a prompt from a command doesn't require building it.
func isCommand(word string) bool {
	switch word {
	case "agents", "conversations", "memory", "archival", "folders", "files", "tools", "messages", "approvals", "context", "models",
		"runs", "jobs", "daemon", "doctor", "paths", "config", "backup", "restore", "forget", "permissions", "trust",
		"secrets", "providers", "mcp", "cost", "budget", "uninstall", "version", "help", "completion", "exit-codes", "__complete",
		"__completeNoDesc":
		return true
	}
	return false
}

// globalFlags are the flags that every command has.
func (a *app) globalFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("global", pflag.ContinueOnError)
	fs.BoolVar(&a.json, "json", false, "print one JSON value")
	fs.BoolVar(&a.noStart, "no-daemon-start", false, "fail if the daemon is not running instead of starting it")
	return fs
}

// suggestWithin is how many edits a misspelt command may be away from the one we suggest.
const suggestWithin = 2

// meaning returns the fault with a guess at what was meant.
func (f *fault) meaning(command string) *fault {
	c := *f
	c.msg += "; did you mean " + command + "?"
	c.hint = command
	return &c
}

// unknown is the error for a word that isn't a command.
func (a *app) unknown(word string) error {
	f := invalid("unknown command %q", clip(word, 40))
	if strings.Contains(word, " ") {
		return f.withHint("loci -p %q, to send it as a prompt", clip(word, 40))
	}
	known := &cobra.Command{}
	for _, c := range append(a.agentCommands(), a.homeCommands()...) {
		if near(word, c.Name()) {
			return f.meaning("loci " + c.Name())
		}
		known.AddCommand(c)
	}
	if like := closest(known, word); like != "" {
		return f.meaning("loci " + like)
	}
	return f.withHint(`loci --help; to send a prompt: loci -p "…"`)
}

// unknownBelow is the error for a word that isn't a command below another.
func unknownBelow(c *cobra.Command, word string) error {
	f := invalid("unknown command %q of %s", clip(word, 40), c.CommandPath())
	if like := closest(c, word); like != "" {
		return f.meaning(c.CommandPath() + " " + like)
	}
	return f.withHint("%s --help", c.CommandPath())
}

// closest is the command below another that a word is most like; empty: none.
func closest(c *cobra.Command, word string) string {
	for c.SuggestionsMinimumDistance = 1; c.SuggestionsMinimumDistance <= suggestWithin; c.SuggestionsMinimumDistance++ {
		if like := c.SuggestionsFor(word); len(like) > 0 {
			return like[0]
		}
	}
	return ""
}

// near says whether a word is probably a misspelling of a name: one is the start of the other, or the word is its
// singular.
func near(word, name string) bool {
	return len(word) > 2 && (strings.HasPrefix(name, word) || strings.HasPrefix(word, name) || word+"s" == name)
}

// parent is a command that groups others. Run bare, it runs its read-only subcommand alone.
func parent(use, short string, alone *cobra.Command, others ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownBelow(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return alone.RunE(cmd, nil) },
	}
	c.Flags().AddFlagSet(alone.Flags())
	c.AddCommand(alone)
	c.AddCommand(others...)
	return c
}

// exactly requires n arguments, named for the error.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		if len(args) < len(names) {
			return invalid(
				"%s: missing %s",
				cmd.CommandPath(),
				strings.Join(names[len(args):], " and "),
			).withHint("%s --help", cmd.CommandPath())
		}
		return invalid("%s: unexpected %q", cmd.CommandPath(), clip(args[len(names)], 40)).withHint("%s --help", cmd.CommandPath())
	}
}

// atMost accepts up to n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return invalid("%s: unexpected %q", cmd.CommandPath(), clip(args[n], 40)).withHint("%s --help", cmd.CommandPath())
	}
}

// atLeast requires the named arguments and accepts more.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= len(names) {
			return nil
		}
		return invalid(
			"%s: missing %s",
			cmd.CommandPath(),
			strings.Join(names[len(args):], " and "),
		).withHint("%s --help", cmd.CommandPath())
	}
}

// exitCodesTopic is the help topic that lists the exit codes.
func exitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("The exit codes of every command:\n\n")
	for _, c := range exitCodes() {
		fmt.Fprintf(&b, "  %3d  %s\n", c.code, c.means)
	}
	b.WriteString("\nAn error is one line that says what failed and why, and one that says what to try next.")
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: b.String()}
}
