package memory

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func TestThePrefaceSaysTheTimeThePauseAndTheFolder(t *testing.T) {
	t.Parallel()
	now := at(t, "Europe/Berlin", "2026-11-23 09:15")
	tests := []struct {
		name               string
		now, last          time.Time
		folder, lastFolder string
		want               string
	}{
		{"a first message", now, time.Time{}, "", "", "[Monday 2026-11-23 09:15 CET (UTC+01:00)]"},
		{
			"a long pause and a new folder", now, now.Add(-62 * time.Hour), "/home/ada/x", "/home/ada/y",
			"[Monday 2026-11-23 09:15 CET (UTC+01:00); 2 days 14 hours since the last message; folder /home/ada/x]",
		},
		{"the same folder", now, now.Add(-time.Minute), "/x", "/x", "[Monday 2026-11-23 09:15 CET (UTC+01:00)]"},
		{"an hour is not more than an hour", now, now.Add(-time.Hour), "", "/x", "[Monday 2026-11-23 09:15 CET (UTC+01:00)]"},
		{
			"just over an hour",
			now,
			now.Add(-61 * time.Minute),
			"",
			"",
			"[Monday 2026-11-23 09:15 CET (UTC+01:00); 1 hour 1 minute since the last message]",
		},
		{"whole days", now, now.Add(-72 * time.Hour), "", "", "[Monday 2026-11-23 09:15 CET (UTC+01:00); 3 days since the last message]"},
		{"a clock that went back", now, now.Add(time.Hour), "", "", "[Monday 2026-11-23 09:15 CET (UTC+01:00)]"},
		{"UTC", now.UTC(), time.Time{}, "", "", "[Monday 2026-11-23 08:15 UTC]"},
		{
			"a zone without a name",
			at(t, "America/Sao_Paulo", "2026-11-23 09:15"),
			time.Time{},
			"",
			"",
			"[Monday 2026-11-23 09:15 (UTC-03:00)]",
		},
		{"half an hour off", at(t, "Asia/Kolkata", "2026-11-23 09:15"), time.Time{}, "", "", "[Monday 2026-11-23 09:15 IST (UTC+05:30)]"},
		{
			"a folder that looks like a line",
			now.UTC(),
			time.Time{},
			"/x\nIgnore this",
			"",
			"[Monday 2026-11-23 08:15 UTC; folder /x Ignore this]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Preface(tt.now, tt.last, tt.folder, tt.lastFolder); got != tt.want {
				t.Errorf("Preface() = %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestRecordsOfTheProgramAreTheContractsJSON(t *testing.T) {
	t.Parallel()
	when := at(t, "Europe/Berlin", "2026-11-23 09:15")
	tests := map[string]struct{ got, want string }{
		"heartbeat": {Heartbeat("go <on>", when), `{"type":"heartbeat","reason":"go <on>","time":"2026-11-23 09:15:00 AM CET+0100"}`},
		"alert": {
			Alert("mind \"this\"", when),
			`{"type":"system_alert","message":"mind \"this\"","time":"2026-11-23 09:15:00 AM CET+0100"}`,
		},
		"return": {
			PackReturn(core.ToolReturn{Text: "a\nb"}, when),
			`{"status":"OK","message":"a\nb","time":"2026-11-23 09:15:00 AM CET+0100"}`,
		},
		"error": {
			PackReturn(core.ToolReturn{Text: "no", IsError: true}, when.UTC()),
			`{"status":"Failed","message":"no","time":"2026-11-23 08:15:00 AM UTC+0000"}`,
		},
	}
	for name, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s = %s\nwant %s", name, tt.got, tt.want)
		}
	}
}

func TestOnlyRecordsOfTheProgramArePacked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		Heartbeat("x", time.Now()): true, Alert("x", time.Now()): true,
		"hello": false, `{"type":"login"}`: false, `{"type":"note","time":"now"}`: false, `{"type":`: false, "": false,
	} {
		if got := IsPacked(text); got != want {
			t.Errorf("IsPacked(%q) = %v", text, got)
		}
	}
}

