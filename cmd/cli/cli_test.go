package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

func TestEveryCommandIsKnownWithoutTheTree(t *testing.T) {
	t.Parallel()
	root := (&app{}).root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if !isCommand(c.Name()) {
			t.Errorf("%s would be taken for a prompt", c.Name())
		}
	}
	if isCommand("hello") {
		t.Error("any word is a command")
	}
}

func TestEveryCommandSaysWhatItDoes(t *testing.T) {
	t.Parallel()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short help %q", c.CommandPath(), c.Short)
		}
		if c.HasParent() && c.Name() != "exit-codes" && c.RunE == nil {
			t.Errorf("%s does nothing", c.CommandPath())
		}
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	walk((&app{}).root())
}

func TestEveryKindHasAnExitCodeOfItsOwnRow(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, row := range exitCodes() {
		for _, kind := range row.kinds {
			if _, twice := seen[kind]; twice {
				t.Errorf("%s stands twice", kind)
			}
			seen[kind] = row.code
		}
	}
	for _, kind := range []string{
		api.KindInvalid, api.KindNotFound, api.KindConflict, api.KindBusy, api.KindUnauthenticated, api.KindForbidden,
		api.KindRateLimited, api.KindNoCredit, api.KindUnavailable, api.KindTimeout, api.KindCancelled, api.KindUnsupported,
		api.KindTooLong, api.KindTooLarge, api.KindGone, api.KindPrecondition, api.KindSchemaMismatch, api.KindInternal,
	} {
		if _, ok := seen[kind]; !ok {
			t.Errorf("%s has no exit code", kind)
		}
	}
}

func TestExitCodesArePartOfTheDocs(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range exitCodes() {
		if line := fmt.Sprintf("| %d | %s |", row.code, row.means); !bytes.Contains(doc, []byte(line)) {
			t.Errorf("docs/exit-codes.md lacks %q", line)
		}
	}
}

func TestErrorsEndWithTheirCode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		code int
		said string
	}{
		{"a wrong use", invalid("no").withHint("yes"), 2, "loci: no\n  try: yes\n"},
		{"the daemon's answer", &client.Error{Kind: api.KindNotFound, Message: "gone"}, 3, "loci: gone\n"},
		{"wrapped", fmt.Errorf("open: %w", &client.Error{Kind: api.KindBusy, Message: "busy"}), 4, "loci: open: busy\n"},
		{"an interrupt says nothing", context.Canceled, 130, ""},
		{"a closed pipe says nothing", &os.PathError{Op: "write", Err: syscall.EPIPE}, 141, ""},
		{"anything else", errors.New("boom"), 1, "loci: boom\n"},
		{"text that would drive a terminal", errors.New("a\x1b[2Jb"), 1, "loci: a[2Jb\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			if code := fail(&said, tc.err); code != tc.code || said.String() != tc.said {
				t.Errorf("fail() = %d, %q; want %d, %q", code, said.String(), tc.code, tc.said)
			}
		})
	}
}

func TestPromptsAreJoinedFromWordsAndInput(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		words []string
		in    io.Reader
		want  string
		fails bool
	}{
		{"words", []string{"how", "are you"}, strings.NewReader(""), "how are you", false},
		{"input", nil, strings.NewReader("from a pipe\n"), "from a pipe", false},
		{"both", []string{"review"}, strings.NewReader("diff\n"), "review\n\ndiff", false},
		{"a dash is no word", []string{"-"}, strings.NewReader("late"), "late", false},
		{"a byte order mark is no text", nil, strings.NewReader("\xef\xbb\xbfhi"), "hi", false},
		{"nothing", []string{" "}, strings.NewReader("\n"), "", true},
		{"no text", nil, strings.NewReader("\xff\xfe"), "", true},
		{"too much", nil, io.LimitReader(endless{}, maxInput+2), "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := readPrompt(t.Context(), tc.words, tc.in, io.Discard)
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("readPrompt() = %q, %v", clip(got, 50), err)
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestWaitingForInputEndsWithTheContext(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := readPrompt(ctx, []string{"-"}, r, io.Discard); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("readPrompt() = %v", err)
	}
}

func TestTablesAlignWideTextAndStayHarmless(t *testing.T) {
	t.Parallel()
	tbl := table{head: []string{"NAME", "TEXT"}}
	tbl.add("日本", "one\ntwo")
	tbl.add("e\u0301", "\x1b[31mred")
	tbl.add("plain", "")
	var b strings.Builder
	if err := tbl.write(&b); err != nil {
		t.Fatal(err)
	}
	want := "NAME   TEXT\n日本   one two\ne\u0301      [31mred\nplain\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestEmptyTablesSayNothing(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := (&table{head: []string{"NAME"}}).write(&b); err != nil || b.Len() != 0 {
		t.Errorf("write() = %q, %v", b.String(), err)
	}
}

