package core

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

// Valid reports whether the mode is known.
func (m PermissionMode) Valid() bool {
	switch m {
	case ModeStandard, ModeAsk, ModeEdits, ModePlan, ModeAll:
		return true
	default:
		return false
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
}