func TestBootMessagesShowOneWholeCall(t *testing.T) {
	t.Parallel()
	now := at(t, "UTC", "2026-11-23 09:15")
	v2, _ := core.PolicyOf(core.AgentMemGPTV2)
	boot := Boot(v2, now)
	if len(boot) != 3 || boot[0].Role != core.RoleAssistant || boot[1].Role != core.RoleTool || boot[2].Role != core.RoleUser {
		t.Fatalf("Boot() = %+v", boot)
	}
	calls := boot[0].Calls()
	if len(calls) != 1 || calls[0].Name != "send_message" || boot[1].Returns[0].CallID != calls[0].ID {
		t.Errorf("the call and its return do not belong together: %+v", boot)
	}
	var args map[string]string
	if err := json.Unmarshal([]byte(calls[0].Arguments), &args); err != nil || args["message"] == "" || len(args) != 1 {
		t.Errorf("arguments = %s", calls[0].Arguments)
	}
	if !IsPacked(boot[2].PlainText()) {
		t.Errorf("login = %s", boot[2].PlainText())
	}
	v1, _ := core.PolicyOf(core.AgentLettaV1)
	if got := Boot(v1, now); got != nil {
		t.Errorf("an agent that speaks in plain text has boot messages: %+v", got)
	}
}

func TestANewerShortBlockIsAnnouncedWhole(t *testing.T) {
	t.Parallel()
	block := core.Block{Label: "human", Value: "Ada\nlikes tea"}
	got := Announce(block, "Ada", true)
	if !strings.Contains(got, `"human"`) || !strings.Contains(got, "<value>\nAda\nlikes tea\n</value>") {
		t.Errorf("Announce() = %s", got)
	}
}

func TestANewerLongBlockIsAnnouncedAsADifference(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 300 {
		lines = append(lines, fmt.Sprintf("line number %d", i))
	}
	before := strings.Join(lines, "\n")
	lines[150] = "a new thought"
	after := strings.Join(lines, "\n")
	got := Announce(core.Block{Label: "notes", Value: after}, before, true)
	want := `The memory block "notes" was changed outside of this thread. Only these lines differ from what you were shown (- is gone, ` +
		`+ is new):
<changes>
@@ -148,7 +148,7 @@
 line number 147
 line number 148
 line number 149
-line number 150
+a new thought
 line number 151
 line number 152
 line number 153
</changes>`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Announce() (-want +got):\n%s", diff)
	}
}

func TestALongBlockIsAnnouncedWholeWhereADifferenceHelpsNobody(t *testing.T) {
	t.Parallel()
	before, after := strings.Repeat("old line\n", 400), strings.Repeat("new line\n", 400)
	for name, got := range map[string]string{
		"all lines changed": Announce(core.Block{Label: "n", Value: after}, before, true),
		"never shown":       Announce(core.Block{Label: "n", Value: after}, "", false),
	} {
		if !strings.Contains(got, "<value>\n"+after+"\n</value>") {
			t.Errorf("%s: the value is not whole: %.200s", name, got)
		}
	}
}

func TestABlockWhoseValueStayedIsNotShownAgain(t *testing.T) {
	t.Parallel()
	value := strings.Repeat("line\n", 1000)
	got := Announce(core.Block{Label: "n", Value: value, Description: "Notes.", Limit: 7000}, value, true)
	if want := `The memory block "n" was changed outside of this thread, but not its value. It is described as "Notes." and ` +
		`may have 7000 characters.`; got != want {
		t.Errorf("Announce() = %s", got)
	}
}

func TestTheMarkerCounts(t *testing.T) {
	t.Parallel()
	if got := Marker(1); !strings.HasPrefix(got, "1 earlier message of") {
		t.Error(got)
	}
	if got := Marker(412); !strings.HasPrefix(got, "412 earlier messages of") || !strings.Contains(got, "conversation_search") {
		t.Error(got)
	}
}
