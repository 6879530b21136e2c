package mirror

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git's object names; not used for protection
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"loci/core"
)

const (
	gitTakes  = 20 * time.Second
	gitSays   = 8 << 20 // bytes
	newBranch = "main"
	maxNamed  = 20 // files listed in a commit message
)

// pauses are the files that git creates while a person is in the middle of an operation: what the folder contains
// then is nobody's text.
func pauses() []string {
	var out []string
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"} {
		out = append(out, gitDir+"/"+name)
	}
	return out
}

// FindGit returns the path of git, or an error that says what to do.
func FindGit() (string, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return "", core.E(core.Unsupported, "git is not installed: the memory mirror needs it").
			WithHint("install git, then loci daemon restart; everything else works without")
	}
	return program, nil
}

// git runs the installed program on one folder. It uses only commands that run no hook, filter, pager, editor, signer
// or transport from the folder's own configuration, and overrides whatever could make them do so anyway. The user's
// configuration is not read.
type git struct {
	program string
	dir     string
}

// run returns git's standard output.
func (g *git) run(ctx context.Context, in []byte, env []string, args ...string) (string, error) {
	out := &boundedBuffer{most: gitSays}
	err := g.pipe(ctx, in, out, env, args...)
	if err == nil && out.cut {
		err = core.E(core.Unavailable, "git %s in %s says more than is read", args[0], g.dir)
	}
	return out.String(), err
}

// pipe streams git's standard output to out.
func (g *git) pipe(ctx context.Context, in []byte, out io.Writer, env []string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, gitTakes)
	defer cancel()
	options := []string{"--git-dir=" + filepath.Join(g.dir, gitDir), "--no-pager", "--literal-pathspecs"}
	for _, c := range []string{
		"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.attributesFile=" + os.DevNull, "core.excludesFile=" + os.DevNull,
		"core.bare=false", "core.sshCommand=false", "core.askPass=", "protocol.allow=never", "gc.auto=0", "maintenance.auto=false",
		"commit.gpgSign=false", "core.logAllRefUpdates=true", "i18n.commitEncoding=UTF-8",
	} {
		options = append(options, "-c", c)
	}
	cmd := exec.CommandContext(ctx, g.program, append(options, args...)...)
	cmd.Dir = g.dir
	cmd.WaitDelay = time.Second
	cmd.Stdin = bytes.NewReader(in)
	cmd.Env = append([]string{
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_SYSTEM=" + os.DevNull,
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"LC_ALL=C",
		"HOME=" + os.DevNull,
		"GIT_AUTHOR_NAME=Loci",
		"GIT_AUTHOR_EMAIL=loci@localhost",
		"GIT_COMMITTER_NAME=Loci",
		"GIT_COMMITTER_EMAIL=loci@localhost",
	}, env...)
	said := &boundedBuffer{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, said
	if err := cmd.Run(); err != nil {
		return core.E(core.Unavailable, "git %s in %s: %w: %s", args[0], g.dir, err, strings.TrimSpace(said.String()))
	}
	return nil
}

// History writes everything that git keeps of a folder, including what no branch reaches any more: texts, names and
// messages.
func History(ctx context.Context, dir string, out io.Writer) error {
	program, err := FindGit()
	if err != nil {
		return err
	}
	if info, err := os.Lstat(filepath.Join(dir, gitDir)); err != nil || !info.IsDir() {
		return core.E(core.Unsupported, "%s has no git repository of its own", dir)
	}
	g := &git{program: program, dir: dir}
	return g.pipe(ctx, nil, out, nil, "cat-file", "--batch-all-objects", "--batch", "--unordered", "--buffer")
}

