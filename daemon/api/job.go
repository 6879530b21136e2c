package api

// PathJobs lists shell lines that run, or ran in the background: + /{job_id}, /{job_id}/background, /{job_id}/stop.
const PathJobs = "/loci/v1/jobs"

// PathQuestions lists what lines ask a person while they run: + /{question_id} answers one.
const PathQuestions = "/loci/v1/questions"

// ListJobs are the parameters of GET /loci/v1/jobs. Tail is how many of the last rows that each job wrote are wanted, at most 20.
type ListJobs struct {
	AgentID string `query:"agent_id"`
	Tail    int    `query:"tail" minimum:"0" maximum:"20"`
}

// JobList is what there is, the oldest first.
type JobList struct {
	Jobs []Job `json:"jobs"`
}

// Job is a shell line that runs, or ran in the background. Jobs end with the daemon, and of those that have ended only the
// newest are remembered.
type Job struct {
	ID             string `json:"id"`
	AgentID        string `json:"agent_id"`
	ConversationID string `json:"conversation_id"`
	RunID          string `json:"run_id"`
	ToolCallID     string `json:"tool_call_id"`
	Command        string `json:"command"`
	Folder         string `json:"folder"`
	Background     bool   `json:"background"` // nobody waits for it
	BeganAt        Time   `json:"began_at"`
	EndedAt        *Time  `json:"ended_at,omitempty"`
	Ended          string `json:"ended,omitempty"` // how, in a sentence
	Failed         bool   `json:"failed,omitempty"`
	Output         string `json:"output,omitempty"` // in a list its last rows, if they are asked for
}

// ListQuestions are the parameters of GET /loci/v1/questions; without an agent it lists those of all.
type ListQuestions struct {
	AgentID string `query:"agent_id"`
}

// QuestionList is what is asked, the oldest first.
type QuestionList struct {
	Questions []Question `json:"questions"`
}

// Question is what a shell line asks a person while it waits: whether it may reach a host, whether it gets what the sandbox kept from it
// (Opens says which), or whether settings of git that it leaves behind are written. Its answer is taken until a time; then the line
// goes on without. It is gone when it was answered, wherever that was.
type Question struct {
	ID             string `json:"id"`
	JobID          string `json:"job_id"`
	AgentID        string `json:"agent_id"`
	ConversationID string `json:"conversation_id"`
	RunID          string `json:"run_id"`
	ToolCallID     string `json:"tool_call_id"`
	Command        string `json:"command"`
	Folder         string `json:"folder"`

	Host    string   `json:"host,omitempty"`   // a name, or an address that is no part of the public internet; empty: it asks for Opens
	Port    int      `json:"port,omitempty"`   // 0: HTTPS, HTTP and SSH; only the name was asked for yet
	Behind  string   `json:"behind,omitempty"` // of an address: the name that leads to it
	Why     string   `json:"why,omitempty"`    // of an address: what it is
	Scopes  []string `json:"scopes"`           // for how long it can be allowed: ScopeOnce, ScopeSession, ScopeFolder
	AskedAt Time     `json:"asked_at"`
	Until   Time     `json:"until"`

	Settings []QuestionSetting `json:"settings,omitempty"` // all are written, or none; in place of a host

	Opens string   `json:"opens,omitempty"` // what the sandbox kept from it: folder, port, local_port (Port is its number) or uncaged
	Path  string   `json:"path,omitempty"`  // of the folder
	Write bool     `json:"write,omitempty"` // it is to be changed as well
	Rules []string `json:"rules,omitempty"` // that would open it for longer than this line
}

// What a Question wants opened.
const (
	OpensFolder    = "folder"
	OpensPort      = "port"
	OpensLocalPort = "local_port"
	OpensUncaged   = "uncaged"
)

// QuestionSetting is a setting of the project's git configuration.
type QuestionSetting struct {
	File   string   `json:"file"`
	Name   string   `json:"name"`
	Values []string `json:"values"` // what it is to hold; none: it goes
	Was    []string `json:"was"`    // what it holds now
	May    string   `json:"may"`    // what git may do because of it, to follow the name
}

// AnswerQuestion is the body of POST /loci/v1/questions/{question_id}. Allow is no, once, session or folder. The first answer counts.
type AnswerQuestion struct {
	Allow string `json:"allow" enum:"no,once,session,folder" required:"true"`
}
