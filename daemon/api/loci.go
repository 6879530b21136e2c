package api

// Paths of our own operations.
const (
	PathStatus   = "/loci/v1/status"
	PathClients  = "/loci/v1/clients"
	PathChanges  = "/loci/v1/changes"
	PathRuns     = "/loci/v1/runs" // + /{id}/events?after=, /{id}/calls
	PathLogs     = "/loci/v1/logs"
	PathBackup   = "/loci/v1/backup"
	PathShutdown = "/loci/v1/shutdown"
	PathModel    = "/loci/v1/model"
	PathModels   = "/loci/v1/models"
	PathSilent   = "/loci/v1/models/silent"
	PathPull     = "/loci/v1/models/pull"
	PathDoctor   = "/loci/v1/doctor"
)

// Status is the response of GET /loci/v1/status. It is available before the store is open: Ready says whether it is.
type Status struct {
	PID       int    `json:"pid"`
	Version   string `json:"version"`
	Socket    string `json:"socket"`
	Home      string `json:"home"`
	Listen    string `json:"listen"` // the TCP address, empty without one
	Ready     bool   `json:"ready"`
	Error     string `json:"error,omitempty"` // why it won't become ready
	Busy      bool   `json:"busy"`            // a run is active, or a job
	Runs      int    `json:"runs"`            // active runs
	Clients   int    `json:"clients"`
	RealModel bool   `json:"real_model"`      // a model other than the offline one has answered in this home
	Model     string `json:"model,omitempty"` // the default for new agents, as in the daemon's settings
	StartedAt Time   `json:"started_at"`

	Sandbox string `json:"sandbox,omitempty"` // how much of the sandbox works, where it is less than all: reduced, partial, none or off

	Embedding *EmbeddingStatus `json:"embedding,omitempty"` // absent once every text has its vector
}

// EmbeddingStatus reports what is still waiting to be embedded, and why. Until then it is found only by its words.
type EmbeddingStatus struct {
	Waiting  int                `json:"waiting"`  // texts
	Moving   int                `json:"moving"`   // archives whose model has changed and that are still to be processed
	Troubles []EmbeddingTrouble `json:"troubles"` // models that don't answer
}

// EmbeddingTrouble is a model that is not answering, so that its texts wait.
type EmbeddingTrouble struct {
	Model    string `json:"model"`
	Error    string `json:"error"`
	Failures int    `json:"failures"`                // in a row
	Next     Time   `json:"next"`                    // when it is retried
	Stalled  *Time  `json:"stalled_since,omitempty"` // it takes requests and has not answered since
}

// Kinds of clients.
const (
	ClientChat   = "chat"
	ClientPrint  = "print"
	ClientScript = "script"
)

// OpenNew asks for a new agent or conversation instead of an id.
const OpenNew = "new"

// Client is the body of POST /loci/v1/clients: it identifies the client. Env holds the provider variables that it
// knows; they stay in memory.
type Client struct {
	Kind   string            `json:"kind" required:"true"`
	PID    int               `json:"pid,omitempty"`
	Folder string            `json:"folder,omitempty"`
	Mode   string            `json:"mode,omitempty"`  // permission mode
	Allow  []string          `json:"allow,omitempty"` // rules of permission that count for this session
	Deny   []string          `json:"deny,omitempty"`
	Zone   string            `json:"zone,omitempty"` // IANA name of its time zone
	Env    map[string]string `json:"env,omitempty"`
	Open   *Open             `json:"open,omitempty"`

	Unattended bool `json:"unattended,omitempty"` // nobody is there to be asked: what would ask is denied
}

// Open asks to find or create the agent to talk to. Without Agent it is the one last used in the folder, then the one
// last used anywhere, then a new one. Without Conversation it is the agent's default one.
type Open struct {
	Agent        string `json:"agent,omitempty"` // an id, a name, or OpenNew
	Conversation string `json:"conversation,omitempty"`
	Name         string `json:"name,omitempty"`      // of a new agent
	Model        string `json:"model,omitempty"`     // of a new agent
	RunModel     string `json:"run_model,omitempty"` // the model that the first run will name
}

// Session is the response of POST /loci/v1/clients. Without Open, only Client and Status are filled. It is built from
// what is known at once: a model or window that a provider must be asked for may be missing, and arrives with the
// run.
type Session struct {
	Client         string `json:"client"`
	Status         Status `json:"status"` // the daemon's own, without counts
	AgentID        string `json:"agent_id"`
	ConversationID string `json:"conversation_id"`
	AgentName      string `json:"agent_name"`
	Model          string `json:"model"`            // for the next run; empty until it is known
	ModelSure      bool   `json:"model_sure"`       // it exists and has a key
	Window         int    `json:"window,omitempty"` // the context window in force, in tokens; 0 until it is known, and for commands
	Used           int    `json:"used,omitempty"`   // tokens of it that the next request takes before new input; with Window
	Offline        bool   `json:"offline"`          // the model is the built-in one
	AgentNew       bool   `json:"agent_new"`        // the agent has just been created
	RecallCount    int    `json:"recall"`           // messages in the conversation
	PendingRun     string `json:"pending_run"`      // an active run of the conversation
	Notice         string `json:"notice,omitempty"`
}

// Change is one event of GET /loci/v1/changes: a hint to read again, never the data itself.
type Change struct {
	Kind           string `json:"kind"`
	ID             string `json:"id"`
	AgentID        string `json:"agent_id,omitempty"`
	ConversationID string `json:"conversation_id,omitempty"`
	RunID          string `json:"run_id,omitempty"`
}

