package shell

import (
	"context"
	"path/filepath"
	"strings"

	"loci/core"
	"loci/core/jobs"
	"loci/tools/internal/plaintext"
)

// NoticeGit tells the person which settings of git a line changed in the project, or wanted to.
const NoticeGit = "git"

// denier is who said no to a setting, so that nothing says how to have it all the same.
type denier string

const (
	byRule   denier = "a rule"
	byPerson denier = "the person" // as they were asked
)

// Bounds of what a person is asked about at once: they have to see all of it.
const (
	mostAsked = 50
	longAsked = 300 // bytes of a setting's values together
)

// settle asks the person about settings of git that aren't safe, and has those written that a rule or they allow. It returns what
// the person is told. By then the line is over, and so is the watch of the folder: what they change meanwhile is theirs.
func (p *place) settle(ctx context.Context, r *core.JobResult, env core.ToolEnv, l jobs.Line) []core.Notice {
	var allowed, asked, unasked []int
	for i := range r.Settings {
		s := &r.Settings[i]
		if s.May == "" || r.Allow == nil || env.Workspace.Settings == nil {
			continue
		}
		may, asks, why := env.Workspace.Settings.Judge(*s)
		switch {
		case may:
			allowed = append(allowed, i)
		case why != "":
			s.Why, p.denied[s.Name] = why, byRule
		case asks && env.Client.Unattended:
			unasked = append(unasked, i)
		case asks && len(strings.Join(s.Values, " ")) <= longAsked && len(asked) < mostAsked:
			asked = append(asked, i)
		}
	}
	if len(asked) > 0 && ctx.Err() == nil {
		why, final := l.AskSettings(ctx, chosen(r.Settings, asked))
		if why == "" {
			allowed = append(allowed, asked...)
		}
		for _, i := range asked {
			r.Settings[i].Why = why
			if final {
				p.denied[r.Settings[i].Name] = byPerson
			}
		}
	}
	if len(allowed) > 0 {
		for n, s := range r.Allow(chosen(r.Settings, allowed)) {
			r.Settings[allowed[n]] = s
		}
	}
	return p.tell(r.Settings, unasked, env)
}

func chosen(all []core.JobSetting, which []int) (out []core.JobSetting) {
	for _, i := range which {
		out = append(out, all[i])
	}
	return out
}

// tell says to the person what became of settings, but for what they have just said no to themselves.
func (p *place) tell(all []core.JobSetting, unasked []int, env core.ToolEnv) (out []core.Notice) {
	var written, refused []core.JobSetting
	for i := range all {
		switch s := &all[i]; {
		case s.Name == filepath.Base(s.File) || p.denied[s.Name] == byPerson: // the file as a whole is the model's to tell of
		case s.Why == "":
			written = append(written, *s)
		default:
			refused = append(refused, *s)
		}
	}
	if len(written) > 0 {
		text := "A line changed the project's git configuration: " + p.labels(written, false) + "."
		out = append(out, core.Notice{Kind: NoticeGit, Text: text})
	}
	if len(unasked) > 0 {
		var flags []string
		for _, s := range chosen(all, unasked) {
			flags = append(flags, env.Veil.Text(env.Workspace.Settings.Flag(s)))
		}
		text := "the project's git configuration was not changed, since nobody is there to be asked: " +
			p.labels(chosen(all, unasked), true)
		return append(out, core.Notice{
			Kind: core.NoticeDenied, Text: "shell: " + text + ". It would have been with " + strings.Join(flags, " ") + ".",
			Data: map[string]any{"tool": "shell", "tool_call_id": env.Call, "why": env.Veil.Text(text), "flags": flags},
		})
	}
	if len(refused) > 0 {
		text := "The project's git configuration was not changed as a line wanted it: " + p.labels(refused, true) + "."
		out = append(out, core.Notice{Kind: NoticeGit, Text: text})
	}
	return out
}

// mostTold is how many settings a person is told of at once.
const mostTold = 10

// labels lists settings with what they are to be, and why that did not happen.
func (p *place) labels(all []core.JobSetting, why bool) string {
	var names []string
	for _, s := range all[:min(len(all), mostTold)] {
		name := plaintext.Of(s.Name)
		if s.File != filepath.Join(p.real, ".git/config") {
			name += " in " + p.list([]string{s.File})
		}
		switch {
		case len(s.Values) == 0 && len(s.Was) > 0:
			name += " (was " + short(s.Was) + ") removed"
		case len(s.Values) == 0:
			name += " removed"
		default:
			name += " = " + short(s.Values)
		}
		if why && s.May != "" {
			name += ", which " + s.May
		} else if why {
			name += " (" + plaintext.Of(s.Why) + ")"
		}
		names = append(names, name)
	}
	if n := len(all) - mostTold; n > 0 {
		names = append(names, core.Count(n, "more setting"))
	}
	return strings.Join(names, "; ")
}