func TestLogLinesReadAsWords(t *testing.T) {
	t.Parallel()
	got := wordsOf(`{"time":"x","level":"INFO","msg":"run finished","steps":2,"agent":"agent-1"}`)
	if want := "x INFO  run finished agent=agent-1 steps=2"; got != want {
		t.Errorf("wordsOf() = %q, want %q", got, want)
	}
	if got := wordsOf("panic: \x1b[1m boom"); got != "panic: [1m boom" {
		t.Errorf("wordsOf() = %q", got)
	}
}

func TestFollowedLogsComeLineByLineAndSurviveRotation(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/daemon.log"
	write := func(s string, flag int) {
		f, err := os.OpenFile(path, flag|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(s); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	a := &app{out: &out}
	write("one\ntwo\nthree\nhal", os.O_TRUNC)
	at, err := a.logTail(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	write("f\n", os.O_APPEND)
	if at, err = a.logFrom(path, at); err != nil {
		t.Fatal(err)
	}
	write("new\n", os.O_TRUNC)
	if _, err = a.logFrom(path, at); err != nil {
		t.Fatal(err)
	}
	if want := "two\nthree\nhalf\nnew\n"; out.String() != want {
		t.Errorf("logs = %q, want %q", out.String(), want)
	}
}

func TestZonesAreNamesThatAreKnown(t *testing.T) {
	t.Parallel()
	for tz, want := range map[string]string{
		"Europe/Berlin": "Europe/Berlin", ":Asia/Tokyo": "Asia/Tokyo", "": "UTC", "Nowhere/None": "", "/etc/localtime": "",
	} {
		if got := zoneName(func(string) (string, bool) { return tz, true }); got != want {
			t.Errorf("zoneName(%q) = %q, want %q", tz, got, want)
		}
	}
}

func TestAnswersAreTheLastThingSaid(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	f := &exchange{
		app:   &app{out: io.Discard, errOut: &said},
		flags: &chatFlags{format: formatText},
		text:  map[string]string{},
		known: make(chan struct{}),
		told:  map[string]bool{},
	}
	for _, m := range []api.Message{
		{MessageType: api.MessageAssistant, ID: "1", RunID: "run-1", Content: api.Text("Let me ")},
		{MessageType: api.MessageAssistant, ID: "1", RunID: "run-1", Content: api.Text("look.")},
		{MessageType: api.MessageAssistant, ID: "2", RunID: "run-1", Content: api.Text("lost")},
		{MessageType: api.MessageNotice, Notice: &api.Notice{Kind: api.NoticeDiscard, Text: "again", Data: api.Object{"message_id": "2"}}},
		{MessageType: api.MessageAssistant, ID: "3", RunID: "run-1", Content: api.Text("Found it.")},
		{MessageType: "something_new", Raw: []byte(`{"message_type":"something_new"}`)},
		{MessageType: api.MessageStopReason, StopReason: api.StopEndTurn},
	} {
		if err := f.take(m); err != nil {
			t.Fatal(err)
		}
	}
	if f.answer() != "Found it." || f.run != "run-1" || f.outcome() != nil {
		t.Errorf("answer %q of %s, %v", f.answer(), f.run, f.outcome())
	}
	if want := "loci: again\n"; said.String() != want {
		t.Errorf("said %q, want %q", said.String(), want)
	}
	delete(f.text, "3")
	if f.answer() != "Let me look." {
		t.Errorf("answer %q", f.answer())
	}
}

func TestEveryEndThatIsNotGoodIsAnError(t *testing.T) {
	t.Parallel()
	for stop, code := range map[api.StopReason]int{
		api.StopEndTurn: 0, api.StopToolRule: 0, api.StopCancelled: 130, api.StopMaxSteps: 1, api.StopRequiresApproval: 4,
		api.StopNoCredits: 8, api.StopSystemPromptFull: 2, api.StopError: 1, api.StopLLMAPIError: 1, "": 6, "unheard_of": 1,
	} {
		got := exitOK
		if err := (&exchange{flags: &chatFlags{}, stop: stop}).outcome(); err != nil {
			got = fail(io.Discard, err)
		}
		if got != code {
			t.Errorf("stop %q ends with %d, want %d", stop, got, code)
		}
	}
}

func TestFailuresOfAProviderEndWithTheirCode(t *testing.T) {
	t.Parallel()
	for wire, code := range map[string]int{
		"llm_authentication": 5, "llm_error": 6, "llm_rate_limit": 8, "llm_insufficient_credits": 8, "llm_timeout": 7,
		"llm_bad_request": 1, "model_not_found": 3, "internal_error": 1, "context_window_overflow": 2,
	} {
		err := (&exchange{fault: &api.Message{ErrorType: wire, ErrorText: "no"}}).outcome()
		if got := fail(io.Discard, err); got != code {
			t.Errorf("%s ends with %d, want %d", wire, got, code)
		}
	}
	for kind, code := range map[string]int{
		api.KindUnavailable: 6, api.KindUnauthenticated: 5, api.KindNotFound: 1, api.KindInvalid: 1, "": 1,
	} {
		err := (&exchange{fault: &api.Message{ErrorType: "internal_error", ErrorKind: kind, ErrorText: "no"}}).outcome()
		if got := fail(io.Discard, err); got != code {
			t.Errorf("an error of kind %q ends with %d, want %d", kind, got, code)
		}
	}
	noKey := (&exchange{fault: &api.Message{ErrorType: "llm_authentication", ErrorKind: api.KindUnavailable, ErrorText: "no"}}).outcome()
	if got := fail(io.Discard, noKey); got != 6 {
		t.Errorf("a key that is missing ends with %d", got)
	}
}

func TestANoticeIsSaidOnce(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	f := &exchange{flags: &chatFlags{}, app: &app{errOut: &said}, told: map[string]bool{}}
	f.tell("one")
	f.tell("one")
	f.tell("")
	if want := "loci: one\n"; said.String() != want {
		t.Errorf("said %q", said.String())
	}
}

func TestArgumentsAreQuotedForAShell(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"Ada": "Ada", "": "''", "Ada L": "'Ada L'", "it's": `'it'\''s'`} {
		if got := quoteArg(in); got != want {
			t.Errorf("quoteArg(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestTheDoctorSeesTheClock(t *testing.T) {
	t.Parallel()
	if c := clockCheck(time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), "UTC"); c.Level != api.CheckError {
		t.Errorf("1970 is %s", c.Level)
	}
	if c := clockCheck(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), ""); c.Level != api.CheckWarning || c.Fix == "" {
		t.Errorf("no zone is %+v", c)
	}
}

func TestARunSaysWhatToDoAboutItsError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said map[string]any
		want string
	}{
		"its own hint": {
			map[string]any{"error_type": "internal_error", "kind": "unavailable", "hint": "start Ollama", "detail": "x"}, "start Ollama",
		},
		"only a detail":        {map[string]any{"error_type": "llm_error", "detail": "overloaded"}, "overloaded"},
		"none, by its kind":    {map[string]any{"error_type": "internal_error", "kind": "rate_limited"}, faultHint(api.KindRateLimited)},
		"none, by its type":    {map[string]any{"error_type": "llm_authentication"}, faultHint(api.KindUnauthenticated)},
		"nothing can be known": {map[string]any{"error_type": "internal_error"}, ""},
	} {
		e, failed := errorOf(api.Run{Metadata: api.Object{"error": c.said}})
		if !failed || e.hint != c.want {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestTheStatusSaysWhatWaitsForItsEmbeddingAndWhy(t *testing.T) {
	t.Parallel()
	next := api.At(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	for want, s := range map[string]*api.EmbeddingStatus{
		"": {},
		"1 text waiting; 2 archives changing models": {Waiting: 1, Moving: 2},
		"3 texts waiting; openai/e is asked again at " + next.Local().Format(time.TimeOnly) + ": no key here": {
			Waiting: 3, Troubles: []api.EmbeddingTrouble{{Model: "openai/e", Error: "no key\nhere", Next: next}},
		},
		"3 texts waiting; openai/e has stalled: it has not answered since " + next.Local().Format("2006-01-02 15:04"): {
			Waiting: 3, Troubles: []api.EmbeddingTrouble{{Model: "openai/e", Error: "it has stalled", Next: next, Stalled: &next}},
		},
		"openai/e has stalled: it has not answered since " + next.Local().Format("2006-01-02 15:04"): {
			Troubles: []api.EmbeddingTrouble{{Model: "openai/e", Error: "it has stalled", Next: next, Stalled: &next}},
		},
	} {
		if got := embeddingText(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := embeddingText(nil); got != "" {
		t.Errorf("nothing waits: %q", got)
	}
}

func TestAnArchiveSaysWhichEmbeddingCouldNotBeReached(t *testing.T) {
	t.Parallel()
	archive := api.Archive{Name: "notes", EmbeddingConfig: &api.EmbeddingConfig{Handle: new("builtin/words")}}
	if got := embeddedWith(archive); got != "notes is embedded with builtin/words" {
		t.Error(got)
	}
	archive.Metadata = api.Object{api.NotReachable: "openai/small"}
	if got := embeddedWith(archive); !strings.Contains(got, "builtin/words; openai/small is wanted") {
		t.Error(got)
	}
}

func TestADayOfASearchIsAWholeDayOfThisMachine(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.Local)
	from, until, err := (&period{since: "2026-05-01", until: "2026-05-01"}).bounds()
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[*string]time.Time{from: day, until: day.AddDate(0, 0, 1).Add(-time.Microsecond)} {
		if at, _, err := api.ParseTime(*got, time.UTC); err != nil || !at.Equal(want) {
			t.Errorf("%s, want %s: %v", *got, want, err)
		}
	}
}

func TestResultsOfAnUnfinishedIndexAreTold(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	a := &app{errOut: &said}
	a.noteFound(1, "")
	if said.Len() > 0 {
		t.Errorf("of a whole index: %q", said.String())
	}
	for partial, wants := range map[api.Partial][]string{
		api.PartialBuilding: {"nothing found yet: the search index is still being built", "still being built: results may be missing"},
		api.PartialBehind:   {"nothing found yet: some texts are still being indexed", "still being indexed: results may be missing"},
		api.PartialStalled("openai/e 5%", time.Date(2026, 11, 23, 9, 30, 0, 0, time.Local)): {
			"nothing found: not everything was searched by meaning, " +
				"because openai/e 5% has stalled: it has not answered since 2026-11-23 09:30",
			"results may be missing: not everything was searched by meaning, because openai/e 5% has stalled",
		},
	} {
		for n, want := range wants {
			said.Reset()
			a.noteFound(n, partial)
			if built := strings.Contains(
				said.String(),
				"built",
			); !strings.Contains(said.String(), want) ||
				built != (partial == api.PartialBuilding) {
				t.Errorf("of %d results, %s, it says %q", n, partial, said.String())
			}
		}
	}
	said.Reset()
	a.noteFound(0, "")
	if !strings.Contains(said.String(), "nothing found") {
		t.Errorf("of no results it says %q", said.String())
	}
}
