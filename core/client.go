package core

import "slices"

// ClientKind says what kind of client makes the request.
type ClientKind string

// The kinds of clients.
const (
	ClientAPI    ClientKind = "api"    // an SDK or any program without a session
	ClientChat   ClientKind = "chat"   // the terminal
	ClientScript ClientKind = "script" // a one-shot command
	ClientDaemon ClientKind = "daemon" // the daemon itself
)

// PermissionMode is how tools that act on the world get permission where no rule decides.
type PermissionMode string

// The modes. Forbidding rules and those of agents that want an approval hold in every one.
const (
	ModeStandard PermissionMode = "standard" // asks a person where a rule says so: of everything that isn't a client session
	ModeAsk      PermissionMode = "ask"      // reading in the folder is free; writing, running and leaving the machine ask
	ModeEdits    PermissionMode = "edits"    // changing files in the folder is free, too
	ModePlan     PermissionMode = "plan"     // nothing that changes anything
	ModeAll      PermissionMode = "all"      // no questions
)

// Validate names the modes if it is none of them.
func (m PermissionMode) Validate() error {
	switch m {
	case ModeStandard, ModeAsk, ModeEdits, ModePlan, ModeAll:
		return nil
	default:
		return E(Invalid, "permission mode %q is not known", string(m)).WithHint("known are ask, edits, plan, all and standard")
	}
}

// Client is who makes a request and from where. A run records it, except for Env.
type Client struct {
	ID        ClientID       `json:"id,omitempty"` // a client session, empty for the API
	Kind      ClientKind     `json:"kind"`
	Workspace string         `json:"workspace,omitempty"` // absolute path; only a client on the socket can name one
	Mode      PermissionMode `json:"mode,omitempty"`
	Zone      string         `json:"zone,omitempty"` // IANA name of the person's zone
	Env       Env            `json:"-"`              // the session's provider variables, then the daemon's

	Rules      SessionRules `json:"rules,omitzero"`       // those that a person gave this session
	Unattended bool         `json:"unattended,omitempty"` // nobody is there to be asked: what would ask is denied
}

// MaxSessionRules bounds how many rules of permission a session has.
const MaxSessionRules = 100

// SessionRules are rules of permission that count for one client session, as a person wrote them.
type SessionRules struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// Allowing returns the rules with some more that allow; those it has already are left alone.
func (r SessionRules) Allowing(rules ...string) (SessionRules, error) {
	r.Allow = slices.Clone(r.Allow)
	for _, rule := range rules {
		if !slices.Contains(r.Allow, rule) {
			r.Allow = append(r.Allow, rule)
		}
	}
	return r, r.Validate()
}

// Validate checks how many there are.
func (r SessionRules) Validate() error {
	if len(r.Allow)+len(r.Deny) > MaxSessionRules {
		return E(TooLarge, "a session has at most %d rules of permission", MaxSessionRules).
			WithHint("keep them for the folder: loci permissions add")
	}
	return nil
}
