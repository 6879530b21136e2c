package sandbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"loci/core"
)

// jobOnAMac is a line in a project, as the tool shell asks for it.
func jobOnAMac(change func(*core.Job)) *core.Job {
	j := &core.Job{
		Profile: core.JobShell, Argv: []string{"bash", "-c", "true"},
		Env: []string{"HOME=/work", "XDG_CACHE_HOME=/work/.cache", "PATH=/Users/ada/go/bin:/usr/bin", "NOTE=/workshop and /work"},
		Mounts: []core.JobMount{
			{Source: "/Users/ada/go/bin"}, {Source: "/Users/ada/.loci/caches/1", Target: "/work/.cache", Writable: true},
		},
		Project: &core.JobProject{
			Path: "/Users/ada/ferry", Writable: true, Masked: []string{".env", "deep/er/secret.pem"}, ReadOnly: []string{"dist"},
			Fixed: []string{"deep"},
		},
	}
	if change != nil {
		change(j)
	}
	return j
}

func TestTheProfileOfAJobOnMacOS(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*core.Job){
		"a project":   nil,
		"only read":   func(j *core.Job) { j.Project.Writable = false },
		"no project":  func(j *core.Job) { j.Project = nil },
		"odd names":   func(j *core.Job) { j.Project.Path = `/Users/ada/a "b" (c) \d; é #|x` },
		"odd closing": func(j *core.Job) { j.Project.Masked = []string{`x")) (allow default) ("`, `\`} },
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			s, env := seatbeltOf(jobOnAMac(change), "/private/tmp/loci/job")
			text, err := s.profile()
			if err != nil {
				t.Fatal(err)
			}
			golden.RequireEqual(t, text+"\n"+strings.Join(env, "\n")+"\n")
		})
	}
}

func TestAPathEndsNoStringOfAProfile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{`a"b`, `a\`, `a\"`, `")(allow default)("`, `a(b`, `a;b`, `a#b`, "a b", "é"} {
		p := &seatbeltText{}
		q := p.quote("/x/" + name)
		inside := q[1 : len(q)-1]
		for i := 0; i < len(inside); i++ {
			switch inside[i] {
			case '\\':
				i++
			case '"':
				t.Errorf("%q ends its string: %s", name, q)
			}
		}
		if back := strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(inside); p.err != nil || back != "/x/"+name {
			t.Errorf("%q is written as %s, %v", name, q, p.err)
		}
	}
	for _, name := range []string{"", "/", "a", "/a/../b", "/a/", "/a\nb", "/a\x00b", "/a\x1bb", "/a\xff", "/a\u2028b", "/a\u0085"} {
		if _, err := (seatbelt{Closed: []string{name}}).profile(); core.KindOf(err) != core.Invalid {
			t.Errorf("%q is taken: %v", name, err)
		}
	}
	if _, err := (seatbelt{Read: slices.Repeat([]string{"/a"}, 5000)}).profile(); core.KindOf(err) != core.TooLarge {
		t.Errorf("five thousand paths: %v", err)
	}
}

func TestWhatIsClosedComesAfterWhatIsOpenAndItsFoldersStay(t *testing.T) {
	t.Parallel()
	s, _ := seatbeltOf(jobOnAMac(nil), "/private/tmp/loci/job")
	text, err := s.profile()
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, want := range []string{
		"(deny default)", "(deny network*)", `file-write* (subpath "/Users/ada/ferry"))`,
		`(deny file-write* (subpath "/Users/ada/ferry/dist"))`,
		`(deny file-read* file-write* file-read-metadata (subpath "/Users/ada/ferry/.env"))`,
		`(deny file-write-unlink (literal "/Users/ada/ferry/deep"))`, `(deny file-write-unlink (literal "/Users/ada/ferry/deep/er"))`,
	} {
		i := strings.Index(text, want)
		if i <= at {
			t.Errorf("%s stands at %d, and not behind %d", want, i, at)
		}
		at = i
	}
	if strings.Contains(text, `(subpath "/Users/ada"`) {
		t.Error("the home is open")
	}
}
