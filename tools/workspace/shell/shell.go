// Package shell holds the built-in tool shell: it runs a line of bash in the folder that a person opened, in a sandbox.
//
// Promises: a line sees the folder without what rules of permission close, programs of the system, toolchains of the person's
// home (read-only) and one cache folder for each project; nothing of ours and no secret of the person's. It reaches hosts that
// rules of permission allow, and no others, and changes nothing where the session only plans. Time and output are bounded, and
// no process of a line is left when it has ended: with its call, or as a job in the background.
//
// Layer 1, below tools: it imports core, core/jobs, core/shellline and tools/workspace/masks.
package shell

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"loci/core"
	"loci/core/jobs"
	"loci/core/shellline"
	"loci/tools/internal/plaintext"
	"loci/tools/internal/reach"
	"loci/tools/workspace/masks"
)

// Doc tells a model what shell does.
const Doc = "Run a line of bash in the open folder, confined: no network but hosts that the person allowed, only this folder can be " +
	"changed. A cd holds for the next line. " +
	"What it leaves running is stopped; for servers and what takes minutes there is background. Use read, grep and edit for files."

// Args are the arguments of shell.
type Args struct {
	Command     string `json:"command" jsonschema:"The line, for bash."`
	Timeout     *int   `json:"timeout,omitempty" jsonschema:"Seconds until it is stopped, default 120, at most 600."`
	Description string `json:"description,omitempty" jsonschema:"What it does, in a few words for the person."`
	Background  bool   `json:"background,omitempty" jsonschema:"Return at once; you are told when it ends."`
}

// Bounds of a line.
const (
	usualTime = 120 * time.Second
	mostTime  = 600 * time.Second
	mostLine  = 64 << 10
)

// Config is what a Shell needs to know of the machine.
type Config struct {
	Sandbox core.Sandbox
	Jobs    *jobs.Registry // nil where there is no sandbox
	Caches  string         // a folder for one cache folder of each project
	Home    string         // of the person
	Hidden  []string       // files and folders of ours, which no line may see
	Watch   Watch
	Off     bool // the person turned the sandbox off: a line sees the machine's own folders

	Environ func(name string) (value string, ok bool) // the person's variables, of which a line that is let out gets a few; nil: none
}

// Watch notices what a line changes in the folder: it is called before the line runs, with what is hidden from it there and
// who knows the hosts that it has reached; what it returns is called after. That says what can't be put back; empty: everything can.
type Watch func(
	ctx context.Context, env core.ToolEnv, hidden []string, source func() string,
) (after func(context.Context) string)

// Shell is the tool shell.
type Shell struct{ cfg Config }

// New returns the tool.
func New(cfg Config) *Shell { return &Shell{cfg} }

const noFolder = "No folder is open in this conversation, so there is nowhere to run a line. A person opens one by starting " +
	"`loci` in it; tell them if you need one."

// Run runs a line.
func (s *Shell) Run(ctx context.Context, args Args, env core.ToolEnv) (core.ToolResult, error) {
	if env.Workspace.Path == "" {
		return core.ToolError(noFolder), nil
	}
	if s.cfg.Sandbox == nil {
		return refusal(core.E(core.Unsupported, "there is no sandbox here"))
	}
	wall, err := check(args)
	if err != nil {
		return core.ToolResult{}, err
	}
	p, err := s.open(ctx, env.Workspace)
	if err != nil {
		return refusal(err)
	}
	p.env = append(p.env, env.Variables...)
	out := &output{veil: env.Veil, from: s.origin(ctx, p, args.Command, env.Workspace)}
	result, job, err := s.cfg.Jobs.Run(ctx, jobs.Work{
		Agent: env.Agent.ID, Conversation: env.Conversation, Run: env.Run, Call: env.Call, Client: env.Client,
		Command: args.Command, Folder: filepath.Join(p.named, p.dir), Background: args.Background, Time: wall, Output: out,
		Do: func(ctx context.Context, l jobs.Line) (core.ToolResult, error) {
			defer p.close()
			return s.line(ctx, p, args, env, out, l)
		},
	})
	switch {
	case err != nil:
		p.close() // it may never have begun
		return refusal(err)
	case job != "":
		return behind(job, args.Background, env.Workspace.Uncaged, out), nil
	}
	return result, nil
}

