package cli

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"loci/providers/providertest"
	"loci/sandbox/stage"
	"loci/tools/custom/javascript"
)

// The scripts in testdata run the program the way a person does: as processes, with their own daemon in the
// background.
func TestMain(m *testing.M) {
	testscript.Main(swept{m}, map[string]func(){"loci": program, "deaf": deaf, "mcpserver": mcpServer})
}

// swept removes what the tests shared.
type swept struct{ *testing.M }

func (s swept) Run() int {
	dir, err := os.MkdirTemp("", "loci-build")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	buildDir = dir
	return s.M.Run()
}

// program is what main does.
func program() {
	if code, ours := stage.Main(os.Args); ours {
		os.Exit(code)
	}
	if code, ours := javascript.Main(os.Args); ours {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func TestManuals(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		Setup:               newHome,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"model":   startModel,
			"kill9":   killDaemon,
			"silent":  runSilent,
			"nobody":  runThrownAway,
			"waitrun": waitRun,

			"waitstatus": waitStatus,
			"headless":   runHeadless,

			"waitmemory": waitMemory,
			"waitfile":   waitFile,
			"facts":      changeFacts,
		},
	})
}

// newHome gives a script a home whose socket has a short path, and shuts its daemon down at the end.
func newHome(env *testscript.Env) error {
	home, err := os.MkdirTemp("", "lc")
	if err != nil {
		return err
	}
	env.Setenv("LOCI_HOME", home)
	env.Setenv("TZ", "Europe/Berlin")
	env.Setenv("TERM", "xterm-256color")
	// Ollama's default address is probed even if it isn't configured; an Ollama on this machine must not take part in
	// the tests.
	env.Setenv("OLLAMA_HOST", "http://127.0.0.1:9")
	env.Defer(func() {
		cmd := exec.Command("loci", "daemon", "stop")
		cmd.Path = lookIn(env.Getenv("PATH"), "loci")
		cmd.Env = env.Vars
		_ = cmd.Run() // the script may already have stopped it
		_ = os.RemoveAll(home)
	})
	return nil
}

func lookIn(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		if p := filepath.Join(dir, name); fileExists(p) {
			return p
		}
	}
	return name
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// startModel starts a scripted model server and sets the variables of its wire: model [openai|ollama].
func startModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: model openai|ollama")
	}
	s := providertest.Start()
	ts.Defer(s.Close)
	s.Models[0].Window = 240_000 // none of our defaults, and above what the contract shows: only a program that asked can show it
	switch args[0] {
	case "openai":
		s.Key = "key-of-the-test"
		s.Models = append(s.Models, providertest.Model{Name: "text-embedding-3-small"})
		ts.Setenv("OPENAI_API_KEY", s.Key)
		ts.Setenv("OPENAI_BASE_URL", s.V1())
	case "ollama":
		ts.Setenv("OLLAMA_HOST", s.URL)
	default:
		ts.Fatalf("unknown wire %s", args[0])
	}
	answers(ts, s)
}

// answers makes sure that the server answers. The request also orders what was set before it, which requests from
// other processes don't.
func answers(ts *testscript.TestScript, s *providertest.Server) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.V1()+"/models", nil)
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+s.Key)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	ts.Check(err)
	ts.Check(resp.Body.Close())
	if resp.StatusCode != http.StatusOK {
		ts.Fatalf("the model answers %s", resp.Status)
	}
}

// killDaemon kills the daemon as abruptly as a power cut.
func killDaemon(ts *testscript.TestScript, neg bool, _ []string) {
	var s struct {
		PID int `json:"pid"`
	}
	out := output(ts, "daemon", "status", "--json")
	ts.Check(json.Unmarshal(out, &s))
	p, err := os.FindProcess(s.PID)
	ts.Check(err)
	if neg {
		ts.Fatalf("kill9 cannot fail")
	}
	ts.Check(p.Kill())
	poll(ts, func() bool { return p.Signal(syscall.Signal(0)) != nil || zombie(s.PID) })
}

// zombie says whether a process has ended and is only waiting for its parent.
func zombie(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(data), ") Z ")
}

