package storage

import (
	"context"
	"time"

	"loci/core"
)

type runs struct{ v *view }

type runRow struct {
	Number       int64               `db:"number"`
	ID           core.RunID          `db:"id"`
	Agent        core.AgentID        `db:"agent_id"`
	Conversation core.ConversationID `db:"conversation_id"`
	Status       core.RunStatus      `db:"status"`
	StopReason   core.StopReason     `db:"stop_reason"`
	Background   bool                `db:"background"`
	Request      string              `db:"request"`
	CreatedAt    micros              `db:"created_at"`
	CompletedAt  micros              `db:"completed_at"`
	Data         string              `db:"data"`
}

type runData struct {
	Client    core.Client    `json:"client"`
	Config    core.RunConfig `json:"config"`
	Input     []inputData    `json:"input,omitempty"`
	Delivered bool           `json:"delivered,omitempty"`
	Attempt   int            `json:"attempt,omitempty"`
	Error     *core.RunError `json:"error,omitempty"`
	Notices   []string       `json:"notices,omitempty"`
	Chain     []core.RunID   `json:"chain,omitempty"`
	TTFT      time.Duration  `json:"ttft,omitempty"`
	StartedAt micros         `json:"started_at,omitempty"`
}

// inputData is a message of a run's input, before it became one of the conversation.
type inputData struct {
	messageData
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
	CreatedAt    micros              `json:"created_at,omitempty"`
}

func newInput(m *core.Message) inputData {
	return inputData{
		messageData: newMessageData(m),
		ID:          m.ID, Agent: m.Agent, Conversation: m.Conversation, Run: m.Run, Step: m.Step, Role: m.Role, Preface: m.Preface,
		Hidden: m.Hidden, IsError: m.IsError, Native: m.Native, Tokens: m.Tokens, CreatedAt: toMicros(m.CreatedAt),
	}
}

func (d *inputData) message() core.Message {
	m := core.Message{
		ID: d.ID, Agent: d.Agent, Conversation: d.Conversation, Run: d.Run, Step: d.Step, Role: d.Role, Preface: d.Preface, Hidden: d.Hidden,
		IsError: d.IsError, Native: d.Native, Tokens: d.Tokens, CreatedAt: d.CreatedAt.time(),
	}
	d.into(&m)
	return m
}

func newRunRow(r *core.Run) (runRow, error) {
	d := runData{
		Client: r.Client, Config: r.Config, Delivered: r.Delivered, Attempt: r.Attempt, Error: r.Error, Notices: r.Notices, Chain: r.Chain, TTFT: r.TTFT, StartedAt: toMicros(r.StartedAt),
	}
	for i := range r.Input {
		d.Input = append(d.Input, newInput(&r.Input[i]))
	}
	data, err := encode(d)
	return runRow{
		Number: r.Number, ID: r.ID, Agent: r.Agent, Conversation: r.Conversation, Status: r.Status, StopReason: r.StopReason,
		Background: r.Background, Request: r.Request, CreatedAt: toMicros(r.CreatedAt), CompletedAt: toMicros(r.CompletedAt), Data: data,
	}, err
}

func (r *runRow) run() (core.Run, error) {
	var d runData
	if err := decode(r.Data, &d); err != nil {
		return core.Run{}, err
	}
	run := core.Run{
		ID: r.ID, Number: r.Number, Agent: r.Agent, Conversation: r.Conversation, Status: r.Status, StopReason: r.StopReason,
		Background: r.Background, Request: r.Request, Client: d.Client, Config: d.Config, Delivered: d.Delivered, Attempt: d.Attempt,
		Error: d.Error, Notices: d.Notices, Chain: d.Chain, TTFT: d.TTFT, CreatedAt: r.CreatedAt.time(),
		StartedAt: d.StartedAt.time(), CompletedAt: r.CompletedAt.time(),
	}
	for i := range d.Input {
		run.Input = append(run.Input, d.Input[i].message())
	}
	return run, nil
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
	return s.v.write(ctx, "create run", func(ctx context.Context, q *querier) error {
		if err := living(ctx, q, "agents", "agent", string(r.Agent)); err != nil {
			return err
		}
		err := q.namedGet(ctx, &r.Number, `INSERT INTO runs
			(id, agent_id, conversation_id, status, stop_reason, background, request, created_at, completed_at, data) VALUES
			(:id, :agent_id, :conversation_id, :status, :stop_reason, :background, :request, :created_at, :completed_at, :data)
			RETURNING number`, row)
		if r.Request != "" && isConflict(classify("", err)) {
			return core.E(core.Conflict, "this request was already accepted in conversation %s", string(r.Conversation))
		}
		return err
	})
}

