package server

import (
	"net/http"
	"testing"
	"time"

	"loci/core"
	"loci/daemon/api"
)

func TestTheTracesOfAStepAndARunAreTheContracts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	parts, _ := f.srv.now()
	a := f.agent(nil)
	f.call("POST", "/v1/agents/"+a.ID+"/messages", text("hi")).want(http.StatusOK)
	run := as[[]api.Run](f.call("GET", "/v1/runs?agent_id="+a.ID, nil).want(http.StatusOK))[0]
	step := as[[]api.Step](f.call("GET", "/v1/runs/"+run.ID+"/steps", nil).want(http.StatusOK))[0]
	if got := string(f.call("GET", "/v1/steps/"+step.ID+"/trace", nil).want(http.StatusOK).body); got != "null\n" && got != "null" {
		t.Errorf("of a step without a trace: %q", got)
	}
	for n, answer := range []string{`{"error":"busy"}`, "data: {}\n\n"} {
		one := core.Trace{
			ID: core.NewTraceID(), Model: "test/model", Attempt: n + 1, At: time.Unix(int64(n), 0),
			First: time.Second, Took: 2 * time.Second,
			Charge: core.Charge{Agent: core.AgentID(a.ID), Run: core.RunID(run.ID), Step: core.StepID(step.ID), For: core.ForStep},
			Method: "POST", URL: "http://h/v1/chat/completions", Status: 200,
		}
		one.Request.Body, one.Response.Body = `{"model":"m"}`, answer
		parts.Traces.Record(t.Context(), &one)
	}
	for _, path := range []string{"/v1/steps/" + step.ID + "/trace", "/v1/telemetry/" + step.ID} {
		got := as[api.ProviderTrace](f.call("GET", path, nil).want(http.StatusOK))
		if got.RequestJSON["model"] != "m" || got.ResponseJSON["body"] != "data: {}\n\n" || api.Val(got.CallType) != api.CallStep ||
			api.Val(got.RunID) != run.ID || api.Val(got.StepID) != step.ID {
			t.Errorf("%s: %+v", path, got)
		}
	}
	all := as[[]api.Trace](f.call("GET", "/v1/runs/"+run.ID+"/trace", nil).want(http.StatusOK))
	if len(all) != 2 || all[0].Response.Body != `{"error":"busy"}` || all[1].Attempt != 2 || all[1].DurationMS != 2000 {
		t.Errorf("%+v", all)
	}
	f.call("GET", "/v1/steps/step-123e4567-e89b-42d3-8456-426614174000/trace", nil).want(http.StatusNotFound)
}