// runSilent runs the program with a pipe as standard input that stays open and silent.
func runSilent(ts *testscript.TestScript, neg bool, args []string) {
	r, w, err := os.Pipe()
	ts.Check(err)
	defer func() { _ = w.Close() }()
	defer func() { _ = r.Close() }()
	run(ts, neg, r, args)
}

// runHeadless runs the program with the null device as standard input.
func runHeadless(ts *testscript.TestScript, neg bool, args []string) { run(ts, neg, nil, args) }

// runThrownAway runs the program as Python's and Node's launchers do when its answer is of no interest: with the null
// device, open for reading and writing, as standard output.
func runThrownAway(ts *testscript.TestScript, neg bool, args []string) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	ts.Check(err)
	defer func() { _ = null.Close() }()
	cmd := command(ts, args...)
	cmd.Stdout, cmd.Stderr = null, ts.Stderr()
	ended(ts, neg, cmd)
}

func run(ts *testscript.TestScript, neg bool, in *os.File, args []string) {
	cmd := command(ts, args...)
	if in != nil {
		cmd.Stdin = in
	}
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	ended(ts, neg, cmd)
}

func ended(ts *testscript.TestScript, neg bool, cmd *exec.Cmd) {
	err := cmd.Run()
	if (err != nil) != neg {
		ts.Fatalf("%s: %v", strings.Join(cmd.Args, " "), err)
	}
}

// waitMemory waits until a block contains a text.
func waitMemory(ts *testscript.TestScript, _ bool, args []string) {
	poll(ts, func() bool {
		out, err := command(ts, "memory", "show", args[0]).Output()
		return err == nil && strings.Contains(string(out), args[1])
	})
}

// waitRun waits until a run is under way.
func waitRun(ts *testscript.TestScript, _ bool, _ []string) {
	poll(ts, func() bool { return newestStatus(ts, "--active") == "running" })
}

// waitFile waits until a file holds something.
func waitFile(ts *testscript.TestScript, _ bool, args []string) {
	poll(ts, func() bool { info, err := os.Stat(ts.MkAbs(args[0])); return err == nil && info.Size() > 0 })
}

// waitStatus waits until the newest run is over, and expects it to have ended as given.
func waitStatus(ts *testscript.TestScript, _ bool, args []string) {
	var got string
	poll(ts, func() bool {
		got = newestStatus(ts)
		return got != "" && got != "running" && got != "created"
	})
	if got != args[0] {
		ts.Fatalf("the newest run is %s, not %s", got, args[0])
	}
}

// newestStatus is how the newest run stands, empty when there is none.
func newestStatus(ts *testscript.TestScript, flags ...string) string {
	var runs []struct {
		Status string `json:"status"`
	}
	out, err := command(ts, append([]string{"runs", "--limit", "1", "--json"}, flags...)...).Output()
	if err != nil || json.Unmarshal(out, &runs) != nil || len(runs) == 0 {
		return ""
	}
	return runs[0].Status
}

func output(ts *testscript.TestScript, args ...string) []byte {
	out, err := command(ts, args...).Output()
	ts.Check(err)
	return out
}

func command(ts *testscript.TestScript, args ...string) *exec.Cmd {
	cmd := exec.Command(lookIn(ts.Getenv("PATH"), "loci"), args...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{
		"PATH", "HOME", "LOCI_HOME", "TZ", "TERM", "OLLAMA_HOST", "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY",
		"AZURE_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "TMPDIR", "MY_BOX_KEY",
	} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

// poll keeps asking until the answer is yes.
func poll(ts *testscript.TestScript, ask func() bool) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(2 * time.Minute)
	for !ask() {
		select {
		case <-ticker.C:
		case <-deadline:
			ts.Fatalf("waited for nothing")
		}
	}
}

// changeFacts runs a statement on the facts of a home whose daemon is stopped: facts STATEMENT.
func changeFacts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: facts STATEMENT")
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(ts.Getenv("LOCI_HOME"), "data", "loci.db"))
	ts.Check(err)
	defer func() { _ = db.Close() }() // what it wrote is committed
	_, err = db.ExecContext(context.Background(), args[0])
	ts.Check(err)
}
