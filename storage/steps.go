package storage

import (
	"context"

	"loci/core"
	"loci/storage/sqlite"
)

type steps struct{ v *scope }

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
	CreatedAt    sqlite.Micros       `db:"created_at"`
	Data         string              `db:"data"`
}

type stepData struct {
	Endpoint   string          `json:"endpoint,omitempty"`
	Window     int             `json:"window,omitempty"`
	Usage      *core.Usage     `json:"usage,omitempty"`
	StopReason core.StopReason `json:"stop_reason,omitempty"`
	Finish     core.Finish     `json:"finish,omitempty"`
	Error      *core.StepError `json:"error,omitempty"`
	Tags       []string        `json:"tags,omitempty"`
	Tools      []string        `json:"tools,omitempty"`
	Prefix     string          `json:"prefix,omitempty"`
	Choice     core.ToolChoice `json:"choice,omitzero"`
	Parallel   bool            `json:"parallel,omitempty"`
	Offer      []string        `json:"offer,omitempty"`
	SentRev    int             `json:"sent_rev,omitempty"`
	WithInput  bool            `json:"with_input,omitempty"`
	StartedAt  sqlite.Micros   `json:"started_at,omitempty"`
	ResponseAt sqlite.Micros   `json:"response_at,omitempty"`
	LoggedAt   sqlite.Micros   `json:"logged_at,omitempty"`
	FinishedAt sqlite.Micros   `json:"finished_at,omitempty"`
}

func newStepRow(s *core.Step) (stepRow, error) {
	data, err := sqlite.Encode(stepData{
		Endpoint:   s.Endpoint,
		Window:     s.Window,
		Usage:      s.Usage,
		StopReason: s.StopReason,
		Finish:     s.Finish,
		Error:      s.Error,
		Tags:       s.Tags,
		Tools:      s.Tools,
		Prefix:     s.Prefix,
		Choice:     s.Choice,
		Parallel:   s.Parallel,
		Offer:      s.Offer,
		SentRev:    s.SentRev,
		WithInput:  s.WithInput,
		StartedAt:  sqlite.ToMicros(s.StartedAt),
		ResponseAt: sqlite.ToMicros(s.ResponseAt),
		LoggedAt:   sqlite.ToMicros(s.LoggedAt),
		FinishedAt: sqlite.ToMicros(s.FinishedAt),
	})
	return stepRow{
		ID:           s.ID,
		Run:          s.Run,
		Agent:        s.Agent,
		Conversation: s.Conversation,
		Number:       s.Number,
		Status:       s.Status,
		Model:        s.Model,
		Feedback:     s.Feedback,
		SystemHash:   s.SystemHash,
		ToolsHash:    s.ToolsHash,
		AgentHash:    s.AgentHash,
		CreatedAt:    sqlite.ToMicros(s.CreatedAt),
		Data:         data,
	}, err
}

func (r *stepRow) step() (core.Step, error) {
	var d stepData
	if err := sqlite.Decode(r.Data, &d); err != nil {
		return core.Step{}, err
	}
	return core.Step{
		ID:           r.ID,
		Run:          r.Run,
		Agent:        r.Agent,
		Conversation: r.Conversation,
		Number:       r.Number,
		Status:       r.Status,
		Model:        r.Model,
		Endpoint:     d.Endpoint,
		Window:       d.Window,
		Usage:        d.Usage,
		StopReason:   d.StopReason,
		Finish:       d.Finish,
		Error:        d.Error,
		Feedback:     r.Feedback,
		Tags:         d.Tags,
		Tools:        d.Tools,
		SystemHash:   r.SystemHash,
		ToolsHash:    r.ToolsHash,
		AgentHash:    r.AgentHash,
		Prefix:       d.Prefix,
		Choice:       d.Choice,
		Parallel:     d.Parallel,
		Offer:        d.Offer,
		SentRev:      d.SentRev,
		WithInput:    d.WithInput,
		StartedAt:    d.StartedAt.Time(),
		ResponseAt:   d.ResponseAt.Time(),
		LoggedAt:     d.LoggedAt.Time(),
		FinishedAt:   d.FinishedAt.Time(),
		CreatedAt:    r.CreatedAt.Time(),
	}, nil
}

const selectSteps = `SELECT s.id, s.run_id, s.agent_id, s.conversation_id, s.number, s.status, s.model, s.feedback, s.system_hash, ` +
	`s.tools_hash,
	s.agent_hash, s.created_at, s.data FROM steps s JOIN runs r ON r.id = s.run_id`

func (s steps) Create(ctx context.Context, st *core.Step) error {
	row, err := newStepRow(st)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "create step", func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Named(ctx, `INSERT INTO steps
			(id, run_id, agent_id, conversation_id, number, status, model, feedback, system_hash, tools_hash, `+
			`agent_hash, created_at, data) VALUES
			(:id, :run_id, :agent_id, :conversation_id, :number, :status, :model, :feedback, :system_hash, :tools_hash, `+
			`:agent_hash, :created_at, :data)`, row)
		return err
	})
}

func (s steps) Get(ctx context.Context, id core.StepID) (core.Step, error) {
	ctx, q := s.v.read(ctx)
	return sqlite.One(ctx, q, "step", string(id), (*stepRow).step, selectSteps+` WHERE s.id = $1 AND `+livingRun, id)
}

func (s steps) Update(ctx context.Context, st *core.Step) error {
	row, err := newStepRow(st)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "update step", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Named(ctx, `UPDATE steps SET number = :number, status = :status, model = :model, feedback = :feedback,
			system_hash = :system_hash, tools_hash = :tools_hash, agent_hash = :agent_hash, data = :data WHERE id = :id`, row)
		if err == nil && n == 0 {
			return sqlite.NotFound("step", string(st.ID))
		}
		return err
	})
}

func stepFilter(f core.StepFilter) *sqlite.Where {
	w := &sqlite.Where{}
	w.And(livingRun)
	if f.Run != "" {
		w.And("s.run_id = ?", f.Run)
	}
	if f.Agent != "" {
		w.And("s.agent_id = ?", f.Agent)
	}
	if f.Model != "" { // a name may hold slashes itself, a provider's does not
		name := sqlite.Ending("/" + f.Model)
		w.And(`(s.model = ? OR s.model LIKE ? ESCAPE '\' AND s.model NOT LIKE ? ESCAPE '\')`, f.Model, name, "%/"+name)
	}
	if !f.From.IsZero() {
		w.And("s.created_at >= ?", sqlite.ToMicros(f.From))
	}
	if !f.Until.IsZero() {
		w.And("s.created_at < ?", sqlite.ToMicros(f.Until))
	}
	if f.Feedback != "" {
		w.And("s.feedback = ?", f.Feedback)
	}
	if f.HasFeedback != nil {
		w.And("(s.feedback <> '') = ?", *f.HasFeedback)
	}
	if len(f.Tags) > 0 {
		w.And("EXISTS (SELECT 1 FROM json_each(s.data, '$.tags') t WHERE t.value IN " + sqlite.List(w, f.Tags) + ")")
	}
	return w
}

func (s steps) List(ctx context.Context, f core.StepFilter, p core.Page) ([]core.Step, error) {
	ctx, q := s.v.read(ctx)
	o := sqlite.Order{Table: "steps", Cursor: "id", Major: "num", Minor: "id", Alias: "s.", Noun: "step"}
	w := stepFilter(f)
	tail, err := o.Paged(ctx, q, w, p, 50)
	if err != nil {
		return nil, err
	}
	return page(ctx, s.v, q, "list steps", (*stepRow).step, selectSteps+w.String()+tail, w.Args...)
}
