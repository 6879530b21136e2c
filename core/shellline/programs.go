package shellline

import (
	"strings"
	"sync"
)

// program says with which words a program only reads. A short option may be bundled with others; what isn't listed
// makes the command one that is asked about.
type program struct {
	any   bool   // no option or operand of it can do harm
	texts bool   // its words are texts and name no files
	first bool   // its first operand is an expression and names no file
	short string // short options without a value
	value string // short options with a value, in the same word or the next
	long  string // long options, between spaces
	most  int    // operands it may have at most, 0: any number; -1: none
	check func(words []string) bool
}

// reading are the programs that may be free. A program that can write, start another one or change what follows stands
// here with the options that don't.
var reading = sync.OnceValue(func() map[string]program {
	return map[string]program{
		"arch":      {any: true},
		"basename":  {any: true, texts: true},
		"cat":       {any: true},
		"cd":        {check: checkCd},
		"cksum":     {any: true},
		"cmp":       {any: true},
		"column":    {any: true},
		"comm":      {any: true},
		"command":   {check: checkCommand, texts: true},
		"cut":       {any: true},
		"date":      {short: "uR", long: "--utc --iso-8601 --rfc-3339", most: 1, texts: true, check: checkDate},
		"df":        {any: true},
		"diff":      {short: "qrsuwbBiNpyacet", value: "UCxI", long: "--brief --recursive --unified --color --side-by-side"},
		"dirname":   {any: true, texts: true},
		"du":        {any: true},
		"echo":      {any: true, texts: true},
		"egrep":     {any: true, first: true},
		"exit":      {check: checkExit},
		"expand":    {any: true},
		"false":     {any: true, texts: true},
		"fgrep":     {any: true, first: true},
		"file":      {short: "biLhk", long: "--mime --mime-type --brief"},
		"find":      {check: checkFind},
		"fmt":       {any: true},
		"fold":      {any: true},
		"free":      {any: true},
		"git":       {check: checkGit},
		"grep":      {any: true, first: true},
		"groups":    {any: true},
		"head":      {any: true},
		"hexdump":   {any: true},
		"hostname":  {short: "fsiI", most: -1},
		"id":        {any: true},
		"join":      {any: true},
		"jq":        {any: true, first: true},
		"ls":        {any: true},
		"md5sum":    {any: true},
		"nl":        {any: true},
		"nproc":     {any: true},
		"od":        {any: true},
		"paste":     {any: true},
		"printenv":  {any: true},
		"printf":    {check: checkPrintf, texts: true},
		"ps":        {any: true},
		"pwd":       {any: true},
		"readlink":  {any: true},
		"realpath":  {any: true},
		"rev":       {any: true},
		"rg":        {short: ripgrepShort, value: "egtTABCmMjfr", long: ripgrepLong, first: true},
		"sed":       {check: checkSed, first: true},
		"seq":       {any: true, texts: true},
		"sha1sum":   {any: true},
		"sha256sum": {any: true},
		"sha512sum": {any: true},
		"sort":      {short: "bdfgiMhnRrVcCmsuz", value: "kt", long: sortLong},
		"stat":      {any: true},
		"tac":       {any: true},
		"tail":      {any: true},
		"test":      {check: checkTest},
		"[":         {check: checkTest},
		"tr":        {any: true, texts: true},
		"tree":      {short: "adfpshDFCnirt", value: "LIP", long: "--dirsfirst --noreport --gitignore"},
		"true":      {any: true, texts: true},
		":":         {any: true, texts: true},
		"tty":       {any: true},
		"type":      {any: true, texts: true},
		"uname":     {any: true},
		"unexpand":  {any: true},
		"uniq":      {short: "cduDiz", value: "fsw", long: "--count --repeated --unique --ignore-case", most: 1},
		"uptime":    {any: true},
		"wc":        {any: true},
		"which":     {any: true, texts: true},
		"whoami":    {any: true},
	}
})

