package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// Limits on adding files.
const (
	addWorkers  = 4
	maxFileSize = 50 << 20
	watchEvery  = 250 * time.Millisecond
)

func (a *app) filesAdd(folder *string) *cobra.Command {
	var noWait bool
	c := &cobra.Command{
		Use: "add PATH...", Short: "Add files, and directories with all that is in them", Args: atLeast("a file or directory"),
		Long: `Add files, and directories with all that is in them.

What is there already with the same content is left alone, what has changed takes its place. So an interrupted command
goes on when it is run again. Of directories, hidden and empty files and what cannot be read as text are left out.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			todo, err := gather(args)
			if err != nil {
				return err
			}
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			f, err := a.theFolder(ctx, c, *folder)
			if err != nil {
				return err
			}
			j := &addition{app: a, c: c, folder: f, ids: map[string]string{}, began: time.Now(), total: len(todo)}
			j.send(ctx, todo)
			if !noWait {
				j.watch(ctx)
			}
			return j.finish(ctx)
		},
	}
	c.Flags().BoolVar(&noWait, "no-wait", false, "do not wait until the files are read")
	return c
}

// source is a file on disk and the name it will get.
type source struct {
	path, name string
	found      bool // found in a directory: it may be skipped
}

// gather lists the files that paths name. Names of a directory's files start with the directory's own name.
func gather(paths []string) ([]source, error) {
	var out []source
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, &fault{kind: api.KindNotFound, msg: fmt.Sprintf("there is no file %s", clip(path, 100))}
		}
		if !info.IsDir() {
			out = append(out, source{path: path, name: filepath.Base(path)})
			continue
		}
		root, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		prefix := filepath.Base(root)
		if filepath.Clean(path) == "." {
			prefix = ""
		}
		err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if p != root && strings.HasPrefix(d.Name(), ".") {
				if d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
			if info, err := d.Info(); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
				return err
			}
			rel, err := filepath.Rel(root, p)
			if err == nil {
				out = append(out, source{path: p, name: filepath.ToSlash(filepath.Join(prefix, rel)), found: true})
			}
			return err
		})
		if err != nil {
			return nil, &fault{kind: api.KindInvalid, msg: fmt.Sprintf("the directory %s cannot be read: %v", clip(path, 100), err)}
		}
	}
	return distinct(out)
}

// distinct refuses different files that would get the same name: the second would replace the first.
func distinct(all []source) ([]source, error) {
	paths := make(map[string]string, len(all))
	out := all[:0]
	for _, s := range all {
		path, err := filepath.Abs(s.path)
		if err != nil {
			return nil, err
		}
		switch before, taken := paths[s.name]; {
		case !taken:
			paths[s.name] = path
			out = append(out, s)
		case before != path:
			return nil, invalid(
				"two files would be named %q: %s and %s",
				s.name,
				before,
				path,
			).withHint("add the directory that holds both, or each to a folder of its own")
		}
	}
	return out, nil
}

// rejection is a file that was rejected or couldn't be read.
type rejection struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// addition is files on their way into a folder.
type addition struct {
	*app
	c      *client.Client
	folder api.Folder
	began  time.Time
	total  int

	mu        sync.Mutex // guards the rest
	ids       map[string]string
	unchanged int
	same      int // stored, though another file has the same content
	leftOut   int // skipped in directories: nothing readable in them
	refused   []rejection
	seen      int
	err       error // what ended it early
	shown     time.Time
}

// send uploads everything, several files at once. If interrupted, it leaves what was accepted.
func (j *addition) send(ctx context.Context, todo []source) {
	work := make(chan source)
	var wg sync.WaitGroup
	for range min(addWorkers, len(todo)) {
		wg.Go(func() {
			for s := range work {
				j.one(ctx, s)
			}
		})
	}
	for _, s := range todo {
		if j.failed() != nil {
			break
		}
		select {
		case work <- s:
		case <-ctx.Done():
			j.fail(context.Cause(ctx))
		}
	}
	close(work)
	wg.Wait()
}

func (j *addition) failed() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

func (j *addition) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = err
	}
}

// one uploads a file. A problem with the file is recorded; a problem with the connection ends everything.
func (j *addition) one(ctx context.Context, s source) {
	up, err := j.upload(ctx, s)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen++
	var answered *client.Error
	var own *fault
	switch {
	case err == nil && up.Skipped:
		j.unchanged++
	case err == nil:
		j.ids[up.File.ID] = api.Val(up.File.FileName)
		if up.Same != "" {
			j.same++
		}
	case s.found && errors.As(err, &answered) && answered.Status == http.StatusUnsupportedMediaType:
		j.leftOut++
	case errors.As(err, &own) || errors.As(err, &answered) && answered.Status/100 == 4:
		j.refused = append(j.refused, rejection{Name: s.path, Error: err.Error()})
	case j.err == nil:
		j.err = err
	}
	j.progress("sent", j.seen, j.total)
}

func (j *addition) upload(ctx context.Context, s source) (client.Upload, error) {
	data, err := readFile(s.path)
	if err != nil {
		return client.Upload{}, err
	}
	return j.c.UploadFile(ctx, j.folder.ID, s.name, data, api.UploadParams{DuplicateHandling: api.DuplicateReplace})
}

// readFile reads a regular file. A pipe might never be written to, and a device might never end.
func readFile(path string) ([]byte, error) {
	tooLarge := func(n int64) error { return invalid("it has %s, more than the %s allowed", size(n), size(maxFileSize)) }
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, invalid("%s", err)
	case !info.Mode().IsRegular():
		return nil, invalid("it is no regular file")
	case info.Size() > maxFileSize:
		return nil, tooLarge(info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, invalid("%s", err)
	}
	defer func() { _ = f.Close() }() // read only
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, invalid("%s", err)
	}
	if len(data) > maxFileSize { // it is being written to
		return nil, tooLarge(int64(len(data)))
	}
	return data, nil
}

// watch waits until everything sent has been processed.
func (j *addition) watch(ctx context.Context) {
	if j.failed() != nil || len(j.ids) == 0 {
		return
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		left := 0
		for _, status := range []string{api.FilePending, api.FileParsing, api.FileEmbedding} {
			files, err := j.c.Files(ctx, j.folder.ID, filesBy(filesAtOnce, status, ""))
			if err != nil {
				j.fail(err)
				return
			}
			for _, f := range files {
				if _, ours := j.ids[f.ID]; ours {
					left++
				}
			}
		}
		j.mu.Lock()
		j.progress("read", len(j.ids)-left, len(j.ids))
		j.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			j.fail(context.Cause(ctx))
			return
		}
	}
}

// progress shows the rate and the time left on a terminal. The caller holds the lock.
func (j *addition) progress(what string, done, of int) {
	now := time.Now()
	if !isTerminal(j.errOut) || j.json || done < of && now.Sub(j.shown) < watchEvery {
		return
	}
	j.shown = now
	fmt.Fprint(j.errOut, progressLine(what, done, of, now.Sub(j.began)))
}

// eraseLine clears the terminal line the cursor is on.
const eraseLine = "\r\x1b[K"

// progressLine replaces the terminal line with how many files are done, their rate and the time left.
func progressLine(what string, done, of int, took time.Duration) string {
	line := fmt.Sprintf("%sloci: %s %d of %d files", eraseLine, what, done, of)
	if took > time.Second && done > 0 {
		rate := float64(done) / took.Seconds()
		line += fmt.Sprintf(" · %.0f/s · %s left", rate, time.Duration(float64(of-done)/rate*float64(time.Second)).Round(time.Second))
	}
	return line
}

// finish says what became of everything.
func (j *addition) finish(ctx context.Context) error {
	if isTerminal(j.errOut) && !j.json && !j.shown.IsZero() {
		fmt.Fprint(j.errOut, eraseLine)
	}
	if j.err == nil {
		j.broken(ctx)
	}
	if j.json {
		out := map[string]any{
			"folder_id":    j.folder.ID,
			"added":        len(j.ids),
			"unchanged":    j.unchanged,
			"same_content": j.same,
			"left_out":     j.leftOut,
			"refused":      nonNil(j.refused),
		}
		if err := writeJSON(j.out, out); err != nil {
			return err
		}
	} else {
		j.say()
	}
	switch {
	case j.err != nil:
		return j.err
	case len(j.refused) > 0:
		return &fault{kind: api.KindInvalid, msg: fmt.Sprintf("files that could not be added: %d", len(j.refused))}
	}
	return nil
}

// broken finds the files that were accepted but then couldn't be read.
func (j *addition) broken(ctx context.Context) {
	if len(j.ids) == 0 {
		return
	}
	_, j.err = inPages(math.MaxInt, filesAtOnce, listOf(ctx, j.c, j.folder.ID, api.FileError), fileID, func(files []api.File) error {
		for _, f := range files {
			if name, ours := j.ids[f.ID]; ours {
				j.refused = append(j.refused, rejection{Name: name, Error: api.Val(f.ErrorMessage)})
				delete(j.ids, f.ID)
			}
		}
		return nil
	})
}

func (j *addition) say() {
	for _, r := range j.refused {
		j.note(r.Name + ": " + r.Error)
	}
	line := fmt.Sprintf("%s: %d added", j.folder.Name, len(j.ids))
	for _, part := range []struct {
		n    int
		what string
	}{{j.unchanged, "unchanged"}, {j.same, "with the same content as another"}, {j.leftOut, "left out as no text"}} {
		if part.n > 0 {
			line += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	if took := time.Since(j.began); len(j.ids) > 0 && took > time.Second {
		line += fmt.Sprintf(" (%.0f files/s)", float64(len(j.ids))/took.Seconds())
	}
	j.note(line)
}