// line runs a line to its end.
func (s *Shell) line(
	ctx context.Context, p *place, args Args, env core.ToolEnv, out *output, l jobs.Line,
) (core.ToolResult, error) {
	switch {
	case env.Workspace.Uncaged:
		s.uncage(p, env.Variables)
	case s.cfg.Off:
		s.bare(p)
	}
	for again := 0; ; again++ {
		result, lost, err := s.attempt(ctx, p, args, env, out, l)
		if err != nil {
			return refusal(err)
		}
		missed, shut := s.missed(p, args.Command, result, out, env.Workspace.Opens), ""
		if missed != nil && failing(result) && again < mostAgain {
			if shut = l.AskOpening(ctx, *missed); shut == "" {
				if err := s.openMissed(ctx, p, *missed, &env); err != nil {
					return refusal(err)
				}
				out.note(fmt.Sprintf("(%s The person opened %s to it, and it ran again:)", exit(result), thing(missed)))
				continue
			}
		}
		tells := p.settle(ctx, &result, env, l)
		answer := p.answer(result, out, env.Workspace.Hosts)
		answer.Tells = tells
		if lost != "" {
			answer.Text += "\n(" + lost + ")"
		}
		answer.Text += tell(missed, shut)
		return answer, nil
	}
}

// attempt runs a line once. Lost says what of its changes can't be put back.
func (s *Shell) attempt(
	ctx context.Context, p *place, args Args, env core.ToolEnv, out *output, l jobs.Line,
) (result core.JobResult, lost string, err error) {
	if p.uncaged {
		out.from.add("outside of the sandbox") // nobody sees which hosts it reaches
	}
	project := p.project(env.Workspace.Mode)
	told := func(context.Context) string { return "" }
	if s.cfg.Watch != nil && (p.uncaged || !p.onlyReads(args.Command)) {
		told = s.watch(ctx, p, env, project.Writable, out.from.hosts)
	}
	result, err = s.cfg.Sandbox.Run(ctx, core.Job{
		Profile: core.JobShell, Argv: []string{"bash", "--noprofile", "--norc", "-c", p.frame(), "bash", args.Command}, Uncaged: p.uncaged,
		Dir: filepath.Join(p.real, p.dir), Env: p.env, Mounts: p.mounts, Limits: core.JobLimits{Wall: jobs.MaxBehind}, Live: out,
		Project: project, Beside: p.beside, Network: s.network(p, env, l, out),
	})
	lost = told(ctx)
	if core.KindOf(err) == core.NotFound && !hasBash() {
		err = core.E(core.Unsupported, "there is no bash on this machine, and lines are judged in its grammar").WithHint("install bash")
	}
	return result, lost, err
}

// onlyReads reports whether a line changes nothing.
func (p *place) onlyReads(text string) bool {
	at := shellline.Folder{Root: p.named, Dir: filepath.Join(p.named, p.dir)}
	for _, b := range p.beside {
		at.Beside = append(at.Beside, b.Path)
	}
	return shellline.Parse(text, at).Free()
}

// behind is what the model reads of a line that goes on in the background.
func behind(job string, wanted, uncaged bool, out *output) core.ToolResult {
	how := ""
	if uncaged {
		how = "uncaged "
	}
	text := "It runs " + how + "in the background as " + job
	if !wanted {
		text = "The person sent it to the background, where it goes on " + how + "as " + job
	}
	text += ". You are told when it ends; the tool job shows what it has written until then, and stops it."
	if shown := out.Text(); shown != "" {
		text += "\n" + shown
	}
	return core.ToolResult{Text: text, Source: out.Source()}
}

func check(args Args) (time.Duration, error) {
	switch {
	case strings.TrimSpace(args.Command) == "":
		return 0, core.E(core.Invalid, "command is empty; write the line that is to run")
	case len(args.Command) > mostLine:
		return 0, core.E(core.TooLarge, "the line has %d bytes; at most %d are run. Write a script and run that",
			len(args.Command), mostLine)
	case strings.ContainsRune(args.Command, 0):
		return 0, core.E(core.Invalid, "the line holds a zero byte")
	case args.Timeout == nil:
		return usualTime, nil
	case *args.Timeout < 1:
		return 0, core.E(core.Invalid, "timeout is a number of seconds from 1 to %d", mostTime/time.Second)
	}
	return min(time.Duration(*args.Timeout)*time.Second, mostTime), nil
}

