package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAServerSeesThePackageThatItsFileIsOfAndNothingAround(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, file := range []string{
		"alone.py", "server/package.json", "server/dist/index.js", "app/package.json", "app/node_modules/a/package.json",
		"app/node_modules/a/dist/index.js", "app/node_modules/b/node_modules/c/index.js",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		"alone.py": "alone.py", "server/dist/index.js": "server", "app/node_modules/a/dist/index.js": "app/node_modules",
		"app/node_modules/b/node_modules/c/index.js": "app/node_modules", "server": "server",
	} {
		if got := packageOf(filepath.Join(dir, file)); got != filepath.Join(dir, want) {
			t.Errorf("of %s: %s", file, got)
		}
	}
}
