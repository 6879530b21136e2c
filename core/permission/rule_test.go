package permission

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"loci/core"
)

func TestAWrongRuleIsNamedWithWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "name of a tool",
		"shell(git":               "bracket is not closed",
		"shell()":                 "pattern is empty",
		"shell(git 'x)":           "open quote",
		"sh ell(x)":               "name of a tool",
		"*(x)":                    "no brackets",
		"write(../x)":             `the part ".."`,
		"write(a/./b)":            `the part "."`,
		"write(a//b)":             "empty",
		"write()":                 "empty",
		"write(a**b/c)":           "two stars stand alone",
		"write(~bob/x)":           "your own home",
		`write(a\)`:               "ends in a backslash",
		"fetch(https://a.org)":    "without scheme",
		"fetch(a.org:80)":         "without scheme",
		"deploy(x)":               "an argument and its value",
		"deploy(=x)":              "an argument and its value",
		"grep(src/**)":            "did you mean read(src/**)?",
		"glob(*)":                 "did you mean read(*)?",
		"Edit(src/**)":            "did you mean write(src/**)?",
		"wirte(src/**)":           "did you mean write(src/**)?",
		"reads(a)":                "did you mean read(a)?",
		"Bash(git push *)":        "did you mean shell(git push *)?",
		"Bash(*)":                 "did you mean shell(*)?",
		"WebFetch(a.org)":         "did you mean fetch(a.org)?",
		"write(\x1b[31m)":         "can't be shown",
		"write(\xff)":             "can't be shown",
		strings.Repeat("x", 2000): "longer than",
		"write(" + strings.Repeat("a/", 100) + ")": "folders deep",
	} {
		_, err := Parse(Deny, text, FromUser)
		if core.KindOf(err) != core.Invalid && core.KindOf(err) != core.TooLarge || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "your configuration") {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	if _, err := Parse("maybe", "read", FromUser); err == nil {
		t.Error("an unknown effect is a rule")
	}
}

// TestEditIsAnotherWordForWrite holds a rule to all that changes files: a tool that edits is not the only one.
func TestEditIsAnotherWordForWrite(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"edit(src/**)", "edit"} {
		denied := rulesOf(t, FromUser, List{Deny: []string{text}})
		for name, c := range map[string]Call{
			"edit":  {Tool: "edit", Does: DoesWrite, Paths: []string{"/home/ann/project/src/a.go"}},
			"write": writing("/home/ann/project/src/a.go"),
			"shell": running("echo x > src/a.go"),
			"sed":   running("sed -i s/a/b/ src/a.go"),
		} {
			if v := denied.Judge(c, in(core.ModeEdits)); v.Effect != Deny && (text != "edit" || name != "sed") {
				t.Errorf("deny %s: %s may: %+v", text, name, v)
			}
		}
		if v := denied.Judge(reading("/home/ann/project/src/a.go"), in(core.ModeAsk)); v.Effect != Allow {
			t.Errorf("deny %s: reading: %+v", text, v)
		}
		closed := denied.Paths(running("make"), in(core.ModeEdits)).Of(project.Root).Folder("src")
		if closed.Self().Write != core.PathClosed {
			t.Errorf("deny %s: a line may change src: %+v", text, closed.Self())
		}
		allowed := rulesOf(t, FromUser, List{Allow: []string{text}})
		if v := allowed.Judge(writing("/home/ann/project/src/a.go"), in(core.ModeAsk)); v.Effect != Allow {
			t.Errorf("allow %s: writing: %+v", text, v)
		}
	}
}

func TestAProjectCanForbidAndNeverAllow(t *testing.T) {
	t.Parallel()
	rules, err := ParseList(List{Allow: []string{"shell"}, Ask: []string{"read(a)", "write(("}, Deny: []string{"write(b)"}}, FromProject)
	if err == nil || len(rules) != 2 {
		t.Fatalf("%+v, %v", rules, err)
	}
	_, err = ParseList(List{Allow: []string{"shell"}}, FromProject)
	if err == nil || !strings.Contains(err.Error(), "only a person can allow") {
		t.Errorf("an allowing rule of a project: %v", err)
	}
	if _, err := ParseList(List{Deny: make([]string, 2000)}, FromUser); core.KindOf(err) != core.TooLarge {
		t.Errorf("2000 rules: %v", err)
	}
}

