// Package config holds the user's choices about the program and the locations of its files.
//
// It is the only place besides the commands that reads the environment, and it does so through a function that tests
// can replace. Promises: one precedence (flags, then environment, then file, then defaults); each value knows where
// it came from; an unknown key is an error that names the key. It imports nothing of ours.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/caarlos0/env/v11"
)

// Config holds all settings. docs describes them.
type Config struct {
	Model         string        `toml:"model" env:"LOCI_MODEL"`
	Listen        string        `toml:"listen" env:"LOCI_LISTEN"`
	Token         string        `toml:"token" env:"LOCI_TOKEN" secret:"true"`
	Origins       []string      `toml:"origins" env:"LOCI_ORIGINS"`
	MCPAgents     []string      `toml:"mcp_agents" env:"LOCI_MCP_AGENTS"`
	MaxSteps      int           `toml:"max_steps" env:"LOCI_MAX_STEPS" envDefault:"50"`
	RunTimeout    time.Duration `toml:"run_timeout" env:"LOCI_RUN_TIMEOUT" envDefault:"30m"`
	CommentsTime  time.Duration `toml:"comments_timeout" env:"LOCI_COMMENTS_TIMEOUT" envDefault:"15m"`
	AnswerMB      int           `toml:"answer_limit_mb" env:"LOCI_ANSWER_LIMIT_MB" envDefault:"4"`
	ShutdownGrace time.Duration `toml:"shutdown_grace" env:"LOCI_SHUTDOWN_GRACE" envDefault:"3s"`
	LogLevel      string        `toml:"log_level" env:"LOCI_LOG_LEVEL" envDefault:"info" enum:"debug,info,warn,error"`
	LogSizeMB     int           `toml:"log_size_mb" env:"LOCI_LOG_SIZE_MB" envDefault:"10"`
	LogBackups    int           `toml:"log_backups" env:"LOCI_LOG_BACKUPS" envDefault:"3"`
	Color         string        `toml:"color" env:"LOCI_COLOR" envDefault:"auto" enum:"auto,always,never"`
	Theme         string        `toml:"theme" env:"LOCI_THEME" envDefault:"auto" enum:"auto,dark,light"`
	Editor        string        `toml:"editor" env:"LOCI_EDITOR"`
	Sandbox       string        `toml:"sandbox" env:"LOCI_SANDBOX" envDefault:"full" enum:"full,reduced,off"`
	Mode          string        `toml:"permission_mode" env:"LOCI_PERMISSION_MODE" envDefault:"ask" enum:"ask,edits,plan,all"`
	SearXNG       string        `toml:"searxng" env:"LOCI_SEARXNG"`
	PipIndex      string        `toml:"pip_index" env:"LOCI_PIP_INDEX"`
	NpmRegistry   string        `toml:"npm_registry" env:"LOCI_NPM_REGISTRY"`
	Traces        bool          `toml:"traces" env:"LOCI_TRACES"`
	TracesKeep    time.Duration `toml:"traces_keep" env:"LOCI_TRACES_KEEP" envDefault:"24h"`
	TracesMB      int           `toml:"traces_mb" env:"LOCI_TRACES_MB" envDefault:"64"`
	NoStart       bool          `toml:"no_daemon_start" env:"LOCI_NO_DAEMON_START"`

	// Notify is how a person who doesn't look is called.
	Notify string `toml:"notify" env:"LOCI_NOTIFY" envDefault:"auto" enum:"auto,off,bell,desktop"`

	// Providers holds settings of providers by name, those of a model as "models.NAME.setting". They come only from the file
	// of the person, never from a folder's; the catalogue checks them.
	Providers map[string]map[string]string `toml:"-"`
}

// Origin says where a value came from.
type Origin string

// The origins, weakest first.
const (
	FromDefault     Origin = "default"
	FromFile        Origin = "file"
	FromEnvironment Origin = "environment"
	FromFlag        Origin = "flag"
)

// Env looks a variable up, like os.LookupEnv.
type Env func(name string) (string, bool)

// OSEnv is the environment of this process.
func OSEnv(name string) (string, bool) { return os.LookupEnv(name) }

// Entry is one key as Explain shows it.
type Entry struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin Origin `json:"origin"`
	Env    string `json:"env"`
	Doc    string `json:"doc"`
}

// Settings is a configuration that knows where each of its values came from.
type Settings struct {
	Config
	origins map[string]Origin
}

// Load reads the file if there is one, then the environment, then flags by key. Later sources override earlier ones.
func Load(file string, lookup Env, flags map[string]string) (Settings, error) {
	l := Settings{origins: map[string]Origin{}}
	if err := env.ParseWithOptions(&l.Config, env.Options{Environment: map[string]string{}}); err != nil {
		return l, fmt.Errorf("defaults: %w", err)
	}
	if err := l.readFile(file); err != nil {
		return l, err
	}
	if err := l.readEnv(lookup); err != nil {
		return l, err
	}
	if err := l.readFlags(flags); err != nil {
		return l, err
	}
	return l, l.validate()
}

func (l *Settings) readFile(path string) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var written map[string]any
	if _, err := toml.Decode(string(text), &written); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := checkKinds(written); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	meta, err := toml.Decode(string(text), &l.Config)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	l.Providers = providerTables(written)
	var unknown []string
	for _, key := range meta.Undecoded() {
		if key[0] != "providers" {
			unknown = append(unknown, key.String())
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%s: unknown key %s; known are %s, and tables like [providers.openai]", path, strings.Join(unknown, ", "),
			strings.Join(Keys(), ", "))
	}
	for _, key := range meta.Keys() {
		l.origins[key.String()] = FromFile
	}
	return nil
}

