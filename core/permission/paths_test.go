package permission

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
)

// reached walks to a path from the open folder, as mounts would be made: what is closed hides all that is in it.
func reached(rules core.PathRules, path string) (read, write core.PathReach) {
	f := rules.Of(project.Root)
	a := f.Self()
	for _, name := range split(strings.TrimPrefix(path, project.Root)) {
		above := a
		a = f.Entry(name)
		if above.Read == core.PathClosed {
			a.Read = core.PathClosed
		}
		if above.Write == core.PathClosed {
			a.Write = core.PathClosed
		}
		f = f.Folder(name)
	}
	return a.Read, a.Write
}

// TestALineReachesNoFileThatIsAskedAbout compares random rules: what a tool for files may do at once, and nothing else, a
// line that names no file can do.
func TestALineReachesNoFileThatIsAskedAbout(t *testing.T) {
	t.Parallel()
	patterns := []string{
		"", "(src/**)", "(*.go)", "(./a)", "(src/*/key)", "(**)", "(**/key)", "(**/b/**)", "(~/project/src/a)", "(/home/ann/**)",
		"(/etc/**)", "(.env*)", "(src/.env)", "(.ssh/config)", "(SRC/B)", "(~/**/key)", "(project)", "(id_*)",
	}
	names := []string{"src", "a", "b", "key", "x.go", ".env", ".ssh", "config", "id_a", ".vscode", ".Env.local"}
	r := rand.New(rand.NewPCG(7, 8))
	sources := []Source{FromSystem, FromUser, FromProject}
	for range 5_000 {
		var set Set
		allows := false
		for range r.IntN(4) {
			effect := []Effect{Allow, Ask, Deny}[r.IntN(3)]
			text := []string{"read", "write"}[r.IntN(2)] + patterns[r.IntN(len(patterns))]
			rule, err := Parse(effect, text, sources[r.IntN(len(sources))])
			if err != nil {
				t.Fatal(err)
			}
			set, allows = append(set, rule), allows || effect == Allow
		}
		path := project.Root
		for range 1 + r.IntN(4) {
			path = filepath.Join(path, names[r.IntN(len(names))])
		}
		at := in([]core.PermissionMode{core.ModeEdits, core.ModeAll}[r.IntN(2)])
		read, write := reached(set.Paths(running("true"), at), path)
		for _, tt := range []struct {
			call Call
			got  core.PathReach
		}{{reading(path), read}, {Call{Tool: "w", Does: DoesWrite, Paths: []string{path}}, write}} {
			free := set.Judge(tt.call, at).Effect == Allow
			if open := tt.got == core.PathOpen; open && !free || free && !open && !allows {
				t.Fatalf("%+v in %s, %s %s: free %v, a line reaches %d", texts(set), at.Mode, tt.call.Does, path, free, tt.got)
			}
		}
	}
}

func texts(set Set) (out []string) {
	for _, r := range set {
		out = append(out, string(r.Effect)+" "+r.Text+" of "+string(r.Source))
	}
	return out
}

func TestALineReachesWhatItNamesAndWasAskedAbout(t *testing.T) {
	t.Parallel()
	set := rulesOf(t, FromUser, List{
		Ask:  []string{"read(secrets/**)", "read(docs/private)", "write(gen/**)"},
		Deny: []string{"read(never)"}, Allow: []string{"read(a.pem)"},
	})
	for name, tt := range map[string]struct {
		line, path  string
		read, write bool
	}{
		"not named":                        {"cat .e*", ".env", false, false},
		"named":                            {"cat .env", ".env", true, false},
		"named to write":                   {"tee .env", ".env", true, true},
		"redirected to":                    {"echo x > .env", ".env", true, true},
		"another of that name":             {"cat .env", "sub/.env", false, false},
		"named after cd":                   {"cd sub && cat .env", "sub/.env", true, false},
		"named above after cd":             {"cd sub && cat ../.env", ".env", true, true},
		"a pattern that asks":              {"cat .env*", ".env.local", true, false},
		"a pattern that asks, for another": {"cat .env*", "a.key", false, false},
		"a pattern that doesn't ask":       {"cat *", ".env", false, false},
		"a folder around":                  {"cp -r . /tmp/x", ".env", false, false},
		"a folder that is asked about":     {"ls secrets", "secrets/a/b", true, true},
		"within it, a name of its own":     {"ls secrets", "secrets/.env", false, false},
		"one file of it":                   {"cat secrets/a", "secrets/a", true, true},
		"the other files of it":            {"cat secrets/a", "secrets/b", false, true},
		"what is never allowed":            {"cat never", "never", false, true},
		"in any case":                      {"cat .e*", ".ENV", false, false},
		"a rule that allows":               {"true", "deep/a.pem", true, false},
		"git's own folder":                 {"git commit", ".git/index", true, true},
		"what editors act on":              {"make", ".vscode/tasks.json", true, false},
		"what editors act on, named":       {"touch .vscode/tasks.json", ".vscode/tasks.json", true, true},
		"a written question":               {"make", "gen/a", true, false},
		"a written question, answered":     {"rm gen/a", "gen/a", true, true},
		"nothing special":                  {"make", "src/main.go", true, true},
	} {
		read, write := reached(set.Paths(running(tt.line), in(core.ModeAsk)), filepath.Join(project.Root, tt.path))
		if (read == core.PathOpen) != tt.read || (write == core.PathOpen) != tt.write {
			t.Errorf("%s: it reads %d and writes %d", name, read, write)
		}
		// What a line reaches by naming it is what Judge asks about.
		bare, _ := reached(set.Paths(running("true"), in(core.ModeAsk)), filepath.Join(project.Root, tt.path))
		if tt.read && bare != core.PathOpen {
			if v := set.Judge(running(tt.line), in(core.ModeAsk)); v.Effect != Ask {
				t.Errorf("%s: nobody was asked: %+v", name, v)
			}
		}
	}
}

