package gitconfig_test

import (
	"slices"
	"testing"

	"loci/core/gitconfig"
)

func parse(t *testing.T, text string) *gitconfig.File {
	t.Helper()
	f, err := gitconfig.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOnlyWhatChangesIsWrittenAnew(t *testing.T) {
	t.Parallel()
	const base = "# mine\n[core]\n\tbare = false # note\n[remote \"origin\"]\n\turl = a\n\n[user]\n\tname = N\n"
	for change, want := range map[string]struct{ to, text string }{
		"nothing":        {base, base},
		"a key more":     {base + "\temail = e@x\n", base + "\temail = e@x\n"},
		"a section more": {base + "[branch \"Main\"]\nremote=o\n", base + "[branch \"Main\"]\n\tremote = o\n"},
		"another value": {
			"[core]\nbare = true\n[remote \"origin\"]\nurl = a\n[user]\nname = N\n",
			"# mine\n[core]\n\tbare = true\n[remote \"origin\"]\n\turl = a\n\n[user]\n\tname = N\n",
		},
		"a section less": {"[core]\nbare = false\n[user]\nname = N\n", "# mine\n[core]\n\tbare = false # note\n[user]\n\tname = N\n"},
		"several values": {
			base + "[remote \"origin\"]\nurl = b\n",
			"# mine\n[core]\n\tbare = false # note\n[remote \"origin\"]\n\turl = a\n\turl = b\n\n[user]\n\tname = N\n",
		},
		"a value that is told": {base + "\tnick = \" a;\\\"b\\\" \"\n", base + "\tnick = \" a;\\\"b\\\" \"\n"},
	} {
		from, to := parse(t, base), parse(t, want.to)
		got, err := from.With(gitconfig.Diff(from, to))
		if err != nil || got != want.text {
			t.Errorf("%s: %v\n%s\nwant\n%s", change, err, got, want.text)
		}
	}
	one := parse(t, "[a] b = c\n\td = e")
	if got, err := one.With([]gitconfig.Change{{Name: "a.b", Key: "b"}, {Name: "a.f", Key: "f", Values: []string{""}}}); err != nil ||
		got != "[a]\n\td = e\n\tf = \"\"\n" {
		t.Errorf("%q %v", got, err)
	}
	for _, c := range []gitconfig.Change{
		{Name: "a", Key: "a", Values: []string{"x"}},
		{Name: "a.b", Key: "c", Values: []string{"x"}},
		{Name: "a.b", Key: "b", Values: []string{"x\x00"}},
		{Name: "a.x\ny.b", Key: "b", Values: []string{"x"}},
		{Name: "a.b", Key: "b", Values: []string{"x\ry"}},
	} {
		if got, err := one.With([]gitconfig.Change{c}); err == nil {
			t.Errorf("%+v was written: %q", c, got)
		}
	}
}

// TestWhoThePersonIsIsTheirsToChange lets a line say it where a project says nothing, and not otherwise.
func TestWhoThePersonIsIsTheirsToChange(t *testing.T) {
	t.Parallel()
	from := parse(t, "[user]\n\tname = Ada\n")
	for text, unsafe := range map[string]string{
		"":                                  "user.name",
		"[user]\n\tname = Bob\n":            "user.name",
		"[user]\n\tname = Ada\n\tname = B":  "user.name",
		"[user]\n\tname = Ada\n\temail = a": "",
		"[user]\n\tname = Ada\n[author]\n\tname = C": "",
	} {
		_, no := from.Split(gitconfig.Diff(from, parse(t, text)))
		if (len(no) > 0) != (unsafe != "") || len(no) > 0 && no[0].Name != unsafe {
			t.Errorf("%q: %+v", text, no)
		}
	}
}

func TestWhatGitMayDoBecauseOfASettingIsSaidInWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[core]\npager = x":          "is a program that git runs",
		"[alias]\nst = status":       "makes a new command of git's: git st",
		"[alias]\nst = !sh":          "is a program that git runs",
		"[include]\npath = x":        "makes git obey the settings in another file",
		"[core]\nhooksPath = x":      "makes git run the programs in that folder as hooks",
		"[user]\nname = x":           "says who you are in what is committed here",
		"[url \"a\"]\ninsteadOf = b": "leads git to another address than the one that is typed",
		"[unheard]\nof = x":          "is not known here, so that git may run or read something because of it",
		"[filter \"x\"]\nclean = x":  "is a program that git runs",
		"[http]\nproxy = x":          "changes how git reaches hosts, and whom it trusts there",
	} {
		for _, c := range gitconfig.Diff(parse(t, ""), parse(t, text)) {
			if got := gitconfig.May(c); got != want {
				t.Errorf("%s: %s", text, got)
			}
		}
	}
}

