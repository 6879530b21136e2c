package gitconfig

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Split tells which changes can't make git, or what asks git, run anything or read a file or a host that a person didn't choose
// to, once they are made to a configuration. What is not known is not safe.
func (f *File) Split(changes []Change) (safe, unsafe []Change) {
	after, err := f.With(only(changes, false))
	if err != nil {
		return nil, changes
	}
	file, err := Parse(after)
	if err != nil {
		return nil, changes
	}
	for _, c := range changes {
		if fits(c) && (!refers(c) || known(file, c)) && !f.own(c) {
			safe = append(safe, c)
		} else {
			unsafe = append(unsafe, c)
		}
	}
	return safe, unsafe
}

// own reports whether a change takes away or replaces who the person is here: what a project was told of that is theirs.
func (f *File) own(c Change) bool {
	section, _, key := split(c.Name)
	return len(f.Values(c.Name)) > 0 && (key == "name" || key == "email") &&
		(section == "user" || section == "author" || section == "committer")
}

// only are those changes that fit, and refer to a remote or don't.
func only(changes []Change, referring bool) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return !fits(c) || refers(c) != referring })
}

// fits reports whether a change is one that can be safe.
func fits(c Change) bool {
	section, sub, key := split(c.Name)
	may := rule(section, sub, key)
	if may == nil || section == "remote" && key == "url" && len(c.Values) == 0 {
		return false // a remote without an address is taken for a folder, where hooks may lie
	}
	return !slices.ContainsFunc(c.Values, func(v string) bool { return !may(v) })
}

// refers reports whether the values of a setting name remotes.
func refers(c Change) bool {
	section, _, key := split(c.Name)
	return section == "branch" && (key == "remote" || key == "pushremote") ||
		section == "remote" && key == "pushdefault" || section == "checkout" && key == "defaultremote"
}

// known reports whether there are all the remotes that a setting names: what is none would be taken for a folder.
func known(f *File, c Change) bool {
	return !slices.ContainsFunc(c.Values, func(v string) bool {
		return v != "." && !Address(v) && len(f.Values("remote."+v+".url")) == 0
	})
}

type check func(value string) bool

// rule is what values of a setting have to be; nil: there is no rule, and so none is safe.
func rule(section, sub, key string) check {
	if sub == "" {
		if section == "color" && plainWord(key) {
			return colour
		}
		return plain()[section+"."+key]
	}
	if section == "color" && plainWord(sub) {
		return colour
	}
	if !name(sub) {
		return nil
	}
	return named()[section+"."+key]
}

// named are the settings of a branch, a remote or a submodule.
var named = sync.OnceValue(func() map[string]check {
	return map[string]check{
		"branch.remote": remote, "branch.pushremote": remote, "branch.merge": ref, "branch.rebase": words("merges", "interactive"),
		"branch.description": text, "branch.mergeoptions": words("--ff-only", "--no-ff", "--ff"),
		"branch.vscode-merge-base": ref, "branch.gh-merge-base": ref,

		"remote.url": Address, "remote.pushurl": Address, "remote.fetch": refs, "remote.tagopt": words("--tags", "--no-tags"),
		"remote.prune": words(), "remote.prunetags": words(), "remote.gh-resolved": words("base"),
		"submodule.url": Address, "submodule.active": words(), "submodule.branch": ref,
	}
})

