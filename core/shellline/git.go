package shellline

import (
	"slices"
	"strings"
	"sync"
)

const (
	gitDiffLong = "--stat --numstat --shortstat --summary --name-only --name-status --cached --staged --patch --unified --color " +
		"--no-color --word-diff --diff-filter --exit-code --quiet --no-ext-diff --no-textconv --ignore-all-space " +
		"--ignore-space-change --minimal --histogram --check --merge-base"
	gitLogLong = " --oneline --graph --all --decorate --no-decorate --since --until --after --before --author --grep --format --pretty " +
		"--abbrev-commit --no-merges --merges --follow --reverse --first-parent --date --max-count --skip --branches --tags --no-patch"
)

// gitReading are the commands of git that only read, with the options that only read too.
var gitReading = sync.OnceValue(func() map[string]program {
	return map[string]program{
		"status": {short: "sbvuz", long: "--short --long --branch --porcelain --untracked-files --ignored --show-stash"},
		"diff":   {short: "pswbMCRazqt", value: "USG", long: gitDiffLong},
		"log":    {short: "pswbMCRazqitE", value: "nUSGL", long: gitDiffLong + gitLogLong},
		"show":   {short: "pswbMCRazqt", value: "nUSG", long: gitDiffLong + gitLogLong},
		"blame":  {short: "lstfnewcb", value: "LMC", long: "--porcelain --line-porcelain --date --show-email"},
		"ls-files": {
			short: "cdmoistkuvzfr",
			long:  "--cached --deleted --modified --others --stage --exclude-standard --full-name --error-unmatch",
		},
		"ls-tree": {short: "rdtlz", long: "--name-only --name-status --full-tree --long --abbrev"},
		"rev-parse": {
			short: "q",
			long:  "--abbrev-ref --short --verify --show-toplevel --git-dir --is-inside-work-tree --show-prefix --all",
		},
		"rev-list":   {short: "n", long: "--count --all --max-count --since --until --no-merges --merges --first-parent --reverse"},
		"branch":     {short: "avr", long: "--list --all --remotes --show-current --verbose --sort --format --no-color", most: -1},
		"tag":        {short: "ln", long: "--list --sort", check: checkTag},
		"remote":     {short: "v", long: "--verbose", check: checkRemote},
		"describe":   {long: "--tags --always --dirty --abbrev --long --all --match"},
		"shortlog":   {short: "sne", long: "--since --until --no-merges"},
		"merge-base": {long: "--is-ancestor --all"},
		"cat-file":   {short: "tsep"},
		"grep": {
			short: "nilwcEFPhHv",
			value: "ABCe",
			long:  "--line-number --ignore-case --files-with-matches --word-regexp --count --cached",
		},
		"config":        {short: "l", long: "--get --get-all --list", check: checkConfig},
		"stash":         {check: func(words []string) bool { return slices.Equal(words, []string{"list"}) }},
		"worktree":      {check: func(words []string) bool { return slices.Equal(words, []string{"list"}) }},
		"count-objects": {short: "vH"},
	}
})

// checkGit judges git: only the pager may be set before the command, because everything else there can start programs or
// use another repository.
func checkGit(words []string) bool {
	for len(words) > 0 && (words[0] == "--no-pager" || words[0] == "-P") {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	p, known := gitReading()[words[0]]
	words = words[1:]
	if !known || p.check != nil && !p.check(words) || slices.ContainsFunc(words, func(word string) bool {
		return strings.Contains(word, "%G") // signatures are checked by another program
	}) {
		return false
	}
	return p.obeys(words)
}

// checkTag lets a listing through: with a name alone a tag is made.
func checkTag(words []string) bool {
	return len(words) == 0 || words[0] == "-l" || words[0] == "--list" || words[0] == "-n"
}

func checkRemote(words []string) bool {
	return len(words) == 0 || len(words) == 1 && (words[0] == "-v" || words[0] == "--verbose") || len(words) == 2 && words[0] == "get-url"
}

// checkConfig lets one name be read: with a value after it, it is set.
func checkConfig(words []string) bool {
	if len(words) == 0 {
		return false
	}
	if words[0] == "-l" || words[0] == "--list" {
		return len(words) == 1
	}
	if words[0] == "--get" || words[0] == "--get-all" {
		return len(words) == 2 && !strings.HasPrefix(words[1], "-")
	}
	return len(words) == 1 && strings.Contains(words[0], ".")
}
