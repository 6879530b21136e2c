package storage

import (
	"context"

	"loci/core"
)

type steps struct{ v *view }

type stepRow struct {
	ID           core.StepID         `db:"id"`
	Run          core.RunID          `db:"run_id"`
	Agent        core.AgentID        `db:"agent_id"`
	Conversation core.ConversationID `db:"conversation_id"`
	Number       int                 `db:"number"`
	Status       core.StepStatus     `db:"status"`
	Model        core.Handle         `db:"model"`
	Feedback     string              `db:"feedback"`
	SystemHash   string              `db:"system_hash"`
	ToolsHash    string              `db:"tools_hash"`
	AgentHash    string              `db:"agent_hash"`
	CreatedAt    micros              `db:"created_at"`
	Data         string              `db:"data"`
}

type stepData struct {
	Endpoint   string          `json:"endpoint,omitempty"`
	Window     int             `json:"window,omitempty"`
	Usage      *core.Usage     `json:"usage,omitempty"`
	StopReason core.StopReason `json:"stop_reason,omitempty"`
	Finish     core.Finish     `json:"finish,omitempty"`
	Error      *core.StepError `json:"error,omitempty"`
	Tools      []string        `json:"tools,omitempty"`
	Prefix     string          `json:"prefix,omitempty"`
	Choice     core.ToolChoice `json:"choice,omitzero"`
	Parallel   bool            `json:"parallel,omitempty"`
	Offer      []string        `json:"offer,omitempty"`
	SentRev    int             `json:"sent_rev,omitempty"`
	WithInput  bool            `json:"with_input,omitempty"`
	StartedAt  micros          `json:"started_at,omitempty"`
	ResponseAt micros          `json:"response_at,omitempty"`
	LoggedAt   micros          `json:"logged_at,omitempty"`
	FinishedAt micros          `json:"finished_at,omitempty"`
}

func newStepRow(s *core.Step) (stepRow, error) {
	data, err := encode(stepData{
		Endpoint: s.Endpoint, Window: s.Window, Usage: s.Usage, StopReason: s.StopReason, Finish: s.Finish, Error: s.Error, Tools: s.Tools,
		Prefix: s.Prefix, Choice: s.Choice, Parallel: s.Parallel, Offer: s.Offer, SentRev: s.SentRev, WithInput: s.WithInput, StartedAt: toMicros(s.StartedAt),
		ResponseAt: toMicros(s.ResponseAt), LoggedAt: toMicros(s.LoggedAt), FinishedAt: toMicros(s.FinishedAt),
	})
	return stepRow{
		ID: s.ID, Run: s.Run, Agent: s.Agent, Conversation: s.Conversation, Number: s.Number, Status: s.Status, Model: s.Model,
		Feedback: s.Feedback, SystemHash: s.SystemHash, ToolsHash: s.ToolsHash, AgentHash: s.AgentHash, CreatedAt: toMicros(s.CreatedAt), Data: data,
	}, err
}

func (r *stepRow) step() (core.Step, error) {
	var d stepData
	if err := decode(r.Data, &d); err != nil {
		return core.Step{}, err
	}
	return core.Step{
		ID: r.ID, Run: r.Run, Agent: r.Agent, Conversation: r.Conversation, Number: r.Number, Status: r.Status, Model: r.Model,
		Endpoint: d.Endpoint, Window: d.Window, Usage: d.Usage, StopReason: d.StopReason, Finish: d.Finish, Error: d.Error,
		Feedback: r.Feedback, Tools: d.Tools, SystemHash: r.SystemHash, ToolsHash: r.ToolsHash, AgentHash: r.AgentHash, Prefix: d.Prefix,
		Choice: d.Choice, Parallel: d.Parallel, Offer: d.Offer, SentRev: d.SentRev, WithInput: d.WithInput, StartedAt: d.StartedAt.time(),
		ResponseAt: d.ResponseAt.time(), LoggedAt: d.LoggedAt.time(), FinishedAt: d.FinishedAt.time(), CreatedAt: r.CreatedAt.time(),
	}, nil
}

const selectSteps = `SELECT s.id, s.run_id, s.agent_id, s.conversation_id, s.number, s.status, s.model, s.feedback, s.system_hash, s.tools_hash,
	s.agent_hash, s.created_at, s.data FROM steps s JOIN runs r ON r.id = s.run_id`

func (s steps) Create(ctx context.Context, st *core.Step) error {
	row, err := newStepRow(st)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "create step", func(ctx context.Context, q *querier) error {
		_, err := q.named(ctx, `INSERT INTO steps
			(id, run_id, agent_id, conversation_id, number, status, model, feedback, system_hash, tools_hash, agent_hash, created_at, data) VALUES
			(:id, :run_id, :agent_id, :conversation_id, :number, :status, :model, :feedback, :system_hash, :tools_hash, :agent_hash, :created_at, :data)`, row)
		return err
	})
}

func (s steps) Get(ctx context.Context, id core.StepID) (core.Step, error) {
	ctx, q := s.v.read(ctx)
	var row stepRow
	ok, err := q.find(ctx, &row, selectSteps+` WHERE s.id = $1 AND `+livingRun, id)
	if err != nil {
		return core.Step{}, classify("get step", err)
	}
	if !ok {
		return core.Step{}, notFound("step", string(id))
	}
	return row.step()
}

func (s steps) Update(ctx context.Context, st *core.Step) error {
	row, err := newStepRow(st)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "update step", func(ctx context.Context, q *querier) error {
		n, err := q.named(ctx, `UPDATE steps SET number = :number, status = :status, model = :model, feedback = :feedback,
			system_hash = :system_hash, tools_hash = :tools_hash, agent_hash = :agent_hash, data = :data WHERE id = :id`, row)
		if err == nil && n == 0 {
			return notFound("step", string(st.ID))
		}
		return err
	})
}

func (s steps) List(ctx context.Context, f core.StepFilter, p core.Page) ([]core.Step, error) {
	ctx, q := s.v.read(ctx)
	o := order{table: "steps", cursor: "id", major: "num", minor: "id", alias: "s.", noun: "step"}
	w := &where{}
	w.and(livingRun)
	if f.Run != "" {
		w.and("s.run_id = ?", f.Run)
	}
	if f.Agent != "" {
		w.and("s.agent_id = ?", f.Agent)
	}
	if f.Model != "" {
		w.and("s.model = ?", f.Model)
	}
	if !f.From.IsZero() {
		w.and("s.created_at >= ?", toMicros(f.From))
	}
	if !f.Until.IsZero() {
		w.and("s.created_at < ?", toMicros(f.Until))
	}
	if f.Feedback != "" {
		w.and("s.feedback = ?", f.Feedback)
	}
	if f.HasFeedback != nil {
		w.and("(s.feedback <> '') = ?", *f.HasFeedback)
	}
	tail, err := o.paged(ctx, q, w, p, 50)
	if err != nil {
		return nil, err
	}
	var rows []stepRow
	if err := q.all(ctx, &rows, selectSteps+w.String()+tail, w.args...); err != nil {
		return nil, classify("list steps", err)
	}
	return convert(rows, (*stepRow).step)
}