// plain are settings without a subsection.
var plain = sync.OnceValue(func() map[string]check {
	flag, ref, text := check(words()), check(ref), check(text)
	return map[string]check{
		"user.name": text, "user.email": text, "author.name": text, "author.email": text, "committer.name": text, "committer.email": text,
		"init.defaultbranch": ref, "pull.rebase": words("merges", "interactive"), "pull.ff": words("only"),
		"push.default":         words("nothing", "current", "upstream", "tracking", "simple", "matching"),
		"push.autosetupremote": flag, "push.followtags": flag,
		"branch.autosetupmerge":  words("always", "inherit", "simple"),
		"branch.autosetuprebase": words("never", "local", "remote", "always"),
		"remote.pushdefault":     remote, "checkout.defaultremote": remote, "checkout.guess": flag,
		"fetch.prune": flag, "fetch.prunetags": flag, "fetch.recursesubmodules": words("on-demand"),
		"rebase.autostash": flag, "rebase.autosquash": flag, "rebase.updaterefs": flag, "rebase.stat": flag,
		"merge.ff": words("only"), "merge.conflictstyle": words("merge", "diff3", "zdiff3"), "merge.autostash": flag, "merge.stat": flag,
		"rerere.enabled": flag, "rerere.autoupdate": flag, "commit.verbose": flag, "submodule.recurse": flag,
		"log.decorate":     words("short", "full", "auto"),
		"log.abbrevcommit": flag, "log.follow": flag, "status.short": flag, "status.branch": flag, "status.showstash": flag,
		"status.showuntrackedfiles": words("no", "normal", "all"), "diff.renames": words("copies", "copy"), "diff.noprefix": flag,
		"diff.mnemonicprefix": flag, "diff.algorithm": words("default", "myers", "minimal", "patience", "histogram"),
		"diff.colormoved":         words("no", "default", "plain", "blocks", "zebra", "dimmed-zebra"),
		"column.ui":               words("always", "never", "auto", "column", "row", "plain", "dense", "nodense"),
		"advice.addemptypathspec": flag, "advice.detachedhead": flag, "advice.defaultbranchname": flag, "advice.statushints": flag,
	}
})

// words allows a few words, and what git takes for yes or no.
func words(more ...string) func(string) bool {
	return func(value string) bool {
		value = strings.ToLower(value)
		return slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "1", "0", ""}, value) || slices.Contains(more, value)
	}
}

// kinds are the expressions of values. What they allow begins with no dash, which a program could take for an option, and holds
// no control character.
var kinds = sync.OnceValue(func() map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	for kind, expression := range map[string]string{
		"plainWord": `^[a-z0-9-]{1,40}$`,
		"name":      `^[\p{L}\p{N}_][\p{L}\p{N}_./@#+=-]{0,254}$`,
		"colour":    `^[a-zA-Z0-9# -]{0,80}$`,
		"refs":      `^\+?[\p{L}\p{N}_][\p{L}\p{N}_./@#=*-]{0,254}:refs/[\p{L}\p{N}_./@#=*-]{1,254}$`,
		"text":      `^[^\x00-\x1f\x7f-\x{9f}]{0,500}$`,
		"web":       `^(https|git)://([\p{L}\p{N}._~%-]+(:[^\s/@]*)?@)?[a-zA-Z0-9\[][a-zA-Z0-9.:\]-]*(/[^\s"'\\]*)?$`,
		"ssh":       `^ssh://([a-zA-Z0-9_.][a-zA-Z0-9_.+-]*@)?[a-zA-Z0-9\[][a-zA-Z0-9.:\]-]*/[^\s"'\\-][^\s"'\\]*$`,
		"scp":       `^([a-zA-Z0-9_.][a-zA-Z0-9_.+-]*@)?[a-zA-Z0-9][a-zA-Z0-9.-]*:[^\s"'\\:-][^\s"'\\:]*$`,
	} {
		all[kind] = regexp.MustCompile(expression)
	}
	return all
})

func plainWord(value string) bool { return kinds()["plainWord"].MatchString(value) }
func name(value string) bool      { return kinds()["name"].MatchString(value) }
func colour(value string) bool    { return kinds()["colour"].MatchString(value) }
func ref(value string) bool       { return kinds()["name"].MatchString(value) }
func refs(value string) bool      { return kinds()["refs"].MatchString(value) }
func text(value string) bool      { return kinds()["text"].MatchString(value) }

// Address reports whether a repository's address names a host, over HTTPS, SSH or git's own protocol. A folder is no such
// address: a push to it runs the hooks that lie there. Other schemes are programs that git would start.
func Address(value string) bool {
	if len(value) > 2000 || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return false
	}
	all := kinds()
	return all["web"].MatchString(value) || all["ssh"].MatchString(value) ||
		all["scp"].MatchString(value) && !strings.Contains(value, "://")
}

// remote is the name of one, or the address itself.
func remote(value string) bool { return value == "." || name(value) || Address(value) }
