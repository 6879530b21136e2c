package permission

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

// grounds is a folder with a workspace, a neighbour and what is Loci's own.
func grounds(t *testing.T) (dir string, at Place) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"work/src", "data/deep", "out", "loci/keys"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link": "data", "data/away": "../loci"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, Place{Mode: core.ModeAsk, Root: filepath.Join(dir, "work"), Home: dir, Real: Real}
}

// opening are rules that open folders, with what is Loci's own closed.
func opening(t *testing.T, dir string, rules ...string) Set {
	t.Helper()
	closed, err := Closed([]string{filepath.Join(dir, "loci")})
	if err != nil {
		t.Fatal(err)
	}
	return append(closed, rulesOf(t, FromSession, List{Allow: rules})...)
}

func TestAFolderThatCannotBeOpenedIsToldWhy(t *testing.T) {
	t.Parallel()
	dir, at := grounds(t)
	for name, tt := range map[string]struct{ path, why string }{
		"a folder":                      {dir + "/data", ""},
		"a folder in one":               {dir + "/data/deep", ""},
		"the machine":                   {"/", "whole machine"},
		"processes":                     {"/proc/self/root", "made by the kernel"},
		"devices":                       {"/dev", "made by the kernel"},
		"settings of the kernel":        {"/sys/fs", "made by the kernel"},
		"the system's configuration":    {"/etc/ssl", "configuration of the system"},
		"sockets":                       {"/run/user/1000", "keep their sockets"},
		"a disk that was plugged in":    {"/run/media/ann/disk-of-none", "there is no folder"},
		"all programs":                  {"/usr", "name the one in it"},
		"some programs' texts":          {"/usr/share/of-none", "there is no folder"},
		"a file":                        {dir + "/file", "is a file"},
		"none":                          {dir + "/gone", "there is no folder"},
		"a link":                        {dir + "/link", "leads through a link"},
		"through a link":                {dir + "/link/deep", "leads through a link"},
		"a link to what is Loci's":      {dir + "/data/away", "leads through a link"},
		"the workspace":                 {at.Root, "already"},
		"in the workspace":              {at.Root + "/src", "already"},
		"around the workspace":          {dir, "around the open folder"},
		"what is Loci's":                {dir + "/loci", "Loci's own"},
		"in what is Loci's":             {dir + "/loci/keys", "Loci's own"},
		"a name that begins like it is": {at.Root + "2", "there is no folder"},
	} {
		err := opening(t, dir).CheckDir(core.WorkspaceDir{Path: tt.path}, at)
		if (err == nil) != (tt.why == "") || err != nil && !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s: %v, want %q", name, err, tt.why)
		}
		if open := opening(t, dir, DirRule(tt.path, true)).Dirs(at); (len(open) == 1) != (tt.why == "") {
			t.Errorf("%s: a rule opens %v", name, open)
		}
	}
	at.Root = filepath.Join(dir, "data") // elsewhere it may hold what is Loci's
	if err := opening(t, dir).CheckDir(core.WorkspaceDir{Path: filepath.Dir(dir)}, at); err == nil {
		t.Error("a folder around Loci's own is opened")
	}
}

