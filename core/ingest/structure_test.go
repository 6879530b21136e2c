package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"loci/core"
)

func TestChunksOfCodeNameTheDeclarationTheyBeginIn(t *testing.T) {
	t.Parallel()
	languages := map[string]struct{ head, each string }{
		"Go": {
			"package p\n",
			"func Fn%[1]d(\n\tx int,\n) int {\n\ty := x + %[1]d\n\tfor y > 3 {\n\t\ty--\n\t}\n\treturn y\n}\n",
		},
		"Go with comments": {
			"package p\n\nimport \"fmt\"\n\n",
			"// Fn%[1]d does a thing.\n// It says so.\nfunc Fn%[1]d() {\n\tfmt.Println(`a\nb`, %[1]d)\n}\n",
		},
		"Python":             {"import os\n", "@once\ndef Fn%[1]d(x):\n    if x:\n        return %[1]d\n    return x\n"},
		"C":                  {"#include <stdio.h>\n", "int Fn%[1]d(int x)\n{\n\tif (x) {\n\t\treturn %[1]d;\n\t}\n\treturn x;\n}\n"},
		"Go on single lines": {"package p\n", "func Fn%[1]d() int { return %[1]d }\n"},
		"C with directives": {
			"#include <stdio.h>\n",
			"int Fn%[1]d(int x)\n{\n\tx++;\n#if X\n\tx += 1;\n#else\n\tx += 2;\n#endif\n\treturn x;\n}\n",
		},
		"Python with else": {"import os\n", "for Fn%[1]d in range(3):\n    print(%[1]d)\nelse:\n    print('none')\n"},
		"Ruby":             {"require 'x'\n", "def Fn%[1]d(x)\n  x + %[1]d\nend\n"},
		"shell":            {"set -e\n", "Fn%[1]d() {\n  echo %[1]d\n}\n"},
	}
	for name, l := range languages {
		var b strings.Builder
		b.WriteString(l.head)
		for i := range 300 {
			fmt.Fprintf(&b, l.each, i)
		}
		chunks := checkCover(t, core.Document{Kind: core.FileCode, Text: b.String()}, 60)
		if len(chunks) < 20 {
			t.Errorf("%s: %d chunks", name, len(chunks))
		}
		for _, c := range chunks[1:] {
			// The last declaration that begins at or before the chunk's first line which is no comment or decorator.
			first, rest := c.Start, c.Text
			for strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "@") {
				line, after, _ := strings.Cut(rest, "\n")
				first, rest = first+len(line)+1, after
			}
			line, _, _ := strings.Cut(b.String()[first:], "\n")
			before := b.String()[:first+len(line)]
			at := strings.LastIndex(before, "Fn")
			want := "Fn" + before[at+2:at+2+strings.IndexFunc(before[at+2:]+" ", func(r rune) bool { return r < '0' || r > '9' })]
			if path := strings.Join(c.Path, "/"); !strings.Contains(strings.ReplaceAll(path, " ", "(")+"(", want+"(") {
				t.Errorf("%s: a chunk that begins with %.40q has the path %q, want %s", name, c.Text, path, want)
				break
			}
		}
	}
}