func TestASettingIsSafeOnlyIfItIsKnownToBe(t *testing.T) {
	t.Parallel()
	const base = "[core]\nbare = false\n[remote \"origin\"]\nurl = https://example.com/a\n[branch \"main\"]\nremote = origin\n"
	safe := []string{
		"[remote \"up\"]\nurl = https://example.com/x.git\nfetch = +refs/heads/*:refs/remotes/up/*\n",
		"[remote \"up\"]\nurl = git@example.com:a/b.git\n[branch \"x/y\"]\nremote = up\nmerge = refs/heads/x/y\nrebase = true\n",
		"[remote \"up\"]\nurl = ssh://git@example.com:22/~a/b.git\npushurl = git://example.com/a\n",
		"[remote]\npushDefault = origin\n", "[branch \"a\"]\nremote = .\nmerge = refs/heads/main\n",
		"[branch \"a\"]\nremote = https://e.org/x\n", "[user]\nname = Ada L. \"X\"\nemail = a@b\n",
		"[init]\ndefaultBranch = main\n", "[pull]\nrebase = merges\n", "[push]\ndefault = simple\nautoSetupRemote\n",
		"[color]\nui = auto\n[color \"diff\"]\nmeta = yellow bold\n",
		"[submodule \"a/b\"]\nactive = true\nurl = https://example.com/s\n",
	}
	unsafe := []string{
		"[core]\nfsmonitor = x\n", "[core]\nhooksPath = x\n", "[core]\npager = x\n", "[core]\nsshCommand = x\n",
		"[core]\neditor = x\n", "[core]\nworktree = /\n", "[core]\ngitProxy = x\n", "[core]\nattributesFile = x\n",
		"[alias]\nst = !x\n", "[include]\npath = x\n", "[includeIf \"gitdir:/\"]\npath = x\n", "[credential]\nhelper = !x\n",
		"[filter \"x\"]\nclean = x\n", "[diff \"x\"]\ntextconv = x\n", "[diff]\nexternal = x\n", "[gpg]\nprogram = x\n",
		"[gpg \"ssh\"]\nprogram = x\n", "[url \"ext::x\"]\ninsteadOf = https://\n", "[http]\nproxy = x\n",
		"[http \"https://example.com\"]\nsslVerify = false\n", "[ssh]\nvariant = x\n", "[pager]\nlog = x\n",
		"[sequence]\neditor = x\n", "[remote \"up\"]\nuploadpack = x\n", "[remote \"up\"]\nreceivepack = x\n",
		"[remote \"up\"]\nvcs = x\n", "[remote \"up\"]\nproxy = x\n", "[remote \"up\"]\npush = +refs/*:refs/*\n",
		"[remote \"up\"]\nmirror = true\n", "[submodule \"a\"]\nupdate = !x\n", "[merge \"x\"]\ndriver = x\n",
		"[mergetool \"x\"]\ncmd = x\n", "[uploadpack]\npackObjectsHook = x\n", "[extensions]\nworktreeConfig = true\n",
		"[protocol]\nallow = always\n", "[protocol \"ext\"]\nallow = always\n", "[safe]\ndirectory = *\n",
		"[trailer \"x\"]\ncommand = x\n", "[interactive]\ndiffFilter = x\n", "[sendemail]\nsmtpServer = /x\n",
		"[web]\nbrowser = x\n", "[man]\nviewer = x\n", "[branch \"-x\"]\nmerge = refs/heads/x\n", "[branch \"a\"]\nmerge = --x\n",
		"[color]\npager = $(x)\n", "[user]\nname = \"a\\nb\"\n", "[user]\nsigningKey = x\n", "[branch \"a\"]\nremote = folder\n",
		"[branch \"a\"]\nremote = ./folder\n", "[branch \"a\"]\npushRemote = evil\n", "[remote]\npushDefault = folder\n",
		"[init]\ntemplateDir = x\n", "[commit]\ntemplate = x\n", "[lfs]\nurl = x\n", "[unheard]\nof = x\n",
	}
	for _, url := range []string{
		"ext::sh -c x", "ext::x", "fd::3", "file:///x", "/x", "./x", "../x", "x", "-x", "--upload-pack=x",
		"ssh://-oProxyCommand=x/y", "-x@h:p", "ssh://-x@h/p", "h:-x", "h::x", "https://-x/y", "http://example.com/a",
		"ftp://example.com", "foo://example.com/a", "https://a b/", "https://", "https://a/\\\"x", "ssh://h", "ssh://h/-x",
		"git@h:a:b", "transport::https://a/b", "~/x", "C:/x:y", "ssh://h/'x",
	} {
		unsafe = append(unsafe, "[remote \"up\"]\nurl = "+url+"\n")
		if gitconfig.Address(url) {
			t.Errorf("%s is taken for an address", url)
		}
	}
	from := parse(t, base)
	for _, text := range safe {
		if _, no := from.Split(gitconfig.Diff(from, parse(t, base+text))); len(no) != 0 {
			t.Errorf("%q is not safe: %+v", text, no)
		}
	}
	for _, text := range unsafe {
		if yes, no := from.Split(gitconfig.Diff(from, parse(t, base+text))); len(no) == 0 {
			t.Errorf("%q is safe: %+v", text, yes)
		}
	}
	if yes, no := from.Split(gitconfig.Diff(from, parse(t, "[user]\nname = x\n"))); !slices.ContainsFunc(no, func(c gitconfig.Change) bool {
		return c.Name == "remote.origin.url"
	}) || !slices.ContainsFunc(yes, func(c gitconfig.Change) bool { return c.Name == "branch.main.remote" }) {
		t.Errorf("what goes: %+v %+v", yes, no)
	}
}
