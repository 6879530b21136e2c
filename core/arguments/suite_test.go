package arguments

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// officialSuite returns the tests of the JSON Schema organisation, by draft and file. The module that schemas of tools are made
// with brings them.
func officialSuite(t *testing.T) map[string][]byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	if err != nil {
		t.Fatalf("the module that has the tests is not there: %v", err)
	}
	suite := map[string][]byte{}
	for _, draft := range []string{"draft7", "draft2020-12"} {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "jsonschema", "testdata", draft, "*.json"))
		if err != nil || len(files) < 30 {
			t.Fatalf("%s: %d files, %v", draft, len(files), err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			suite[draft+"/"+filepath.Base(name)] = text
		}
	}
	return suite
}

// TestTheOfficialSuiteIsJudgedAsItSays judges by every schema of the suite that is one for arguments of a tool: one that names
// itself, has anchors or refers elsewhere is refused.
func TestTheOfficialSuiteIsJudgedAsItSays(t *testing.T) {
	t.Parallel()
	judged, refused := 0, map[string]int{}
	for name, text := range officialSuite(t) {
		var groups []struct {
			Description string
			Schema      json.RawMessage
			Tests       []struct {
				Description string
				Data        json.RawMessage
				Valid       bool
			}
		}
		if err := json.Unmarshal(text, &groups); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, group := range groups {
			s, err := Compile(named(group.Schema, draft(name)))
			if err != nil {
				refused[name]++
				continue
			}
			for _, test := range group.Tests {
				given, err := decode(string(test.Data))
				if err != nil {
					t.Fatal(err)
				}
				faults, err := s.judge(given)
				if judged++; err != nil || test.Valid != (len(faults) == 0) {
					t.Errorf("%s: %s: %s: %q, %v, want valid: %t", name, group.Description, test.Description, faults, err, test.Valid)
				}
			}
		}
	}
	want := map[string]int{
		"draft2020-12/anchor.json": 4, "draft2020-12/defs.json": 1, "draft2020-12/dynamicRef.json": 20, "draft2020-12/ref.json": 24,
		"draft2020-12/refRemote.json": 15, "draft2020-12/unevaluatedItems.json": 1, "draft2020-12/unevaluatedProperties.json": 1,
		"draft7/definitions.json": 1, "draft7/ref.json": 25, "draft7/refRemote.json": 11,
	}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Errorf("groups refused (-want +got):\n%s", diff)
	}
	if judged < 1700 {
		t.Errorf("only %d judged", judged)
	}
}

func draft(name string) string {
	if strings.HasPrefix(name, "draft7/") {
		return "http://json-schema.org/draft-07/schema#"
	}
	return "https://json-schema.org/draft/2020-12/schema"
}

// named gives a schema the draft that it is written in, if it names none.
func named(schema json.RawMessage, draft string) json.RawMessage {
	rest, ok := strings.CutPrefix(strings.TrimSpace(string(schema)), "{")
	if !ok || strings.Contains(rest, `"$schema"`) || strings.HasPrefix(strings.TrimSpace(rest), "}") {
		return schema
	}
	return json.RawMessage(`{"$schema":"` + draft + `",` + rest)
}
