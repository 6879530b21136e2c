//go:build linux

package packages_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/sandbox"
	"loci/sandbox/stage"
	"loci/tools/custom/javascript"
	"loci/tools/custom/packages"
	"loci/tools/custom/packages/packagestest"
	"loci/tools/custom/python"
	"loci/tools/custom/run"
)

// TestMain lets the tests' own program be launcher and first process of sandboxes, as the daemon's is.
func TestMain(m *testing.M) {
	if code, ours := stage.Main(os.Args); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// bench is a store on this machine's sandbox, with an index of its own.
type bench struct {
	testing.TB
	index *packagestest.Index
	cfg   packages.Config
	store *packages.Store
}

func open(tb testing.TB, change ...func(*packages.Config)) *bench {
	tb.Helper()
	box := sandbox.New(sandbox.Config{Mode: sandbox.Full, Scratch: filepath.Join(tb.TempDir(), "jobs")})
	tb.Cleanup(box.Close)
	if r := box.Probe(tb.Context()); r.Level != sandbox.LevelFull {
		tb.Skip("this machine cannot confine programs: " + r.Detail)
	}
	b := &bench{TB: tb, index: packagestest.New(tb)}
	path := os.Getenv("PATH")
	b.cfg = packages.Config{
		Sandbox: box, Dir: filepath.Join(tb.TempDir(), "packages"), Python: python.Find(path), Node: javascript.FindNode(path),
		PyPI: b.index.PyPI(), Npm: b.index.Npm(),
	}
	for _, f := range change {
		f(&b.cfg)
	}
	b.store = packages.New(b.cfg)
	tb.Cleanup(b.store.Close)
	return b
}

// asking is a tool that asks for packages of pip.
func asking(words ...string) *core.CustomTool {
	t := &core.CustomTool{Name: "t", Language: core.LanguagePython}
	for _, w := range words {
		name, version, _ := strings.Cut(w, "==")
		t.Pip = append(t.Pip, core.Requirement{Name: name, Version: version})
	}
	return t
}

func (b *bench) install(t *core.CustomTool) string {
	b.Helper()
	folder, err := b.store.Environment(b.Context(), t, nil)
	if err != nil {
		b.Fatal(err)
	}
	return folder
}

// entries are the names of what the store's folder holds.
func (b *bench) entries() (names []string) {
	b.Helper()
	list, _ := os.ReadDir(b.cfg.Dir)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestPackagesAreInstalledOnceForAllWhoAskForThem(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.index.Wheel(t, "tiny", "1.2", map[string]string{"tiny/__init__.py": "SIZE = 'small'\n"})
	b.index.Wheel(t, "other", "1", map[string]string{"other.py": "import tiny\n"})
	var mu sync.Mutex
	var told []string
	folders := make([]string, 8)
	var all sync.WaitGroup
	for i := range folders {
		all.Go(func() {
			words := []string{"tiny==1.2", "other"}
			if i%2 == 1 {
				slices.Reverse(words)
			}
			var err error
			folders[i], err = b.store.Environment(t.Context(), asking(words...), func(line string) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, line)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(slices.Compact(folders)) != 1 {
		t.Errorf("%q", folders)
	}
	if text, err := os.ReadFile(filepath.Join(folders[0], "tiny", "__init__.py")); err != nil || !strings.Contains(string(text), "small") {
		t.Errorf("%v %s", err, text)
	}
	wheels := 0
	for _, path := range b.index.Asked() {
		if path == "/files/tiny-1.2-py3-none-any.whl" {
			wheels++
		}
	}
	if wheels != 1 || !slices.Contains(told, "installing other, tiny==1.2") {
		t.Errorf("it was fetched %d times; told: %q", wheels, told)
	}
	if n, bytes := b.store.Size(); n != 1 || bytes == 0 {
		t.Errorf("%d with %d bytes", n, bytes)
	}
	again := packages.New(b.cfg) // after a restart
	t.Cleanup(again.Close)
	asked := len(b.index.Asked())
	if folder, err := again.Environment(t.Context(), asking("other", "tiny==1.2"), nil); err != nil || folder != folders[0] ||
		len(b.index.Asked()) != asked {
		t.Errorf("%v %s", err, folder)
	}
	if folder := b.install(&core.CustomTool{Language: core.LanguagePython}); folder != "" {
		t.Errorf("a tool without packages has %s", folder)
	}
}

func TestWhatCannotBeInstalledIsSaidByItsName(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.index.Wheel(t, "tiny", "1.2", map[string]string{"tiny.py": ""})
	for words, want := range map[string]string{
		"nowhere":           "nowhere could not be installed from 127.0.0.1",
		"tiny==9.9":         "tiny==9.9 could not be installed",
		"nowhere==1 tiny":   "nowhere==1 could not be installed",
		"-r/etc/passwd":     "is no package",
		"tiny@../x":         "is no package",
		"tiny;import":       "is no package",
		"git+https://a.org": "is no package",
	} {
		_, err := b.store.Environment(t.Context(), asking(strings.Fields(words)...), nil)
		if err == nil || !strings.Contains(err.Error(), want) || core.HintOf(err) == "" {
			t.Errorf("%s: %v; %s", words, err, core.HintOf(err))
		}
		if strings.Contains(want, "installed") && !strings.Contains(err.Error(), "No matching distribution found") {
			t.Errorf("%s: the installer's words are missing: %v", words, err)
		}
	}
	if names := b.entries(); len(names) > 0 {
		t.Errorf("left: %q", names)
	}
}

// hostile is what a source does that is built: it leaves in the package what it got.
const hostile = `
import os, socket, zipfile

def tried(what):
    try:
        return str(what())
    except Exception as error:
        return "refused: " + type(error).__name__

def build_wheel(folder, settings=None, metadata=None):
    seen = [
        tried(lambda: open(%q).read()),
        tried(lambda: open(%q, "w").write("x")),
        tried(lambda: socket.create_connection(("127.0.0.1", %d), 2)),
        tried(lambda: socket.create_connection(("files.example.org", 443), 2)),
        tried(lambda: os.listdir(os.path.expanduser("~root"))),
    ]
    %s
    name = "evil-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as z:
        z.writestr("evil.py", "SEEN = " + repr(seen))
        z.writestr("evil-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
        z.writestr("evil-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("evil-1.dist-info/RECORD", "evil.py,,\n")
    return name
`

func TestWhatAPackageRunsWhileItIsBuiltReachesNothing(t *testing.T) {
	t.Parallel()
	b := open(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	at, _ := other.Listener.Addr().(*net.TCPAddr)
	b.index.Source(t, "evil", "1", fmt.Sprintf(hostile, secret, secret, at.Port, "pass"))
	seen, err := os.ReadFile(filepath.Join(b.install(asking("evil")), "evil.py"))
	if err != nil || strings.Count(string(seen), "refused") != 5 {
		t.Errorf("%v: it got %s", err, seen)
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "canary" {
		t.Errorf("%v: %s", err, text)
	}
}

func TestLinksOutOfAnEnvironmentAreNotFollowed(t *testing.T) {
	t.Parallel()
	b := open(t)
	for name, does := range map[string]string{
		"a link":          `os.symlink("/etc", os.path.join(where, "out"))`,
		"a relative link": `os.symlink("../../../../etc", os.path.join(where, "out"))`,
		"a pipe":          `os.mkfifo(os.path.join(where, "pipe"))`,
	} {
		plant := "where = os.path.join(os.path.dirname(os.environ['TMPDIR']), 'env'); " + does
		b.index.Source(t, "evil", "1", fmt.Sprintf(hostile, "/x", "/x", 1, plant))
		_, err := b.store.Environment(t.Context(), asking("evil"), nil)
		if core.KindOf(err) != core.Forbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.index.Source(t, "evil", "1", fmt.Sprintf(hostile, "/x", "/x", 1, "os.rename(os.environ['TMPDIR'] + '/../env', '/tmp/env')"))
	if _, err := b.store.Environment(t.Context(), asking("evil"), nil); err == nil {
		t.Error("the folder itself can be replaced")
	}
	if names := b.entries(); len(names) > 0 {
		t.Errorf("left: %q", names)
	}
}

func TestWhoeverLeavesIsToldNothingMore(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.index.Wheel(t, "tiny", "1.2", map[string]string{"tiny.py": "x = 1"})
	release := b.index.Hold()
	t.Cleanup(release)
	ctx, leave := context.WithCancel(t.Context())
	var mu sync.Mutex
	left, told, late := false, 0, 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = b.store.Environment(ctx, asking("tiny"), func(string) { // it fails, since the context ends
			mu.Lock()
			defer mu.Unlock()
			if told++; left {
				late++
			}
		})
		mu.Lock()
		defer mu.Unlock()
		left = true
	}()
	coretest.Until(t, "the index is asked", func() bool { return len(b.index.Asked()) > 0 })
	leave()
	<-done
	release()
	b.install(asking("tiny")) // the same installation, to its end
	mu.Lock()
	defer mu.Unlock()
	if told == 0 || late > 0 {
		t.Errorf("told %d times, %d of them too late", told, late)
	}
}

func TestNothingHalfMadeIsUsed(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.index.Wheel(t, "tiny", "1.2", map[string]string{"tiny.py": "x = 1"})
	release := b.index.Hold()
	t.Cleanup(release)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := b.store.Environment(ctx, asking("tiny"), nil)
		left <- err
	}()
	coretest.Until(t, "the index is asked", func() bool { return len(b.index.Asked()) > 0 })
	leave()
	if err := <-left; err == nil {
		t.Error("whoever leaves gets an environment")
	}
	if names := b.entries(); len(names) != 1 || !strings.HasPrefix(names[0], "tmp-") {
		t.Errorf("while it is made: %q", names)
	}
	b.store.Close() // as a daemon that ends
	killed := filepath.Join(b.cfg.Dir, "tmp-killed", "env")
	if err := os.MkdirAll(killed, 0o700); err != nil {
		t.Fatal(err)
	}
	release()
	next := packages.New(b.cfg)
	t.Cleanup(next.Close)
	if names := b.entries(); len(names) > 0 {
		t.Errorf("after a restart: %q", names)
	}
	folder, err := next.Environment(t.Context(), asking("tiny"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(folder); err != nil { // somebody cleaned up
		t.Fatal(err)
	}
	if folder, err = next.Environment(t.Context(), asking("tiny"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "tiny.py")); err != nil {
		t.Error(err)
	}
}

func TestAnEnvironmentIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	b := open(t, func(c *packages.Config) { c.Bytes = 4 << 20 })
	b.index.Wheel(t, "huge", "1", map[string]string{"huge.txt": strings.Repeat("0", 64<<20)})
	_, err := b.store.Environment(t.Context(), asking("huge"), nil)
	if core.KindOf(err) != core.TooLarge {
		t.Errorf("%v", err)
	}
	if names := b.entries(); len(names) > 0 {
		t.Errorf("left: %q", names)
	}
}

func TestEnvironmentsGoThatNoToolNamesAndNobodyUsed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var mu sync.Mutex
	b := open(t, func(c *packages.Config) {
		c.Clock = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	b.index.Wheel(t, "tiny", "1", map[string]string{"tiny.py": ""})
	b.index.Wheel(t, "other", "1", map[string]string{"other.py": ""})
	named, tried := b.install(asking("tiny")), b.install(asking("other"))
	sweep := func(want int) {
		t.Helper()
		removed, err := b.store.Sweep(t.Context(), []core.CustomTool{*asking("tiny"), {Name: "none", Language: core.LanguageProgram}})
		if err != nil || removed != want {
			t.Errorf("%v: %d removed, want %d", err, removed, want)
		}
	}
	sweep(0) // both were used today
	mu.Lock()
	now = now.Add(25 * time.Hour)
	mu.Unlock()
	sweep(1)
	if _, err := os.Stat(named); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(tried); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestWhatWasUsedLongestAgoMakesRoom(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var mu sync.Mutex
	later := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	b := open(t, func(c *packages.Config) {
		c.Kept = 2
		c.Clock = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	for _, name := range []string{"one", "two", "three"} {
		b.index.Wheel(t, name, "1", map[string]string{name + ".py": ""})
	}
	one := b.install(asking("one"))
	later(time.Minute)
	two := b.install(asking("two"))
	if _, err := b.store.Environment(t.Context(), asking("three"), nil); core.KindOf(err) != core.TooLarge {
		t.Errorf("where both were just used: %v", err)
	}
	later(2 * time.Hour)
	b.install(asking("one")) // it is used again
	b.install(asking("three"))
	if _, err := os.Stat(two); !os.IsNotExist(err) {
		t.Errorf("the older one is there: %v", err)
	}
	if _, err := os.Stat(one); err != nil {
		t.Error(err)
	}
}

// The interpreter finds no pip, as on systems that keep the two apart.
func TestWhereThereIsNoPipTheInterpreterMakesOne(t *testing.T) {
	t.Parallel()
	wrapper := filepath.Join(t.TempDir(), "python3")
	var found run.Interpreter
	b := open(t, func(c *packages.Config) {
		var err error
		if found, err = c.Python(); err != nil {
			t.Fatal(err)
		}
		text := "#!/bin/sh\nexec " + found.Program + " -S \"$@\"\n"
		if err := os.WriteFile(wrapper, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		c.Python = func() (run.Interpreter, error) {
			return run.Interpreter{Program: wrapper, Mounts: append(found.Mounts, core.JobMount{Source: wrapper})}, nil
		}
	})
	b.index.Wheel(t, "tiny", "1", map[string]string{"tiny.py": ""})
	can := exec.Command(found.Program, "-I", "-c", "import ensurepip, venv; ensurepip.version()").Run() == nil
	folder, err := b.store.Environment(t.Context(), asking("tiny"), nil)
	if can && err == nil {
		_, err = os.Stat(filepath.Join(folder, "tiny.py"))
	}
	if can && err != nil || !can && (core.KindOf(err) != core.Unsupported || !strings.Contains(core.HintOf(err), "python3-pip")) {
		t.Errorf("it can make one: %v; %v (%s)", can, err, core.HintOf(err))
	}
}

func TestPackagesAreInstalledWhereThePersonTurnedTheSandboxOff(t *testing.T) {
	t.Parallel()
	free := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	t.Cleanup(free.Close)
	b := open(t, func(c *packages.Config) { c.Sandbox = free })
	b.index.Wheel(t, "tiny", "1", map[string]string{"tiny.py": ""})
	if _, err := os.Stat(filepath.Join(b.install(asking("tiny")), "tiny.py")); err != nil {
		t.Error(err)
	}
}

func TestThePasswordOfAnIndexIsUsedAndNeverShown(t *testing.T) {
	t.Parallel()
	with := func(address string) string { return strings.Replace(address, "http://", "http://ada:hunter%20two@", 1) }
	b := open(t, func(c *packages.Config) { c.PyPI, c.Npm = with(c.PyPI), with(c.Npm) })
	b.index.Lock("ada", "hunter two")
	b.index.Wheel(t, "tiny", "1", map[string]string{"tiny.py": ""})
	b.index.Source(t, "built", "1", fmt.Sprintf(hostile, "/x", "/x", 1, "pass"))
	b.index.Module(t, "tiny", "1.0.0", map[string]string{"package.json": `{"name": "tiny", "version": "1.0.0"}`})
	npm := func(name string) *core.CustomTool {
		return &core.CustomTool{Name: "t", Language: core.LanguageTypeScript, Npm: []core.Requirement{{Name: name}}}
	}
	for name, tt := range map[string]struct {
		tool  *core.CustomTool
		fails bool
	}{
		"a wheel": {asking("tiny"), false}, "none": {asking("absent"), true}, "a source, which could read it": {asking("built"), true},
		"a module": {npm("tiny"), false}, "no module": {npm("absent"), true},
	} {
		var mu sync.Mutex
		said := ""
		_, err := b.store.Environment(t.Context(), tt.tool, func(line string) {
			mu.Lock()
			defer mu.Unlock()
			said += line + "\n"
		})
		if (err != nil) != tt.fails {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			said += err.Error()
		}
		if strings.Contains(said, "hunter") || strings.Contains(said, "aHVudGVy") {
			t.Errorf("%s: the password is shown: %s", name, said)
		}
	}
}
