package parsers_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/tools/parsers"
)

// realFile is a document that somebody else made, out of a module that Loci is built with, and a sentence of it.
type realFile struct {
	module, path string
	kind         core.FileKind
	says         string
	page         int // on which it stands, of a PDF
	line         int // of the file, where text stays as it is
}

const (
	cobraModule    = "github.com/spf13/cobra"
	goldmarkModule = "github.com/yuin/goldmark"
	netModule      = "golang.org/x/net"
	pdfcpuModule   = "github.com/pdfcpu/pdfcpu"
	schemaModule   = "github.com/google/jsonschema-go"
	textModule     = "golang.org/x/text"
)

// realFiles lists what there is. None of our modules holds an EPUB or a DOCX, and only two tables: those that others made
// are fetched for the test of core/service that -documents asks for.
func realFiles() []realFile {
	return []realFile{
		{
			pdfcpuModule,
			"pkg/testdata/TheGoProgrammingLanguageCh1.pdf",
			core.FilePDF,
			"Most programs process some input to produce some output; that’s pretty much the definition of computing.",
			23,
			0,
		},
		{
			pdfcpuModule,
			"pkg/testdata/TheGoProgrammingLanguageCh1.pdf",
			core.FilePDF,
			"In each iteration of the loop, range produces a pair of values: the index and the value of the element at that index.",
			26,
			0,
		},
		{
			pdfcpuModule,
			"pkg/testdata/TheGoProgrammingLanguageCh1.pdf",
			core.FilePDF,
			"The authors and publisher have taken care in the preparation of this book",
			5,
			0,
		},
		{
			pdfcpuModule,
			"pkg/testdata/Walden.pdf",
			core.FilePDF,
			"This is a delicious evening, when the whole body is one sense, and imbibes delight through every pore.",
			2,
			0,
		},
		{
			pdfcpuModule,
			"pkg/testdata/WaldenFull.pdf",
			core.FilePDF,
			"I went to the woods because I wished to live deliberately, to front only the essential facts of life",
			70,
			0,
		},
		{pdfcpuModule, "pkg/testdata/pike-stanford.pdf", core.FilePDF, "Automatic memory management simplifies life.", 40, 0},
		{pdfcpuModule, "pkg/testdata/go-lecture.pdf", core.FilePDF, "A type can satisfy more than one interface.", 15, 0},
		{
			pdfcpuModule,
			"pkg/testdata/Acroforms2.pdf",
			core.FilePDF,
			"There are no reliable statistics on the versions of Acrobat and Reader currently in use",
			2,
			0,
		},

		{cobraModule, "README.md", core.FileMarkdown, "[Try Cobra in Warp today](https://www.warp.dev/cobra)", 0, 30},
		{
			goldmarkModule,
			"README.md",
			core.FileMarkdown,
			"I needed a Markdown parser for Go that satisfies the following requirements:",
			0,
			18,
		},
		{schemaModule, "README.md", core.FileMarkdown, "against a schema, and inferring a schema from a Go struct.", 0, 5},

		{cobraModule, "command.go", core.FileCode, "// ExecuteC executes the command.", 0, 1083},
		{goldmarkModule, "markdown.go", core.FileCode, "// Convert interprets a UTF-8 bytes source in Markdown and", 0, 29},
		{netModule, "html/parse.go", core.FileCode, "// such an element. If there was not, popUntil leaves the stack unchanged.", 0, 86},

		{netModule, "html/testdata/go1.html", core.FileHTML, "The driving motivation for Go 1 is stability for its users.", 0, 0},
		{
			netModule,
			"html/charset/testdata/HTTP-charset.html",
			core.FileHTML,
			"This matches the sequence of bytes above when they are interpreted as ISO 8859-15.",
			0,
			0,
		},
		{
			pdfcpuModule,
			"internal/corefont/Core14_AFMs/MustRead.html",
			core.FileHTML,
			"Adobe Systems has no responsibility or obligation to support the use of the AFM files.",
			0,
			0,
		},

		{schemaModule, "jsonschema/meta-schemas/draft7/schema.json", core.FileJSON, "Core schema meta-schema", 0, 4},
		{goldmarkModule, "_test/spec.json", core.FileJSON, `"section": "Tabs"`, 0, 8},
		{pdfcpuModule, "pkg/testdata/json/form/demoSinglePage/person.json", core.FileJSON, "$images/logoVerySmall.png", 0, 12},

		{pdfcpuModule, "pkg/samples/form/multifill/csv/english.csv", core.FileCSV, `"Jackie","Doe","29.11.1965"`, 0, 4},
		{pdfcpuModule, "pkg/samples/form/multifill/csv/person.csv", core.FileCSV, `"Anastasia","Baburova"`, 0, 4},

		{
			textModule,
			"encoding/testdata/candide-utf-8.txt",
			core.FileText,
			"Il y avait en Vestphalie, dans le château de M. le baron de",
			0,
			30,
		},
		{
			textModule, "encoding/testdata/sunzi-bingfa-simplified-utf-8.txt", core.FileText,
			"孙子曰：兵者，国之大事，死生之地，存亡之道，不可不察也。", 0, 7,
		},
		{cobraModule, "LICENSE.txt", core.FileText, "exercising permissions granted by this License.", 0, 24},
	}
}

// moduleDirs finds the modules of real files in the module cache; it never downloads one.
func moduleDirs(t *testing.T) map[string]string {
	t.Helper()
	args := []string{"list", "-m", "-f", "{{.Path}} {{.Dir}}"}
	known := map[string]bool{}
	for _, f := range realFiles() {
		if !known[f.module] {
			known[f.module] = true
			args = append(args, f.module)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(cmd.Environ(), "GOPROXY=off")
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("the modules with real documents cannot be listed: %v", err)
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		module, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		dirs[module] = dir
	}
	return dirs
}

func TestSentencesOfRealDocumentsAreFoundAtTheirPlace(t *testing.T) {
	t.Parallel()
	dirs := moduleDirs(t)
	for _, f := range realFiles() {
		t.Run(f.path, func(t *testing.T) {
			t.Parallel()
			dir := dirs[f.module]
			if dir == "" {
				t.Skipf("%s is not in the module cache", f.module)
			}
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.path)))
			if err != nil {
				t.Fatal(err)
			}
			doc, err := parsers.New().Parse(context.Background(), core.ParseInput{Name: filepath.Base(f.path), Data: data})
			if err != nil {
				t.Fatal(err)
			}
			if doc.Kind != f.kind {
				t.Errorf("it is read as %q, want %q", doc.Kind, f.kind)
			}
			at := strings.Index(doc.Text, f.says)
			if at < 0 {
				t.Fatalf("%q is not in its text", f.says)
			}
			if line := 1 + strings.Count(doc.Text[:at], "\n"); f.line > 0 && line != f.line {
				t.Errorf("%q is in line %d, want %d", f.says, line, f.line)
			}
			for _, s := range doc.Sections {
				if s.Start <= at && at < s.End && s.Page != f.page {
					t.Errorf("%q is on page %d, want %d", f.says, s.Page, f.page)
				}
			}
		})
	}
}