func TestPathsAreMatchedHoweverTheyAreSpelt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern string
		path    string
		allows  bool
		forbids bool
	}{
		{"src/**", "/home/ann/project/src/a/b.go", true, true},
		{"src/**", "/home/ann/project/src", true, true},
		{"src/**", "/home/ann/project/src2/a", false, false},
		{"src/**", "/home/ann/project/SRC/a", false, true},
		{"src/*", "/home/ann/project/src/a", true, true},
		{"src/*", "/home/ann/project/src/a/b", false, true},
		{"src/", "/home/ann/project/src", true, true},
		{"./src", "/home/ann/project/src", true, true},
		{"./src", "/home/ann/project/a/src", false, false},
		{"src", "/home/ann/project/a/src/b", false, true},
		{"src", "/home/ann/project/a/src", true, true},
		{"src", "/opt/src", false, true},
		{"*.pem", "/home/ann/project/certs/a.PEM", false, true},
		{".env*", "/home/ann/project/.ENV.local", false, true},
		{"a/**/z", "/home/ann/project/a/z", true, true},
		{"a/**/z", "/home/ann/project/a/b/c/z", true, true},
		{"a/**/z", "/home/ann/project/a/b/c/y", false, false},
		{"**", "/home/ann/project/x/y", true, true},
		{"**", "/home/ann/other", false, false},
		{"*", "/home/ann/project/x/y", true, true},
		{"*", "/etc/passwd", false, true},
		{"/etc/**", "/etc/ssl/x", true, true},
		{"/", "/", true, true},
		{"/", "/etc", false, true},
		{"~/", "/home/ann", true, true},
		{"~/", "/home/ann/x", false, true},
		{"~/.ssh/**", "/home/ann/.ssh/id", true, true},
		{"~/.ssh/**", "/home/bob/.ssh/id", false, false},
		{"caf\u00e9", "/home/ann/project/cafe\u0301", false, true},
		{"cafe\u0301", "/home/ann/project/caf\u00e9", true, true},
		{"stra\u00dfe", "/home/ann/project/STRASSE", false, true},
		{`a\*`, "/home/ann/project/a*", true, true},
		{`a\*`, "/home/ann/project/ab", false, false},
		{"a?c", "/home/ann/project/a\u00e9c", true, true},
		{"a?c", "/home/ann/project/ac", false, false},
		{"a b", "/home/ann/project/a b", true, true},
		{"-rf", "/home/ann/project/-rf", true, true},
	} {
		p, err := parsePath(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		if got := p.allows(tt.path, project); got != tt.allows {
			t.Errorf("%s allows %s: %v", tt.pattern, tt.path, got)
		}
		if got := p.forbids(tt.path, project); got != tt.forbids {
			t.Errorf("%s forbids %s: %v", tt.pattern, tt.path, got)
		}
	}
	p, _ := parsePath("src/**")
	if p.allows("/x/src/a", Place{}) || p.forbids("/x/src/a", Place{}) {
		t.Error("a pattern of a folder matches where none is open")
	}
}

func TestALinkIsJudgedByWhereItLeads(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	outer := Real(t.TempDir())
	root := filepath.Join(outer, "project")
	for _, dir := range []string{"project/src", "project/secret", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(outer, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"project/out": "../elsewhere", "project/dangling": filepath.Join(outer, "elsewhere", "new"), "project/loop": "loop",
		"project/inner": "secret", "project/src/up": "..", "door": "project",
	} {
		if err := os.Symlink(target, filepath.Join(outer, link)); err != nil {
			t.Fatal(err)
		}
	}
	at := Place{Mode: core.ModeEdits, Root: root, Real: Real}
	door := at
	door.Root = filepath.Join(outer, "door")
	deny := rulesOf(t, FromUser, List{Deny: []string{"write(secret)"}, Allow: []string{"write(out/**)", "write(dangling)"}})
	for _, tt := range []struct {
		at   Place
		set  Set
		path string
		want Effect
	}{
		{at, nil, root + "/src/a", Allow},
		{at, nil, root + "/src/up/src/a", Allow},
		{at, nil, root + "/out/a", Ask},
		{at, nil, root + "/dangling", Ask},
		{at, nil, root + "/loop", Ask},
		{at, nil, root + "/src/up/out/a", Ask},
		{at, deny, root + "/inner/a", Deny},
		{at, deny, root + "/src/up/inner/a", Deny},
		{at, deny, root + "/out/a", Ask},
		{at, deny, root + "/dangling", Ask},
		{door, nil, door.Root + "/src/a", Allow},
		{door, deny, door.Root + "/inner/a", Deny},
	} {
		if v := tt.set.Judge(writing(tt.path), tt.at); v.Effect != tt.want {
			t.Errorf("%s: %+v, want %s", tt.path, v, tt.want)
		}
	}
}

func FuzzAnyRuleIsReadOrRefused(f *testing.F) {
	for _, seed := range []string{"shell(git diff *)", "write(src/**)", "mcp(github/*)", "deploy(stage=test*)", `read(a\*b/?)`, "*"} {
		f.Add(seed, "/home/ann/project/src/a")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		for _, effect := range []Effect{Allow, Deny} {
			rule, err := Parse(effect, text, FromUser)
			if err != nil {
				continue
			}
			path := filepath.Join("/", path)
			calls := []Call{reading(path), running(path), {Tool: "deploy", Does: DoesOther, Arguments: map[string]any{"stage": path}}}
			for _, call := range calls {
				v := Set{rule}.Judge(call, in(core.ModeAsk))
				if !v.Effect.Valid() || v.Why == "" {
					t.Errorf("%q on %q: %+v", text, path, v)
				}
			}
		}
	})
}

// FuzzASegmentMatchesAsItsExpression compares the matcher with a regular expression of the same meaning.
func FuzzASegmentMatchesAsItsExpression(f *testing.F) {
	f.Add("a*b?c", "axxbyc")
	f.Add("**a**", "a")
	f.Add(`\*`, "*")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		s, err := parseSegment(pattern)
		if err != nil || len(pattern) > 50 || strings.ToValidUTF8(pattern, "") != pattern || strings.ToValidUTF8(name, "") != name {
			return
		}
		var b strings.Builder
		for _, tok := range s {
			switch {
			case tok.sign && tok.r == '*':
				b.WriteString(".*")
			case tok.sign:
				b.WriteString(".")
			default:
				b.WriteString(regexp.QuoteMeta(string(tok.r)))
			}
		}
		if want := regexp.MustCompile(`(?s)\A` + b.String() + `\z`).MatchString(name); s.match(name) != want {
			t.Errorf("%q on %q is not %v", pattern, name, want)
		}
	})
}