// refusal tells a model why nothing ran, with the line that helps. What is no error of ours fails the run.
func refusal(err error) (core.ToolResult, error) {
	var ours *core.Error
	if !errors.As(err, &ours) {
		return core.ToolResult{}, err
	}
	text := "Nothing was run: " + err.Error() + "."
	if hint := core.HintOf(err); hint != "" {
		text += " What helps, and only a person can do it: " + hint + "."
	}
	return core.ToolError(text), nil
}

// place is where a line runs, and with what.
type place struct {
	named, real string // the folder that is open: as the person named it, and without links
	dir         string // the folder in it where the line begins
	env         []string
	mounts      []core.JobMount
	masked      []string    // of ours
	closed      masks.Masks // by rules of permission
	beside      []core.JobProject
	shut        []string            // of what is beside, absolute: closed to read
	opened      []core.WorkspaceDir // by a person, while the line ran
	local       []uint16            // likewise: ports of this machine
	uncaged     bool
	cache       *os.Root
	end         string            // a file of the cache folder in which bash notes where the line ended
	git         string            // another one: git's configuration of the account
	denied      map[string]denier // settings of git that are not to be, by name
}

// open finds out what a line gets to see.
func (s *Shell) open(ctx context.Context, w core.WorkspaceEnv) (*place, error) {
	mark := strings.ToLower(rand.Text())
	p := &place{named: w.Path, end: ".loci-end-" + mark, git: ".loci-git-" + mark, denied: map[string]denier{}}
	var err error
	if p.real, err = filepath.EvalSymlinks(w.Path); err != nil {
		return nil, core.E(core.NotFound, "the folder %s can't be opened: %w", w.Path, err)
	}
	if err := s.hide(p); err != nil {
		return nil, err
	}
	if p.cache, err = s.openCache(p); err != nil {
		return nil, err
	}
	s.equip(p)
	err = s.equipGit(p)
	if err == nil {
		err = p.obey(ctx, w.Paths)
	}
	if err == nil {
		err = p.openBeside(ctx, w)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	p.dir = p.begin(w.Dir)
	return p, nil
}

// project is the folder as the line gets it.
func (p *place) project(mode core.PermissionMode) *core.JobProject {
	return &core.JobProject{
		Path: p.real, Writable: mode != core.ModePlan && !p.closed.AllReadOnly,
		Masked: slices.Concat(p.masked, p.closed.Hidden), ReadOnly: p.closed.ReadOnly, Fixed: p.closed.Fixed,
	}
}

func (p *place) close() {
	_ = p.cache.Remove(p.end) // the next line has another one
	_ = p.cache.Remove(p.git) // likewise
	_ = p.cache.Close()       // only read from
}

// hide masks what is ours.
func (s *Shell) hide(p *place) error {
	for _, path := range s.cfg.Hidden {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue // it is not there
		}
		if _, inside := below(real, p.real); inside {
			return core.E(core.Forbidden, "the open folder %s belongs to Loci itself, and no line runs in it", p.named)
		}
		if rel, inside := below(p.real, real); inside && !slices.Contains(p.masked, rel) {
			p.masked = append(p.masked, rel)
		}
	}
	all := p.masked
	p.masked = nil
	for _, rel := range all { // what is in a hidden folder is hidden with it
		if !slices.ContainsFunc(all, func(outer string) bool { _, inside := below(outer, rel); return inside && outer != rel }) {
			p.masked = append(p.masked, rel)
		}
	}
	return nil
}

// begin is the folder in which the line before ended, if there still is one.
func (p *place) begin(dir string) string {
	rel, inside := below(p.named, dir)
	if dir == "" || !inside {
		return "."
	}
	real, err := filepath.EvalSymlinks(filepath.Join(p.real, rel))
	if err != nil {
		return "."
	}
	rel, inside = below(p.real, real)
	if info, err := os.Stat(real); !inside || err != nil || !info.IsDir() || p.hides(rel) {
		return "."
	}
	return rel
}