const (
	ripgrepShort = "inNlLcvwxFsSoUuHIPp0a."
	ripgrepLong  = "--files --hidden --no-ignore --glob --type --count --files-with-matches --ignore-case --line-number " +
		"--no-heading --heading --context --after-context --before-context --max-count --json --multiline --word-regexp " +
		"--fixed-strings --smart-case --color --sort --stats --max-depth --no-messages --only-matching --type-list --version"
	sortLong = "--numeric-sort --reverse --unique --key --field-separator --ignore-case --human-numeric-sort " +
		"--version-sort --stable --check"
)

// versions are programs that only say which they are when asked with --version alone.
var versions = set("python python3 node ruby gcc clang bash git make perl")

// shells run the text after -c as a line.
var shells = set("sh bash dash zsh ksh mksh ash")

// starters run what their words name. Nothing is offered to be allowed for good for them.
var starters = set("env timeout xargs nice ionice nohup setsid stdbuf time watch sudo doas su chroot unshare nsenter flock strace " +
	"ltrace gdb parallel entr find fd npx pnpx bunx uvx pipx busybox toybox script ssh start-stop-daemon systemd-run taskset " +
	"chrt prlimit setarch catchsegv expect rlwrap direnv docker podman command builtin exec eval coproc caffeinate")

// interpreters run programs that their words or their input hold. Nothing is offered for them either.
var interpreters = set("python python2 python3 node nodejs deno bun perl ruby php lua luajit awk gawk mawk nawk sed ed ex vi vim nvim " +
	"emacs tclsh wish osascript pwsh powershell ghci erl elixir iex julia R Rscript jshell groovy scala sqlite3 psql mysql gnuplot bc dc " +
	"tar rsync sh bash dash zsh ksh mksh ash fish csh tcsh source .")

// changers change what later words mean, or run words as a line; nothing after them can be judged.
var changers = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"alias": "it changes what words mean", "unalias": "it changes what words mean", "enable": "it changes what words mean",
		"hash": "it changes what words mean", "set": "it changes how the shell reads", "shopt": "it changes how the shell reads",
		"eval": "it runs its words as a line", "source": "it runs a file as lines", ".": "it runs a file as lines",
		"trap": "it runs its words later", "exec": "it replaces the shell", "builtin": "it runs what its words name",
		"bind": "it changes how the shell reads", "complete": "it changes how the shell reads",
		"export": "it sets variables", "declare": "it sets variables", "typeset": "it sets variables", "local": "it sets variables",
		"readonly": "it sets variables", "read": "it sets variables", "mapfile": "it sets variables", "readarray": "it sets variables",
		"unset": "it sets variables", "getopts": "it sets variables", "let": "it sets variables", "fc": "it runs earlier lines",
		"pushd": "it changes the folder", "popd": "it changes the folder",
	}
})

// set is a set of words, made when it is first used: every command of Loci would wait for what is made before.
func set(names string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for name := range strings.FieldsSeq(names) {
			all[name] = true
		}
		return all
	})
}

// subcommands are programs whose first word says what they do, so that a pattern of two words and anything after them is
// as narrow as a person means it.
var subcommands = set("git go cargo npm pnpm yarn dotnet")

// runs are words of such programs after which they start something named by the words that follow.
var runs = set("run exec x dlx tool generate config alias shell env filter-branch submodule bisect rebase difftool mergetool")

// always returns the pattern that would allow a command from now on; empty if none should be offered.
func always(words []string) string {
	name := base(words[0])
	if starters()[name] || interpreters()[name] || strings.Contains(words[0], "=") {
		return ""
	}
	if !subcommands()[words[0]] || len(words) == 1 {
		return quoteAll(words)
	}
	if strings.HasPrefix(words[1], "-") {
		return ""
	}
	if _, lookup := gitReading()[words[1]]; runs()[words[1]] || lookup {
		return quoteAll(words)
	}
	return quoteAll(words[:2]) + " *"
}
