package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/daemon/api"
	"loci/daemon/client"
	"loci/daemon/config"
	"loci/daemon/ipc"
	"loci/providers/providertest"
)

// home is a home with a short path, since a socket's path must be short.
func home(tb testing.TB) (config.Paths, config.Config) {
	tb.Helper()
	dir, err := os.MkdirTemp("", "ld") //nolint:usetesting // its path is short
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	env := func(name string) (string, bool) {
		if name == "LOCI_HOME" {
			return dir, true
		}
		return "", false
	}
	p, err := config.FindPaths(env)
	if err != nil {
		tb.Fatal(err)
	}
	l, err := config.Load(p.Config, env, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return p, l.Config
}

// environ is a daemon's own variables. Ollama's usual address is moved away: what runs on this machine must not join.
func environ(vars ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i+1 < len(vars); i += 2 {
			if vars[i] == name {
				return vars[i+1], true
			}
		}
		if name == "OLLAMA_HOST" {
			return "http://127.0.0.1:9", true
		}
		return "", false
	}
}

// start runs a daemon until stop is called, which returns what Run and Close did.
func start(tb testing.TB, cfg Config) (d *Daemon, stop func() error) {
	tb.Helper()
	if cfg.Environ == nil {
		cfg.Environ = environ()
	}
	cfg.Version = "test"
	d, err := Open(context.Background(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var ended error
	running.Go(func() { ended = d.Run(ctx) })
	stop = sync.OnceValue(func() error {
		cancel()
		running.Wait()
		return errors.Join(ended, d.Close())
	})
	tb.Cleanup(func() { _ = stop() })
	return d, stop
}

// talker is a client with a session in a folder.
func talker(tb testing.TB, p config.Paths, folder string) (*client.Client, api.Session) {
	tb.Helper()
	c := client.New(client.Options{Socket: p.Socket, Version: "test"})
	tb.Cleanup(c.Close)
	s, err := c.Register(tb.Context(), api.Client{Kind: api.ClientPrint, Folder: folder, Zone: "Europe/Berlin", Open: &api.Open{}})
	if err != nil {
		tb.Fatal(err)
	}
	return c, s
}

// say sends a message and returns the answer.
func say(tb testing.TB, c *client.Client, s api.Session, text string) string {
	tb.Helper()
	r, err := c.Send(tb.Context(), client.Target{AgentID: s.AgentID, ConversationID: s.ConversationID}, api.StreamingRequest{
		Request: api.Request{Messages: []api.Input{api.UserInput(text, "")}},
	})
	if err != nil {
		tb.Fatalf("say %q: %v", text, err)
	}
	var answer string
	for _, m := range r.Messages {
		if m.MessageType == api.MessageAssistant {
			answer = m.Content.String()
		}
	}
	return answer
}

// clock is a clock that tests set.
type clock struct{ at atomic.Int64 }

func (c *clock) set(t time.Time)     { c.at.Store(t.UnixNano()) }
func (c *clock) now() time.Time      { return time.Unix(0, c.at.Load()) }
func (c *clock) add(d time.Duration) { c.at.Add(int64(d)) }

func TestAgentRemembersAcrossRestartsFoldersAndDays(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	var now clock
	now.set(time.Date(2026, 3, 6, 9, 30, 0, 0, time.UTC)) // a Friday
	model := providertest.NewServer(t)
	cfg := Config{Paths: p, Settings: settings, Clock: now.now}

	_, stop := start(t, cfg)
	c, s := talker(t, p, "/one")
	say(t, c, s, "My name is Ada and I work on compilers")
	if err := stop(); err != nil {
		t.Fatal(err)
	}

	now.add(3 * 24 * time.Hour) // Monday
	_, stop = start(t, cfg)
	c, s = talker(t, p, "/two")
	answer := say(t, c, s, "What do you know about me?")
	for _, want := range []string{"Ada", "compilers"} {
		if !strings.Contains(answer, want) {
			t.Errorf("on Monday it answers %q, without %q", answer, want)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}

	// A model is told the day and the gap: so "yesterday" is the right one.
	cfg.Environ = environ("OPENAI_API_KEY", "key", "OPENAI_BASE_URL", model.V1())
	_, _ = start(t, cfg)
	c, s = talker(t, p, "/two")
	now.add(24 * time.Hour)
	say(t, c, s, "SAY fine")
	last := model.Last().Messages
	sent := last[len(last)-1].Text
	for _, want := range []string{"Tuesday", "2026-03-10", "CET", "1 day since"} {
		if !strings.Contains(sent, want) {
			t.Errorf("the model is sent %q, without %q", sent, want)
		}
	}
}

func TestTheFirstRequestOfANewAgentIsSmall(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	model := providertest.NewServer(t)
	start(t, Config{Paths: p, Settings: settings, Environ: environ("OPENAI_API_KEY", "key", "OPENAI_BASE_URL", model.V1())})
	c, s := talker(t, p, "/new")
	say(t, c, s, "SAY hello")
	first := model.Requests()[0]
	if first.System == "" || len(first.Tools) == 0 {
		t.Fatalf("the first request has a system prompt of %d bytes and the tools %v", len(first.System), first.Tools)
	}
	if tokens := core.EstimateTokens(string(first.Body)); tokens >= 5000 { // the whole body, with the tools of the folder
		t.Errorf("the first request takes about %d tokens", tokens)
	}
}

func TestSecondDaemonOfAHomeIsRefused(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	start(t, Config{Paths: p, Settings: settings})
	_, err := Open(t.Context(), Config{Paths: p, Settings: settings})
	if kind, hint := Explain(err); kind != api.KindConflict || hint == "" {
		t.Errorf("Open() = %v (%s, %q)", err, kind, hint)
	}
	if _, err := SettleWaiting(t.Context(), p, true, nil); core.KindOf(err) != core.Busy {
		t.Errorf("SettleWaiting() beside a daemon = %v", err)
	}
}

func TestADaemonWaitsForOneThatIsJustEnding(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	if err := ipc.PrivateDir(p.Data); err != nil {
		t.Fatal(err)
	}
	ending, err := ipc.TryLock(p.Lock)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = ending.Unlock() })
	d, err := Open(t.Context(), Config{Paths: p, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestADaemonWaitsForWhatAKilledOneWasStarting(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	for _, dir := range []string{p.Data, filepath.Dir(p.Socket)} {
		if err := ipc.PrivateDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	// A child has its parent's lock and socket until it begins its own program, also when the parent is killed meanwhile.
	held, err := ipc.TryLock(p.Lock)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := ipc.Listen(t.Context(), p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Note(p.Socket); err != nil {
		t.Fatal(err)
	}
	var child sync.WaitGroup
	defer child.Wait()
	defer func() { _ = socket.Close() }() // it is closed by then, unless it was not seen
	child.Go(func() {                     // ends once it was seen, which is before it is waited for
		seen, err := socket.Accept()
		if err == nil {
			err = seen.Close()
		}
		if err := errors.Join(err, socket.Close(), held.Unlock()); err != nil {
			t.Error(err)
		}
	})
	d, err := Open(t.Context(), Config{Paths: p, Settings: settings, heirs: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	t.Parallel()
	for address, kind := range map[string]core.Kind{
		"": "", "127.0.0.1:0": "", "[::1]:0": "", "localhost:0": "",
		"0.0.0.0:1": core.Unsupported, ":1": core.Unsupported, "192.168.1.1:1": core.Unsupported, "example.com:1": core.Unsupported,
		"8283": core.Invalid, "127.0.0.1:99999": core.Invalid, "127.0.0.1:": core.Invalid, "localhost:x": core.Invalid,
	} {
		if got := core.KindOf(CheckListen(address)); got != kind {
			t.Errorf("CheckListen(%q) is %q, want %q", address, got, kind)
		}
	}
}

func TestThePortSaysWhoCanUseIt(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	settings.Listen = "127.0.0.1:0"
	said := make(chan string, 16) // also by Run, which goes on
	d, _ := start(t, Config{Paths: p, Settings: settings, Notify: func(line string) { said <- line }})
	if line := <-said; !strings.Contains(line, "every account") {
		t.Errorf("it said %q", line)
	}
	status := d.Status(t.Context())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+status.Listen+"/v1/health/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var health api.Health
	if err := json.NewDecoder(resp.Body).Decode(&health); err != nil || health.Version != "test" {
		t.Errorf("health = %+v, %v", health, err)
	}
}

func TestRequestsWaitForTheStoreUntilTheirDeadline(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	d, err := Open(t.Context(), Config{Paths: p, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := d.awaitParts(ctx); core.KindOf(err) != core.Unavailable {
		t.Errorf("before the store is open: %v", err)
	}
	if s := d.Status(t.Context()); s.Ready || s.PID != os.Getpid() {
		t.Errorf("status = %+v", s)
	}
	d.openParts(t.Context())
	if parts, err := d.awaitParts(t.Context()); err != nil || parts.Engine == nil {
		t.Errorf("with the store open: %+v, %v", parts, err)
	}
	if s := d.Status(t.Context()); !s.Ready {
		t.Errorf("status = %+v", s)
	}
}

func TestAStoreThatDoesNotOpenIsToldAndEndsTheDaemon(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	if err := ipc.PrivateDir(p.Data); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.Data, "loci.db"), []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), Config{Paths: p, Settings: settings, Environ: environ(), Linger: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	c := client.New(client.Options{Socket: p.Socket})
	defer c.Close()
	_, err = c.Agents(t.Context(), api.ListAgents{})
	if err == nil || !strings.Contains(err.Error(), "does not open") {
		t.Errorf("a request says %v", err)
	}
	s, err := c.Status(t.Context())
	if err != nil || s.Ready || s.Error == "" {
		t.Errorf("status = %+v, %v", s, err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("Run() says that all was well")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestStoppingIfIdleLeavesABusyDaemon(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	model := providertest.NewServer(t)
	_, stop := start(t, Config{Paths: p, Settings: settings, Environ: environ("OPENAI_API_KEY", "key", "OPENAI_BASE_URL", model.V1())})
	c, s := talker(t, p, "/")
	next := c.Stream(t.Context(), client.Target{AgentID: s.AgentID, ConversationID: s.ConversationID}, api.StreamingRequest{
		Request: api.Request{Messages: []api.Input{api.UserInput("SLEEP 30s\nSAY late", "")}},
	})
	for _, err := range next { // the first message says that the run is accepted
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if err := c.Shutdown(t.Context(), true); client.KindOf(err) != api.KindBusy {
		t.Errorf("shutdown if idle = %v", err)
	}
	if _, err := c.Cancel(t.Context(), s.AgentID); err != nil {
		t.Fatal(err)
	}
	if err := c.Shutdown(t.Context(), true); err != nil {
		t.Errorf("shutdown of an idle daemon = %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := WaitStopped(t.Context(), p); err != nil {
		t.Error(err)
	}
}

func TestTheLogLevelChangesWhileItRuns(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	start(t, Config{Paths: p, Settings: settings})
	c, _ := talker(t, p, "/")
	l, err := c.SetLogLevel(t.Context(), "debug")
	if diff := cmp.Diff(api.Logs{Level: "debug", Path: p.Log}, l); err != nil || diff != "" {
		t.Errorf("logs (-want +got):\n%s, %v", diff, err)
	}
	if _, err := c.SetLogLevel(t.Context(), "loud"); err == nil {
		t.Error("any level will do")
	}
}

func TestABackupIsRestored(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	cfg := Config{Paths: p, Settings: settings}
	_, stop := start(t, cfg)
	c, s := talker(t, p, "/")
	say(t, c, s, "My name is Ada")
	file := filepath.Join(t.TempDir(), "saved")
	r, err := c.Backup(t.Context(), file)
	if err != nil || r.Agents != 1 || r.Messages == 0 || r.Bytes == 0 {
		t.Fatalf("backup = %+v, %v", r, err)
	}
	say(t, c, s, "Actually, my name is Grace")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if kept := restore(t, p, file); kept == "" {
		t.Error("what was replaced is not kept")
	}
	start(t, cfg)
	c, s = talker(t, p, "/")
	if answer := say(t, c, s, "What is my name?"); !strings.Contains(answer, "Ada") {
		t.Errorf("after the restore it answers %q", answer)
	}
}

func TestTheDoctorNamesEveryProvider(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	model, mute := providertest.NewServer(t), providertest.NewServer(t)
	mute.Models = []providertest.Model{{Name: "text-embedding-3-small"}, {Name: "dall-e-3"}}
	d, _ := start(t, Config{Paths: p, Settings: settings})
	talker(t, p, "/") // the store is open
	env := func(name string) (core.Secret, bool) {
		v, ok := map[string]string{
			"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": model.V1(), "AZURE_API_KEY": "key",
			"GROQ_API_KEY": "", "VLLM_BASE_URL": "http://127.0.0.1:9/v1", "OLLAMA_HOST": model.URL,
			"LMSTUDIO_BASE_URL": mute.V1(),
		}[name]
		return core.Secret(v), ok && v != ""
	}
	got := map[string]string{}
	for _, c := range d.Doctor(t.Context(), env) {
		got[c.Name] = c.Level
		if c.Name == "lmstudio" &&
			(c.Detail != "LM Studio lists 2 models, and none for chats" || !strings.Contains(c.Fix, "loci models --all")) {
			t.Errorf("%+v", c)
		}
	}
	want := map[string]string{
		"store": api.CheckOK, "openai": api.CheckOK, "ollama": api.CheckOK, "secrets": api.CheckOK,
		"azure":    api.CheckError, // a key without an address
		"vllm":     api.CheckWarning,
		"lmstudio": api.CheckWarning,
		"git":      api.CheckOK, // even without it: only a mirror needs it
	}
	for _, part := range []string{"facts", "run log", "index"} {
		if got[part] != api.CheckOK {
			t.Errorf("nothing is said of the space of the %s", part)
		}
		delete(got, part)
	}
	delete(got, "sandbox") // some systems have nothing to try
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("doctor (-want +got):\n%s", diff)
	}
}

func TestTheLogHoldsNoKeyAndNoTalk(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	model := providertest.NewServer(t)
	model.Key = "key-nobody-may-see"
	_, stop := start(t, Config{Paths: p, Settings: settings, Environ: environ("OPENAI_API_KEY", model.Key, "OPENAI_BASE_URL", model.V1())})
	c, s := talker(t, p, "/")
	say(t, c, s, "SAY nobody reads this")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(p.Log)
	if err != nil || len(log) == 0 {
		t.Fatalf("no log: %v", err)
	}
	for _, secret := range []string{model.Key, "nobody reads this"} {
		if strings.Contains(string(log), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}
