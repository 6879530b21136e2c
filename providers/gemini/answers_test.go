package gemini_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/gemini"
	"loci/providers/providertest"
)

// service returns a server with models of each generation.
func service(t *testing.T, turns ...providertest.Turn) *providertest.Server {
	t.Helper()
	s := providertest.NewServer(t)
	s.Models = append(providertest.GeminiModels(), s.Models...)
	s.Script(turns...)
	return s
}

func TestAnAnswerIsTheSameStreamedAndNot(t *testing.T) {
	t.Parallel()
	turn := providertest.Turn{
		Reasoning: "They want both.", Text: "Both — <now>.",
		Calls: []providertest.Call{{ID: "a", Name: "weather", Arguments: `{"city":"Ås"}`}, {ID: "b", Name: "clock", Arguments: `{}`}},
	}
	for _, model := range []string{"gemini-3.8-flash", "gemini-2.5-pro", "test-model"} {
		for name, change := range map[string]func(*providertest.Turn){
			"calls": func(*providertest.Turn) {}, "sealed": func(t *providertest.Turn) { t.Sealed = true },
			"text": func(t *providertest.Turn) { t.Calls = nil }, "length": func(t *providertest.Turn) { t.Finish = "length" },
			"no usage": func(t *providertest.Turn) { t.NoUsage = true },
			"filtered": func(t *providertest.Turn) { t.Finish, t.Refusal, t.Text, t.Calls = "SAFETY", "Not this.", "", nil },
			"blocked":  func(t *providertest.Turn) { *t = providertest.Turn{Finish: "blocked"} },
		} {
			turn := turn
			change(&turn)
			var got []providertest.Answer
			for _, q := range []gemini.Quirks{{}, {Whole: true}} {
				a, err := providertest.Collect(t.Context(), t, newClient(t, service(t, turn), "k", q), providertest.Ask(model, "hello"))
				if err != nil {
					t.Fatalf("%s %s: %v", model, name, err)
				}
				a.Deltas = 0
				for i := range a.Calls {
					if model == "gemini-2.5-pro" { // it gives no ids: ours differ
						a.Calls[i].ID = ""
					}
				}
				if name == "text" { // its signature comes too late in a stream
					a.Native = nil
				}
				got = append(got, a)
			}
			if diff := cmp.Diff(got[1], got[0]); diff != "" {
				t.Errorf("%s %s (-whole +streamed):\n%s", model, name, diff)
			}
		}
	}
}

func TestUsageCountsWhatIsCachedAndThought(t *testing.T) {
	t.Parallel()
	want := &core.Usage{Prompt: 12, Completion: 12, Total: 24, Cached: new(4), Reasoning: new(5)}
	a, err := read(t, sse(hello, stop))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, a.Usage); diff != "" {
		t.Error(diff)
	}
	a, err = read(t, sse(hello, strings.Replace(stop, `"promptTokenCount":10,"cachedContentTokenCount":4`, `"promptTokenCount":"x"`, 1)))
	if err != nil || a.Usage == nil || a.Usage.Completion != 12 || a.Usage.Cached != nil {
		t.Errorf("%+v, %v", a.Usage, err)
	}
}

func TestEveryEndIsTold(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct {
		finish core.Finish
		empty  core.Kind // if there was nothing before it
		native bool
	}{
		"STOP": {core.FinishStop, core.Unavailable, true}, "MAX_TOKENS": {core.FinishLength, "", true},
		"SAFETY": {core.FinishFiltered, "", false}, "RECITATION": {core.FinishFiltered, "", false},
		"PROHIBITED_CONTENT": {core.FinishFiltered, "", false}, "SPII": {core.FinishFiltered, "", false},
		"BLOCKLIST": {core.FinishFiltered, "", false}, "SOMETHING_NEW": {core.FinishStop, core.Unavailable, true},
		"OTHER": {core.FinishStop, core.Unavailable, true}, "MALFORMED_FUNCTION_CALL": {core.FinishStop, core.Invalid, true},
	} {
		ends := strings.Replace(stop, "STOP", reason, 1)
		a, err := read(t, sse(hello, ends))
		if err != nil || a.Finish != c.finish || a.Text != "Hello" || (a.Native != nil) != c.native {
			t.Errorf("%s: %+v, %v", reason, a, err)
		}
		a, err = read(t, sse(ends))
		if core.KindOf(err) != c.empty && (err != nil || c.empty != "") {
			t.Errorf("%s without an answer: %+v, %v", reason, a, err)
		}
		if c.finish == core.FinishFiltered && (a.Finish != core.FinishRefused || !strings.Contains(a.Text, "filter of google_ai")) {
			t.Errorf("%s without an answer: %+v", reason, a)
		}
	}
	for body, want := range map[string]string{
		`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`:                            "(prohibited content)",
		`{"promptFeedback":{"blockReason":"OTHER","blockReasonMessage":"Not this."}}`:        "Not this.",
		`{"candidates":[{"finishReason":"SAFETY","finishMessage":"The answer was unsafe"}]}`: "The answer was unsafe",
	} {
		for _, form := range []string{body, sse(body)} {
			if a, err := read(t, form); err != nil || a.Finish != core.FinishRefused || !strings.Contains(a.Text, want) || a.Native != nil {
				t.Errorf("%s: %+v, %v", form, a, err)
			}
		}
	}
}

func TestACallThatCannotBeReadIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	bad := providertest.Turn{Reasoning: "Hm.", Finish: "MALFORMED_FUNCTION_CALL", Usage: &providertest.Usage{Prompt: 10, Completion: 1}}
	good := providertest.Turn{Text: "ok", Usage: &providertest.Usage{Prompt: 10, Completion: 2}}
	for _, q := range []gemini.Quirks{{}, {Whole: true}} {
		s := service(t, bad, good)
		a, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", q), providertest.Ask("gemini-3.8-flash", "hello"))
		if err != nil || a.Text != "ok" || a.Reasoning != "Hm." || a.Usage.Prompt != 20 || a.Usage.Completion != 3 ||
			strings.Contains(string(a.Native), "Hm.") {
			t.Errorf("%+v, %v", a, err)
		}
		if r := s.Requests(); len(r) != 2 || string(r[0].Body) != string(r[1].Body) {
			t.Errorf("%d requests", len(r))
		}
		s = service(t, bad, bad, good)
		_, err = providertest.Collect(t.Context(), t, newClient(t, s, "k", q), providertest.Ask("gemini-3.8-flash", "hello"))
		if core.KindOf(err) != core.Invalid || core.HintOf(err) == "" || len(s.Requests()) != 2 {
			t.Errorf("twice: %v in %d requests", err, len(s.Requests()))
		}
	}
	said := bad
	said.Text = "Let me look."
	s := service(t, said, good)
	a, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", gemini.Quirks{}), providertest.Ask("gemini-3.8-flash", "hello"))
	if err != nil || a.Text != "Let me look." || len(s.Requests()) != 1 {
		t.Errorf("what was said is not said twice: %+v, %v", a, err)
	}
}

func TestTheNameOfACallMayHoldThePlaceOfAllTools(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"default_api:clock", "default_api.clock", "default_api::clock"} {
		a, err := read(t, sse(strings.Replace(call, `"clock"`, `"`+name+`"`, 1), stop))
		if err != nil || len(a.Calls) != 1 || a.Calls[0].Name != "clock" || a.Calls[0].Arguments != `{"city":"Rome"}` || a.Native != nil {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// failing answers every request with a status and a body.
type failing struct {
	status int
	body   string
}

func (f failing) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: f.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(f.body))}, nil
}

func TestWhatGoogleRefusesIsOfItsKind(t *testing.T) {
	t.Parallel()
	const quota = `"message":"You exceeded your current quota, please check your plan and billing details. Please retry in 34.07s.",` +
		`"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"`
	const retry = `"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]`
	for name, c := range map[string]struct {
		status int
		error  string
		want   core.Kind
		after  time.Duration
		hint   string
	}{
		"a minute's quota": {
			429, quota + "GenerateRequestsPerMinutePerProjectPerModel" + retry, core.RateLimited, 34 * time.Second, "minute",
		},
		"a day's quota": {429, quota + "GenerateRequestsPerDayPerProjectPerModel-FreeTier" + retry, core.NoCredit, 0, "used up"},
		"a free tier without the model": {
			429, quota + `GenerateContentInputTokensPerModelPerMinute-FreeTier","quotaValue":"0` + retry, core.NoCredit, 0, "used up",
		},
		"words alone": {429, `"message":"Resource has been exhausted.","status":"RESOURCE_EXHAUSTED"`, core.RateLimited, 0, ""},
		"a wrong key": {
			400, `"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]`,
			core.Unauthenticated, 0, "GEMINI_API_KEY",
		},
		"no key": {
			403, `"message":"Method doesn't allow unregistered callers","status":"PERMISSION_DENIED"`,
			core.Unauthenticated, 0, "GEMINI_API_KEY",
		},
		"no such model": {
			404, `"message":"models/x is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"`,
			core.NotFound, 0, "loci models",
		},
		"overloaded": {503, `"message":"The model is overloaded.","status":"UNAVAILABLE"`, core.Unavailable, 0, "moment"},
		"internal":   {500, `"message":"An internal error has occurred.","status":"INTERNAL"`, core.Unavailable, 0, "moment"},
		"a deadline": {504, `"message":"Deadline expired","status":"DEADLINE_EXCEEDED"`, core.Timeout, 0, ""},
		"another land": {
			400, `"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"`, core.Invalid, 0, "",
		},
		"too long": {
			400, `"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."`,
			core.TooLong, 0, "window",
		},
	} {
		o := options(failing{c.status, `[{"error":{"code":0,` + c.error + `}}]`})
		o.KeyVar = "GEMINI_API_KEY"
		_, err := providertest.Collect(t.Context(), t, gemini.New(o, gemini.Quirks{}), providertest.Ask("gemini-3.8-flash", "x"))
		var e *core.Error
		if !errors.As(err, &e) || e.Kind != c.want || e.RetryAfter != c.after || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s: %#v", name, err)
		}
	}
}
