package gemini_test

import (
	"encoding/json"
	"strings"
	"testing"

	"loci/core"
	"loci/providers/gemini"
	"loci/providers/providertest"
)

// dummy is what Google documents for the call of another model.
const dummy = `"thoughtSignature":"skip_thought_signature_validator"`

func TestATurnGoesBackPartByPartAsItCame(t *testing.T) {
	t.Parallel()
	const first = `{"candidates":[{"content":{"parts":[{"text":"Let me ","future":[1, 2]},{"text":"look"}]}}]}`
	const second = `{"candidates":[{"content":{"parts":[{"text":" now."},{"text":"","thoughtSignature":"dGV4dA=="},` +
		`{"functionCall":{"id":"a","name":"clock","args":{"city":"Rome", "at":1.0}},"thoughtSignature":"Y2FsbA=="},` +
		`{"functionCall":{"id":"b","name":"clock"}}]}}]}`
	a, err := read(t, sse(thought, thought, first, second, stop))
	if err != nil || a.Text != "Let me look now." || a.Reasoning != "Hm.Hm." || len(a.Calls) != 2 {
		t.Fatalf("%+v, %v", a, err)
	}
	seen := &picky{}
	req := providertest.Ask("gemini-3.8-flash", "x")
	req.Messages = append(req.Messages, providertest.Continue(a, "noon")...)
	if _, err := providertest.Collect(t.Context(), t, gemini.New(options(seen), gemini.Quirks{}), req); err != nil {
		t.Fatal(err)
	}
	const want = `{"role":"model","parts":[{"text":"Hm.Hm.","thought":true},{"text":"Let me ","future":[1,2]},{"text":"look now."},` +
		`{"text":"","thoughtSignature":"dGV4dA=="},` +
		`{"functionCall":{"id":"a","name":"clock","args":{"city":"Rome","at":1.0}},"thoughtSignature":"Y2FsbA=="},` +
		`{"functionCall":{"id":"b","name":"clock"}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"a","name":"clock","response":{"output":"noon"}}},` +
		`{"functionResponse":{"id":"b","name":"clock","response":{"output":"noon"}}}]}`
	if !strings.Contains(string(seen.last), want) {
		t.Errorf("sent %s", seen.last)
	}
}

func TestSignaturesLastOverStepsAndTurns(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"gemini-3.8-flash", "gemini-2.5-flash"} {
		s := service(t)
		client := newClient(t, s, "k", gemini.Quirks{})
		const plan = "THINK one\nCALL weather {\"city\":\"Oslo\"}\nCALL& clock\nTHINK two\nCALL clock\nTHINK three\nSAY done"
		req := providertest.Ask(model, plan)
		for range 2 {
			for range 3 {
				a, err := providertest.Collect(t.Context(), t, client, req)
				if err != nil {
					t.Fatalf("%s: %v", model, err)
				}
				turn := providertest.Continue(a, "ok")
				if len(a.Calls) == 0 {
					turn = turn[:1]
				}
				req.Messages = append(req.Messages, turn...)
			}
			req.Messages = append(req.Messages, req.Messages[0])
		}
		// Two calls and a text of each turn but the last text, which has not gone back yet.
		body := string(s.Last().Body)
		if n := strings.Count(body, `"thoughtSignature"`); n != 5 || strings.Contains(body, dummy) || s.Refusals() > 0 {
			t.Errorf("%s: %d signatures, %d refused: %s", model, n, s.Refusals(), body)
		}
		if r := s.Requests(); r[5].CacheRead != r[4].Tokens {
			t.Errorf("%s: %d of %d tokens are cached", model, r[5].CacheRead, r[4].Tokens)
		}
	}
}

func TestTheCallOfAnotherModelHasTheSignatureForThat(t *testing.T) {
	t.Parallel()
	foreign := providertest.Continue(providertest.Answer{Text: "Both.", Reasoning: "Not ours.", Calls: []core.ToolCall{
		{ID: "functions.weather:0", Name: "weather", Arguments: `{"city":"Oslo"}`}, {ID: "call_0", Name: "clock", Arguments: `{}`},
	}}, "ok")
	for model, want := range map[string]int{"gemini-3.8-flash": 1, "gemini-flash-latest": 1, "gemini-2.5-pro": 0, "gemma-4-27b-it": 0} {
		s := service(t, providertest.Turn{Text: "ok"})
		req := providertest.Ask(model, "hello")
		req.Messages = append(req.Messages, foreign...)
		if _, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", gemini.Quirks{}), req); err != nil {
			t.Fatalf("%s: %v", model, err)
		}
		body := string(s.Last().Body)
		if n := strings.Count(body, dummy); n != want || strings.Contains(body, "Not ours") {
			t.Errorf("%s: %d: %s", model, n, body)
		}
		var parts []struct {
			Call json.RawMessage `json:"functionCall"`
			Sign string          `json:"thoughtSignature"`
		}
		for _, raw := range lastSent(t, s).Contents[1].Parts {
			parts = append(parts, struct {
				Call json.RawMessage `json:"functionCall"`
				Sign string          `json:"thoughtSignature"`
			}{})
			if err := json.Unmarshal(raw, &parts[len(parts)-1]); err != nil {
				t.Fatal(err)
			}
		}
		if len(parts) != 3 || (parts[1].Sign != "") != (want > 0) || parts[2].Sign != "" || parts[0].Sign != "" {
			t.Errorf("%s: %+v", model, parts)
		}
	}
}

