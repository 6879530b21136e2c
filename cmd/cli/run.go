package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// runsCommand is `loci runs`: what agents were asked, and how it went.
func (a *app) runsCommand() *cobra.Command {
	return parent("runs", "List, show and cancel runs", a.runsList(), a.runsShow(), a.runsCancel())
}

func (a *app) runsList() *cobra.Command {
	var limit int
	var agent string
	var active, cost bool
	c := &cobra.Command{
		Use: "list", Short: "List runs, the newest first", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			q := api.ListRuns{Page: api.Page{Limit: orDefault(limit, 20), Order: "desc"}, Active: active}
			if q.AgentID, err = a.onlyOf(ctx, c, agent); err != nil {
				return err
			}
			runs, err := c.Runs(ctx, q)
			if err != nil {
				return err
			}
			if cost {
				return a.listCosts(ctx, c, runs)
			}
			if a.json {
				return writeJSON(a.out, nonNil(runs))
			}
			names := map[string]string{}
			if len(runs) > 0 {
				if names, err = agentNames(ctx, c); err != nil {
					return err
				}
			}
			t := table{
				head:   []string{"ID", "STATUS", "STOP", "STARTED", "TOOK", "AGENT"},
				single: true, spare: []string{"STOP", "TOOK"},
			}
			for _, r := range runs {
				who := cmp.Or(names[r.AgentID], r.AgentID)
				t.add(r.ID, statusText(r), stopText(r.StopReason), moment(&r.CreatedAt), took(r), who)
			}
			return a.list(t, "there are no runs yet")
		},
	}
	c.Flags().IntVar(&limit, "limit", 0, "how many at most (20)")
	onlyOfFlag(c, &agent)
	c.Flags().BoolVar(&active, "active", false, "only those that have not ended")
	c.Flags().BoolVar(&cost, "cost", false, "what each used and cost")
	return c
}

func (a *app) runsShow() *cobra.Command {
	var prompt, trace bool
	cmd := &cobra.Command{
		Use:   "show RUN|STEP",
		Short: "Show a run, its usage and its steps; of a step, exactly what was sent",
		Args:  exactly("the run's or step's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := knownRun(args[0]); err != nil {
				return err
			}
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			switch run := strings.HasPrefix(args[0], "run-"); {
			case trace && prompt:
				return invalid("--prompt and --trace exclude each other")
			case trace && !run:
				return invalid("--trace is of a run, and %s is a step", args[0])
			case trace:
				return a.showTrace(ctx, c, args[0])
			}
			if prompt || strings.HasPrefix(args[0], "step-") {
				step, err := stepOf(ctx, c, args[0])
				if err != nil {
					return err
				}
				return a.printSent(ctx, c, step)
			}
			return a.showRun(ctx, c, args[0])
		},
	}
	cmd.Flags().BoolVar(&trace, "trace", false, "list the run's requests to models; with --json whole, a line for each")
	cmd.Flags().BoolVar(&prompt, "prompt", false, "print exactly what was sent to the model: by this step, or by the run's last one")
	return cmd
}

func (a *app) runsCancel() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN",
		Short: "Cancel a run that has not ended; what it said and did so far stays",
		Args:  exactly("the run's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if !isID(args[0], "run") {
				return noSuch("run", args[0], "loci runs list --active")
			}
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			r, err := c.Run(ctx, args[0])
			if err != nil {
				return err
			}
			if !r.Status.Active() {
				return &fault{kind: api.KindConflict, msg: fmt.Sprintf("%s has already ended: %s", r.ID, r.Status)}
			}
			said, err := c.Cancel(ctx, r.AgentID, r.ID)
			if err != nil {
				return err
			}
			return a.report(said, "%s is cancelled", r.ID)
		},
	}
}

// showRun prints a run: what was asked, how it went and, if it failed, why.
func (a *app) showRun(ctx context.Context, c *client.Client, id string) error {
	r, err := c.Run(ctx, id)
	if err != nil {
		return err
	}
	u, err := c.RunUsage(ctx, id)
	if err != nil {
		return err
	}
	steps, err := c.RunSteps(ctx, id, api.Page{Limit: 1000, Order: "asc"})
	if err != nil {
		return err
	}
	asked, err := runInput(ctx, c, id)
	if err != nil {
		return err
	}
	calls, err := c.RunCalls(ctx, id)
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.out, map[string]any{
			"run": r, "usage": reportedOf(u), "steps": nonNil(steps), "input": nonNil(asked), "calls": nonNil(calls),
		})
	}
	t := table{head: []string{"RUN", r.ID}}
	t.add("status", statusText(r))
	if waits := r.Waits(); waits != "" {
		t.add("waits", waits)
	}
	t.add("stop", stopText(r.StopReason))
	if e, failed := errorOf(r); failed {
		t.add("error", e.message)
		t.add("type", e.wire)
		if e.hint != "" {
			t.add("try", e.hint)
		}
	}
	t.add("agent", r.AgentID)
	t.add("started", moment(&r.CreatedAt))
	t.add("took", took(r))
	tokens := "not reported"
	if u.TotalTokens > 0 {
		tokens = fmt.Sprintf("%d in, %d out", u.PromptTokens, u.CompletionTokens)
	}
	t.add("tokens", tokens)
	for _, m := range asked {
		t.add("input", clip(m.Content.Shown(), shownInput))
	}
	for _, call := range calls {
		t.add("call", callText(call))
	}
	t.add("steps", strconv.Itoa(len(steps)))
	for _, s := range steps {
		times, err := c.StepMetrics(ctx, s.ID)
		if err != nil {
			return err
		}
		t.add("", fmt.Sprintf("%s  %s  %s  %s", stepTimes(times), s.ID, text(s.Model), text(s.Status)))
	}
	return t.write(a.out)
}