// boundedBuffer keeps the beginning of what is written to it.
type boundedBuffer struct {
	bytes.Buffer
	most int
	cut  bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room < len(p) {
		b.cut = true
		b.Buffer.Write(p[:room])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// prepare creates a repository if there is none.
func (g *git) prepare(ctx context.Context) error {
	info, err := os.Lstat(filepath.Join(g.dir, gitDir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = g.run(ctx, nil, nil, "init", "--quiet", "--template=", "--initial-branch="+newBranch)
		return err
	case err != nil:
		return core.E(core.Invalid, "look at %s: %w", g.dir, err)
	case !info.IsDir():
		return core.E(core.Unsupported, "%s is part of another git repository", g.dir).
			WithHint("choose a folder with a repository of its own, or an empty one")
	}
	return nil
}

// head returns the checked-out branch and its newest commit; empty: there is none yet.
func (g *git) head(ctx context.Context) (branch, commit string, err error) {
	ref, err := g.run(ctx, nil, nil, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return "", "", core.E(core.Conflict, "no branch is checked out in %s: %w", g.dir, err).WithHint("git -C %s switch BRANCH", g.dir)
	}
	branch, ok := strings.CutPrefix(strings.TrimSpace(ref), "refs/heads/")
	if !ok {
		return "", "", core.E(core.Conflict, "%s is no branch", strings.TrimSpace(ref))
	}
	out, err := g.run(ctx, nil, nil, "for-each-ref", "--format=%(objectname)", "--count=1", "refs/heads/"+branch)
	if err != nil {
		return branch, "", err
	}
	return branch, strings.TrimSpace(out), nil
}

// blob is a file in a commit.
type blob struct{ mode, object string }

// tree returns the files under system/ in a commit.
func (g *git) tree(ctx context.Context, commit string) (map[string]blob, error) {
	out := map[string]blob{}
	if commit == "" {
		return out, nil
	}
	text, err := g.run(ctx, nil, nil, "ls-tree", "-r", "-z", "--full-tree", commit, "--", blocksDir+"/")
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		facts, name, ok := strings.Cut(line, "\t")
		parts := strings.Fields(facts) // mode, type, object
		if !ok || len(parts) != 3 {
			continue
		}
		out[name] = blob{mode: parts[0], object: parts[2]}
	}
	return out, nil
}

// staged returns what the user's index has for these files.
func (g *git) staged(ctx context.Context, names []string) (map[string]string, error) {
	text, err := g.run(ctx, nil, nil, append([]string{"ls-files", "--stage", "-z", "--"}, names...)...)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		facts, name, ok := strings.Cut(line, "\t")
		if parts := strings.Fields(facts); ok && len(parts) == 3 { // mode, object, stage
			out[name] = parts[1]
		}
	}
	return out, nil
}

// objectOf returns the name that git gives a text, in the repository's object format.
func objectOf(data []byte, like string) string {
	h := sha1.New() //nolint:gosec // as above
	if len(like) == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// commit creates a commit on top of the branch's newest one in which the Markdown files under system/ are the given
// ones, and returns it; if nothing differs, it returns the newest one. With keep, files that aren't given stay.
func (g *git) commit(ctx context.Context, files map[string]*file, keep bool, message string) (string, error) {
	branch, parent, err := g.head(ctx)
	if err != nil {
		return "", err
	}
	have, err := g.tree(ctx, parent)
	if err != nil {
		return "", err
	}
	changes, err := g.changes(ctx, have, files, parent, keep)
	if err != nil || len(changes) == 0 {
		return parent, err
	}
	// An index left locked by a power cut must not block us forever.
	file := filepath.Join(g.dir, cornerDir, "index-"+uuid.NewString())
	defer func() { _ = os.Remove(file) }() // otherwise swept in the next pass
	index := []string{"GIT_INDEX_FILE=" + file}
	from := "--empty"
	if parent != "" {
		from = parent
	}
	if _, err := g.run(ctx, nil, index, "read-tree", from); err != nil {
		return "", err
	}
	lines := indexLines(changes)
	if _, err := g.run(ctx, lines, index, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	tree, err := g.run(ctx, nil, index, "write-tree")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", strings.TrimSpace(tree)}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	made, err := g.run(ctx, []byte(message+"\n\n"+summary(changes)), nil, args...)
	if err != nil {
		return "", err
	}
	made = strings.TrimSpace(made)
	was := parent
	if was == "" {
		was = strings.Repeat("0", len(made))
	}
	// We pass the old value, so that if somebody else has just committed, this update fails instead of losing their
	// commit.
	if _, err := g.run(ctx, nil, nil, "update-ref", "-m", "loci: "+message, "refs/heads/"+branch, made, was); err != nil {
		return "", err
	}
	g.follow(ctx, have, changes)
	return made, nil
}

// changes writes the texts that git doesn't have and returns what differs from the commit; mode 0 is a deleted file.
func (g *git) changes(ctx context.Context, have map[string]blob, files map[string]*file, like string, keep bool) (map[string]blob, error) {
	changes := map[string]blob{}
	for name, f := range files {
		if f.Hash == "" || have[name].object != "" && have[name].object == objectOf(f.Data, like) {
			continue
		}
		object, err := g.run(ctx, f.Data, nil, "hash-object", "-w", "--stdin")
		if err != nil {
			return nil, err
		}
		mode := have[name].mode
		if mode != "100755" {
			mode = "100644"
		}
		if e := (blob{mode: mode, object: strings.TrimSpace(object)}); e != have[name] {
			changes[name] = e
		}
	}
	for name := range have {
		base := name[strings.LastIndex(name, "/")+1:]
		if files[name] == nil && !keep && readable(base) && strings.Count(name, "/") <= maxDepth {
			changes[name] = blob{mode: "0", object: strings.Repeat("0", len(have[name].object))}
		}
	}
	return changes, nil
}

func indexLines(changes map[string]blob) []byte {
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		fmt.Fprintf(&out, "%s %s\t%s\x00", changes[name].mode, changes[name].object, name)
	}
	return out.Bytes()
}

// summary lists the files of a commit.
func summary(changes map[string]blob) string {
	names := slices.Sorted(maps.Keys(changes))
	more := ""
	if len(names) > maxNamed {
		more = "and " + strconv.Itoa(len(names)-maxNamed) + " more\n"
		names = names[:maxNamed]
	}
	return strings.Join(names, "\n") + "\n" + more
}

// follow updates the user's index to the new commit, so that git status shows only their own changes. A file that
// they have staged with other content stays staged. An index locked by somebody else is not an error: the difference
// shows for a while and goes away.
func (g *git) follow(ctx context.Context, have, changes map[string]blob) {
	names := slices.Sorted(maps.Keys(changes))
	staged, err := g.staged(ctx, names)
	if err != nil {
		return
	}
	for _, name := range names {
		if staged[name] != have[name].object {
			delete(changes, name)
		}
	}
	if len(changes) > 0 {
		_, _ = g.run(ctx, indexLines(changes), nil, "update-index", "-z", "--index-info") // see above
	}
}
