package cli

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loci/core/coretest"
	"loci/providers/providertest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// buildDir is where the program is built; it outlives the first test.
var buildDir string

// build builds the program as people get it, once for all tests.
func build(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "loci")
	cmd := exec.Command("go", "build", "-o", path, "loci/cmd/loci")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// trivialInit is a number of allocations so small that they are just a few error values.
const trivialInit = 8

// ownInitBytes is how much the error values of one of our packages may allocate: a table takes more, even though it
// is a single allocation.
const ownInitBytes = 2048

var initLine = regexp.MustCompile(`^init (\S+) @.* (\d+) bytes, (\d+) allocs$`)

// TestInitialisationIsListed: what runs before main slows down every command. A package that starts doing work
// there, or does more of it, fails this test; -update rewrites the list, so review its diff.
func TestInitialisationIsListed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the list is that of linux/amd64")
	}
	got := initialisation(t, build(t))
	const golden = "testdata/init.golden"
	if *update {
		var b strings.Builder
		for _, pkg := range slices.Sorted(maps.Keys(got)) {
			fmt.Fprintf(&b, "%s %d\n", pkg, got[pkg])
		}
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for line := range strings.Lines(string(data)) {
		pkg, n, _ := strings.Cut(strings.TrimSpace(line), " ")
		if want[pkg], err = strconv.Atoi(n); err != nil {
			t.Fatalf("%s: %q", golden, line)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(got)) {
		most, listed := want[pkg]
		switch {
		case !listed && got[pkg] > trivialInit:
			t.Errorf("%s now works before main (%d allocations) and is not in %s", pkg, got[pkg], golden)
		case listed && got[pkg] > most+most/10+trivialInit:
			t.Errorf("%s makes %d allocations before main; the list says %d", pkg, got[pkg], most)
		}
	}
}

// initialisation returns the allocations of packages outside the standard library.
func initialisation(t *testing.T, program string) map[string]int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	lines := bufio.NewScanner(&trace)
	for lines.Scan() {
		m := initLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		first, _, _ := strings.Cut(m[1], "/")
		if n, _ := strconv.Atoi(m[2]); first == "loci" && n > ownInitBytes {
			t.Errorf("%s takes %d bytes before main", m[1], n)
		}
		if n, _ := strconv.Atoi(m[3]); n > 0 && (strings.Contains(first, ".") || first == "loci") {
			got[m[1]] = n
		}
	}
	if len(got) == 0 {
		t.Fatal("the runtime traced nothing")
	}
	return got
}

// TestVersionOpensNoFile: the command people type to see whether anything works must not depend on anything.
func TestVersionOpensNoFile(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "none")
	cmd := exec.CommandContext(t.Context(), build(t), "version")
	cmd.Env = []string{"LOCI_HOME=" + home, "LOCI_MAX_STEPS=nonsense"}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.HasPrefix(out, []byte("loci ")) {
		t.Errorf("version: %v, %q", err, out)
	}
	if _, err := os.Stat(home); err == nil {
		t.Errorf("version made %s", home)
	}
}

var connected = regexp.MustCompile(`connect\(\d+, \{sa_family=(AF_\w+)(.*)$`)

// TestOnlyConfiguredAddressesAreConnectedTo traces every connect of the daemon and of commands. Without a route a
// connection would fail unseen, so the test looks for the attempt.
func TestOnlyConfiguredAddressesAreConnectedTo(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed; .ci/run installs it")
	}
	if out, err := exec.CommandContext(t.Context(), strace, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("processes cannot be traced here: %s", out)
	}
	model := providertest.NewServer(t)
	port := model.URL[strings.LastIndex(model.URL, ":")+1:]
	env := append(homeEnv(t), "OPENAI_API_KEY=key", "OPENAI_BASE_URL="+model.V1(), "OLLAMA_HOST="+model.URL)

	traces := t.TempDir()
	traced := func(ctx context.Context, name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(
			ctx,
			strace,
			append([]string{"-f", "-qq", "-e", "trace=connect", "-o", filepath.Join(traces, name), build(t)}, args...)...)
		cmd.Env = env
		return cmd
	}
	daemon := traced(t.Context(), "daemon", "daemon", "run")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, build(t), env)
	for i, args := range [][]string{
		{"-p", "SAY hello"},
		{"-p", "--model", "offline/loci", "My name is Ada"},
		{"agents"},
		{"models"},
		{"memory", "show"},
		{"messages", "search", "Ada"},
		{"doctor"},
		{"runs"},
		{"version"},
		{"paths"},
	} {
		if out, err := traced(t.Context(), fmt.Sprintf("command-%d", i), args...).CombinedOutput(); err != nil {
			t.Errorf("loci %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	stop := exec.CommandContext(t.Context(), build(t), "daemon", "stop")
	stop.Env = env
	if out, err := stop.CombinedOutput(); err != nil {
		t.Fatalf("stop: %v\n%s", err, out)
	}
	if err := daemon.Wait(); err != nil {
		t.Errorf("daemon: %v", err)
	}
	if n := checkTraces(t, traces, port); n == 0 {
		t.Error("not even the model was connected to: nothing was traced")
	}
}

// checkTraces fails on any address except sockets and the model's, and returns how often the model was connected
// to.
func checkTraces(t *testing.T, dir, port string) (toModel int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			m := connected.FindStringSubmatch(strings.TrimSpace(line))
			switch {
			case m == nil, m[1] == "AF_UNIX" && strings.Contains(m[2], "loci.sock"):
			case m[1] == "AF_INET" && strings.Contains(m[2], "htons("+port+")") && strings.Contains(m[2], "127.0.0.1"):
				toModel++
			default:
				t.Errorf("%s: a connection that nobody configured: %s", filepath.Base(file), line)
			}
		}
	}
	return toModel
}

// homeEnv is the environment for a new home. At the end of the test its daemon is stopped and the home removed.
func homeEnv(t *testing.T) []string {
	t.Helper()
	home, err := os.MkdirTemp("", "lc") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"LOCI_HOME=" + home, "PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=xterm", "OLLAMA_HOST=http://127.0.0.1:9"}
	t.Cleanup(func() {
		stop := exec.Command(build(t), "daemon", "stop")
		stop.Env = env
		_ = stop.Run() // it may already be stopped
		_ = os.RemoveAll(home)
	})
	return env
}

// awaitReady waits until the daemon of a home is ready.
func awaitReady(t *testing.T, program string, env []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		cmd := exec.CommandContext(ctx, program, "daemon", "status", "--json")
		cmd.Env = env
		if out, err := cmd.Output(); err == nil && bytes.Contains(out, []byte(`"ready": true`)) {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatal("the daemon did not become ready")
		}
	}
}

// TestTerminatedDaemonEndsWithinTenSeconds even while a run waits for a model that doesn't answer.
func TestTerminatedDaemonEndsWithinTenSeconds(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer(t)
	env := append(homeEnv(t), "OPENAI_API_KEY=key", "OPENAI_BASE_URL="+model.V1())
	daemon := exec.CommandContext(t.Context(), build(t), "daemon", "run")
	daemon.Env = env
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, build(t), env)
	shot := exec.CommandContext(t.Context(), build(t), "-p", "--no-daemon-start", "SLEEP 60s\nSAY late")
	shot.Env = env
	if err := shot.Start(); err != nil {
		t.Fatal(err)
	}
	coretest.Until(t, "the model is asked", func() bool { return model.Active() > 0 })
	began := time.Now()
	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Errorf("daemon: %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if shot.Wait() == nil {
		t.Error("the command that waited for the answer says it succeeded")
	}
}
