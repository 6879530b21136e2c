package cli

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"loci/providers/providertest"
)

// example is a fenced block of a page. If it isn't run, a comment right above it says why.
var example = regexp.MustCompile("(?ms)(?:^<!-- not run: ([^\n]+) -->\n)?^```(sh|python)\n(.*?)^```$")

// needsModel marks a page whose commands need a language model: the test provides a scripted one.
const needsModel = "<!-- needs a language model -->"

// documentedPort is the port in the docs; a test opens a free one instead.
const documentedPort = "127.0.0.1:8283"

// TestDocumentedCommandsWorkAsTyped types all shell blocks of a page, top to bottom, into one shell with its own
// home and no key.
func TestDocumentedCommandsWorkAsTyped(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var script strings.Builder
		for i, m := range example.FindAllStringSubmatch(string(text), -1) {
			if why, language, code := m[1], m[2], m[3]; why == "" && language == "sh" {
				fmt.Fprintf(&script, "echo '== block %d' >&2\n%s", i+1, code)
			}
		}
		if script.Len() == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			typeIn(t, script.String(), strings.Contains(string(text), needsModel))
		})
	}
}

// typeIn runs a script in an empty folder, with the program on its path.
func typeIn(t *testing.T, script string, model bool) {
	t.Helper()
	program := build(t)
	env := homeEnv(t)
	for i, v := range env {
		if rest, ok := strings.CutPrefix(v, "PATH="); ok {
			env[i] = "PATH=" + filepath.Dir(program) + string(filepath.ListSeparator) + rest
		}
	}
	if model {
		server := providertest.NewServer(t)
		env = append(env, "OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL="+server.V1())
	}
	if strings.Contains(script, documentedPort) {
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip("the page's commands need curl")
		}
		script = strings.ReplaceAll(script, documentedPort, freeAddress(t))
	}
	file := filepath.Join(t.TempDir(), "page.sh")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-eu", file)
	cmd.Dir, cmd.Env = t.TempDir(), env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, script, out)
	}
}

// freeAddress is a loopback address that nobody was listening on a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestDocumentedPythonWorksAsTyped types the page top to bottom, with its Python, if the SDK is installed; nothing here
// installs it.
func TestDocumentedPythonWorksAsTyped(t *testing.T) {
	t.Parallel()
	if err := exec.CommandContext(t.Context(), "python3", "-c", "import letta_client").Run(); err != nil {
		t.Skip("docs/api.md, the example of the Python SDK: letta_client is not installed")
	}
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, m := range example.FindAllStringSubmatch(string(text), -1) {
		switch m[2] {
		case "sh":
			script.WriteString(m[3])
		case "python":
			fmt.Fprintf(&script, "python3 - <<'END'\n%sEND\n", m[3])
		}
	}
	typeIn(t, script.String(), false)
}

// cited is a chapter of the page on architecture that a comment names.
var cited = regexp.MustCompile(`docs/architecture\.md,\s+(?://\s+)?"([^"]+)"`)

func TestCommentsNameChaptersThatExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, pattern := range []string{"../../*/*.go", "../../*/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range cited.FindAllSubmatch(code, -1) {
				named++
				if !strings.Contains(string(page), "\n## "+string(m[1])+"\n") {
					t.Errorf("%s names the chapter %q, which isn't there", file, m[1])
				}
			}
		}
	}
	if named < 6 {
		t.Errorf("%d chapters are named", named)
	}
}

var linked = regexp.MustCompile(`\]\(([a-z-]+\.md)\)`)

func TestDocsLinkToPagesThatExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range linked.FindAllSubmatch(text, -1) {
			if !fileExists(filepath.Join("../../docs", string(m[1]))) {
				t.Errorf("%s links to %s", page, m[1])
			}
		}
	}
}
