package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"loci/daemon/api"
)

func TestTokensThatNobodyReportedAreNullAndNotReported(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]struct{ screen, json string }{
		`{"completion_tokens":0,"prompt_tokens":0,"total_tokens":0}`: {"not reported", "null"},
		`{"completion_tokens":2,"prompt_tokens":5,"total_tokens":7}`: {"5 in, 2 out", "5"},
	} {
		c := answering(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/usage"):
				_, _ = w.Write([]byte(usage))
			case strings.HasSuffix(r.URL.Path, "/run-1"):
				_, _ = w.Write([]byte(`{"id":"run-1","status":"completed","agent_id":"agent-1"}`))
			case strings.HasSuffix(r.URL.Path, "/calls"):
				_, _ = w.Write([]byte(`{}`))
			default:
				_, _ = w.Write([]byte(`[]`))
			}
		})
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			a := &app{out: &out, errOut: &out, json: asJSON}
			if err := a.showRun(t.Context(), c, "run-1"); err != nil {
				t.Fatal(err)
			}
			if !asJSON {
				if !strings.Contains(out.String(), want.screen) {
					t.Errorf("%s: %s", usage, out.String())
				}
				continue
			}
			var shown struct {
				Usage map[string]json.RawMessage `json:"usage"`
			}
			if err := json.Unmarshal(out.Bytes(), &shown); err != nil || string(shown.Usage["prompt_tokens"]) != want.json {
				t.Errorf("%s: %s %v", usage, out.String(), err)
			}
		}
		var u api.Usage
		if err := json.Unmarshal([]byte(usage), &u); err != nil {
			t.Fatal(err)
		}
		said, err := json.Marshal((&exchange{app: &app{}, flags: &chatFlags{}, usage: u}).result(nil).Usage)
		if err != nil || !strings.Contains(string(said), `"prompt_tokens":`+want.json) {
			t.Errorf("%s: %s %v", usage, said, err)
		}
	}
}
