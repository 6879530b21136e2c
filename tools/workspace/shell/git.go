package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loci/core"
	"loci/core/gitconfig"
	"loci/tools/internal/plaintext"
)

// helper answers git's question for a password with variables that the person gave to lines: GIT_TOKEN, or that of a forge.
const helper = `!f() { test "$1" = get || exit 0; t=$GIT_TOKEN; u=$GIT_USERNAME; while IFS== read -r k v; do case $k=$v in ` +
	`host=github.com) t=${t:-${GITHUB_TOKEN:-$GH_TOKEN}};; host=gitlab.com) t=${t:-$GITLAB_TOKEN};; esac; done; ` +
	`test -z "$t" || printf 'username=%s\npassword=%s\n' "${u:-oauth2}" "$t"; }; f`

// equipGit gives git in a line a configuration of the account: the person's name and address, which a project's own come before,
// and nothing else of theirs.
func (s *Shell) equipGit(p *place) error {
	changes := []gitconfig.Change{{Name: "credential.helper", Key: "helper", Values: []string{helper}}}
	name, mail := identity(s.cfg.Home)
	if name != "" {
		changes = append(changes, gitconfig.Change{Name: "user.name", Key: "name", Values: []string{name}})
	}
	if mail != "" {
		changes = append(changes, gitconfig.Change{Name: "user.email", Key: "email", Values: []string{mail}})
	}
	text, err := new(gitconfig.File).With(changes)
	if err == nil {
		err = p.cache.WriteFile(p.git, []byte(text), 0o600)
	}
	if err != nil {
		return core.E(core.Unavailable, "git's configuration for the line: %w", err).WithHint("make room for %s", s.cfg.Caches)
	}
	p.env = append(p.env, "GIT_CONFIG_GLOBAL="+cacheInside+"/"+p.git)
	return nil
}

// identity reads the person's name and address from their own git configuration. No git runs: it would read the project's too.
func identity(home string) (name, mail string) {
	for _, file := range []string{".config/git/config", ".gitconfig"} {
		info, err := os.Stat(filepath.Join(home, file))
		if home == "" || err != nil || !info.Mode().IsRegular() || info.Size() > mostSmall {
			continue
		}
		text, err := os.ReadFile(filepath.Join(home, file))
		if err != nil {
			continue
		}
		config, err := gitconfig.Parse(string(text))
		if err != nil {
			continue
		}
		if n := plain(config.Value("user.name")); n != "" {
			name = n
		}
		if m := plain(config.Value("user.email")); m != "" {
			mail = m
		}
	}
	return name, mail
}

// plain is a value on one line, without controls.
func plain(value string) string { return strings.Join(strings.Fields(plaintext.Of(value)), " ") }

// settings says what became of the settings of git that a line changed.
func (p *place) settings(changed []core.JobSetting) string {
	var written, refused, helps []string
	text, moreWritten, moreRefused := "", 0, 0
	for _, s := range changed {
		name := plaintext.Of(s.Name)
		if s.File != filepath.Join(p.real, ".git/config") {
			name += " in " + p.list([]string{s.File})
		}
		switch {
		case s.Name == filepath.Base(s.File): // the file as a whole
			text += "\n(" + p.list([]string{s.File}) + ": " + plaintext.Of(s.Why) + ". Tell the person.)"
		case s.Why == "" && len(written) == mostTold:
			moreWritten++
		case s.Why != "" && len(refused) == mostTold:
			moreRefused++
		case s.Why == "" && len(s.Values) == 0:
			written = append(written, name+" (removed)")
		case s.Why == "":
			written = append(written, name+" = "+short(s.Values))
		default:
			refused = append(refused, name+" ("+plaintext.Of(s.Why)+")")
			if p.denied[s.Name] == "" {
				helps = append(helps, p.command(s))
			}
		}
	}
	if moreWritten > 0 {
		written = append(written, fmt.Sprintf("and %d more, which git config --list --local shows", moreWritten))
	}
	if moreRefused > 0 {
		refused = append(refused, fmt.Sprintf("and %d more", moreRefused))
	}
	if len(written) > 0 {
		text += "\n(Written to the project's git configuration: " + strings.Join(written, "; ") + ".)"
	}
	if len(refused) > 0 {
		text += "\n(Not written to the project's git configuration: " + strings.Join(refused, "; ") + "."
		if len(helps) > 0 {
			text += " What helps, and only the person can do it, if they want it: " + strings.Join(helps, "; ")
		}
		text += ")"
	}
	return text
}

// mostValue is how much of a value is shown, in bytes.
const mostValue = 200

// command is what a person would run to make a setting what a line wanted it to be.
func (p *place) command(s core.JobSetting) string {
	git := "git config "
	if s.File != filepath.Join(p.real, ".git/config") {
		git += "--file " + quote(s.File) + " "
	}
	if len(s.Values) > 3 || slices.ContainsFunc(s.Values, func(v string) bool { return len(v) > mostValue || v != plaintext.Of(v) }) {
		return git + "--edit"
	}
	if len(s.Values) == 0 {
		return git + "--unset-all " + quote(s.Name)
	}
	var all []string
	for i, v := range s.Values {
		how := "--replace-all "
		if i > 0 {
			how = "--add "
		}
		if len(s.Values) == 1 {
			how = ""
		}
		all = append(all, git+how+quote(s.Name)+" "+quote(v))
	}
	return strings.Join(all, " && ")
}

// short are values as they are told.
func short(values []string) string {
	text := strings.ReplaceAll(plaintext.Of(strings.Join(values, ", ")), "\n", " ")
	if len(text) > mostValue {
		text = strings.ToValidUTF8(text[:mostValue], "") + "…"
	}
	return text
}

// quote is a word as a shell reads it.
func quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@=+,-"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(plaintext.Of(word), "'", `'\''`) + "'"
}
