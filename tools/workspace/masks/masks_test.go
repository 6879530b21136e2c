package masks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/permission"
	"loci/tools/workspace/masks"
)

// folder makes a project with files, links and further names of files: "a", "a -> b" and "a = b".
func folder(tb testing.TB, files ...string) string {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range files {
		name, target, link := strings.Cut(f, " -> ")
		name, same, hard := strings.Cut(name, " = ")
		name = filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, name)
		case hard:
			err = os.Link(filepath.Join(dir, same), name)
		default:
			err = os.WriteFile(name, []byte("of "+f), 0o600)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// find looks through a folder, by Loci's own rules and others, for a line.
func find(tb testing.TB, dir, line string, list permission.List) masks.Masks {
	tb.Helper()
	set, err := permission.ParseList(list, permission.FromUser)
	if err != nil {
		tb.Fatal(err)
	}
	at := permission.Place{Mode: core.ModeAsk, Root: dir, Home: "/home/ann", Real: permission.Real}
	rules := permission.Set(set).Paths(permission.Call{Tool: "shell", Does: permission.DoesShell, Line: line}, at)
	found, err := masks.Find(tb.Context(), dir, rules.Of(dir))
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

func TestWhatIsClosedIsFoundWhereverItIs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files []string
		line  string
		list  permission.List
		want  masks.Masks
	}{
		"nothing": {files: []string{"main.go", "src/a.go"}},
		"names, in any case and at any depth": {
			files: []string{".env", "a/b/.ENV.local", "node_modules/x/k.pem", ".gitignore", "env"},
			want:  masks.Masks{Hidden: []string{".env", "a/b/.ENV.local", "node_modules/x/k.pem"}},
		},
		"what other programs act on": {
			files: []string{".envrc", ".vscode/tasks.json", "sub/.claude/a", ".git/config", ".git/hooks/x"},
			// .envrc is a name of .env* too.
			want: masks.Masks{Hidden: []string{".envrc"}, ReadOnly: []string{".vscode", "sub/.claude"}},
		},
		"a folder, once": {
			files: []string{"secrets/a", "secrets/.env", "secrets/b/c"}, list: permission.List{Deny: []string{"read(secrets/**)"}},
			want: masks.Masks{Hidden: []string{"secrets"}},
		},
		"a place, and what it is in": {
			files: []string{"a/b/c/key", "a/key"}, list: permission.List{Deny: []string{"read(a/b/c/key)", "write(a/key)"}},
			want: masks.Masks{Hidden: []string{"a/b/c/key"}, ReadOnly: []string{"a/key"}, Fixed: []string{"a", "a/b", "a/b/c"}},
		},
		"one file that the line names": {
			files: []string{".ssh/config", ".ssh/other", ".ssh/d/e"}, line: "cat .ssh/config",
			want: masks.Masks{Hidden: []string{".ssh/d", ".ssh/other"}, ReadOnly: []string{".ssh"}},
		},
		"a link to it":   {files: []string{".env", "alias -> .env"}, want: masks.Masks{Hidden: []string{".env"}}},
		"a link as it":   {files: []string{"real", ".env -> real"}, want: masks.Masks{Hidden: []string{"real"}}},
		"a link nowhere": {files: []string{".env -> gone", "a.pem -> /etc/passwd", "b.pem -> .."}},
		"a link to all":  {files: []string{".env -> ."}},
		"another name of the file": {
			files: []string{".env", "a/visible = .env", "other", "a/other2 = other"},
			want:  masks.Masks{Hidden: []string{".env", "a/visible"}},
		},
		"another name of a file in a hidden folder": {
			files: []string{"secrets/k", "visible = secrets/k", "secrets/j = secrets/k"},
			list:  permission.List{Deny: []string{"read(secrets/**)"}},
			want:  masks.Masks{Hidden: []string{"secrets", "visible"}},
		},
		"another name of what can't be changed": {
			files: []string{".mcp.json", "m = .mcp.json"}, want: masks.Masks{ReadOnly: []string{".mcp.json", "m"}},
		},
		"git's own": {
			files: []string{".git/id_rsa", ".git/objects/ab/id_x", ".git/refs/heads/id_fix", ".git/modules/m/.env", "objects/.env"},
			want:  masks.Masks{Hidden: []string{".git/id_rsa", ".git/modules/m/.env", "objects/.env"}},
		},
		"everything to read": {files: []string{"a"}, list: permission.List{Deny: []string{"read"}}, want: masks.Masks{AllHidden: true}},
		"everything to write": {
			files: []string{"a", ".vscode/x"}, list: permission.List{Deny: []string{"write(**)"}}, want: masks.Masks{AllReadOnly: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := tt.line
			if line == "" {
				line = "true"
			}
			if diff := cmp.Diff(tt.want, find(t, folder(t, tt.files...), line, tt.list)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTooDeepAFolderIsSaidAndWhatIsNearIsFound(t *testing.T) {
	t.Parallel()
	dir := folder(t, strings.Repeat("d/", 80)+".env", ".env")
	if diff := cmp.Diff(masks.Masks{Hidden: []string{".env"}, Partly: true}, find(t, dir, "true", permission.List{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// BenchmarkFind looks through 50,000 files in 2,000 folders.
func BenchmarkFind(b *testing.B) {
	dir := folder(b)
	for i := range 2000 {
		sub := filepath.Join(dir, fmt.Sprintf("d%d/d%d", i/40, i))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 25 {
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("file_%d.go", j)), nil, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	for name, list := range map[string]permission.List{
		"names": {}, "places": {Deny: []string{"read(d1/**/key)", "read(**/secret/**)", "write(d2/d81/file_1.go)"}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				find(b, dir, "true", list)
			}
		})
	}
}
