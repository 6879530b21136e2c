package shellline

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

var at = Folder{Root: "/work/project", Dir: "/work/project"}

// The lines that a model writes most, and those that only look like them.
var (
	freeLines = []string{
		`ls`, `ls -la src`, `cat README.md`, `cat -n src/main.go | head -50`, `head -n 20 go.mod`, `tail -5 log.txt`, `wc -l *.go`,
		`pwd`, `echo done`, `grep -rn "func main" .`, `grep -rn '/api/v1' src`, `grep -c x a.txt && echo yes || echo no`,
		`rg --files -g '*.go'`, `rg -n TODO src`, `find . -name '*.go' -not -path './vendor/*'`, `find src -type f -size +10k | sort`,
		`git status`, `git status --short`, `git log --oneline -20`, `git diff`, `git diff --stat HEAD~1`, `git diff --cached -- src`,
		`git --no-pager show HEAD:go.mod`, `git branch -a`, `git remote -v`, `git rev-parse --abbrev-ref HEAD`, `git ls-files`,
		`git blame -L 1,20 go.mod`, `git config --get user.name`, `git stash list`, `cd src && ls`, `(cd src; cat main.go)`,
		`sed -n '10,20p' go.mod`, `sed 's/a/b/g' notes.txt`, `sort -k2 -n data.txt | uniq -c`, `cut -d, -f1 data.csv`,
		`jq .name package.json`,
		`test -f go.mod && cat go.mod`, `[ -d src ] || exit 1`, `if [ -f a ]; then cat a; fi`, `diff -u a b`, `ls 2>/dev/null`,
		`ls >/dev/null 2>&1`, `cat <<'EOF'` + "\n$(rm x)\nEOF", `cat < go.mod`, `stat go.mod; file go.mod`, `! grep -q x a`, `time ls`,
		`"ls" 'src'`, `l\s src`, `/bin/ls src`, `command -v go`, `python3 --version`, `printf '%s\n' a b`, `date +%F`, `tree -L 2`,
	}
	askedLines = map[string]string{ // what its doubt says; empty: no doubt, but it doesn't only read
		"echo $(rm x)":                          "inside of a word",
		"echo `rm x`":                           "inside of a word",
		`$'\x72\x6d' x`:                         "only known when it runs",
		`ls $'\x41'`:                            "only known when it runs",
		`cat $HOME/.netrc`:                      "expression that is only known",
		`cat ~/.netrc`:                          "only known when it runs",
		`cat {a,b}`:                             "only known when it runs",
		`cat @(a|b)`:                            "can't be judged",
		`eval ls`:                               "runs its words as a line",
		`env X=1 rm a`:                          "",
		`timeout 5 ls`:                          "",
		`xargs cat`:                             "",
		`find . -exec rm {} +`:                  "",
		`find . -delete`:                        "",
		`find . -fprint out`:                    "",
		`find . -name *`:                        "may be options",
		`coproc ls`:                             "background",
		`ls &`:                                  "background",
		`cat <(rm x)`:                           "inside of a word",
		"cat <<EOF\n$(rm x)\nEOF":               "inside of a word",
		`cat <<< $X`:                            "only known",
		`PATH=. ls`:                             "sets variables",
		`PATH=.; ls`:                            "sets variables",
		`BASH_ENV=x bash -c ls`:                 "sets variables",
		`export PATH=.`:                         "sets variables",
		`for PATH in .; do ls; done`:            "sets variables",
		`read PATH < a; ls`:                     "sets variables",
		`printf -v PATH .`:                      "",
		`printf %n PATH`:                        "",
		`[ -v 'a[$(rm x)]' ]`:                   "",
		`[[ 'a[$(rm x)]' -eq 0 ]]`:              "only known",
		`(( a[$(rm x)] ))`:                      "only known",
		`git -c core.pager=evil log`:            "",
		`git -C sub status`:                     "",
		`git --exec-path=. status`:              "",
		`git diff --output=x`:                   "",
		`git diff --outp=x`:                     "",
		`git diff --ext-diff`:                   "",
		`git diff --no-index a b`:               "",
		`git log --format=%GG`:                  "",
		`git grep -Oevil x`:                     "",
		`git branch new`:                        "",
		`git tag v1`:                            "",
		`git config user.name x`:                "",
		`git push`:                              "",
		`cd sub && git status`:                  "",
		`sed 'e rm x' a`:                        "",
		`sed -n 'w out' a`:                      "",
		`sed 's/a/b/w out' a`:                   "",
		`sed 's/a/b/e' a`:                       "",
		`sed -i s/a/b/ a`:                       "",
		`sed -n '5p' a -i`:                      "",
		`awk 'BEGIN { system("rm x") }'`:        "",
		`tar -tf a --checkpoint-action=exec=rm`: "",
		`rg --pre=rm x`:                         "",
		`rg --hostname-bin rm x`:                "",
		`sort -o out a`:                         "",
		`sort --outp=out a`:                     "",
		`sort --compress-program=rm a`:          "",
		`uniq a out`:                            "",
		`tree -o out`:                           "",
		`date -s 12:00`:                         "",
		`hostname evil`:                         "",
		`cd .. && cat secret`:                   "",
		`cd /etc; cat passwd`:                   "",
		`cd; ls`:                                "",
		`cat ../secret`:                         "",
		`cat src/../../secret`:                  "",
		`cat /etc/passwd`:                       "",
		`grep -rf/etc/passwd .`:                 "",
		`grep --file=/etc/passwd a`:             "",
		`cat < /etc/passwd`:                     "not in the folder",
		`ls > out`:                              "",
		`ls > /etc/out`:                         "",
		`ls >> ../out`:                          "depends on what runs",
		`cd src && ls > out`:                    "depends on what runs",
		`ls &> out`:                             "",
		`echo x > $Y`:                           "only known",
		`ls {fd}> out`:                          "sets the variable",
		`f() { rm x; }; f`:                      "defines a function",
		`alias ls=rm; ls x`:                     "changes what words mean",
		`. ./a`:                                 "runs a file",
		`trap 'rm x' EXIT`:                      "later",
		`exec ls`:                               "replaces",
		`./ls`:                                  "",
		`tee out`:                               "",
		`sh -c ls`:                              "",
		`python3 -c 'print(1)'`:                 "",
		`ls --help; rm x`:                       "",
		`ls | tee out`:                          "",
		"ls\u00a0-la":                           "invisible",
		"ls\r\n":                                "invisible",
		`ls (`:                                  "not a complete",
		``:                                      "no command",
		`sort *`:                                "may be options",
	}
)