func TestACallThatLostItsSignatureOnTheWayGetsOne(t *testing.T) {
	t.Parallel()
	a, err := read(t, sse(strings.Replace(call, `,"thoughtSignature":"c2ln"`, "", 1), stop))
	if err != nil || a.Native == nil {
		t.Fatalf("%+v, %v", a, err)
	}
	seen := &picky{}
	req := providertest.Ask("gemini-3.8-flash", "x")
	req.Messages = append(req.Messages, providertest.Continue(a, "noon")...)
	if _, err := providertest.Collect(t.Context(), t, gemini.New(options(seen), gemini.Quirks{}), req); err != nil ||
		!strings.Contains(string(seen.last), dummy) || strings.Contains(string(seen.last), `"id"`) {
		t.Errorf("%v, %s", err, seen.last)
	}
}

func TestResponsesAnswerTheCallsInTheirOrder(t *testing.T) {
	t.Parallel()
	turn := providertest.Turn{Calls: []providertest.Call{
		{ID: "a", Name: "weather", Arguments: `{"city":"Oslo"}`},
		{ID: "b", Name: "clock", Arguments: `{}`},
		{ID: "c", Name: "weather", Arguments: `{"city":"Rome"}`},
	}}
	for _, model := range []string{"gemini-3.8-flash", "gemini-2.5-pro"} {
		s := service(t, turn, providertest.Turn{Text: "ok"})
		client := newClient(t, s, "k", gemini.Quirks{})
		req := providertest.Ask(model, "hello")
		a, err := providertest.Collect(t.Context(), t, client, req)
		if err != nil {
			t.Fatal(err)
		}
		messages := providertest.Continue(a, "")
		r := messages[1].Returns
		for i := range r {
			r[i].Text = "return " + a.Calls[i].Arguments
		}
		r[0], r[2], r[1].IsError = r[2], r[0], true // as they came in
		req.Messages = append(req.Messages, messages...)
		if _, err := providertest.Collect(t.Context(), t, client, req); err != nil {
			t.Fatalf("%s: %v", model, err)
		}
		got := string(s.Last().Body)
		at := -1
		for _, want := range []string{
			`"output":"return {\"city\":\"Oslo\"}"`, `"error":"return {}"`, `"output":"return {\"city\":\"Rome\"}"`,
		} {
			next := strings.Index(got, want)
			if next <= at {
				t.Errorf("%s: %s stands at %d, behind %d", model, want, next, at)
			}
			at = next
		}
	}
}

func TestImagesStandWhereTheyWereSaidAndInWhatToolsReturned(t *testing.T) {
	t.Parallel()
	png := core.Picture{Image: core.Image{Type: "image/png", Width: 1, Height: 1, Bytes: 3}, Data: []byte("abc")}
	const image = `{"inlineData":{"mimeType":"image/png","data":"YWJj"}}`
	for model, want := range map[string]string{
		"gemini-3.8-flash": `"response":{"output":"noon"},"parts":[` + image + `]}}]}`,
		"gemini-2.5-pro": `"response":{"output":"noon"}}}]},{"role":"user","parts":[{"text":"<system-reminder>\nThe images that clock ` +
			`returned follow.\n</system-reminder>\n"},` + image + `]}`,
	} {
		s := service(t, providertest.Turn{Text: "ok"})
		req := providertest.Ask(model, "first  then")
		req.Messages[0].Pictures = []core.PictureAt{{Picture: png, At: 6}}
		asked := providertest.Answer{Calls: []core.ToolCall{{ID: "a", Name: "clock"}}}
		req.Messages = append(req.Messages, providertest.Continue(asked, "noon")...)
		req.Messages[2].Returns[0].Pictures = []core.Picture{png}
		if _, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", gemini.Quirks{}), req); err != nil {
			t.Fatalf("%s: %v", model, err)
		}
		body := string(s.Last().Body)
		for _, want := range []string{`{"text":"first "},` + image + `,{"text":" then"}`, want} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %s in %s", model, want, body)
			}
		}
	}
}