func TestFoldersElsewhereAreLookedAtOnlyForRulesAboutThem(t *testing.T) {
	t.Parallel()
	at := in(core.ModeAsk)
	of := func(folder string, deny ...string) core.FolderRules {
		return rulesOf(t, FromUser, List{Deny: deny}).Paths(running("true"), at).Of(folder)
	}
	for _, none := range [][]string{nil, {"read(src/**)"}, {"read(~/.ssh/**)"}, {"write(~/.cargo/**)"}, {"write(*.pem)"}} {
		if f := of("/home/ann/.cargo/bin", none...); f != nil {
			t.Errorf("%q: %+v", none, f)
		}
	}
	for text, want := range map[string]core.PathReach{
		"read(~/.cargo/bin/key)": core.PathClosed, "read(/home/ann/.cargo/*/key)": core.PathClosed, "read(key)": core.PathClosed,
		"read(~/.cargo/bin/a)": core.PathOpen,
	} {
		if got := of("/home/ann/.cargo/bin", text).Entry("key").Read; got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
	if got := of("/home/ann/.cargo/bin", "read(~/.cargo/**)").Self().Read; got != core.PathClosed {
		t.Errorf("a rule about a folder around: %d", got)
	}
}

func TestRulesAboutPlacesAreToldFromThoseAboutNames(t *testing.T) {
	t.Parallel()
	f := rulesOf(t, FromUser, List{Deny: []string{"read(a/b)", "read(c)"}}).Paths(running("true"), in(core.ModeAsk)).Of(project.Root)
	if got := f.Folder("a").Entry("b"); got != (core.PathAccess{Read: core.PathClosed, Placed: true}) {
		t.Errorf("a place: %+v", got)
	}
	if got := f.Entry("c"); got != (core.PathAccess{Read: core.PathClosed}) {
		t.Errorf("a name: %+v", got)
	}
}

func TestALinkedFolderIsKnownByBothItsNames(t *testing.T) {
	t.Parallel()
	at := in(core.ModeAsk)
	at.Root, at.Real = "/home/ann/link", func(path string) string {
		if rest, ok := strings.CutPrefix(path, "/home/ann/link"); ok {
			return "/data/real" + rest
		}
		return path
	}
	set := rulesOf(t, FromUser, List{Deny: []string{"read(~/link/a)", "read(/data/real/b)"}})
	f := set.Paths(running("cat .env"), at).Of("/data/real")
	for name, want := range map[string]core.PathReach{
		"a": core.PathClosed, "b": core.PathClosed, "c": core.PathOpen, ".env": core.PathOpen,
	} {
		if got := f.Entry(name).Read; got != want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func TestEveryLineOfAFewWordsThatReachesAGuardedFileIsAskedAbout(t *testing.T) {
	t.Parallel()
	words := []string{
		"cat", "cd", "sub", ".env", ".e*", ".env*", "*", "../.env", "sub/.env", "&&", "<", ">", "-f.env", "--x=.env", "rm", "./*.pem",
	}
	r := rand.New(rand.NewPCG(9, 10))
	for range 5_000 {
		var line []string
		for range 2 + r.IntN(6) {
			line = append(line, words[r.IntN(len(words))])
		}
		call := running(strings.Join(line, " "))
		if Set(nil).Judge(call, in(core.ModeAsk)).Effect != Allow {
			continue
		}
		for _, path := range []string{".env", "sub/.env", "a.pem", ".env.local"} {
			if read, _ := reached(Set(nil).Paths(call, in(core.ModeAsk)), filepath.Join(project.Root, path)); read == core.PathOpen {
				t.Fatalf("%q reaches %s and nobody was asked", call.Line, path)
			}
		}
	}
}

func TestWhatIsOursIsClosedToEverybodyInEveryMode(t *testing.T) {
	t.Parallel()
	set, err := Closed([]string{"/home/ann/project/.config/[loci]", "", "relative"})
	if err != nil || len(set) != 2 {
		t.Fatalf("%v, %v", texts(set), err)
	}
	set = append(set, rulesOf(t, FromUser, List{Allow: []string{"read", "write", "shell", "read(.config/\\[loci]/**)"}})...)
	file := project.Root + "/.config/[loci]/trust.toml"
	for _, mode := range []core.PermissionMode{core.ModeAsk, core.ModeEdits, core.ModeAll} {
		for _, call := range []Call{
			reading(file),
			reading(filepath.Dir(file)),
			{Tool: "w", Does: DoesWrite, Paths: []string{file}},
			running("cat '" + file + "'"),
			running("echo x > .config/\\[loci]/trust.toml"),
		} {
			if v := set.Judge(call, in(mode)); v.Effect != Deny {
				t.Errorf("%s, %s %v %s: %+v", mode, call.Does, call.Paths, call.Line, v)
			}
		}
		if read, write := reached(set.Paths(running("make"), in(mode)), file); read != core.PathClosed || write != core.PathClosed {
			t.Errorf("%s: a line reads %d and writes %d", mode, read, write)
		}
		if v := set.Judge(reading(project.Root+"/.config/loci"), in(mode)); v.Effect != Allow {
			t.Errorf("%s: another folder: %+v", mode, v)
		}
	}
}