// callText says what became of a call, and what let it pass or kept it from that.
func callText(c api.RunCall) string {
	text := c.Name + ": " + c.Outcome
	if c.Passed != "" {
		text += "; allowed by " + c.Passed
	}
	if c.Hooked != "" {
		text += "; " + c.Hooked
	}
	if len(c.Layers) > 0 {
		text += "; sandbox: " + strings.Join(c.Layers, ", ")
	}
	return text
}

// stepTimes says when a step began and how long it took; a step that never reached a model has no times.
func stepTimes(m api.StepMetrics) string {
	began, took := "-", "-"
	if m.StepStartNS != nil {
		began = time.Unix(0, *m.StepStartNS).Local().Format(time.TimeOnly)
	}
	if m.StepNS != nil {
		took = time.Duration(*m.StepNS).Round(time.Millisecond).String()
	}
	return began + "  " + took
}

// shownInput is how many characters of a run's input a person sees; --json has all of it.
const shownInput = 2000

// runInput is what a run was asked. If the run failed, this is the only place that has it.
func runInput(ctx context.Context, c *client.Client, id string) ([]api.Message, error) {
	msgs, err := c.RunMessages(ctx, id, api.Page{Order: "asc"})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(msgs, func(m api.Message) bool {
		return m.MessageType != api.MessageUser && m.MessageType != api.MessageUserInput
	}), nil
}

// runError is why a run failed, from its metadata.
type runError struct{ wire, message, hint string }

func errorOf(r api.Run) (runError, bool) {
	e, ok := r.Metadata["error"].(map[string]any)
	if !ok {
		return runError{}, false
	}
	word := func(key string) string { s, _ := e[key].(string); return s }
	out := runError{wire: word("error_type"), message: word("message"), hint: cmp.Or(word("hint"), word("detail"))}
	if out.hint == "" {
		out.hint = faultHint(faultKind(out.wire, word("kind")))
	}
	return out, true
}

// faultHint is what to do about a kind of error if the run stored no hint.
func faultHint(kind string) string {
	switch kind {
	case api.KindUnauthenticated:
		return "set the provider's key anew, then send it again; loci doctor"
	case api.KindRateLimited, api.KindUnavailable, api.KindTimeout:
		return "send it again later; loci doctor says what can be reached"
	case api.KindNoCredit:
		return "top the provider's account up, or choose another model: loci models"
	case api.KindTooLong:
		return "send less, or choose a model with a larger window: loci models"
	}
	return ""
}

// stepOf resolves an id to a step: the step itself, or the last one of a run.
func stepOf(ctx context.Context, c *client.Client, id string) (string, error) {
	if strings.HasPrefix(id, "step-") {
		return id, nil
	}
	steps, err := c.RunSteps(ctx, id, api.Page{Limit: 1})
	if err != nil {
		return "", err
	}
	if len(steps) == 0 {
		return "", &fault{kind: api.KindConflict, msg: "the run never asked a model"}
	}
	return steps[0].ID, nil
}

// statusText is a run's status; one that waits is not at work.
func statusText(r api.Run) string {
	if r.Status == api.RunRunning && r.Waits() != "" {
		return "waiting"
	}
	return string(r.Status)
}

func stopText(r *api.StopReason) string {
	if r == nil || *r == "" {
		return "-"
	}
	return string(*r)
}

func took(r api.Run) string {
	if r.TotalDurationNS == nil {
		return "-"
	}
	return time.Duration(*r.TotalDurationNS).Round(time.Millisecond).String()
}

// usageReport is what a run used; null is what no provider reported, where the API says 0.
type usageReport struct {
	CompletionTokens *int `json:"completion_tokens"`
	PromptTokens     *int `json:"prompt_tokens"`
	TotalTokens      *int `json:"total_tokens"`

	PromptTokensDetails     *api.PromptTokenDetails     `json:"prompt_tokens_details"`
	CompletionTokensDetails *api.CompletionTokenDetails `json:"completion_tokens_details"`
}

func reportedOf(u api.RunUsage) usageReport {
	out := usageReport{PromptTokensDetails: u.PromptTokensDetails, CompletionTokensDetails: u.CompletionTokensDetails}
	if u.TotalTokens > 0 {
		out.CompletionTokens, out.PromptTokens, out.TotalTokens = &u.CompletionTokens, &u.PromptTokens, &u.TotalTokens
	}
	return out
}
