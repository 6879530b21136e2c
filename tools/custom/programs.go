package custom

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"loci/core"
	"loci/tools/custom/run"
)

// Bounds of a folder of programs.
const (
	mostPrograms = 200
	mostHeader   = 200 // lines
)

// programs are the tools that are files of their own, in one folder: scripts with a header that says what they do and take. What is
// changed on disk counts from the next time that somebody looks.
type programs struct {
	dir    string // empty: there is none
	logger *slog.Logger

	mu   sync.Mutex      // guards told
	told map[string]bool // the faults that the log has
}

// find returns the tools of the folder, by the names of their files.
func (p *programs) find(ctx context.Context) (found []core.CustomTool) {
	if p.dir == "" {
		return nil
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return nil // it is not there
	}
	for _, e := range entries {
		path := filepath.Join(p.dir, e.Name())
		if len(found) == mostPrograms || strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), "~") {
			continue
		}
		t, err := readProgram(path)
		if err != nil {
			p.tell(ctx, path, err)
			continue
		}
		found = append(found, t)
	}
	return found
}

// tell writes once why a file is no tool.
func (p *programs) tell(ctx context.Context, path string, err error) {
	if p.logger != nil && p.untold(path+"\n"+err.Error()) {
		p.logger.WarnContext(ctx, "a file of the folder of tools is none", slog.String("file", path), slog.Any("error", err))
	}
}

// untold reports whether the log lacks a fault, and counts it as told.
func (p *programs) untold(fault string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told[fault] || len(p.told) > 10*mostPrograms {
		return false
	}
	if p.told == nil {
		p.told = map[string]bool{}
	}
	p.told[fault] = true
	return true
}

// readProgram reads a tool from its file. Nothing but a regular file is opened, so that nothing waits for the other end of a pipe.
func readProgram(path string) (core.CustomTool, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return core.CustomTool{}, err
	case !info.Mode().IsRegular():
		return core.CustomTool{}, core.E(core.Invalid, "it is no file")
	case info.Mode().Perm()&0o111 == 0:
		return core.CustomTool{}, core.E(core.Invalid, "it can't be executed").WithHint("chmod +x %s", path)
	case info.Size() > core.MaxToolSource:
		return core.CustomTool{}, core.E(core.TooLarge, "it has more than %d bytes", core.MaxToolSource)
	}
	f, err := os.Open(path)
	if err != nil {
		return core.CustomTool{}, err
	}
	defer func() { _ = f.Close() }() // only read from
	text, err := io.ReadAll(io.LimitReader(f, core.MaxToolSource))
	if err != nil {
		return core.CustomTool{}, err
	}
	t, err := parseHeader(text)
	if err == nil {
		err = runnable(path, text)
	}
	if err != nil {
		return t, err
	}
	if t.Name == "" {
		t.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	sum := sha256.Sum256([]byte(path))
	t.ID = core.BuiltinToolID("file " + hex.EncodeToString(sum[:])) // the same as long as the file stands there
	t.File, t.CreatedAt, t.UpdatedAt = path, info.ModTime(), info.ModTime()
	return t, t.Validate()
}

// runnable refuses a script that nothing here would run.
func runnable(path string, text []byte) error {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.HasSuffix(first, []byte("\r")) {
		return core.E(core.Invalid, "its lines end as on Windows (CRLF), and nothing runs it").WithHint("sed -i 's/\\r$//' %s", path)
	}
	words := strings.Fields(strings.TrimPrefix(string(first), "#!"))
	if len(words) == 0 {
		return core.E(core.Invalid, "its first line names no program that runs it")
	}
	program, places := words[0], []string{""}
	if i := slices.IndexFunc(words[1:], func(w string) bool { return !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") }); i >= 0 &&
		filepath.Base(program) == "env" {
		program, places = words[1+i], filepath.SplitList(run.SystemPath)
	}
	there := func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, program))
		return err == nil && info.Mode().IsRegular()
	}
	if !slices.ContainsFunc(places, there) {
		return core.E(core.Invalid, "its first line asks for %.100q, which is not there", program).
			WithHint("install it, or name another program there")
	}
	return nil
}

// parseHeader reads what stands in the comments at the beginning of a script, one thing a line: name, description, and parameters, a
// JSON Schema that may go on over further lines. Other comments are passed over.
func parseHeader(text []byte) (core.CustomTool, error) {
	t := core.CustomTool{Language: core.LanguageProgram, Source: string(text)}
	t.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	if !bytes.HasPrefix(text, []byte("#!")) {
		return t, core.E(core.Invalid, "its first line doesn't say what runs it, as #!/bin/sh does")
	}
	var schema []byte // of parameters, as far as it was read
	began := 0
	for number, line := range bytes.Split(text, []byte("\n")) {
		if number == 0 {
			continue
		}
		said, ok := comment(string(line))
		if !ok || number > mostHeader {
			break
		}
		if schema != nil {
			schema = append(schema, said...)
		} else if name, value, ok := strings.Cut(said, ":"); ok {
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "name":
				t.Name = strings.TrimSpace(value)
			case "description":
				t.Description = strings.TrimSpace(value)
			case "parameters":
				schema, began = []byte(value), number+1
			}
		}
		if schema != nil && json.Valid(schema) {
			parameters, err := asParameters(schema)
			if err != nil {
				return t, core.E(core.Invalid, "line %d: %w", began, err)
			}
			t.Parameters, schema = parameters, nil
		}
	}
	switch {
	case schema != nil:
		return t, core.E(core.Invalid, "line %d: the parameters are no JSON", began)
	case t.Description == "":
		return t, core.E(core.Invalid, "its header has no description: a line such as # description: Count words.")
	}
	return t, nil
}

// comment returns what a comment of one of the usual kinds says.
func comment(line string) (string, bool) {
	line = strings.TrimSpace(line)
	for _, mark := range []string{"#", "//", "--", ";"} {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			return strings.TrimLeft(rest, "#/-; "), true
		}
	}
	return "", false
}
