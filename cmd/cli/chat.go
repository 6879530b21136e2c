package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/daemon/config"
	"loci/tui"
)

// chatFlags are the flags of the chat and of one-shot prompts.
type chatFlags struct {
	print        bool
	agent        string
	newAgent     bool
	conversation string
	model        string
	maxSteps     int
	timeout      time.Duration
	format       string
	input        string
	mode         string
	effort       string
	allow, deny  []string
	dirs         []string
	images       []string
	schema       string
	form         *api.ResponseFormat // of the schema
	json         bool
	noStart      bool
	help         bool
}

// The output formats of a one-shot prompt.
const (
	formatText   = "text"
	formatJSON   = "json"
	formatStream = "stream-json"
)

// chatFlagSet makes the flags, including the global ones, so that a line can be parsed before it is known to be a
// command or a prompt.
func chatFlagSet(f *chatFlags) *pflag.FlagSet {
	fs := pflag.NewFlagSet("loci", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	fs.BoolVarP(&f.print, "print", "p", false, "one shot: send the prompt, print the answer, end")
	fs.StringVar(&f.agent, "agent", "", "talk to this agent, by `NAME|ID`; by default the one last used here")
	fs.BoolVar(&f.newAgent, "new", false, "talk to a new agent")
	fs.StringVar(&f.conversation, "conversation", "", "`new|ID`: a conversation of the agent beside its default one")
	fs.StringVar(&f.model, "model", "", "the model for this run, as `provider/model`; with --new, the new agent's own")
	fs.StringVar(&f.effort, "effort", "", "how much the model reasons: `"+strings.Join(efforts(), "|")+"`")
	fs.StringVar(&f.mode, "permission-mode", "", "what the agent may do without asking: `ask|edits|plan|all`")
	fs.StringArrayVar(&f.allow, "allow", nil, "a `RULE` of permission for this session, like 'shell(go test *)'; may be repeated")
	fs.StringArrayVar(&f.deny, "deny", nil, "a `RULE` that forbids, for this session; may be repeated")
	fs.StringArrayVar(&f.dirs, "add-dir", nil, "a further folder `PATH` to read in this session, PATH:rw to change; may be repeated")
	fs.StringArrayVar(&f.images, "image", nil, "with -p: send this image `FILE` (PNG, JPEG, GIF, WebP) too; may be repeated")
	fs.StringVar(&f.schema, "schema", "", "with -p: answer with JSON by this JSON schema, a `FILE|JSON`")
	fs.IntVar(&f.maxSteps, "max-steps", 0, "with -p: model calls that the run may take")
	fs.DurationVar(&f.timeout, "timeout", 0, "with -p: how long it may take, like 90s or 5m")
	fs.StringVar(&f.format, "output-format", formatText, "with -p: `text|json|stream-json`")
	fs.StringVar(&f.input, "input-format", formatText, "with -p: `text|stream-json`, a JSON line for each message or answer")
	fs.BoolVar(&f.json, "json", false, "with -p: the same as --output-format json")
	fs.BoolVar(&f.noStart, "no-daemon-start", false, "fail if the daemon is not running instead of starting it")
	fs.BoolVarP(&f.help, "help", "h", false, "help")
	return fs
}

// efforts are the words for how much a model reasons.
func efforts() []string { return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} }

// talk opens the chat or runs a one-shot prompt.
func (a *app) talk(ctx context.Context, args []string) error {
	var f chatFlags
	fs := chatFlagSet(&f)
	if err := fs.Parse(args); err != nil {
		return invalid("%s", err).withHint("loci --help")
	}
	if f.help {
		return a.command(ctx, []string{"--help"})
	}
	a.noStart = f.noStart
	if err := f.check(fs); err != nil {
		return err
	}
	if fs.Changed("schema") {
		var err error
		if f.form, err = formOf(f.schema); err != nil {
			return err
		}
	}
	if f.print {
		return a.oneShot(ctx, &f, fs.Args())
	}
	return a.chat(ctx, &f)
}