func (s runs) Get(ctx context.Context, id core.RunID) (core.Run, error) {
	ctx, q := s.v.read(ctx)
	var row runRow
	ok, err := q.find(ctx, &row, selectRuns+` WHERE r.id = $1 AND `+livingRun, id)
	if err != nil {
		return core.Run{}, classify("get run", err)
	}
	if !ok {
		return core.Run{}, notFound("run", string(id))
	}
	return row.run()
}

func (s runs) Update(ctx context.Context, r *core.Run) error {
	row, err := newRunRow(r)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "update run", func(ctx context.Context, q *querier) error {
		n, err := q.named(ctx, `UPDATE runs SET status = :status, stop_reason = :stop_reason, background = :background, request = :request,
			completed_at = :completed_at, data = :data WHERE id = :id AND deleted_at IS NULL`, row)
		if err == nil && n == 0 {
			return notFound("run", string(r.ID))
		}
		return err
	})
}

// Delete marks the run; its messages stay.
func (s runs) Delete(ctx context.Context, id core.RunID) error {
	return s.v.write(ctx, "delete run", func(ctx context.Context, q *querier) error {
		n, err := q.exec(ctx, `UPDATE runs SET deleted_at = $1 WHERE id = $2 AND deleted_at IS NULL`, s.v.s.now(), id)
		if err == nil && n == 0 {
			return notFound("run", string(id))
		}
		return err
	})
}

func (s runs) List(ctx context.Context, f core.RunFilter, p core.Page) ([]core.Run, error) {
	ctx, q := s.v.read(ctx)
	o := order{table: "runs", cursor: "id", major: "number", minor: "id", alias: "r.", noun: "run"}
	w := &where{}
	w.and(livingRun)
	in(w, "r.agent_id", f.Agents)
	if f.Conversation != "" {
		w.and("r.conversation_id = ?", f.Conversation)
	}
	in(w, "r.status", f.Statuses)
	if f.StopReason != "" {
		w.and("r.stop_reason = ?", f.StopReason)
	}
	if f.Background != nil {
		w.and("r.background = ?", *f.Background)
	}
	tail, err := o.paged(ctx, q, w, p, 100)
	if err != nil {
		return nil, err
	}
	var rows []runRow
	if err := q.all(ctx, &rows, selectRuns+w.String()+tail, w.args...); err != nil {
		return nil, classify("list runs", err)
	}
	return convert(rows, (*runRow).run)
}

func (s runs) FindRequest(ctx context.Context, conv core.ConversationID, request string) (core.Run, bool, error) {
	if request == "" {
		return core.Run{}, false, nil
	}
	ctx, q := s.v.read(ctx)
	var row runRow
	ok, err := q.find(ctx, &row, selectRuns+` WHERE r.conversation_id = $1 AND r.request = $2 AND r.request <> '' AND `+livingRun, conv, request)
	if err != nil || !ok {
		return core.Run{}, false, classify("find request", err)
	}
	run, err := row.run()
	return run, err == nil, err
}

func (s runs) Unfinished(ctx context.Context) ([]core.Run, error) {
	ctx, q := s.v.read(ctx)
	var rows []runRow
	err := q.all(ctx, &rows, selectRuns+` WHERE r.status IN ('created', 'running') AND `+livingRun+` ORDER BY r.number`)
	if err != nil {
		return nil, classify("list unfinished runs", err)
	}
	return convert(rows, (*runRow).run)
}

func (s runs) Usage(ctx context.Context, id core.RunID) (core.Usage, int, error) {
	var sum core.Usage
	ctx, q := s.v.read(ctx)
	var data []string
	if err := q.all(ctx, &data, `SELECT data FROM steps WHERE run_id = $1 ORDER BY num`, id); err != nil {
		return sum, 0, classify("sum usage", err)
	}
	for _, text := range data {
		var d struct {
			Usage *core.Usage `json:"usage"`
		}
		if err := decode(text, &d); err != nil {
			return sum, 0, err
		}
		if d.Usage != nil {
			sum = sum.Add(*d.Usage)
		}
	}
	return sum, len(data), nil
}
