package api

// Paths of our own operations.
const (
	PathStatus   = "/loci/v1/status"
	PathClients  = "/loci/v1/clients"
	PathChanges  = "/loci/v1/changes"
	PathRuns     = "/loci/v1/runs" // + /{id}/events?after=
	PathLogs     = "/loci/v1/logs"
	PathBackup   = "/loci/v1/backup"
	PathShutdown = "/loci/v1/shutdown"
	PathModel    = "/loci/v1/model"
	PathDoctor   = "/loci/v1/doctor"
)

// Status is the answer of GET /loci/v1/status. It answers before the store is open: Ready says whether it is.
type Status struct {
	PID       int    `json:"pid"`
	Version   string `json:"version"`
	Socket    string `json:"socket"`
	Home      string `json:"home"`
	Listen    string `json:"listen"` // the TCP address, empty without one
	Ready     bool   `json:"ready"`
	Error     string `json:"error,omitempty"` // why it will not become ready
	Busy      bool   `json:"busy"`            // a run is active
	Runs      int    `json:"runs"`            // active runs
	Clients   int    `json:"clients"`
	RealModel bool   `json:"real_model"`      // a model that is not the offline one has answered in this home
	Model     string `json:"model,omitempty"` // of new agents, as the daemon's settings name it
	StartedAt Time   `json:"started_at"`

	Embedding *EmbeddingStatus `json:"embedding,omitempty"` // absent while every text has its vector
}

// EmbeddingStatus says what still waits to be found by its meaning, and why. It is found by its words meanwhile.
type EmbeddingStatus struct {
	Waiting  int                `json:"waiting"`  // texts
	Moving   int                `json:"moving"`   // archives whose model has changed, still to be looked at
	Troubles []EmbeddingTrouble `json:"troubles"` // models that do not answer
}

// EmbeddingTrouble is a model whose texts rest.
type EmbeddingTrouble struct {
	Model    string `json:"model"`
	Error    string `json:"error"`
	Failures int    `json:"failures"` // in a row
	Next     Time   `json:"next"`     // when it is asked again
}

// Kinds of clients.
const (
	ClientChat   = "chat"
	ClientPrint  = "print"
	ClientScript = "script"
)

// OpenNew asks for a new agent or conversation in place of an id.
const OpenNew = "new"

// Client is the body of POST /loci/v1/clients: who asks. Env are the provider variables it knows; they stay in memory.
type Client struct {
	Kind   string            `json:"kind" required:"true"`
	PID    int               `json:"pid,omitempty"`
	Folder string            `json:"folder,omitempty"`
	Mode   string            `json:"mode,omitempty"` // permission mode
	Zone   string            `json:"zone,omitempty"` // IANA name of its time zone
	Env    map[string]string `json:"env,omitempty"`
	Open   *Open             `json:"open,omitempty"`
}

// Open asks to find or make the agent to talk to. Without Agent it is the one last used in the folder, then the one
// last used anywhere, then a new one. Without Conversation it is the agent's default one.
type Open struct {
	Agent        string `json:"agent,omitempty"` // an id, a name, or OpenNew
	Conversation string `json:"conversation,omitempty"`
	Name         string `json:"name,omitempty"`      // of a new agent
	Model        string `json:"model,omitempty"`     // of a new agent
	RunModel     string `json:"run_model,omitempty"` // that the first run will name itself
}

// Session is the answer of POST /loci/v1/clients. Without Open only Client is filled.
type Session struct {
	Client         string `json:"client"`
	AgentID        string `json:"agent_id"`
	ConversationID string `json:"conversation_id"`
	AgentName      string `json:"agent_name"`
	Model          string `json:"model"`
	Offline        bool   `json:"offline"`     // the model is the built-in one
	AgentNew       bool   `json:"agent_new"`   // the agent was made now
	RecallCount    int    `json:"recall"`      // messages of the conversation
	PendingRun     string `json:"pending_run"` // a run of the conversation that is active
	Notice         string `json:"notice,omitempty"`
}

// Change is one event of GET /loci/v1/changes: a hint to read again, never the facts.
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

// EventParams are the parameters of GET /loci/v1/runs/{id}/events: any run's messages from after a seq_id on, with
// their deltas, notices and input, until the run's end.
type EventParams struct {
	After int64 `query:"after"`
}

// Notice is what a loci_notice message says.
type Notice struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Data Object `json:"data,omitempty"`
}

// Kinds of notices.
const (
	NoticeDiscard  = "discard"  // deltas of a lost attempt: forget what data.message_id showed
	NoticeModel    = "model"    // another model answers than expected
	NoticeQueued   = "queued"   // the run waits for another
	NoticeResumed  = "resumed"  // the daemon restarted and goes on
	NoticeRetry    = "retry"    // the provider is asked again
	NoticeRecalled = "recalled" // what joined the turn from memory: data.text is the record
	NoticeBroken   = "broken"   // made by the client: the connection broke, and it goes on where it was
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

// BackupResult says what a backup holds, counted in the copy.
type BackupResult struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	Agents   int    `json:"agents"`
	Messages int    `json:"messages"`
}

// Shutdown is the body of POST /loci/v1/shutdown. With IfIdle a busy daemon answers 409 and goes on.
type Shutdown struct {
	IfIdle bool `json:"if_idle,omitempty"`
}

// ModelParams are the parameters of GET /loci/v1/model.
type ModelParams struct {
	AgentID string `query:"agent_id"`
	Model   string `query:"model"`
}

// ModelChoice says which model a run would use and why.
type ModelChoice struct {
	Handle      string       `json:"handle"`
	Why         string       `json:"why"`
	Offline     bool         `json:"offline"`
	Notice      string       `json:"notice,omitempty"`
	UnbuiltKeys List[string] `json:"unbuilt_keys"` // variables for providers that are not built yet
}

// Levels of a check.
const (
	CheckOK      = "ok"
	CheckWarning = "warning"
	CheckError   = "error"
)

// Check is one thing that the doctor looked at.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Level  string `json:"level"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// Good is a check that found what it should.
func Good(name, detail string) Check {
	return Check{Name: name, OK: true, Level: CheckOK, Detail: detail}
}

// Warning is a check that found something that a person may want to mend.
func Warning(name, detail, fix string) Check {
	return Check{Name: name, OK: true, Level: CheckWarning, Detail: detail, Fix: fix}
}

// Broken is a check that found something that does not work.
func Broken(name, detail, fix string) Check {
	return Check{Name: name, Level: CheckError, Detail: detail, Fix: fix}
}
