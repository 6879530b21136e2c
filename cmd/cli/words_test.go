package cli

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"loci/daemon/api"
	"loci/daemon/client"
)

func TestWhatIsWrongWithACommandIsSaidInPlainWords(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][2]string{
		"help nope":              {`unknown command "nope"`, "loci --help"},
		"help agnets":            {`unknown command "agnets"; did you mean loci agents?`, "loci agents"},
		"help agents lsit":       {`unknown command "lsit" of loci agents; did you mean loci agents list?`, "loci agents list"},
		"agents lsit":            {`unknown command "lsit" of loci agents; did you mean loci agents list?`, "loci agents list"},
		"memory histroy":         {`unknown command "histroy" of loci memory; did you mean loci memory history?`, "loci memory history"},
		"memory shw":             {`unknown command "shw" of loci memory; did you mean loci memory show?`, "loci memory show"},
		"memory xyzzy":           {`unknown command "xyzzy" of loci memory`, "loci memory --help"},
		"modls":                  {`unknown command "modls"; did you mean loci models?`, "loci models"},
		"memry":                  {`unknown command "memry"; did you mean loci memory?`, "loci memory"},
		"messages --limit many":  {`--limit wants a whole number, not "many"`, "loci messages --help"},
		"-p --timeout soon hi":   {`--timeout wants a time like 90s or 5m, not "soon"`, "loci --help"},
		"-p --max-steps few hi":  {`--max-steps wants a whole number, not "few"`, "loci --help"},
		"daemon logs --lines ab": {`--lines wants a whole number, not "ab"`, "loci daemon logs --help"},
	} {
		a := &app{in: strings.NewReader(""), out: &bytes.Buffer{}, errOut: &bytes.Buffer{}}
		err := a.run(t.Context(), strings.Fields(args))
		if kind, hint := explain(err); err == nil || err.Error() != want[0] || !strings.Contains(hint, want[1]) || kind != api.KindInvalid {
			t.Errorf("loci %s: %v (%s), try %q", args, err, kind, hint)
		}
	}
}

// namedCommand is a command in a text, as far as it can be told from prose: `loci` and up to two words in lower case.
var namedCommand = regexp.MustCompile(`\bloci ([a-z]+)(?: ([a-z]+))?`)

func TestEveryCommandThatAMessageNamesExists(t *testing.T) {
	t.Parallel()
	root := (&app{}).root()
	seen := 0
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(code)) {
			if strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			for _, m := range namedCommand.FindAllStringSubmatch(line, -1) {
				group, _, err := root.Find([]string{m[1]})
				if err != nil || group == root || !group.HasSubCommands() || m[2] == "" {
					continue
				}
				seen++
				if leaf, _, err := root.Find(m[1:]); err != nil || leaf == group {
					t.Errorf("%s names %q, which isn't there: %s", path, m[0], strings.TrimSpace(line))
				}
			}
		}
		return nil
	})
	if err != nil || seen < 50 {
		t.Errorf("%d commands are named, %v", seen, err)
	}
}

func TestHelpOfACommandIsStillThere(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"help"}, {"help", "agents"}, {"help", "agents", "list"}, {"help", "exit-codes"}} {
		var out bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, errOut: &out}
		if err := a.run(t.Context(), args); err != nil || out.Len() < 100 {
			t.Errorf("%v: %v, %d bytes", args, err, out.Len())
		}
	}
}

func TestTheLogTellsDurationsAsAPersonDoes(t *testing.T) {
	t.Parallel()
	line := wordsOf(`{"time":"2026-11-22T10:00:00Z","level":"INFO","msg":"run finished","dur":255000000,"steps":1234567}`)
	if !strings.Contains(line, "dur=255ms") || !strings.Contains(line, "steps=1234567") {
		t.Error(line)
	}
}

func TestJSONForATerminalKeepsItsValueAndDrivesNothing(t *testing.T) {
	t.Parallel()
	const hostile = "a\u009b31mb\u202etxt.exe\u2066c\x7f\u00e9"
	var b bytes.Buffer
	if err := writeJSON(&b, map[string]string{"k": hostile}); err != nil || !strings.Contains(b.String(), "\u202e") {
		t.Fatalf("a pipe gets %q, %v", b.String(), err)
	}
	text := escaped(b.Bytes())
	if bytes.ContainsAny(text, "\u009b\u202e\u2066\x7f") || !bytes.ContainsRune(text, 'é') {
		t.Errorf("a terminal gets %q", text)
	}
	var back map[string]string
	if err := json.Unmarshal(text, &back); err != nil || back["k"] != hostile {
		t.Errorf("it means %q, %v", back["k"], err)
	}
	if got := safe(hostile); got != "a31mbtxt.execé" {
		t.Errorf("safe: %q", got)
	}
}

func TestAServersTroubleSaysWhatToTry(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]string{429: api.KindRateLimited, 500: api.KindInternal, 503: api.KindUnavailable} {
		var said strings.Builder
		if fail(&said, &client.Error{Status: status, Kind: kind, Message: "no"}); !strings.Contains(said.String(), "\n  try: ") {
			t.Errorf("%d: %q", status, said.String())
		}
	}
	for _, wire := range []string{"llm_error", "llm_rate_limit"} {
		var said strings.Builder
		if fail(
			&said,
			(&exchange{fault: &api.Message{ErrorType: wire, ErrorText: "no"}}).outcome(),
		); !strings.Contains(
			said.String(),
			"\n  try: ",
		) {
			t.Errorf("%s: %q", wire, said.String())
		}
	}
}
