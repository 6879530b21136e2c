package providers

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"loci/core"
	"loci/providers/facts"
	"loci/providers/openai"
)

func TestEveryRowIsWhole(t *testing.T) {
	t.Parallel()
	names, variables := map[string]bool{}, map[string]string{}
	variable := regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)
	for _, row := range Rows() {
		if !regexp.MustCompile(`^[a-z0-9_]+$`).MatchString(row.Name) || names[row.Name] {
			t.Errorf("row %q: the name is malformed or taken", row.Name)
		}
		names[row.Name] = true
		if row.Title == "" {
			t.Errorf("row %s: title %q", row.Name, row.Title)
		}
		for _, v := range append([]string{row.BaseURLVar}, row.KeyVars()...) {
			if v == "" {
				continue
			}
			if !variable.MatchString(v) || variables[v] != "" {
				t.Errorf("row %s: variable %q is malformed or belongs to %s", row.Name, v, variables[v])
			}
			variables[v] = row.Name
		}
		if !row.NoKey && len(row.Keys) == 0 {
			t.Errorf("row %s needs a key and has no variable for it", row.Name)
		}
		if row.Protocol != nil {
			checkAddress(t, row)
		}
	}
	for _, name := range []string{
		"openai", "openrouter", "deepseek", "groq", "together", "xai", "mistral", "cerebras", "lmstudio", "vllm", "sglang", "llamacpp",
		"ollama", "offline", "anthropic", "google_ai", "azure", "bedrock",
	} {
		if !names[name] {
			t.Errorf("no row %s", name)
		}
	}
}

func checkAddress(t *testing.T, row Row) {
	t.Helper()
	whole := row.BaseURL
	for _, name := range placeholders(row.BaseURL) {
		whole = strings.ReplaceAll(whole, "{"+name+"}", "part")
	}
	u, err := url.Parse(whole)
	switch {
	case err != nil || u.Host == "":
		t.Errorf("row %s: base URL %q", row.Name, row.BaseURL)
	case row.Local && !loopback(row.BaseURL):
		t.Errorf("row %s is local but at %s", row.Name, row.BaseURL)
	case !row.Local && u.Scheme != "https":
		t.Errorf("row %s sends its key to %s", row.Name, row.BaseURL)
	case !row.Local && row.NoKey:
		t.Errorf("row %s is no local server and needs no key", row.Name)
	case row.BaseURLVar == "":
		t.Errorf("row %s cannot be moved", row.Name)
	case row.Protocol.Name() == "openai" && strings.HasSuffix(row.BaseURL, "/"):
		t.Errorf("row %s: base URL ends in a slash", row.Name)
	}
}

func TestVariablesAreAllThatRowsRead(t *testing.T) {
	t.Parallel()
	all := Variables(Rows())
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("not sorted or not unique: %v", all)
	}
	read := map[string]bool{}
	env := func(name string) (core.Secret, bool) { read[name] = true; return "", false }
	set := func(name string) (core.Secret, bool) { read[name] = true; return "https://example.com", true }
	p := New(Config{})
	for _, row := range Rows() {
		if _, err := p.endpoint(row, env); err != nil {
			t.Error(err)
		}
		_, _ = p.endpoint(row, set) // only beside a key that is set, some count
	}
	p.Unbuilt(env)
	for name := range read {
		if !slices.Contains(all, name) {
			t.Errorf("%s is read and not listed", name)
		}
	}
	if len(read) != len(all) {
		t.Errorf("%d variables read, %d listed", len(read), len(all))
	}
}

func TestWindowsOfKnownFamilies(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]int{
		"gpt-4.1-mini": 1_047_576, "gpt-4o-mini-2024-07-18": 128_000, "gpt-4": 8_192, "openai/gpt-5.1": 400_000, "o3-mini": 200_000,
		"gpt-oss:20b": 131_072, "who-knows": 0,
	} {
		if f, _ := facts.Family(model); f.Window != want {
			t.Errorf("%s: %d, want %d", model, f.Window, want)
		}
	}
}

func TestAddressesOfServers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://localhost:8000":                   "http://localhost:8000/v1",
		"http://localhost:8000/":                  "http://localhost:8000/v1",
		"http://localhost:8000/v1/":               "http://localhost:8000/v1",
		"https://host/openai/v1/chat/completions": "https://host/openai/v1",
		"https://host/api/v1?x=1":                 "", // dropped silently, it would be missed
		"https://host/api/v1#y":                   "",
		"http://[::1]:9/v1":                       "http://[::1]:9/v1",
		"localhost:8000":                          "",
		"ftp://host/v1":                           "",
		"http://":                                 "",
		"https://user:geheim@host/v1":             "",
		"://":                                     "",
	} {
		got, err := openai.Quirks{}.Address("VLLM_BASE_URL", text)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q %v, want %q", text, got, err, want)
		}
		if err != nil &&
			(core.KindOf(err) != core.Invalid || strings.Contains(err.Error(), "geheim") ||
				!strings.Contains(err.Error(), "VLLM_BASE_URL")) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