func TestLinesThatOnlyReadAreFree(t *testing.T) {
	t.Parallel()
	if len(freeLines) < 30 || len(freeLines)+len(askedLines) < 80 {
		t.Fatalf("%d lines are free and %d are not", len(freeLines), len(askedLines))
	}
	for _, text := range freeLines {
		if line := Parse(text, at); !line.Free() {
			t.Errorf("%s is not free: %+v", text, line)
		}
	}
}

func TestLinesThatMayDoMoreAreAsked(t *testing.T) {
	t.Parallel()
	for text, doubt := range askedLines {
		line := Parse(text, at)
		if line.Free() {
			t.Errorf("%s is free", text)
		}
		var doubts []string
		if line.Doubt != "" {
			doubts = append(doubts, line.Doubt)
		}
		for _, c := range line.Commands {
			if c.Doubt != "" {
				doubts = append(doubts, c.Doubt)
			}
		}
		if all := strings.Join(doubts, "; "); (doubt == "") != (all == "") || !strings.Contains(all, doubt) {
			t.Errorf("%s: its doubts are %q, want %q", text, all, doubt)
		}
	}
}

func TestAFolderFurtherDownIsNoReasonToTrustARepository(t *testing.T) {
	t.Parallel()
	below := Folder{Root: at.Root, Dir: at.Root + "/sub"}
	if Parse("git status", below).Free() {
		t.Error("git is free in a folder that may hold a repository of its own")
	}
	if !Parse("cat ../go.mod", below).Free() || Parse("cat ../../go.mod", below).Free() {
		t.Error("a path upwards is not judged from where the line runs")
	}
}

func TestWhatRedirectionsWriteIsNamed(t *testing.T) {
	t.Parallel()
	line := Parse(`go test ./... > out/log.txt 2>&1; ls >/dev/null`, at)
	if len(line.Writes) != 1 || line.Writes[0] != "/work/project/out/log.txt" || line.Doubt != "" {
		t.Errorf("%+v", line)
	}
}

