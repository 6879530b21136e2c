package tui

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"loci/daemon/api"
	"loci/daemon/client"
)

// fakeApprovals is what waits for a person at the fake daemon, and what was
// answered.
type fakeApprovals struct {
	waiting  []api.WaitingRequest
	answered []api.AnswerRequest
	refusals []error  // for the first answers
	closed   []string // to shell lines
	rules    []api.PermissionRule
}

const (
	whyAsked = "The rule requires_approval of this agent asks for it."
	hostile  = "rm -rf build\x1b[2K\x1b[1A\u202e\n  command: ls\ny allow once"
)

// waitingCalls are what an agent asks for in the scripts: "ask" and how much.
func waitingCalls(what string) []api.WaitingCall {
	call := func(n int, name, arguments string) api.WaitingCall {
		return api.WaitingCall{
			ToolCallID: fmt.Sprint("call-", n), Name: name, Arguments: arguments, Hash: fmt.Sprint("hash-", n), Why: whyAsked,
		}
	}
	keep := call(1, "archival_memory_insert", `{"content":"Ada likes tea 茶","tags":["drinks"]}`)
	switch what {
	case "several":
		return []api.WaitingCall{keep, call(2, "roll_dice", `{"sides":20}`), call(3, "send_mail", `{"to":"bob@example.org"}`)}
	case "long":
		return []api.WaitingCall{call(1, "archival_memory_insert", `{"content":"`+strings.Repeat("a line of it\\n", 60)+`the end","n":1}`)}
	case "hostile":
		return []api.WaitingCall{call(1, "sh\x1b]0;x\aell", `{"command":`+quoteJSON(hostile)+`}`)}
	case "wide":
		return []api.WaitingCall{call(1, "archival_memory_insert", `{"content":"`+strings.Repeat("漢字とかな", 30)+`"}`)}
	case "line":
		c := call(1, "shell", `{"command":"go test ./..."}`)
		c.Always = []string{"shell(go test *)"}
		return []api.WaitingCall{c}
	case "push":
		c := call(1, "shell", `{"command":"git push"}`)
		c.Always, c.Uncaged = []string{"shell(git push *)"}, true
		return []api.WaitingCall{c}
	case "reasons":
		c := call(1, "shell", quoteArguments("command", "git fetch origin && git rebase --autostash origin/main && "+
			"go test ./... && git push --force-with-lease origin HEAD:refs/heads/chat"))
		c.Why = "The mode ask asks before it may run git fetch origin. The mode ask asks before it may run git rebase --autostash " +
			"origin/main. The mode ask asks before it may run go test ./.... The mode ask asks before it may run git push " +
			"--force-with-lease origin HEAD:refs/heads/chat."
		return []api.WaitingCall{c}
	case "edit":
		return []api.WaitingCall{call(1, "edit", quoteArguments("path", "src/wörter 漢字.go", "old_string",
			"func main() {\n\tfmt.Println(\"tea\")\n\tfmt.Println(\"茶\")\n}\n", "new_string",
			"func main() {\n\tfmt.Println(\"coffee\")\n\tfmt.Println(\"茶\")\n\tfmt.Println(\"a line that is so long that no screen of "+
				"eighty columns has room for it, and that goes on and on\")\n}\n"))}
	case "write":
		return []api.WaitingCall{call(1, "write", quoteArguments("path", "notes/tea.md", "content", numbered(30)))}
	case "lines":
		return []api.WaitingCall{
			call(1, "shell", quoteArguments("command", "go test ./...", "description", "Run the tests")),
			call(2, "edit", quoteArguments("path", "go.mod", "old_string", "go 1.25", "new_string", "go 1.26")),
			call(3, "shell", quoteArguments("command", "rm -rf ./build ./dist ./node_modules ./coverage ./tmp ./out ./target "+
				"./vendor ./cache")),
		}
	case "question":
		return []api.WaitingCall{call(1, "ask", `{"question":"Which colour should the door have?","options":[`+
			`{"label":"Red","description":"as it was before the fire, which everybody liked"},{"label":"Blue"}]}`)}
	case "reasoned":
		return []api.WaitingCall{call(1, "shell", `{"command":"sleep 60 && echo done with a very long line here","background":true}`)}
	case "open":
		return []api.WaitingCall{call(1, "ask", `{"question":"What is the door for?"}`)}
	case "choices":
		return []api.WaitingCall{call(1, "ask", `{"question":"Which doors?","multiple":true,"options":[`+
			`{"label":"Front"},{"label":"Back"},{"label":"Side"}]}`)}
	case "questions":
		return []api.WaitingCall{
			call(1, "ask", `{"question":"Which colour?","options":[{"label":"Red"},{"label":"Blue"}]}`),
			call(2, "shell", `{"command":"paint door"}`),
			call(3, "ask", `{"question":"`+strings.Repeat("And why, in many words? ", 40)+`"}`),
		}
	case "client":
		c := call(1, "open_door", `{"which":"front"}`)
		c.Client = true
		return []api.WaitingCall{c}
	}
	return []api.WaitingCall{keep}
}

