package storage

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/storage/images"
	"loci/storage/sqlite"
)

type runs struct{ v *scope }

type runRow struct {
	Number       int64               `db:"number"`
	ID           core.RunID          `db:"id"`
	Agent        core.AgentID        `db:"agent_id"`
	Conversation core.ConversationID `db:"conversation_id"`
	Status       core.RunStatus      `db:"status"`
	StopReason   core.StopReason     `db:"stop_reason"`
	Background   bool                `db:"background"`
	Request      string              `db:"request"`
	CreatedAt    sqlite.Micros       `db:"created_at"`
	CompletedAt  sqlite.Micros       `db:"completed_at"`
	Data         string              `db:"data"`
}

// RunData is what a row of a run holds as JSON.
type RunData struct {
	Client    core.Client    `json:"client"`
	Config    core.RunConfig `json:"config"`
	Input     []inputData    `json:"input,omitempty"`
	Delivered bool           `json:"delivered,omitempty"`
	Attempt   int            `json:"attempt,omitempty"`
	Restored  bool           `json:"restored,omitempty"`
	Error     *core.RunError `json:"error,omitempty"`
	Notices   []string       `json:"notices,omitempty"`
	Chain     []core.RunID   `json:"chain,omitempty"`
	TTFT      time.Duration  `json:"ttft,omitempty"`
	StartedAt sqlite.Micros  `json:"started_at,omitempty"`
}

// inputData is a message of a run's input, before it became one of the conversation.
type inputData struct {
	MessageData
	ID           core.MessageID      `json:"id"`
	Agent        core.AgentID        `json:"agent,omitempty"`
	Conversation core.ConversationID `json:"conversation,omitempty"`
	Run          core.RunID          `json:"run,omitempty"`
	Step         core.StepID         `json:"step,omitempty"`
	Role         core.Role           `json:"role"`
	Preface      string              `json:"preface,omitempty"`
	Hidden       core.HiddenKind     `json:"hidden,omitempty"`
	IsError      bool                `json:"is_error,omitempty"`
	Native       *core.Native        `json:"native,omitempty"`
	Tokens       int                 `json:"tokens,omitempty"`
	CreatedAt    sqlite.Micros       `json:"created_at,omitempty"`
}

func newInput(m *core.Message) inputData {
	return inputData{
		MessageData: newMessageData(m),
		ID:          m.ID, Agent: m.Agent, Conversation: m.Conversation, Run: m.Run, Step: m.Step, Role: m.Role, Preface: m.Preface,
		Hidden: m.Hidden, IsError: m.IsError, Native: m.Native, Tokens: m.Tokens, CreatedAt: sqlite.ToMicros(m.CreatedAt),
	}
}

func (d *inputData) message() core.Message {
	m := core.Message{
		ID:           d.ID,
		Agent:        d.Agent,
		Conversation: d.Conversation,
		Run:          d.Run,
		Step:         d.Step,
		Role:         d.Role,
		Preface:      d.Preface,
		Hidden:       d.Hidden,
		IsError:      d.IsError,
		Native:       d.Native,
		Tokens:       d.Tokens,
		CreatedAt:    d.CreatedAt.Time(),
	}
	d.into(&m)
	return m
}

func newRunRow(r *core.Run) (runRow, error) {
	d := RunData{
		Client:    r.Client,
		Config:    r.Config,
		Delivered: r.Delivered,
		Attempt:   r.Attempt,
		Restored:  r.Restored,
		Error:     r.Error,
		Notices:   r.Notices,
		Chain:     r.Chain,
		TTFT:      r.TTFT,
		StartedAt: sqlite.ToMicros(r.StartedAt),
	}
	for i := range r.Input {
		d.Input = append(d.Input, newInput(&r.Input[i]))
	}
	data, err := sqlite.Encode(d)
	return runRow{
		Number:       r.Number,
		ID:           r.ID,
		Agent:        r.Agent,
		Conversation: r.Conversation,
		Status:       r.Status,
		StopReason:   r.StopReason,
		Background:   r.Background,
		Request:      r.Request,
		CreatedAt:    sqlite.ToMicros(r.CreatedAt),
		CompletedAt:  sqlite.ToMicros(r.CompletedAt),
		Data:         data,
	}, err
}

func (r *runRow) run() (core.Run, error) {
	var d RunData
	err := sqlite.Decode(r.Data, &d)
	run := core.Run{
		ID: r.ID, Number: r.Number, Agent: r.Agent, Conversation: r.Conversation, Status: r.Status, StopReason: r.StopReason,
		Background: r.Background, Request: r.Request, Client: d.Client, Config: d.Config, Delivered: d.Delivered, Attempt: d.Attempt,
		Error: d.Error, Notices: d.Notices, Chain: d.Chain, TTFT: d.TTFT, CreatedAt: r.CreatedAt.Time(),
		StartedAt: d.StartedAt.Time(), CompletedAt: r.CompletedAt.Time(), Restored: d.Restored,
	}
	for i := range d.Input {
		run.Input = append(run.Input, d.Input[i].message())
	}
	return run, err
}

const selectRuns = `SELECT r.number, r.id, r.agent_id, r.conversation_id, r.status, r.stop_reason, r.background, r.request, r.created_at,
	r.completed_at, r.data FROM runs r`

// livingRun is true of runs that are not deleted and whose agent is not.
const livingRun = `r.deleted_at IS NULL AND EXISTS (SELECT 1 FROM agents o WHERE o.id = r.agent_id AND o.deleted_at IS NULL)`

