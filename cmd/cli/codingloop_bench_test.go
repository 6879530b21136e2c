//go:build linux

package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"loci/daemon/api"
)

var codexPath = flag.String("codex", "", "the program codex, which BenchmarkCodingLoop compares with")

// calcText and testText are the files of the task: the second is the test of the first.
const (
	calcText = "def add(a, b):\n    return a - b\n"
	testText = "#!/bin/sh\ngrep -qx '    return a + b' calc.py || { echo 'add(2, 3) is wrong'; exit 1; }\necho ok\n"
)

// coder is a program that does the task: read two files, change one, run the test, mend it, run the test again.
type coder struct {
	plan string // what the scripted model does, in the words of the program's own tools
	run  func(x *bench, folder, plan string) (asked int)
}

const lociPlan = `CALL read {"path":"calc.py"}
CALL read {"path":"test.sh"}
CALL edit {"path":"calc.py","old_string":"a - b","new_string":"a * b"}
CALL shell {"command":"sh test.sh"}
CALL edit {"path":"calc.py","old_string":"a * b","new_string":"a + b"}
CALL shell {"command":"sh test.sh"}
SAY The test passes.`

// patch is a change in the form that codex takes.
func patch(before, after string) string {
	command := "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: calc.py\n@@\n-    return " + before + "\n+    return " + after +
		"\n*** End Patch\nEOF"
	arguments, _ := json.Marshal(map[string]string{"cmd": command}) // a map of strings is always JSON
	return "CALL exec_command " + string(arguments) + "\n"
}

func codexPlan() string {
	return `CALL exec_command {"cmd":"cat calc.py"}` + "\n" + `CALL exec_command {"cmd":"cat test.sh"}` + "\n" +
		patch("a - b", "a * b") + `CALL exec_command {"cmd":"sh test.sh"}` + "\n" +
		patch("a * b", "a + b") + `CALL exec_command {"cmd":"sh test.sh"}` + "\nSAY The test passes."
}

// BenchmarkCodingLoop has the same scripted model do the same task through this program, with every question answered by
// yes, and, with -codex PATH, through codex with its sandbox for a workspace. The model answers at once, so that all time is
// the program's own and that of the commands.
func BenchmarkCodingLoop(b *testing.B) {
	x := newBench(b)
	x.model.Reply = x.model.Directives
	x.run(x.command("daemon", "start"))
	coders := map[string]coder{
		"loci": {lociPlan, func(x *bench, folder, plan string) int { return x.codeWithLoci(folder, plan) }},
		"loci-all": {lociPlan, func(x *bench, folder, plan string) int {
			return x.codeWithLoci(folder, plan, "--permission-mode", "all")
		}},
	}
	if *codexPath != "" {
		coders["codex"] = coder{codexPlan(), (*bench).codeWithCodex}
	}
	took := map[string][]time.Duration{}
	sent, requests, asked := map[string]int{}, map[string]int{}, map[string]int{}
	rounds := 0
	for b.Loop() {
		rounds++
		for name, c := range coders {
			folder := x.project()
			before := len(x.model.Requests())
			begun := time.Now()
			asked[name] += c.run(x, folder, c.plan)
			took[name] = append(took[name], time.Since(begun))
			if text, err := os.ReadFile(filepath.Join(folder, "calc.py")); err != nil || !strings.Contains(string(text), "a + b") {
				b.Fatalf("%s did not do it: %q %v", name, text, err)
			}
			for _, r := range x.model.Requests()[before:] {
				sent[name] += len(r.Body)
				requests[name]++
			}
		}
	}
	for name := range coders {
		b.ReportMetric(median(took[name]), name+"-ms")
		b.ReportMetric(float64(sent[name])/4/float64(rounds), name+"-tokens")
		b.ReportMetric(float64(requests[name])/float64(rounds), name+"-requests")
		b.ReportMetric(float64(asked[name])/float64(rounds), name+"-questions")
	}
}

// project is a fresh git folder with the task's files.
func (x *bench) project() string {
	x.b.Helper()
	folder := x.b.TempDir()
	for name, text := range map[string]string{"calc.py": calcText, "test.sh": testText} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			x.b.Fatal(err)
		}
	}
	x.run(exec.CommandContext(x.b.Context(), "git", "init", "-q", folder))
	return folder
}

// codeWithLoci holds one conversation over lines, and allows what is asked.
func (x *bench) codeWithLoci(folder, plan string, flags ...string) (asked int) {
	x.b.Helper()
	line := []string{"-p", "--conversation", "new", "--input-format", "stream-json", "--output-format", "stream-json"}
	c := x.command(append(line, flags...)...)
	c.Dir = folder
	var said bytes.Buffer
	c.Stderr = &said
	in, err := c.StdinPipe()
	if err != nil {
		x.b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		x.b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		x.b.Fatal(err)
	}
	send(x.b, in, map[string]any{"type": api.InputMessage, "content": plan})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var r struct {
			Type     string              `json:"type"`
			Approval *api.WaitingRequest `json:"approval"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			x.b.Fatalf("%v: %s", err, lines.Bytes())
		}
		switch {
		case r.Type != "result":
		case r.Approval == nil:
			_ = in.Close() // the last line has its result
		default:
			var yes []api.Decision
			for _, call := range r.Approval.Calls {
				yes = append(yes, decision(*r.Approval, call, true, ""))
			}
			asked += len(yes)
			send(x.b, in, map[string]any{"type": api.InputApproval, "approvals": yes})
		}
	}
	if err := c.Wait(); err != nil {
		x.b.Fatalf("%v: %s", err, said.String())
	}
	return asked
}

func send(b *testing.B, to io.Writer, v any) {
	b.Helper()
	if err := json.NewEncoder(to).Encode(v); err != nil {
		b.Fatal(err)
	}
}

// codeWithCodex runs codex without a terminal, where it asks nothing and its sandbox lets it write in the folder.
func (x *bench) codeWithCodex(folder, plan string) (asked int) {
	x.b.Helper()
	home := x.b.TempDir()
	config := fmt.Sprintf("model = \"test-model\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\n"+
		"base_url = %q\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n", x.model.V1())
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		x.b.Fatal(err)
	}
	c := exec.CommandContext(x.b.Context(), *codexPath, "exec", "--skip-git-repo-check", "--sandbox", "workspace-write", plan)
	c.Dir, c.Env = folder, append(slices.Clone(x.env), "CODEX_HOME="+home, "TMPDIR=/tmp")
	text, err := c.CombinedOutput()
	if err != nil {
		x.b.Fatalf("codex: %v\n%s", err, text)
	}
	return 0
}
