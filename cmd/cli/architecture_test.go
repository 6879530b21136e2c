package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// importRules are the linter's allow-lists, in order.
func importRules(t *testing.T) (names []string, rules map[string]importRule) {
	t.Helper()
	text, err := os.ReadFile("../../.golangci.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules yaml.Node `yaml:"rules"`
				} `yaml:"depguard"`
			} `yaml:"settings"`
		} `yaml:"linters"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	node := file.Linters.Settings.Depguard.Rules
	if err := node.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(node.Content); i += 2 {
		names = append(names, node.Content[i].Value)
	}
	return names, rules
}

type importRule struct {
	Mode  string   `yaml:"list-mode"`
	Files []string `yaml:"files"`
	Allow []string `yaml:"allow"`
}

// row is a rule in the form docs/architecture.md has it. A package may always import what is below it in its own
// tree.
func (r importRule) row() string {
	var of, may []string
	for _, f := range r.Files {
		if strings.HasPrefix(f, "!") {
			continue
		}
		of = append(of, strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(f, "**/"), "/*.go"), "/**"))
	}
	for _, a := range r.Allow {
		name, ours := strings.CutPrefix(a, "loci/")
		if !ours {
			continue
		}
		alone := strings.HasSuffix(name, "$")
		name = strings.TrimSuffix(name, "$")
		below := len(of) == 1 && name == of[0]
		switch {
		case below && name != "daemon" && name != "core":
			continue
		case !alone && (name == "core" || name == "daemon"):
			name += "/…"
		}
		may = append(may, "`"+name+"`")
	}
	if len(may) == 0 {
		may = []string{"nothing"}
	}
	return fmt.Sprintf("| `%s` | %s |", strings.Join(of, "`, `"), strings.Join(may, ", "))
}

func TestArchitecturePageDrawsTheImportsThatTheLinterAllows(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "| packages | may import, of ours |\n|---|---|\n")
	if !ok {
		t.Fatal("the page has no table of imports")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	names, rules := importRules(t)
	var want []string
	for _, name := range names {
		if rules[name].Mode != "strict" {
			t.Errorf("the list %q is not strict", name)
		}
		want = append(want, rules[name].row())
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), table); diff != "" {
		t.Errorf(
			"docs/architecture.md and .golangci.yaml differ (-lists +page):\n%s\nthe table should be\n%s",
			diff,
			strings.Join(want, "\n"),
		)
	}
}

// TestImportListsNameFoldersThatExist finds lists that no longer guard anything.
func TestImportListsNameFoldersThatExist(t *testing.T) {
	t.Parallel()
	_, rules := importRules(t)
	for name, rule := range rules {
		for _, f := range rule.Files {
			if strings.HasPrefix(f, "!") {
				continue
			}
			folder := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(f, "**/"), "/*.go"), "/**")
			if found, err := filepath.Glob(filepath.Join("../..", folder)); err != nil || len(found) == 0 {
				t.Errorf("the list %q guards %s, which does not exist", name, folder)
			}
		}
	}
}

// TestWhatGrewTooLargeOnceStaysWithinItsBounds counts lines: a package that does a bit of everything, or a file that nobody reads
// whole, comes back one small change at a time.
func TestWhatGrewTooLargeOnceStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	most := map[string]int{"storage": 5000, "core/service": 4500}
	sizes := map[string]int{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules"):
			return fs.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := bytes.Count(text, []byte("\n"))
		if lines > 500 {
			t.Errorf("%s has %d lines; split it by what it is about", path, lines)
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if _, bound := most[filepath.ToSlash(dir)]; bound && !strings.HasSuffix(path, "_test.go") {
			sizes[filepath.ToSlash(dir)] += lines
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, bound := range most {
		if sizes[dir] == 0 || sizes[dir] > bound {
			t.Errorf("%s has %d lines outside of tests; at most %d: what is a purpose of its own gets a package", dir, sizes[dir], bound)
		}
	}
}