// check finds flags that don't go together, before anything starts.
func (f *chatFlags) check(fs *pflag.FlagSet) error {
	if f.json && !fs.Changed("output-format") {
		f.format = formatJSON
	}
	switch {
	case f.json && f.format == formatText:
		return invalid("--json and --output-format text exclude each other")
	case fs.Changed("agent") && f.agent == "":
		return noName("--agent")
	case f.format != formatText && f.format != formatJSON && f.format != formatStream:
		return invalid("--output-format %q is not known", clip(f.format, 40)).withHint("text, json or stream-json")
	case f.input != formatText && f.input != formatStream:
		return invalid("--input-format %q is not known", clip(f.input, 40)).withHint("text or stream-json")
	case f.input == formatStream && f.format != formatStream:
		return invalid("--input-format stream-json needs --output-format stream-json")
	case f.input == formatStream && fs.NArg() > 0:
		return invalid("with --input-format stream-json the messages come on standard input, not on the command line")
	case fs.Changed("effort") && !slices.Contains(efforts(), f.effort):
		return invalid("--effort %q is not known", clip(f.effort, 40)).withHint("%s", strings.Join(efforts(), ", "))
	case fs.Changed("permission-mode") && !slices.Contains(modes(), f.mode):
		return invalid("--permission-mode %q is not known", clip(f.mode, 40)).withHint("ask, edits, plan or all")
	case slices.ContainsFunc(f.dirs, func(dir string) bool { return strings.TrimSuffix(dir, ":rw") == "" }):
		return invalid("--add-dir names no folder").withHint("--add-dir ../library, or ../library:rw for one to change")
	case f.newAgent && f.agent != "":
		return invalid("--new makes an agent, --agent names one: they exclude each other")
	case f.newAgent && f.conversation != "" && f.conversation != api.OpenNew:
		return invalid("a new agent has no conversation %s yet", clip(f.conversation, 60))
	case fs.Changed("max-steps") && f.maxSteps < 1:
		return invalid("--max-steps must be 1 or more")
	case fs.Changed("timeout") && f.timeout <= 0:
		return invalid("--timeout must be more than nothing, like 90s or 5m")
	case f.model != "" && !strings.Contains(f.model, "/"):
		return invalid("--model %q is not a handle", clip(f.model, 60)).
			withHint("write it as provider/model; they are listed by loci models")
	case !f.print && (fs.Changed("output-format") || fs.Changed("input-format") || f.json || f.timeout > 0 || f.maxSteps > 0):
		return invalid("--output-format, --input-format, --json, --max-steps and --timeout belong to one shot").
			withHint(`loci -p "your question" …`)
	case !f.print && len(f.images) > 0:
		return invalid("--image belongs to one shot").withHint(`loci -p --image shot.png "your question"; in the chat, paste the path`)
	case !f.print && fs.Changed("schema"):
		return invalid("--schema belongs to one shot").withHint(`loci -p --schema city.json "your question"`)
	case f.input == formatStream && len(f.images) > 0:
		return invalid("with --input-format stream-json the images come in the messages on standard input")
	case !f.print && fs.NArg() > 0:
		return invalid(
			"unknown command %q",
			clip(fs.Arg(0), 40),
		).withHint(`to send it as a prompt: loci -p %s`, quoteArg(clip(fs.Arg(0), 40)))
	}
	return nil
}

// modes are the permission modes that a person can choose.
func modes() []string { return []string{"ask", "edits", "plan", "all"} }

// who describes this client to the daemon, with what the person said about permissions: the mode of the flag, else the
// configured one.
func (f *chatFlags) who(kind string, l *config.Settings, open *api.Open) api.Client {
	c := who(kind, l, open)
	c.Mode, c.Allow, c.Deny = cmp.Or(f.mode, l.Mode), slices.Concat(f.allow, f.dirRules()), f.deny
	c.Unattended = f.print && f.input != formatStream
	return c
}

// dirRules are the rules that open the folders of --add-dir, as they lie now: what is a link later is no such folder any more.
func (f *chatFlags) dirRules() []string {
	var rules []string
	for _, text := range f.dirs {
		path, writable := api.WantedDir(text)
		rules = append(rules, api.DirRule(client.RealFolder(path, ""), writable))
	}
	return rules
}

// open is what to ask the daemon to open.
func (f *chatFlags) open() *api.Open {
	if f.newAgent {
		return &api.Open{Agent: api.OpenNew, Conversation: f.conversation, Model: f.model}
	}
	return &api.Open{Agent: f.agent, Conversation: f.conversation, RunModel: f.model}
}

// override is the model that answers in place of the agent's own.
func (f *chatFlags) override() string {
	if f.newAgent {
		return ""
	}
	return f.model
}

// unbuiltNote names the keys whose provider isn't supported yet.
func unbuiltNote(names []string) string {
	return fmt.Sprintf("%s is set, but its provider is not built yet", strings.Join(names, ", "))
}

// chat opens the chat. It paints before it looks anything up.
func (a *app) chat(ctx context.Context, f *chatFlags) error {
	in, inOK := a.in.(*os.File)
	out, outOK := a.out.(*os.File)
	if !inOK || !outOK || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return invalid("the chat needs a terminal").withHint(`for scripts and pipes: loci -p "your question"`)
	}
	o, err := a.options()
	if err != nil {
		return err
	}
	l, err := a.config()
	if err != nil {
		return err
	}
	editor, err := a.editor()
	if err != nil {
		return err
	}
	p, err := a.paths()
	if err != nil {
		return err
	}
	notify, notes := tui.Notes()
	o.Notify = notify
	if o.Ensure != nil {
		o.Ensure.Notify = notify
	}
	c := client.New(o)
	defer c.Close()
	return tui.Run(ctx, tui.Options{
		Client: c, Who: f.who(api.ClientChat, l, nil), Open: *f.open(), Model: f.override(), Effort: f.effort,
		NoColor: noColor(l.Color), Theme: l.Theme,
		Editor: editor, Notify: l.Notify,
		CopyFile: filepath.Join(p.State, "copied.txt"), Getenv: os.Getenv, Notes: notes, About: a.otherSettings, In: in, Out: out,
	})
}

// noColor follows the setting or, if that leaves it open, the NO_COLOR convention.
func noColor(setting string) bool {
	return setting == "never" || setting == "auto" && os.Getenv("NO_COLOR") != ""
}