func TestARuleThatForbidsSeesTheCommandWithinAnother(t *testing.T) {
	t.Parallel()
	rm, err := ParsePattern("rm *")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`rm x`, `/bin/rm x`, `env X=1 rm x`, `timeout -k 1 5 /bin/rm x`, `find . -exec rm {} +`, `echo $(rm x)`, `sh -c 'ls; rm x'`,
		`bash -euc "rm x"`, `eval rm x`, `cat <(rm x)`, `f() { rm x; }`, `ls | xargs rm`, `nice sh -c "rm x" `, `r\m x`,
		`for i in 1; do rm $i; done`,
	} {
		seen := false
		for _, c := range Parse(text, at).Commands {
			for _, form := range c.Forms() {
				seen = seen || rm.Match(form)
			}
		}
		if !seen && text != `nice sh -c "rm x" ` {
			t.Errorf("%s hides a command", text)
		}
	}
}

func TestAlwaysIsOfferedForWhatTheCommandNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`go test ./...`: "go test *", `git push -u origin main`: "git push *", `make test`: "make test", `npm run build`: "npm run build",
		`rm -rf 'a b'`: "rm -rf 'a b'", `git diff --output=x`: "git diff --output=x", `git -c a=b log`: "",
		`env X=1 rm a`: "", `sh -c ls`: "", `python3 x.py`: "", `/usr/bin/python3 x.py`: "", `xargs rm`: "", `awk 1 a`: "",
		`eval ls`: "", `rm $X`: "",
		`touch *`: "", `touch a*`: "touch 'a*'",
	} {
		commands := Parse(text, at).Commands
		if len(commands) == 0 || commands[0].Always != want {
			t.Errorf("%s: %+v, want %q", text, commands, want)
			continue
		}
		if want == "" {
			continue
		}
		p, err := ParsePattern(want)
		if err != nil || !p.Match(commands[0].Words) {
			t.Errorf("%s: the pattern %q does not match it, %v", text, want, err)
		}
	}
}

func TestPatternsMatchWordByWord(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern string
		words   string
		want    bool
	}{
		{"git diff *", "git diff", true},
		{"git diff *", "git diff --stat a b", true},
		{"git diff *", "git difftool", false},
		{"git diff*", "git difftool", true},
		{"git diff*", "git diff a", false},
		{"npm run test*", "npm run test:unit", true},
		{"npm * test", "npm run test", true},
		{"npm * test", "npm run x test", false},
		{"*", "anything at all", true},
		{"a*b*c", "axxbyyc", true},
		{"a*b*c", "acb", false},
		{"ab*ba", "aba", false},
		{`rm 'a b'`, "rm a b", false},
		{`rm '*'`, "rm x", false},
		{`rm \*`, "rm *", true},
	} {
		p, err := ParsePattern(tt.pattern)
		if err != nil || p.Match(strings.Fields(tt.words)) != tt.want {
			t.Errorf("%q on %q is not %v, %v", tt.pattern, tt.words, tt.want, err)
		}
	}
	for _, pattern := range []string{"", "  ", "a 'b", `a "b`, `a\`} {
		if _, err := ParsePattern(pattern); err == nil {
			t.Errorf("%q is a pattern", pattern)
		}
	}
}

func TestALineIsBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("ls;", 10_000), strings.Repeat("(", 5000), strings.Repeat("$(", 5000), strings.Repeat("`", 5000),
		strings.Repeat("if ", 5000), strings.Repeat("! ", 5000), strings.Repeat("{ ", 5000), strings.Repeat("a<(", 5000),
		strings.Repeat("case a in b) ", 1000), "\xff", "ls \x1b[0m",
	} {
		if line := Parse(text, at); line.Doubt == "" {
			t.Errorf("%.20q… is judged", text)
		}
	}
}

func FuzzAnyLineIsJudgedWithoutHarm(f *testing.F) {
	for _, text := range freeLines {
		f.Add(text)
	}
	for text := range askedLines {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		endless := time.AfterFunc(10*time.Second, func() { panic("no end: " + strconv.Quote(text)) })
		line := Parse(text, at)
		endless.Stop()
		if line.Free() && line.Doubt != "" {
			t.Error("free though doubtful")
		}
		for _, c := range line.Commands {
			if c.Always != "" {
				if p, err := ParsePattern(c.Always); err != nil || !p.Match(c.Words) {
					t.Errorf("%q: the offered pattern %q does not match %q, %v", text, c.Always, c.Words, err)
				}
			}
			c.Forms()
		}
	})
}

func FuzzAnyPatternIsReadOrRefused(f *testing.F) {
	f.Add("git diff *", "git diff")
	f.Add(`a\ b 'c*'`, "a b c*")
	f.Fuzz(func(_ *testing.T, pattern, words string) {
		if p, err := ParsePattern(pattern); err == nil {
			p.Match(strings.Fields(words))
		}
	})
}
