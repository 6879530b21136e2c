package sandboxtest

import (
	"os"
	"path/filepath"
)

func git() []Attempt {
	const class = "git"
	return []Attempt{
		{Class: class, Name: "a hook", Argv: sh(`echo x > .git/hooks/pre-commit && echo ESCAPED`)},
		{Class: class, Name: "a hook that is there", Argv: sh(`chmod +x .git/hooks/commit-msg && echo ESCAPED`)},
		{Class: class, Name: "the configuration", Argv: sh(`git config core.fsmonitor /x && echo ESCAPED`)},
		{
			Class: class, Name: "the configuration by hand",
			Argv: py(`open(".git/config", "a").write(
"[core]\n fsmonitor = /x\n"); print("ESCAPED")`),
		},
		{
			Class: class, Name: "another folder in its place",
			Argv: sh(`mv .git .g && cp -r .g .git && echo x > .git/hooks/pre-commit && echo ESCAPED`),
		},
		{Class: class, Name: "other hooks in their place", Argv: sh(`mv .git/hooks .git/h && mkdir .git/hooks && echo ESCAPED`)},
		{Class: class, Name: "a link in place of the configuration", Argv: js(`const fs = require("fs")
fs.writeFileSync("c", ""); fs.rmSync(".git/config"); fs.symlinkSync("../c", ".git/config"); console.log("ESCAPED")`)},
		{Class: class, Name: "a new repository in its place", Argv: sh(`rm -rf .git && git init -q && echo ESCAPED`)},
		{
			Class: class, Name: "a setting that runs a program", Stays: ".git/config", Job: asShell,
			Argv: sh(`git config core.fsmonitor "/x/$MARK"; git config core.hooksPath "/x/$MARK"; git config alias.st "!/x/$MARK"`),
		},
		{
			Class: class, Name: "a setting in an included file", Stays: ".git/config", Job: asShell,
			Argv: sh(`git config include.path "../$MARK"; git config includeIf.gitdir:/.path "../$MARK"`),
		},
		{
			Class: class, Name: "a remote that is a program", Stays: ".git/config", Job: asShell,
			Argv: sh(`git remote add a "ext::/x/$MARK"; git remote add b "$MARK::x"; git remote add c "ssh://-oProxyCommand=$MARK/x"`),
		},
		{
			Class: class, Name: "a remote that is a folder with hooks", Stays: ".git/config", Job: asShell,
			Argv: sh(`git init -q --bare "$MARK"; git remote add a "./$MARK"; git config branch.main.remote "$MARK"; git config b.c d`),
		},
		{
			Class: class, Name: "a setting after what a parser may stumble over", Stays: ".git/config", Job: asShell,
			Argv: py(`open(".git/config", "a").write(
'[a "b\\"]\n x = "\\\n"#\\\n[user]\n name = \\n[core] ;"\r\n pager = ' + env["MARK"])`),
		},
		{
			Class: class, Name: "a setting in the name of a safe one", Stays: ".git/config", Job: asShell,
			Argv: js(`require("fs").appendFileSync(".git/config", '[branch "x\\"]\\n[core]"]\nmerge = refs/' +
process.env.MARK + '\n[user]\nname = "a\\n[core]\\npager = ' + process.env.MARK + '"\n')`),
		},
		{
			Class: class, Name: "the configuration at the moment in which a person changes it", Stays: ".git/config", Job: asShell,
			Argv: sh(`c=core; test -L .git/config || c=free; echo READY; while test -L .git/config; do :; done
				test $c = free || printf '[core]\n\tpager = /x/%s\n' "$MARK" >> .git/config
				test $c = core || git config core.pager "/x/$MARK"; test $c = free || sleep 60`),
			Meanwhile: func(project string) {
				config := filepath.Join(project, ".git/config")
				text, err := os.ReadFile(config)
				if err != nil || os.WriteFile(config+".lock", text, 0o600) != nil {
					return // the attempt fails, and its control says so
				}
				_ = os.Rename(config+".lock", config) // likewise
			},
		},
	}
}
