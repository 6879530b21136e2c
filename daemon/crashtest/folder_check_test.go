//go:build linux

package crashtest

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"loci/daemon/api"
	"loci/daemon/client"
)

// takenBack checks that all that calls changed can be taken back, lines that a kill cut off included.
func (x *folderTrial) takenBack(ctx context.Context, c *client.Client, f *findings) {
	runs, err := c.Runs(ctx, api.ListRuns{AgentID: x.session.AgentID, Ascending: true, Page: api.Page{Limit: 1}})
	if err != nil || len(runs) == 0 {
		f.add("the first run can't be found: %w", errors.Join(err, context.Cause(ctx)))
		return
	}
	plan, err := c.RewindFiles(ctx, api.RewindTarget{RunID: runs[0].ID})
	if err != nil {
		f.add("what a rewind puts back can't be told: %w", err)
	}
	for _, kept := range plan.Kept {
		f.add("%s stays, though nobody but the agent changed it: %s", kept.Path, kept.Why)
	}
}

// settled checks that every call has one return, before anybody says something else.
func settled(records []record, f *findings) {
	open := map[string]bool{}
	for i := range records {
		r := &records[i]
		for _, id := range r.calls() {
			open[id] = true
		}
		for _, id := range r.returns() {
			if !open[id] {
				f.add("the return of %s in %s answers nothing", id, r.id)
			}
			delete(open, id)
		}
		if r.role == "user" && len(open) > 0 {
			f.add("behind %s no return answers %v", r.id, slices.Collect(maps.Keys(open)))
		}
	}
}

var marks = regexp.MustCompile(`(line|word|text)\d{6}`)

// became checks one call: what returned well was done once, and what was denied was not done.
func (x *folderTrial) became(call, returned string, failed bool, f *findings) {
	word := marks.FindString(call)
	if word == "" {
		return // it only reads
	}
	n := strings.Count(x.everything(f), word)
	switch {
	case !failed:
		x.ran++
		if n != 1 {
			f.add("%s returned %q, and %s stands %d times in the folder", call, returned, word, n)
		}
	case strings.Contains(returned, "not this one"), strings.Contains(returned, "did not run"):
		x.denied++
		if n != 0 {
			f.add("%s returned %q, and yet it was done", call, returned)
		}
	case maybe.MatchString(returned):
		x.unsure++
	default:
		f.add("%s returned %q", call, returned)
	}
}

// everything is what the files of the folder hold.
func (x *folderTrial) everything(f *findings) string {
	var all strings.Builder
	err := filepath.WalkDir(x.folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		f.add("read the folder: %w", err)
	}
	return all.String()
}

// nothingLeft asks that no process, temporary file or mount of a line is there any more.
func (x *folderTrial) nothingLeft(f *findings) {
	entries, err := os.ReadDir(x.folder)
	if err != nil {
		f.add("read the folder: %w", err)
	}
	for _, e := range entries {
		if !x.known[e.Name()] {
			f.add("%s is left in the folder", e.Name())
		}
	}
	if left, err := os.ReadDir(filepath.Join(x.house.paths.State, "jobs")); err == nil && len(left) > 0 {
		f.add("temporary files of lines are left: %v", left)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), x.folder) || strings.Contains(string(mounts), x.house.paths.State) {
		f.add("mounts are left: %w", err)
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		f.add("list processes: %w", err)
	}
	for _, file := range processes {
		line, err := os.ReadFile(file)
		if err == nil && slices.ContainsFunc(strings.Split(string(line), "\x00"), leftRunning.MatchString) {
			f.add("%s is left: %q", file, line)
		}
	}
}

var leftRunning = regexp.MustCompile(`^61\.\d{6}$`)