func (s runs) Create(ctx context.Context, r *core.Run) error {
	row, err := newRunRow(r)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "create run", func(ctx context.Context, q *sqlite.Querier) error {
		if err := living(ctx, q, "agents", "agent", string(r.Agent)); err != nil {
			return err
		}
		err := q.NamedGet(ctx, &r.Number, `INSERT INTO runs
			(id, agent_id, conversation_id, status, stop_reason, background, request, created_at, completed_at, data) VALUES
			(:id, :agent_id, :conversation_id, :status, :stop_reason, :background, :request, :created_at, :completed_at, :data)
			RETURNING number`, row)
		if r.Request != "" && sqlite.IsConflict(sqlite.Classify("", err)) {
			return core.E(core.Conflict, "this request was already accepted in conversation %s", string(r.Conversation))
		}
		for i := range r.Input {
			if err == nil {
				err = images.NoteUses(ctx, q, string(r.ID), &r.Input[i])
			}
		}
		return err
	})
}

func (s runs) Get(ctx context.Context, id core.RunID) (core.Run, error) {
	ctx, q := s.v.read(ctx)
	return sqlite.One(ctx, q, "run", string(id), (*runRow).run, selectRuns+` WHERE r.id = $1 AND `+livingRun, id)
}

func (s runs) Update(ctx context.Context, r *core.Run) error {
	row, err := newRunRow(r)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "update run", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Named(ctx, `UPDATE runs SET status = :status, stop_reason = :stop_reason, background = :background, request = :request,
			completed_at = :completed_at, data = :data WHERE id = :id AND deleted_at IS NULL`, row)
		if err == nil && n == 0 {
			return sqlite.NotFound("run", string(r.ID))
		}
		return err
	})
}

// Delete marks the run; its messages stay.
func (s runs) Delete(ctx context.Context, id core.RunID) error {
	return s.v.write(ctx, "delete run", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(ctx, `UPDATE runs SET deleted_at = $1 WHERE id = $2 AND deleted_at IS NULL`, s.v.s.now(), id)
		if err == nil && n == 0 {
			return sqlite.NotFound("run", string(id))
		}
		return err
	})
}

func (s runs) List(ctx context.Context, f core.RunFilter, p core.Page) ([]core.Run, error) {
	ctx, q := s.v.read(ctx)
	o := sqlite.Order{Table: "runs", Cursor: "id", Major: "number", Minor: "id", Alias: "r.", Noun: "run"}
	w := &sqlite.Where{}
	w.And(livingRun)
	sqlite.In(w, "r.agent_id", f.Agents)
	if f.Conversation != "" {
		w.And("r.conversation_id = ?", f.Conversation)
	}
	sqlite.In(w, "r.status", f.Statuses)
	if f.StopReason != "" {
		w.And("r.stop_reason = ?", f.StopReason)
	}
	if f.Background != nil {
		w.And("r.background = ?", *f.Background)
	}
	tail, err := o.Paged(ctx, q, w, p, 100)
	if err != nil {
		return nil, err
	}
	return page(ctx, s.v, q, "list runs", (*runRow).run, selectRuns+w.String()+tail, w.Args...)
}

func (s runs) FindRequest(ctx context.Context, conv core.ConversationID, request string) (core.Run, bool, error) {
	if request == "" {
		return core.Run{}, false, nil
	}
	ctx, q := s.v.read(ctx)
	var row runRow
	ok, err := q.Find(
		ctx,
		&row,
		selectRuns+` WHERE r.conversation_id = $1 AND r.request = $2 AND r.request <> '' AND `+livingRun,
		conv,
		request,
	)
	if err != nil || !ok {
		return core.Run{}, false, sqlite.Classify("find request", err)
	}
	run, err := row.run()
	return run, err == nil, sqlite.NameDamage(err, "run", string(run.ID))
}

const selectUnfinished = selectRuns + ` WHERE r.status IN ('created', 'running') AND ` + livingRun + ` ORDER BY r.number`

func (s runs) Unfinished(ctx context.Context) ([]core.Run, error) {
	ctx, q := s.v.read(ctx)
	return list(ctx, s.v, q, "list unfinished runs", (*runRow).run, selectUnfinished)
}

func (s runs) Usage(ctx context.Context, id core.RunID) (core.Usage, int, error) {
	var sum core.Usage
	ctx, q := s.v.read(ctx)
	var data []string
	if err := q.All(ctx, &data, `SELECT data FROM steps WHERE run_id = $1 ORDER BY num`, id); err != nil {
		return sum, 0, sqlite.Classify("sum usage", err)
	}
	for _, text := range data {
		var d struct {
			Usage *core.Usage `json:"usage"`
		}
		if sqlite.Decode(text, &d) == nil && d.Usage != nil { // what a damaged step used is not known
			sum = sum.Add(*d.Usage)
		}
	}
	return sum, len(data), nil
}

// RestoreRuns marks the unfinished runs of a copy of the facts as restored, and returns how many there are.
func RestoreRuns(ctx context.Context, tx *sqlx.Tx) (int, error) {
	var rows []runRow
	if err := tx.SelectContext(ctx, &rows, selectUnfinished); err != nil {
		return 0, sqlite.Classify("mark unfinished runs", err)
	}
	for i := range rows {
		run, err := rows[i].run()
		if err != nil {
			return 0, err
		}
		run.Restored = true
		row, err := newRunRow(&run)
		if err != nil {
			return 0, err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE runs SET data = $1 WHERE id = $2`, row.Data, row.ID); err != nil {
			return 0, sqlite.Classify("mark unfinished runs", err)
		}
	}
	return len(rows), nil
}