func numbered(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintln(&b, "line", i+1)
	}
	return b.String()
}

// quoteArguments are arguments by their names and texts, in turn.
func quoteArguments(words ...string) string {
	var parts []string
	for i := 0; i < len(words); i += 2 {
		parts = append(parts, fmt.Sprintf("%q: %q", words[i], words[i+1]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func quoteJSON(s string) string {
	s = strings.NewReplacer("\n", `\n`, "\x1b", `\u001b`).Replace(s)
	return `"` + s + `"`
}

func waitingRequest(thread Thread, what string) api.WaitingRequest {
	return api.WaitingRequest{
		AgentID: thread.Agent, AgentName: "Ada", ConversationID: thread.conversation(), RunID: "run-1", RequestID: "message-asks",
		Calls: waitingCalls(what),
	}
}

// asks is what a run says that ends with a request.
func asks(what string) []api.Message {
	calls := waitingCalls(what)
	out := []api.Message{{MessageType: api.MessagePing}}
	for _, c := range calls {
		out = append(out, api.Message{MessageType: api.MessageApprovalRequest, ID: "message-asks", Delta: true, ToolCalls: []api.ToolCall{
			{Name: c.Name, ToolCallID: c.ToolCallID, Arguments: c.Arguments},
		}})
	}
	return append(out, api.Message{MessageType: api.MessageStopReason, StopReason: api.StopRequiresApproval},
		api.Message{MessageType: api.MessageUsage, Usage: &api.Usage{}})
}

func (f *fake) Approvals(_ context.Context, agent string) ([]api.WaitingRequest, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.waiting), func(w api.WaitingRequest) bool { return w.AgentID != agent }), nil
}

func (f *fake) Answer(ctx context.Context, t Thread, req api.AnswerRequest, _ string) iter.Seq2[api.Message, error] {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered, f.mode = append(f.answered, req), client.ModeOf(ctx)
	if len(f.refusals) > 0 {
		err := f.refusals[0]
		f.refusals = f.refusals[1:]
		return func(yield func(api.Message, error) bool) { yield(api.Message{}, err) }
	}
	f.waiting = slices.DeleteFunc(f.waiting, func(w api.WaitingRequest) bool { return threadOf(w.AgentID, w.ConversationID) == t })
	f.runs++
	run := fmt.Sprint("run-", f.runs)
	out := []api.Message{{MessageType: api.MessagePing}}
	var returns []api.ToolReturn
	for _, d := range req.Approvals {
		text, status := "done", api.StatusSuccess
		if !*d.Approve {
			text, status = "Error: request to call tool denied. User reason: "+api.Val(d.Reason), api.StatusError
		}
		returns = append(returns, api.ToolReturn{ToolCallID: d.ToolCallID, Status: status, ToolReturn: api.Text(text)})
	}
	out = append(out, api.Message{MessageType: api.MessageToolReturn, ID: "message-returns", ToolReturns: returns})
	said := "That is settled."
	for _, m := range req.Messages {
		said = "You said: " + m.Content.String()
	}
	out = append(append(out, say(said)...), done(15360)...)
	return func(yield func(api.Message, error) bool) {
		for i, m := range out {
			m.RunID, m.SeqID = run, int64(i+1)
			if m.ID == "" {
				m.ID = "message-" + run
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

// wait makes a request wait, as if a run elsewhere had ended with it; none: it
// was answered or cleared.
func (f *fake) wait(requests ...api.WaitingRequest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = requests
}

func (f *fake) answers() []api.AnswerRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.answered)
}

// late is how the daemon refuses an answer that lost the race.
func late() error {
	return &client.Error{Status: 400, Kind: api.KindInvalid, Message: "Cannot process approval response: No tool call is currently " +
		"awaiting approval."}
}

// CheckPermission knows no rule whose bracket isn't closed.
func (f *fake) CheckPermission(_ context.Context, in api.CheckPermission) (api.PermissionVerdict, error) {
	for _, rule := range in.Allow {
		if strings.Contains(rule, "(") && !strings.HasSuffix(rule, ")") {
			return api.PermissionVerdict{}, &client.Error{
				Status: 400, Kind: api.KindInvalid, Message: "the permission rule " + rule + " is not valid: the bracket is not closed",
			}
		}
	}
	switch {
	case in.Does == "read" && in.Subject == ".env":
		return api.PermissionVerdict{Effect: "ask", Why: "Loci asks before it may read .env, because of the name."}, nil
	case in.Does == "read" && in.Subject == "secret":
		return api.PermissionVerdict{Effect: "deny", Why: "The rule read(secret) of your configuration forbids to read secret."}, nil
	}
	if slices.Contains(in.Allow, "shell(go build *)") && strings.HasPrefix(in.Subject, "go test") {
		return api.PermissionVerdict{Effect: "ask", Why: "The mode ask asks before it may run " + in.Subject + "."}, nil
	}
	return api.PermissionVerdict{Effect: "allow", Hidden: f.closed}, nil
}

func (f *fake) WorkspaceFiles(context.Context, string) (api.WorkspaceFiles, error) {
	return api.WorkspaceFiles{Files: []string{"cmd/main.go", "docs/two words 漢字.md", "evil\x1b[2J.go", "main_test.go"}}, nil
}

func (f *fake) Permissions(context.Context, string) (api.Permissions, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return api.Permissions{Rules: slices.Clone(f.rules), Faults: []string{"the permissions in .loci/permissions.toml can't be read"}}, nil
}

// kept are the rules that there are.
func (f *fake) kept() []api.PermissionRule {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.rules)
}

func (f *fake) AddPermission(_ context.Context, rule api.PermissionRule) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.Contains(rule.Rule, "(") && !strings.HasSuffix(rule.Rule, ")") {
		return &client.Error{Status: 400, Kind: api.KindInvalid, Message: "the bracket is not closed"}
	}
	f.rules = append(f.rules, rule)
	return nil
}

func (f *fake) RemovePermission(_ context.Context, in api.RemovePermission) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = slices.DeleteFunc(f.rules, func(r api.PermissionRule) bool { return r.Rule == in.Rule && r.Session == in.Session })
	return nil
}

func (f *fake) Decisions(context.Context, api.ListDecisions) (api.DecisionList, error) {
	return api.DecisionList{Decisions: []api.CallDecision{
		{Tool: "shell", Subject: `{"command":"go test ./..."}`, Allowed: true, By: "the rule shell(go test *) of this session"},
		{Tool: "write", Subject: `{"path":"a.go","content":"x"}`, By: "a person: not there"},
	}}, nil
}
