package session

import (
	"path/filepath"
	"sync"
	"time"

	"loci/core"
)

// Limits on what a client may send.
const (
	maxVariables = 64
	maxVariable  = 8192
	maxFolder    = 4096
)

// Hello is what a client says about itself.
type Hello struct {
	Kind      core.ClientKind
	PID       int
	Folder    string
	Mode      core.PermissionMode
	Rules     core.SessionRules // each was parsed before
	Zone      string
	Variables map[string]string

	Unattended bool // nobody is there to be asked
}

func (in Hello) client() (core.Client, error) {
	client := core.Client{
		ID: core.NewClientID(), Kind: in.Kind, Workspace: in.Folder, Mode: in.Mode, Zone: in.Zone, Rules: in.Rules,
		Unattended: in.Unattended,
	}
	if client.Mode == "" {
		client.Mode = core.ModeAsk
	}
	if err := client.Mode.Validate(); err != nil {
		return client, err
	}
	if err := in.Rules.Validate(); err != nil {
		return client, err
	}
	if in.Folder != "" {
		if !filepath.IsAbs(in.Folder) || len(in.Folder) > maxFolder {
			return client, core.E(core.Invalid, "a folder is named by its absolute path")
		}
		client.Workspace = filepath.Clean(in.Folder)
	}
	if _, err := time.LoadLocation(in.Zone); err != nil {
		return client, core.E(core.Invalid, "time zone %q is not known", in.Zone)
	}
	if len(in.Variables) > maxVariables {
		return client, core.E(core.Invalid, "a client brings at most %d variables", maxVariables)
	}
	for name, value := range in.Variables {
		if !isVariable(name) || len(value) > maxVariable {
			return client, core.E(core.Invalid, "%q is not a variable that can be passed", name)
		}
	}
	return client, nil
}

// isVariable reports whether a name has the form of a provider variable: capitals, digits and underscores.
func isVariable(name string) bool {
	for i, c := range name {
		if (c < 'A' || c > 'Z') && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// variables are those sent by a client. They are forgotten with its session, wherever they were passed on to.
type variables struct {
	mu   sync.RWMutex // guards vars
	vars map[string]string
}

func (v *variables) get(name string) string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.vars[name]
}

func (v *variables) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.vars)
}

// layered looks up a variable in the client's own first, then in the daemon's.
func (r *Registry) layered(own *variables) core.Env {
	return func(name string) (core.Secret, bool) {
		if v := own.get(name); v != "" {
			return core.Secret(v), true
		}
		return r.cfg.Env(name)
	}
}
