package api

// PathJobs lists shell lines that run, or ran in the background: + /{job_id}, /{job_id}/background, /{job_id}/stop.
const PathJobs = "/loci/v1/jobs"

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