// hides reports whether a line can't enter a folder.
func (p *place) hides(rel string) bool {
	return slices.ContainsFunc(slices.Concat(p.masked, p.closed.Hidden), func(hidden string) bool {
		_, inside := below(hidden, rel)
		return inside
	})
}

// frame is what bash does around the line: both outputs come in their true order, and where the line ends is noted. Evaluated,
// the line is parsed as if it stood alone, and errors in it name its own rows.
func (p *place) frame() string {
	if p.uncaged {
		return `exec 2>&1; __line=$1; shift; eval -- "$__line"`
	}
	return `exec 2>&1; trap 'pwd -P >"$XDG_CACHE_HOME/` + p.end + `"' EXIT; __line=$1; shift; eval -- "$__line"`
}

// ended is where the line ended; where that can't be said, or is outside, where it began. A line may write there what it likes.
func (p *place) ended() string {
	text := readSmall(p.cache, p.end)
	rel, inside := below(p.real, strings.TrimSuffix(text, "\n"))
	if !inside || text == "" {
		rel = p.dir // it may be gone
	}
	return p.begin(filepath.Join(p.named, rel))
}

func below(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, filepath.Clean(path))
	return rel, err == nil && filepath.IsLocal(rel)
}

// ranUncaged stands before what a line wrote, so that nothing that it writes can say so.
const ranUncaged = "It ran uncaged: outside of the sandbox, as the person allowed."

// answer is what the model reads.
func (p *place) answer(r core.JobResult, out *output, rules core.HostRules) core.ToolResult {
	head, failed := p.ending(r)
	if p.uncaged {
		head += " " + ranUncaged
	}
	dir := p.ended()
	if dir != "." {
		head += fmt.Sprintf(" The next line begins in %s.", filepath.ToSlash(dir))
	}
	text := head
	if shown := out.Text(); shown != "" {
		text += "\n" + shown
	}
	if len(r.Changed) > 0 {
		text += "\n(Other programs act on what was changed here; tell the person: " + p.list(r.Changed) + ")"
	}
	text += p.settings(r.Settings)
	layers := r.Layers
	switch {
	case p.uncaged:
		layers = []string{core.LayersUncaged}
	case len(layers) > 0:
		text += p.closedTo() + reach.Unreached(r.Refused, rules, true)
	default:
		text += "\n(It ran unconfined, as a person's configuration says.)"
		layers = []string{core.LayersOff}
	}
	return core.ToolResult{
		Text: text, IsError: failed, Dir: filepath.Join(p.named, dir), Source: out.Source(), Layers: layers,
	}
}

// ending says how a line ended. That a program found fault with something is no fault of the call.
func (p *place) ending(r core.JobResult) (text string, failed bool) {
	started := "all that it had started"
	if p.uncaged && runtime.GOOS != "linux" { // nothing adopts it there
		started = "what it had started, but for what had left its group"
	}
	switch r.Ended {
	case core.JobExited:
		return fmt.Sprintf("Exit code %d.", r.ExitCode), false
	case core.JobSignalled:
		return "It was ended by the signal " + r.Signal + ".", true
	case core.JobTimedOut:
		return fmt.Sprintf("It was stopped after %s, with %s; timeout can be up to %d seconds.",
			r.Took.Round(time.Second), started, mostTime/time.Second), true
	case core.JobCancelled:
		return "It was cancelled, with " + started + ".", true
	case core.JobOverMemory:
		return "It was stopped because it took more than half of the machine's memory.", true
	case core.JobOverProcesses:
		return "It was stopped because it started too many processes.", true
	case core.JobOverOutput:
		return "It was stopped because it wrote too much; send the output to a file.", true
	case core.JobOverDisk:
		return "It was stopped because the disk was almost full.", true
	case core.JobUncovered:
		return "It was stopped with all that it had started, because " + p.list([]string{r.Bared}) + ", which is closed to it, was " +
			"moved or replaced outside meanwhile: what came in its place would have been open to it. Run it again.", true
	case core.JobKilled:
	}
	return "It was killed from outside: the machine may be out of memory.", true
}

// list names paths, as the model would.
func (p *place) list(paths []string) string {
	const most = 20
	var names []string
	for _, path := range paths {
		if rel, inside := below(p.real, path); inside {
			path = rel
		}
		names = append(names, plaintext.Of(filepath.ToSlash(path)))
	}
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(names, ", ")
}
