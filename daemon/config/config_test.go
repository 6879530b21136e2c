package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func envOf(m map[string]string) Env {
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagsWinOverEnvironmentOverFileOverDefaults(t *testing.T) {
	t.Parallel()
	path := file(t, "model = 'file/m'\nlog_level = 'warn'\nmax_steps = 7\nrun_timeout = '90s'\n")
	vars := envOf(map[string]string{"LOCI_MODEL": "env/m", "LOCI_LOG_LEVEL": "error", "LOCI_COLOR": ""})
	l, err := Load(path, vars, map[string]string{"model": "flag/m"})
	if err != nil {
		t.Fatal(err)
	}
	type said struct {
		Value  string
		Origin Origin
	}
	got := map[string]said{}
	for _, e := range l.Explain() {
		got[e.Key] = said{e.Value, e.Origin}
	}
	for key, want := range map[string]said{
		"model": {"flag/m", FromFlag}, "log_level": {"error", FromEnvironment},
		"max_steps": {"7", FromFile}, "run_timeout": {"1m30s", FromFile}, "color": {"auto", FromDefault},
		"log_size_mb": {"10", FromDefault},
	} {
		if diff := cmp.Diff(want, got[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	if l.Model != "flag/m" || l.MaxSteps != 7 || l.RunTimeout != 90*time.Second || l.LogBackups != 3 {
		t.Errorf("%+v", l.Config)
	}
}

func TestOriginsAreAList(t *testing.T) {
	t.Parallel()
	const one, two = "http://localhost:3000", "https://notes.example"
	path := file(t, "origins = ['"+one+"', '"+two+"']")
	for name, env := range map[string]map[string]string{path: nil, "": {"LOCI_ORIGINS": one + "," + two}} {
		l, err := Load(name, envOf(env), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{one, two}, l.Origins); diff != "" {
			t.Error(diff)
		}
		for _, e := range l.Explain() {
			if e.Key == "origins" && e.Value != one+","+two {
				t.Errorf("explained as %q", e.Value)
			}
		}
	}
}

func TestNoFileIsNoError(t *testing.T) {
	t.Parallel()
	l, err := Load(filepath.Join(t.TempDir(), "none.toml"), envOf(nil), nil)
	if err != nil || l.MaxSteps != 50 {
		t.Errorf("%+v, %v", l.Config, err)
	}
}

func TestAFaultNamesItsKeyAndWhereItCameFrom(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, file string
		env, flags map[string]string
		want       []string
	}{
		{"unknown key", "modell = 'a/b'", nil, nil, []string{"modell", "known are model"}},
		{"unknown table", "[tui]\ncolor = 'x'", nil, nil, []string{"tui"}},
		{"wrong type", "max_steps = 'many'", nil, nil, []string{`max_steps is "many"; it takes a whole number, like 50`}},
		{"a fraction", "max_steps = 1.5", nil, nil, []string{"max_steps is 1.5; it takes a whole number, like 50"}},
		{"a bare time", "run_timeout = 5", nil, nil, []string{`run_timeout is 5; it takes a time with its unit, like "5m"`}},
		{"no time", "run_timeout = 'soon'", nil, nil, []string{`run_timeout is "soon"; it takes a time with its unit, like "5m"`}},
		{"no switch", "no_daemon_start = 1", nil, nil, []string{"no_daemon_start is 1; it takes true or false"}},
		{"no text", "model = 7", nil, nil, []string{"model is 7; it takes a text in quotes"}},
		{"a secret", "token = 7", nil, nil, []string{"token is no text; it takes a text in quotes"}},
		{"no list", "origins = 'a'", nil, nil, []string{`origins is "a"; it takes a list of texts`}},
		{"a list of numbers", "origins = [1]", nil, nil, []string{"origins is [1]; it takes a list of texts"}},
		{"no table", "providers = 1", nil, nil, []string{"providers is 1; it takes tables, like [providers.vllm]"}},
		{"no table of a provider", "[providers]\nvllm = 'x'", nil, nil, []string{
			`providers.vllm is "x"; it takes a table, [providers.vllm]`,
		}},
		{"a number for a provider", "[providers.vllm]\nwire = 2", nil, nil, []string{
			"providers.vllm.wire is 2; it takes a text in quotes",
		}},
		{"not in the list", "log_level = 'loud'", nil, nil, []string{"log_level", "file", "loud", "debug"}},
		{"bad variable", "", map[string]string{"LOCI_MAX_STEPS": "many"}, nil, []string{
			`LOCI_MAX_STEPS (from the environment) is "many"; it takes a whole number, like 50`,
		}},
		{"bad time", "", map[string]string{"LOCI_RUN_TIMEOUT": "soon"}, nil, []string{`LOCI_RUN_TIMEOUT`, `"soon"`, "like 5m"}},
		{"bare time", "", map[string]string{"LOCI_COMMENTS_TIMEOUT": "3"}, nil, []string{`LOCI_COMMENTS_TIMEOUT`, `"3"`, "like 5m"}},
		{"bad switch", "", map[string]string{"LOCI_NO_DAEMON_START": "maybe"}, nil, []string{"LOCI_NO_DAEMON_START", "true or false"}},
		{"bad flag", "", nil, map[string]string{"max_steps": "many"}, []string{"max_steps (from a flag)", "whole number"}},
		{"negative", "", map[string]string{"LOCI_RUN_TIMEOUT": "-1s"}, nil, []string{"run_timeout", "environment"}},
		{"no step at all", "max_steps = 0", nil, nil, []string{"max_steps"}},
		{"every page", "origins = ['http://localhost:3000', '*']", nil, nil, []string{"origins", "file", `"*"`}},
		{
			"origin with a path",
			"",
			map[string]string{"LOCI_ORIGINS": "http://localhost:3000/"},
			nil,
			[]string{"origins", "environment", "without a path"},
		},
		{"origin as nobody sends it", "origins = ['http://Localhost']", nil, nil, []string{"origins", "Localhost"}},
		{"origin with a port that is left out", "origins = ['https://a.example:443']", nil, nil, []string{"origins", "443"}},
		{"origin without a scheme", "origins = ['localhost:3000']", nil, nil, []string{"origins"}},
		{"no origin", "origins = ['null']", nil, nil, []string{"origins"}},
		{"no handle", "", nil, map[string]string{"model": "gpt"}, []string{"model", "flag", "provider/model"}},
		{"unknown flag", "", nil, map[string]string{"volume": "11"}, []string{"volume"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(file(t, c.file), envOf(c.env), c.flags)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		})
	}
}

func TestASecretIsNotTold(t *testing.T) {
	t.Parallel()
	l, err := Load("", envOf(map[string]string{"LOCI_TOKEN": "hunter2"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l.Explain() {
		if strings.Contains(e.Value, "hunter2") {
			t.Errorf("%s is told", e.Key)
		}
	}
	if l.Token != "hunter2" {
		t.Error("the token is lost")
	}
}

func TestEveryKeyIsDescribedAndHasItsVariable(t *testing.T) {
	t.Parallel()
	for f := range keyFields() {
		key := f.Tag.Get("toml")
		if docs()[key] == "" || f.Tag.Get("env") != "LOCI_"+strings.ToUpper(key) {
			t.Errorf("%s: doc %q, env %q", key, docs()[key], f.Tag.Get("env"))
		}
	}
}

func TestLociHomeMovesEverything(t *testing.T) {
	t.Parallel()
	p, err := FindPaths(envOf(map[string]string{"LOCI_HOME": "/h", "HOME": "/home/ada", "XDG_DATA_HOME": "/x", "XDG_RUNTIME_DIR": "/r"}))
	if err != nil {
		t.Fatal(err)
	}
	want := Paths{
		Home: "/h", Config: "/h/config.toml", Data: "/h/data", State: "/h/state", Run: "/h/run", Socket: "/h/run/loci.sock",
		Lock: "/h/data/loci.lock", StartLock: "/h/run/start.lock", Stopped: "/h/run/stopped", Log: "/h/state/daemon.log",
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
}

func TestPathsFollowXDG(t *testing.T) {
	t.Parallel()
	p, err := FindPaths(envOf(map[string]string{
		"HOME": "/home/ada", "XDG_DATA_HOME": "/x/data", "XDG_STATE_HOME": "not/absolute",
		"XDG_RUNTIME_DIR": "/run/user/1000",
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{p.Home, p.Data, p.State, p.Config, p.Socket}
	want := []string{
		"/x/data/loci", "/x/data/loci", "/home/ada/.local/state/loci", "/home/ada/.config/loci/config.toml",
		"/run/user/1000/loci/loci.sock",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := FindPaths(envOf(nil)); err == nil || !strings.Contains(err.Error(), "LOCI_HOME") {
		t.Errorf("without a home: %v", err)
	}
}

func TestALongSocketPathMoves(t *testing.T) {
	t.Parallel()
	deep := "/" + strings.Repeat("deep/", 30)
	find := func(home, runtimeDir string) string {
		p, err := FindPaths(envOf(map[string]string{"LOCI_HOME": home, "XDG_RUNTIME_DIR": runtimeDir}))
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Socket) > maxSocket {
			t.Errorf("%s is still too long", p.Socket)
		}
		return p.Socket
	}
	if got := find(deep, "/run/user/1000"); !strings.HasPrefix(got, "/run/user/1000/loci-") {
		t.Errorf("with a runtime folder it is %s", got)
	}
	if got := find(deep, ""); !strings.HasPrefix(got, filepath.Clean(os.TempDir())) && !strings.HasPrefix(got, "/tmp") {
		t.Errorf("without one it is %s", got)
	}
	if find(deep+"a", "") == find(deep+"b", "") {
		t.Error("two homes share a socket")
	}
	if once, again := find(deep, "/run/user/1000"), find(deep, "/run/user/1000"); once != again {
		t.Error("one home has two sockets")
	}
}

func TestOnlyProviderVariablesArePassedAndNoneAreInherited(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"OPENAI_API_KEY": "k", "OLLAMA_HOST": "h", "GROQ_API_KEY": "", "PATH": "/bin", "MY_SECRET": "s"}
	want, names := map[string]string{"OPENAI_API_KEY": "k", "OLLAMA_HOST": "h"}, []string{"GROQ_API_KEY", "OLLAMA_HOST", "OPENAI_API_KEY"}
	if diff := cmp.Diff(want, ProviderEnv(envOf(vars), names)); diff != "" {
		t.Error(diff)
	}
	got := DaemonEnviron([]string{"OPENAI_API_KEY=k", "PATH=/bin", "OLLAMA_HOST=h", "OPENAI_API_KEYS=x"}, names)
	if diff := cmp.Diff([]string{"PATH=/bin", "OPENAI_API_KEYS=x"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSettingsOfProvidersAreReadAndShown(t *testing.T) {
	t.Parallel()
	l, err := Load(
		file(t, "model = 'vllm/m'\n[providers.vllm]\nbase_url = 'http://127.0.0.1:9000/v1'\nwire = 'responses'\n"),
		envOf(nil),
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range l.Explain() {
		if strings.HasPrefix(e.Key, "providers.") {
			got[e.Key] = e.Value
		}
	}
	if diff := cmp.Diff(
		map[string]string{"providers.vllm.base_url": "http://127.0.0.1:9000/v1", "providers.vllm.wire": "responses"},
		got,
	); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsSaidOfAProvidersModelsIsReadFromTheirTables(t *testing.T) {
	t.Parallel()
	l, err := Load(
		file(t, "[providers.box]\ncontext_window = 5\n[providers.box.models.'a.b:7']\nmax_output = 7\ntools = 'off'\n"), envOf(nil), nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{"box": {"context_window": "5", "models.a.b:7.max_output": "7", "models.a.b:7.tools": "off"}}
	if diff := cmp.Diff(want, l.Providers); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"[providers.box.models]\na = 1":                      "providers.box.models.a is 1; it takes a table",
		"[providers.box.others.a]":                           "providers.box.others is a table; it takes a text in quotes",
		"[providers.box]\ncontext_window = true":             "providers.box.context_window is true; it takes a number of tokens",
		"[providers.box.models.a.models.b]\ntools = 'off'\n": "providers.box.models.a.models is a table; it takes a text in quotes",
	} {
		if _, err := Load(file(t, text), envOf(nil), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestThePasswordInAnAddressIsNotShown(t *testing.T) {
	t.Parallel()
	l, err := Load("", envOf(map[string]string{"LOCI_PIP_INDEX": "https://ada:hunter2@pypi.example.org/simple"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l.Explain() {
		if strings.Contains(e.Value, "hunter2") || e.Key == "pip_index" && !strings.Contains(e.Value, "pypi.example.org") {
			t.Errorf("%s is shown as %s", e.Key, e.Value)
		}
	}
}
