package sandboxtest

import (
	"path/filepath"

	"loci/core"
)

// beside is a job that may read a folder beside its project, but for what is masked there.
func beside(j *core.Job) {
	j.Beside = []core.JobProject{{Path: filepath.Join(filepath.Dir(j.Project.Path), "beside"), Masked: []string{".env"}}}
}

// besideWritable is one that may change it.
func besideWritable(j *core.Job) {
	beside(j)
	j.Beside[0].Writable = true
}

// besideOpen has nothing masked there.
func besideOpen(j *core.Job) { j.Beside[0].Writable, j.Beside[0].Masked = true, nil }

// besides are attempts of jobs to which a person opened a folder beside the project.
func besides() []Attempt {
	return []Attempt{
		{
			Class: "files", Name: "what is beside a folder that was opened", Job: beside,
			Argv: sh(`grep -q canary "$BESIDE/../outside/secret" && echo ESCAPED`),
		},
		{
			Class: "files", Name: "write to a folder that was opened to read", Argv: sh(`echo x > "$BESIDE/file" && echo ESCAPED`),
			Job: beside, Free: besideOpen,
		},
		{
			Class: "files", Name: "read what is masked in a folder that was opened",
			Argv: sh(`grep -q canary "$BESIDE/.env" && echo ESCAPED`),
			Job:  besideWritable, Free: besideOpen,
		},
		{
			Class: "files", Name: "move its mask away", Argv: sh(`mv "$BESIDE/.env" "$BESIDE/x" && echo ESCAPED`),
			Job: besideWritable, Free: besideOpen,
		},
		{
			Class: "links", Name: "a link in a folder that was opened", Argv: sh(`grep -q canary "$BESIDE/link/secret" && echo ESCAPED`),
			Job: besideWritable,
		},
		{
			Class: "links", Name: "a link in the place of a folder that was opened",
			Argv: sh(`mv "$BESIDE" "$BESIDE.old"; rmdir "$BESIDE"; ln -s "$OUTSIDE" "$BESIDE"; true`),
			Then: sh(`grep -q canary "$BESIDE/secret" && echo ESCAPED`), Job: besideWritable,
		},
		{
			Class: "git", Name: "a hook in a folder that was opened",
			Argv: sh(`echo x > "$BESIDE/.git/hooks/commit-msg" && echo ESCAPED`), Job: besideWritable,
		},
		{
			Class: "git", Name: "the repository of a folder that was opened moved away",
			Argv: sh(`cd "$BESIDE" && mv .git .g && cp -r .g .git && echo ESCAPED`), Job: besideWritable,
		},
	}
}
