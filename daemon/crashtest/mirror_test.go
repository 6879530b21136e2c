package crashtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core/coretest"
	"loci/daemon/api"
	"loci/daemon/client"
)

// reflection is a memory with its mirror, and every text that must survive on a side, in a conflict or in the history.
type reflection struct {
	*house
	agent  string
	blocks []api.Block
	labels []string
	dir    string
	heads  []string

	mu    sync.Mutex // guards what is below
	texts []string
}

// TestKillNoTextOfTheMirror edits blocks and files while the daemon syncs and is killed.
func TestKillNoTextOfTheMirror(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	with := seedOf()
	t.Logf("seed %d", with)
	rng := rand.New(rand.NewPCG(with, 1))
	r := &reflection{house: openHouse(t), dir: filepath.Join(t.TempDir(), "memory")}
	r.env = append(r.env, "PATH="+os.Getenv("PATH"))
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.begin()
	for kill := range *kills {
		r.edit(fmt.Sprintf("kill-%d", kill), time.Duration(100+rng.IntN(500))*time.Millisecond)
		r.kill()
		r.heads = append(r.heads, r.git("rev-parse", "HEAD"))
		if err := r.start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c := r.client()
	defer c.Close()
	r.settle(c)
	r.survived(c)
	if err := errors.Join(r.complaints()...); err != nil {
		t.Error(err)
	}
	files := 0
	for _, text := range r.texts {
		if strings.HasPrefix(text, "file-") {
			files++
		}
	}
	t.Logf("%d texts, %d of them by the person", len(r.texts), files)
	if files == 0 || files == len(r.texts) {
		t.Error("only one side was edited")
	}
}

func (r *reflection) begin() {
	r.t.Helper()
	ctx := r.t.Context()
	c := r.client()
	defer c.Close()
	s, err := c.Register(ctx, api.Client{Kind: api.ClientScript, Open: &api.Open{Agent: api.OpenNew}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.agent = s.AgentID
	g, err := c.Agent(ctx, r.agent, api.IncludeBlocks)
	if err != nil {
		r.t.Fatal(err)
	}
	r.blocks = g.Blocks
	for _, b := range r.blocks {
		r.labels = append(r.labels, *b.Label)
	}
	if _, err := c.SetMirror(ctx, r.agent, api.SetMemoryMirror{Path: r.dir}); err != nil {
		r.t.Fatal(err)
	}
}

// settle syncs until nothing is kept aside any more for what an editor may still write.
func (r *reflection) settle(c *client.Client) {
	r.t.Helper()
	coretest.Until(r.t, "nothing is kept aside", func() bool {
		if _, err := c.SyncMirror(r.t.Context(), r.agent); err != nil {
			r.t.Fatal(err)
		}
		left, err := os.ReadDir(filepath.Join(r.dir, ".git", "loci", "aside"))
		if err != nil {
			r.t.Fatal(err)
		}
		return len(left) == 0
	})
}

func (r *reflection) file(label string) string { return filepath.Join(r.dir, "system", label+".md") }

func (r *reflection) keep(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, text)
}

// edit lets an agent and a person edit, and syncs without a pause, until the daemon is killed in the middle of it.
func (r *reflection) edit(round string, during time.Duration) {
	ctx, cancel := context.WithTimeout(r.t.Context(), during)
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() { // the person: never over a text that the folder's history does not have yet
		for i := 0; ctx.Err() == nil; i++ {
			label := r.labels[i%len(r.labels)]
			text := fmt.Sprintf("file-%s-%d-", round, i)
			if !r.seen(ctx, r.file(label)) || os.WriteFile(r.file(label), []byte(text+"\n"), 0o600) != nil {
				continue
			}
			r.keep(text)
		}
	})
	for w := range 2 {
		group.Go(func() { // agents, by the interface
			c := r.client()
			defer c.Close()
			for i := 0; ctx.Err() == nil; i++ {
				text := fmt.Sprintf("block-%s-%d-%d-", round, w, i)
				if _, _, err := c.UpdateAgentBlock(
					ctx,
					r.agent,
					r.labels[i%len(r.labels)],
					api.UpdateBlock{Value: api.Some(text)},
					"",
				); err == nil {
					r.keep(text)
				}
			}
		})
	}
	group.Go(func() {
		c := r.client()
		defer c.Close()
		for ctx.Err() == nil {
			_, _ = c.SyncMirror(ctx, r.agent) // the kill comes in between
		}
	})
	<-ctx.Done()
	r.hit()
	group.Wait()
}

// seen waits until what a file holds is in a commit.
func (r *reflection) seen(ctx context.Context, path string) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(r.git("log", "-p", "--format="), strings.TrimSpace(lastLine(string(data)))) {
			now, err := os.ReadFile(path)
			return err == nil && string(now) == string(data)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func (r *reflection) git(args ...string) string {
	out, err := exec.CommandContext(r.t.Context(), "git", append([]string{"-C", r.dir}, args...)...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func (r *reflection) survived(c *client.Client) {
	r.t.Helper()
	var all strings.Builder
	for _, b := range r.blocks {
		p := api.Page{Limit: 1000}
		for {
			versions, err := c.BlockVersions(r.t.Context(), b.ID, p)
			if err != nil {
				r.t.Fatal(err)
			}
			for _, v := range versions {
				all.WriteString(v.Value + "\n")
			}
			if len(versions) < p.Limit {
				break
			}
			p.After = fmt.Sprint(versions[len(versions)-1].Version)
		}
	}
	err := filepath.WalkDir(filepath.Join(r.dir, "system"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	all.WriteString(r.git("log", "-p", "--format="))
	for _, text := range r.texts {
		if !strings.Contains(all.String(), text) {
			r.t.Errorf("%q is lost", text)
		}
	}
	for _, commit := range r.heads {
		if r.git("merge-base", commit, "HEAD") != commit {
			r.t.Errorf("%s is no ancestor of the newest commit", commit)
		}
	}
}