// What a Change is about.
const (
	ChangeAgent        = "agent"
	ChangeBlock        = "block"
	ChangeConversation = "conversation"
	ChangeRun          = "run"
	ChangePassage      = "passage"
)

// EventParams are the parameters of GET /loci/v1/runs/{id}/events: any run's messages after a seq_id, including their
// deltas, notices and input, until the run ends.
type EventParams struct {
	After int64 `query:"after"`
}

// Notice is the content of a loci_notice message.
type Notice struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Data Object `json:"data,omitempty"`
}

// Kinds of notices.
const (
	NoticeDiscard  = "discard"  // deltas of a failed attempt: discard what was shown for data.message_id
	NoticeModel    = "model"    // a different model than expected answers
	NoticeResumed  = "resumed"  // the daemon restarted and resumed the run
	NoticeRetry    = "retry"    // the provider is being retried
	NoticeWaiting  = "waiting"  // the model has not answered yet
	NoticeTools    = "tools"    // the model refused tools and is retried without them
	NoticeRecalled = "recalled" // what joined the turn from memory: data.text is the record
	NoticeDenied   = "denied"   // a call would have asked a person, and none is there: data.flags would have let it pass
	NoticeBroken   = "broken"   // made by the client: the connection broke and is being resumed
)

// Logs is the body and answer of PATCH and GET /loci/v1/logs.
type Logs struct {
	Level string `json:"level" enum:"debug,info,warn,error"`
	Path  string `json:"path,omitempty"`
}

// Backup is the body of POST /loci/v1/backup. The file must not exist.
type Backup struct {
	Path string `json:"path" required:"true"`
}

// BackupResult reports what a backup contains, counted in the copy.
type BackupResult struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	Agents   int    `json:"agents"`
	Messages int    `json:"messages"`

	Damaged     []string `json:"damaged,omitempty"`      // rows that can't be read, in the backup and in the home, at most twenty
	DamagedRows int      `json:"damaged_rows,omitempty"` // how many there are
}

// HeldPlace is a path or server outside a restored home that isn't used until a person allows it. No operation of the server
// shows it.
type HeldPlace struct {
	Kind string `json:"kind"`         // mirror, folder, part (of an unfinished backup), backup or model
	ID   string `json:"id,omitempty"` // of the agent or folder; a model's handle
	Name string `json:"name,omitempty"`
	Path string `json:"path"`
}

// Shutdown is the body of POST /loci/v1/shutdown. With IfIdle, a busy daemon answers 409 and keeps running.
type Shutdown struct {
	IfIdle bool `json:"if_idle,omitempty"`
}

// ModelParams are the parameters of GET /loci/v1/model.
type ModelParams struct {
	AgentID string `query:"agent_id"`
	Model   string `query:"model"`
}

// ModelChoice reports which model a run would use and why.
type ModelChoice struct {
	Handle      string       `json:"handle"`
	Why         string       `json:"why"`
	Offline     bool         `json:"offline"`
	Notice      string       `json:"notice,omitempty"`
	UnbuiltKeys List[string] `json:"unbuilt_keys"` // variables of providers that aren't supported yet
}

// ListedModel is a model as its provider lists it, even if it can't chat.
type ListedModel struct {
	Handle        string `json:"handle"`
	ContextWindow int    `json:"context_window"`
	Hidden        string `json:"hidden,omitempty"` // why it can't chat
	Images        string `json:"images,omitempty"` // whether it takes images: yes or no; empty: nobody knows

	MaxOutput   int      `json:"max_output,omitempty"` // tokens
	Tools       bool     `json:"tools"`
	Reasoning   bool     `json:"reasoning"`
	Efforts     []string `json:"efforts,omitempty"`
	InputPrice  *float64 `json:"input_price,omitempty"` // dollars for a million tokens; missing: nobody knows
	OutputPrice *float64 `json:"output_price,omitempty"`
	ReadPrice   *float64 `json:"read_price,omitempty"` // of what is read from the prompt cache
	Offline     bool     `json:"offline,omitempty"`    // no language model
}

// PullModel has a server download a model.
type PullModel struct {
	Name string `json:"name" minLength:"1" maxLength:"512"` // the server's own name of it; the provider's may stand before it
}

// PulledModel is one event of POST /loci/v1/models/pull: how far a download is, or why it failed.
type PulledModel struct {
	Model     string `json:"model,omitempty"` // its handle
	Status    string `json:"status,omitempty"`
	Completed int64  `json:"completed"` // bytes
	Total     int64  `json:"total"`
	Done      bool   `json:"done,omitempty"`

	Error string `json:"error,omitempty"`
	Kind  string `json:"kind,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

// Levels of a check.
const (
	CheckOK      = "ok"
	CheckWarning = "warning"
	CheckError   = "error"
)

// Check is one thing that the doctor examined.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Level  string `json:"level"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// Good returns a check that found everything in order.
func Good(name, detail string) Check {
	return Check{Name: name, OK: true, Level: CheckOK, Detail: detail}
}

// Warning returns a check that found something worth fixing.
func Warning(name, detail, fix string) Check {
	return Check{Name: name, OK: true, Level: CheckWarning, Detail: detail, Fix: fix}
}

// Broken returns a check that found something that doesn't work.
func Broken(name, detail, fix string) Check {
	return Check{Name: name, Level: CheckError, Detail: detail, Fix: fix}
}