func TestRulesOpenFoldersAndDenyThem(t *testing.T) {
	t.Parallel()
	dir, at := grounds(t)
	data, out := dir+"/data", dir+"/out"
	type open = []core.WorkspaceDir
	readable := func(path string) core.WorkspaceDir { return core.WorkspaceDir{Path: path} }
	writable := func(path string) core.WorkspaceDir { return core.WorkspaceDir{Path: path, Writable: true} }
	for name, tt := range map[string]struct {
		allow, deny []string
		want        open
	}{
		"to read":          {allow: []string{"add_dir(~/data)"}, want: open{readable(data)}},
		"to change":        {allow: []string{"add_dir(~/data:rw)", DirRule(data, false)}, want: open{writable(data)}},
		"one in the other": {allow: []string{DirRule(data+"/deep", false), DirRule(data, false)}, want: open{readable(data)}},
		"one to change in it": {
			allow: []string{DirRule(data, false), DirRule(data+"/deep", true)}, want: open{readable(data), writable(data + "/deep")},
		},
		"in one to change": {allow: []string{DirRule(data, true), DirRule(data+"/deep", true)}, want: open{writable(data)}},
		"denied": {
			allow: []string{DirRule(data, true), DirRule(out, true)}, deny: []string{"add_dir(~/data/**)"}, want: open{writable(out)},
		},
		"denied to be changed":  {allow: []string{DirRule(data, true)}, deny: []string{"add_dir(~/**:rw)"}, want: open{readable(data)}},
		"denied all":            {allow: []string{DirRule(data, true)}, deny: []string{"add_dir"}},
		"a rule about the tool": {allow: []string{"read", "write", "*"}},
	} {
		set := append(opening(t, dir, tt.allow...), rulesOf(t, FromSystem, List{Deny: tt.deny})...)
		if diff := cmp.Diff(tt.want, set.Dirs(at)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, wrong := range []string{
		"add_dir", "add_dir()", "add_dir(data)", "add_dir(/a/*)", "add_dir(/**)", "add_dir(/a/../b)", "add_dir(~ann/a)",
	} {
		if _, err := Parse(Allow, wrong, FromUser); err == nil {
			t.Errorf("%s is a rule", wrong)
		}
	}
	if _, err := Parse(Ask, "add_dir(/a)", FromUser); err == nil {
		t.Error("a rule asks to open a folder")
	}
	if _, err := ParseList(List{Allow: []string{"add_dir(/a)"}}, FromProject); err == nil {
		t.Error("a project opens a folder")
	}
}

func TestInAFolderBesideTheModeDecides(t *testing.T) {
	t.Parallel()
	dir, at := grounds(t)
	set := opening(t, dir, DirRule(dir+"/data", false), DirRule(dir+"/out", true))
	for name, tt := range map[string]struct {
		call Call
		mode core.PermissionMode
		want Effect
		why  string
	}{
		"reading":                  {reading(dir + "/data/a"), core.ModeAsk, Allow, "inside"},
		"reading, plan":            {reading(dir + "/out/a"), core.ModePlan, Allow, "inside"},
		"a secret":                 {reading(dir + "/data/.env"), core.ModeAsk, Ask, "because of the name"},
		"writing":                  {writing(dir + "/out/a"), core.ModeAsk, Ask, "mode ask"},
		"writing, edits":           {writing(dir + "/out/a"), core.ModeEdits, Allow, "mode edits"},
		"writing, plan":            {writing(dir + "/out/a"), core.ModePlan, Deny, "plan"},
		"writing to one to read":   {writing(dir + "/data/a"), core.ModeEdits, Ask, "for reading only"},
		"the same in all":          {writing(dir + "/data/a"), core.ModeAll, Deny, "/add-dir " + dir + "/data --write"},
		"elsewhere":                {reading(dir + "/file"), core.ModeAsk, Ask, "outside of the open folder"},
		"elsewhere in all":         {reading(dir + "/loci2/a"), core.ModeAll, Deny, "/add-dir"},
		"what is Loci's, by links": {reading(dir + "/data/away/keys"), core.ModeAll, Deny, "Loci"},
		"a line that reads there":  {running("cat " + dir + "/data/a"), core.ModeAsk, Allow, "only reads"},
		"a line that goes there":   {running("cd " + dir + "/data && ls"), core.ModeAsk, Allow, "only reads"},
		"a line that leaves it":    {running("cat " + dir + "/data/../file"), core.ModeAsk, Ask, "mode ask"},
	} {
		at.Mode = tt.mode
		if v := set.Judge(tt.call, at); v.Effect != tt.want || !strings.Contains(v.Why, tt.why) {
			t.Errorf("%s: %s %q, want %s %q", name, v.Effect, v.Why, tt.want, tt.why)
		}
	}
}

func TestACallOutsideIsAskedAboutAsTheFolderThatItNeeds(t *testing.T) {
	t.Parallel()
	dir, at := grounds(t)
	read, write := DirRule(dir+"/data", false), DirRule(dir+"/out", true)
	for name, tt := range map[string]struct {
		call  Call
		want  []string
		opens string
		flags string
	}{
		"reading": {reading(dir + "/data/a"), []string{read}, dir + "/data", "--add-dir '" + dir + "/data'"},
		"listing": {reading(dir + "/data"), []string{read}, dir + "/data", "--add-dir '" + dir + "/data'"},
		"writing": {
			writing(dir + "/out/new/a"), []string{write, "write(" + dir + "/out/new/a)"}, dir + "/out", "--add-dir '" + dir + "/out:rw'",
		},
		"around the folder": {reading(dir + "/file"), nil, dir, ""},
		"through a link":    {reading(dir + "/link/a"), nil, dir + "/link", ""},
		"inside":            {writing(at.Root + "/a"), []string{"write(./a)"}, "", "--allow"},
	} {
		set := opening(t, dir)
		v := set.Judge(tt.call, at)
		if diff := cmp.Diff(tt.want, v.Always); diff != "" || v.Effect != Ask {
			t.Errorf("%s: %s (-want +got):\n%s", name, v.Effect, diff)
		}
		if opens, _ := set.Opens(tt.call, at); opens.Path != tt.opens {
			t.Errorf("%s: it opens %q", name, opens.Path)
		}
		flags := strings.Join(set.Remedy(tt.call, at, v).Flags(), " ")
		if !strings.Contains(flags, tt.flags) || (flags == "") != (tt.flags == "") {
			t.Errorf("%s: %q", name, flags)
		}
	}
	allowed := append(opening(t, dir), rulesOf(t, FromUser, List{Allow: []string{"read(~/data/*)", "write"}})...)
	if v := allowed.Judge(reading(dir+"/data/a"), at); v.Effect != Allow {
		t.Errorf("a rule that names the file: %+v", v)
	}
	if v := allowed.Judge(writing(dir+"/out/a"), at); v.Effect != Ask {
		t.Errorf("a rule about all files opens a folder: %+v", v)
	}
}

func TestAFolderWhoseNameEndsInTheMarkIsOpenedItself(t *testing.T) {
	t.Parallel()
	dir, at := grounds(t)
	for _, name := range []string{"x", "x:rw", "a:b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, writable := range map[string]bool{"x": true, "x:rw": false, "a:b": false} {
		for _, w := range []bool{writable, !writable} {
			want := core.WorkspaceDir{Path: filepath.Join(dir, name), Writable: w}
			if got := opening(t, dir, DirRule(want.Path, w)).Dirs(at); len(got) != 1 || got[0] != want {
				t.Errorf("%s opens %+v, not %+v", DirRule(want.Path, w), got, want)
			}
		}
	}
}