// readEnv applies the environment; an empty variable counts as unset.
func (l *Settings) readEnv(lookup Env) error {
	values := map[string]string{}
	for f := range keyFields() {
		if v, ok := lookup(f.Tag.Get("env")); ok && v != "" {
			values[f.Tag.Get("env")] = v
			l.origins[f.Tag.Get("toml")] = FromEnvironment
		}
	}
	return l.set(values, func(f reflect.StructField) string { return f.Tag.Get("env") + " (from the environment)" })
}

func (l *Settings) readFlags(flags map[string]string) error {
	values := map[string]string{}
	for key, v := range flags {
		f, ok := fieldOf(key)
		if !ok {
			return fmt.Errorf("unknown key %s; known are %s", key, strings.Join(Keys(), ", "))
		}
		values[f.Tag.Get("env")] = v
		l.origins[key] = FromFlag
	}
	return l.set(values, func(f reflect.StructField) string { return f.Tag.Get("toml") + " (from a flag)" })
}

// set parses values by the names of their variables into the configuration and leaves everything else alone.
// called is what an error calls a setting.
func (l *Settings) set(values map[string]string, called func(reflect.StructField) string) error {
	if len(values) == 0 {
		return nil
	}
	var parsed Config
	if err := env.ParseWithOptions(&parsed, env.Options{Environment: values}); err != nil {
		return unread(err, values, called)
	}
	from, to := reflect.ValueOf(parsed), reflect.ValueOf(&l.Config).Elem()
	for f := range keyFields() {
		if _, ok := values[f.Tag.Get("env")]; ok {
			to.FieldByIndex(f.Index).Set(from.FieldByIndex(f.Index))
		}
	}
	return nil
}

func (l *Settings) validate() error {
	v := reflect.ValueOf(l.Config)
	for f := range keyFields() {
		key, value := f.Tag.Get("toml"), v.FieldByIndex(f.Index)
		if enum := f.Tag.Get("enum"); enum != "" && !slices.Contains(strings.Split(enum, ","), value.String()) {
			return fmt.Errorf("%s (from %s) is %q; it can be %s", key, l.origin(key), value.String(), strings.ReplaceAll(enum, ",", ", "))
		}
		if value.CanInt() && value.Int() < 0 {
			return fmt.Errorf("%s (from %s) is negative", key, l.origin(key))
		}
	}
	for key, none := range map[string]bool{"comments_timeout": l.CommentsTime == 0, "answer_limit_mb": l.AnswerMB == 0} {
		if none {
			return fmt.Errorf("%s (from %s) is 0: no answer would come through", key, l.origin(key))
		}
	}
	if l.MaxSteps == 0 {
		return fmt.Errorf("max_steps (from %s) is 0: a request needs at least one", l.origin("max_steps"))
	}
	if provider, model, ok := strings.Cut(l.Model, "/"); l.Model != "" && (!ok || provider == "" || model == "") {
		return fmt.Errorf("model (from %s) is %q; write it as provider/model", l.origin("model"), l.Model)
	}
	for _, origin := range l.Origins {
		if !validOrigin(origin) {
			return fmt.Errorf(
				"origins (from %s) has %q; write each as a browser does: http://localhost:3000, without a path",
				l.origin("origins"),
				origin,
			)
		}
	}
	return nil
}

// validOrigin reports whether origin is written as browsers write it: scheme and host in lower case, a port if it
// isn't the scheme's default, and nothing else. There is no wildcard.
func validOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin || strings.ToLower(origin) != origin || strings.Contains(u.Host, "*") {
		return false
	}
	return u.Port() == "" && !strings.HasSuffix(u.Host, ":") ||
		u.Port() != "" && u.Port() != map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

func (l *Settings) origin(key string) Origin {
	if o, ok := l.origins[key]; ok {
		return o
	}
	return FromDefault
}

// Explain lists every key, its value and where it came from. Secrets are redacted.
func (l *Settings) Explain() []Entry {
	var out []Entry
	v, about := reflect.ValueOf(l.Config), docs()
	for f := range keyFields() {
		key := f.Tag.Get("toml")
		value := fmt.Sprint(v.FieldByIndex(f.Index).Interface())
		if list, ok := v.FieldByIndex(f.Index).Interface().([]string); ok {
			value = strings.Join(list, ",") // as in the variable
		}
		if f.Tag.Get("secret") == "true" && value != "" {
			value = "(set)"
		}
		if u, err := url.Parse(value); err == nil && u.User != nil { // an address with a password
			value = u.Redacted()
		}
		out = append(out, Entry{Key: key, Value: value, Origin: l.origin(key), Env: f.Tag.Get("env"), Doc: about[key]})
	}
	for _, provider := range slices.Sorted(maps.Keys(l.Providers)) {
		for _, key := range slices.Sorted(maps.Keys(l.Providers[provider])) {
			value := l.Providers[provider][key]
			if slices.Contains([]string{"api_key", "key", "token", "secret"}, key) { // no settings, and still no value to show
				value = "(set)"
			}
			out = append(out, Entry{
				Key: "providers." + provider + "." + key, Value: value, Origin: FromFile, Doc: "see docs/providers.md",
			})
		}
	}
	return out
}

// Keys returns the names of all keys.
func Keys() []string {
	var out []string
	for f := range keyFields() {
		out = append(out, f.Tag.Get("toml"))
	}
	return out
}

func fieldOf(key string) (reflect.StructField, bool) {
	for f := range keyFields() {
		if f.Tag.Get("toml") == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func keyFields() func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		t := reflect.TypeFor[Config]()
		for i := range t.NumField() {
			if t.Field(i).Tag.Get("env") != "" && !yield(t.Field(i)) {
				return
			}
		}
	}
}
