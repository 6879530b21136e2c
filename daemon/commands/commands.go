// Package commands finds the commands that people write for the chat: texts that are sent as messages by their names. They are
// Markdown files, those of the person's own beside the settings, and those that a folder brings and a person trusts.
//
// Promises: files are read each time, up to a bound, never a device or a pipe; a name can be typed behind a slash; where two have
// one name, the person's own counts.
//
// Layer 4: it imports core and daemon/ownfile.
package commands

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"loci/core"
	"loci/daemon/ownfile"
)

// Bounds of what is read and told.
const (
	maxText  = 128 << 10
	maxFiles = 200
	maxShown = 200 // characters of a description or a hint
)

// Command is a text that is sent by its name.
type Command struct {
	Name        string
	Description string
	Hint        string // what its arguments are
	Text        string // $ARGUMENTS in it stands for them
	Path        string // absolute, or in the open folder
	Brought     bool   // the open folder brings it
}

// Commands are those of a person.
type Commands struct {
	dir     string
	trusted func(folder, dir string) []core.Instructions
}

// New returns the commands in a folder of the person's, and what is trusted of open ones.
func New(dir string, trusted func(folder, dir string) []core.Instructions) *Commands {
	return &Commands{dir: dir, trusted: trusted}
}

var legal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`) })

// List returns what can be sent where a folder is open, by their names; empty: none is.
func (c *Commands) List(folder string) (found []Command) {
	entries, _ := os.ReadDir(c.dir) // there may be none
	for _, e := range entries[:min(len(entries), maxFiles)] {
		file := filepath.Join(c.dir, e.Name())
		if text, err := ownfile.Read(file, maxText); err == nil && text != nil {
			found = add(found, file, string(text), false)
		}
	}
	if folder != "" {
		for _, it := range c.trusted(folder, core.FolderCommands) {
			found = add(found, it.Path, it.Text, true)
		}
	}
	slices.SortFunc(found, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// add adds what a file holds, if it is a command whose name is free.
func add(found []Command, file, text string, brought bool) []Command {
	name, md := strings.CutSuffix(path.Base(filepath.ToSlash(file)), ".md")
	taken := slices.ContainsFunc(found, func(c Command) bool { return c.Name == name })
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\ufffd")
	head, body := split(text)
	if body = strings.TrimSpace(body); !md || !legal().MatchString(name) || taken || body == "" {
		return found
	}
	var says struct {
		Description string `yaml:"description"`
		Hint        any    `yaml:"argument-hint"` // written like a list, as in [file]
	}
	if yaml.Unmarshal([]byte(head), &says) != nil {
		says.Description = "" // it still has its text
	}
	c := Command{Name: name, Description: clip(says.Description), Hint: hint(says.Hint), Text: body, Path: file, Brought: brought}
	if c.Description == "" {
		first, _, _ := strings.Cut(body, "\n")
		c.Description = clip(strings.TrimLeft(first, "# "))
	}
	return append(found, c)
}

// split takes off the header, between two lines of three dashes.
func split(text string) (head, body string) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text
	}
	head, body, ok = strings.Cut("\n"+rest, "\n---\n")
	if !ok {
		return "", text
	}
	return head, body
}

func hint(v any) string {
	switch v := v.(type) {
	case string:
		return clip(v)
	case []any:
		var words []string
		for _, w := range v {
			if word, ok := w.(string); ok {
				words = append(words, word)
			}
		}
		return clip("[" + strings.Join(words, ", ") + "]")
	}
	return ""
}

func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return text
}
