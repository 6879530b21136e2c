package custom_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/sandbox"
	"loci/tools"
	"loci/tools/custom"
)

// scripts is a box with a folder of scripts.
func scripts(t *testing.T, files map[string]string) (*bench, string) {
	t.Helper()
	b, dir := open(t), t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cage := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	t.Cleanup(cage.Close)
	b.box = custom.New(custom.Config{BuiltIn: tools.New(), Store: b.store, Sandbox: cage, Folder: dir})
	return b, dir
}

const words = `#!/bin/sh
# name: count_words
# description: Count the words of a text.
# parameters: {"type": "object",
#   "properties": {"text": {"type": "string"}},
#   "required": ["text"]}
# Anything else is a comment.
printf %s "$ARG_TEXT" | wc -w | tr -d ' '
`

func TestAScriptWithAHeaderIsATool(t *testing.T) {
	t.Parallel()
	b, dir := scripts(t, map[string]string{
		"words.sh": words, "plain": "#!/bin/sh\n# description: Say hello.\ncat; echo hello\n",
		"none.sh": "#!/bin/sh\necho no header\n", "half.sh": "#!/bin/sh\n# description: D.\n# parameters: {\n", "text.md": "# name: x\n",
		"memory_insert": "#!/bin/sh\n# description: Not the built-in one.\n",
	})
	all, err := b.box.List(t.Context())
	b.ok(err)
	var names []string
	for _, tool := range all {
		if tool.Info.Custom != nil {
			names = append(names, tool.Info.Spec.Name)
		}
	}
	if got := strings.Join(names, " "); got != "count_words plain" {
		t.Errorf("the tools are %s", got)
	}
	found, ok, err := b.box.Find(t.Context(), "count_words")
	b.ok(err)
	if !ok || found.Info.Spec.Description != "Count the words of a text." ||
		!strings.Contains(string(found.Info.Spec.Parameters), `"required":["text"]`) {
		t.Fatalf("%v %+v", ok, found.Info.Spec)
	}
	changed := strings.ReplaceAll(words, "Count the words", "Number the words")
	b.ok(os.WriteFile(filepath.Join(dir, "words.sh"), []byte(changed), 0o700))
	again, err := b.box.Tools(t.Context(), []core.ToolID{found.Info.ID})
	b.ok(err)
	if len(again) != 1 || again[0].Info.Spec.Description != "Number the words of a text." {
		t.Errorf("what was changed on disk does not count: %+v", again)
	}
	if r := b.call(again[0], `{"text": "one two three"}`); r.Text != "3" || r.IsError {
		t.Errorf("%+v", r)
	}
	plain, _, err := b.box.Find(t.Context(), "plain")
	b.ok(err)
	if r := b.call(plain, `{"a": [1]}`); r.Text != "{\"a\":[1]}\nhello" {
		t.Errorf("%+v", r)
	}
	failing := []byte("#!/bin/sh\n# description: Fail.\necho why >&2; exit 4\n")
	b.ok(os.WriteFile(filepath.Join(dir, "plain"), failing, 0o700))
	plain, _, err = b.box.Find(t.Context(), "plain")
	b.ok(err)
	if r := b.call(plain, `{}`); !r.IsError || !strings.Contains(r.Text, "Exit code 4. why") {
		t.Errorf("%+v", r)
	}
}

func TestAnIntegerOfAnySizeReachesAScriptAsItIs(t *testing.T) {
	t.Parallel()
	b, _ := scripts(t, map[string]string{"plain": "#!/bin/sh\n# description: Say it.\ncat; echo $ARG_A\n"})
	plain, _, err := b.box.Find(t.Context(), "plain")
	b.ok(err)
	if r := b.call(plain, `{"a": 9007199254740993}`); r.Text != "{\"a\":9007199254740993}\n9007199254740993" {
		t.Errorf("%+v", r)
	}
}

// A tool stays attached by its file, and the file's header may give it another name at any time.
func TestAScriptThatTakesTheNameOfAnotherToolIsNone(t *testing.T) {
	t.Parallel()
	b, dir := scripts(t, map[string]string{"words.sh": words})
	found, ok, err := b.box.Find(t.Context(), "count_words")
	b.ok(err)
	if !ok {
		t.Fatal("it is not found")
	}
	b.written("def kept():\n  \"\"\"Kept.\"\"\"\n")
	b.ok(os.WriteFile(filepath.Join(dir, "first.sh"), []byte("#!/bin/sh\n# name: twice\n# description: D.\n"), 0o700))
	for name, want := range map[string]int{"memory_insert": 0, "run_code": 0, "kept": 0, "twice": 0, "free": 1} {
		b.ok(os.WriteFile(filepath.Join(dir, "words.sh"), []byte("#!/bin/sh\n# name: "+name+"\n# description: D.\n"), 0o700))
		got, err := b.box.Tools(t.Context(), []core.ToolID{found.Info.ID})
		b.ok(err)
		if len(got) != want {
			t.Errorf("named %s, it is %d tools", name, len(got))
		}
	}
}

func TestAScriptThatNothingRunsIsNoToolAndTheLogSaysWhy(t *testing.T) {
	t.Parallel()
	b, dir := scripts(t, map[string]string{
		"good":   "#!/usr/bin/env -S sh -e\n# description: D.\n",
		"crlf":   "#!/bin/sh\r\n# description: D.\r\n",
		"absent": "#!/usr/bin/no-such-interpreter\n# description: D.\n",
		"env":    "#!/usr/bin/env no-such-interpreter\n# description: D.\n",
		"empty":  "#!\n# description: D.\n",
	})
	var told bytes.Buffer
	b.box = custom.New(custom.Config{
		BuiltIn: tools.New(), Store: b.store, Folder: dir, Logger: slog.New(slog.NewTextHandler(&told, nil)),
	})
	for name, want := range map[string]string{
		"good": "", "crlf": "CRLF", "absent": "no-such-interpreter", "env": "no-such-interpreter", "empty": "names no program",
	} {
		_, ok, err := b.box.Find(t.Context(), name)
		b.ok(err)
		if ok != (want == "") || !strings.Contains(told.String(), want) {
			t.Errorf("%s: %v; %s", name, ok, told.String())
		}
	}
}
