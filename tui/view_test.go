package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"loci/daemon/api"
	"loci/tui/term"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
)

// scenes are states of the chat, each of which is drawn at every size.
func scenes() map[string]func(r *robot) {
	grow := func(r *robot, messages ...api.Message) {
		r.m.begin(&turn{feed: &feed[api.Message]{signal: make(chan struct{}, 1), stop: func() {}}, run: "run-9"})
		for _, m := range messages {
			r.m.message(r.m.turn, &m)
		}
		r.now = r.now.Add(3 * time.Second)
	}
	open := func(command string) func(r *robot) {
		return func(r *robot) {
			r.connect().say(command)
			r.until("the panel", func() bool { return r.top() != nil })
		}
	}
	answer := func(text string) api.Message {
		return api.Message{MessageType: api.MessageAssistant, ID: "m", Content: api.Text(text)}
	}
	past := func(r *robot) *robot {
		r.connect()
		r.now = day(14, 0)
		r.f.mu.Lock()
		defer r.f.mu.Unlock()
		withTurns(r.f)
		return r
	}
	return map[string]func(r *robot){
		"connecting": func(*robot) {},
		"first":      func(r *robot) { r.connect() },
		"prompt": func(r *robot) {
			r.connect().typ("A line that is rather long, so that it has to be wrapped on every screen but the widest one of them all.")
			r.key(tea.Key{Code: 'j', Mod: tea.ModCtrl})
			r.typ("漢字 and 🎉 too")
		},
		"completion": func(r *robot) { r.connect().typ("/") },
		"answering": func(r *robot) {
			r.connect()
			grow(
				r,
				answer(
					"# Title\n\nA finished paragraph.\n\nAn open one with 漢字, and words enough for more than one row of "+
						"the screen,\nwhich stands",
				),
			)
		},
		"fence": func(r *robot) {
			r.connect()
			grow(
				r,
				answer(
					"```go\n"+strings.Repeat(
						"\tfmt.Println(\"a long line of code that is wider than eighty columns, which are not many\")\n",
						20,
					),
				),
			)
		},
		"tall": func(r *robot) {
			r.connect()
			grow(r, answer(strings.Repeat("a paragraph that never ends ", 400)))
		},
		"tools": func(r *robot) {
			r.connect()
			grow(r, api.Message{MessageType: api.MessageToolCall, ToolCalls: []api.ToolCall{
				{
					ToolCallID: "1",
					Name:       "conversation_search",
					Arguments:  `{"query":"Kyōto 京都"}`,
				},
				{ToolCallID: "2", Name: "roll_dice", Arguments: `{"sides":20}`},
			}})
			r.m.prompt.Queue = []string{"queued " + strings.Repeat("words ", 40), "another"}
		},
		"thinking": func(r *robot) {
			r.connect()
			grow(r, api.Message{MessageType: api.MessageReasoning, Reasoning: strings.Repeat("I think about it a great deal. ", 30)})
		},
		"help":    open("/help"),
		"agents":  open("/agents"),
		"memory":  open("/memory"),
		"block":   open("/memory human"),
		"model":   open("/model"),
		"connect": open("/connect"),
		"connect_key": func(r *robot) {
			r.connect().say("/connect my-box")
			r.until("the address", func() bool { return r.top() != nil })
			r.typ("http://192.168.1.20:8000")
			r.enter()
			r.typ("1")
			r.typ("sk-hidden-0123456789")
		},
		"context": open("/context"),
		"resume":  open("/resume"),
		"rewind":  func(r *robot) { past(r).list("/rewind") },
		"fork":    func(r *robot) { past(r).list("/fork") },
		"goback": func(r *robot) {
			past(r).list("/rewind")
			r.key(tea.Key{Code: tea.KeyDown})
			r.question()
		},
		"ask":          func(r *robot) { r.connect().asked("once") },
		"ask_several":  func(r *robot) { r.connect().asked("several").press("n") },
		"ask_long":     func(r *robot) { r.connect().asked("long") },
		"ask_wide":     func(r *robot) { r.connect().asked("wide") },
		"ask_hostile":  func(r *robot) { r.connect().asked("hostile") },
		"ask_question": func(r *robot) { r.connect().asked("question") },
		"ask_chosen":   func(r *robot) { r.connect().asked("choices").typ("2") },
		"ask_questions": func(r *robot) {
			r.connect().asked("questions").press("2")
			r.enter()
		},
		"ask_open": func(r *robot) { r.connect().asked("open") },
		"todo":     func(r *robot) { r.connect().todos() },
		"todo_list": func(r *robot) {
			r.connect().todos().say("/todo")
			r.until("the list", func() bool { return r.top() != nil })
		},
		"ask_client":   func(r *robot) { r.connect().asked("client") },
		"ask_reasons":  func(r *robot) { r.connect().asked("reasons") },
		"ask_change":   func(r *robot) { r.connect().asked("edit") },
		"ask_write":    func(r *robot) { r.connect().asked("write") },
		"ask_lines":    func(r *robot) { r.connect().asked("lines") },
		"ask_confirm":  func(r *robot) { r.connect().asked("line").typ("y") },
		"ask_whole":    func(r *robot) { r.connect().asked("reasons").press("v") },
		"ask_panel":    func(r *robot) { r.connect().asked("several").press("v") },
		"ask_edit":     func(r *robot) { r.connect().asked("hostile").press("e") },
		"ask_reason":   func(r *robot) { r.connect().asked("once").press("r") },
		"ask_instead":  func(r *robot) { r.connect().asked("once").say("Something else.") },
		"ask_typing":   func(r *robot) { r.connect().asked("once").typ("Something") },
		"ask_host":     func(r *robot) { r.connect().wants("registry.npmjs.org") },
		"ask_settings": func(r *robot) { r.connect().leaves(11) },
		"ask_settings_panel": func(r *robot) {
			r.connect().leaves(11).asksHost("v")
			r.key(tea.Key{Code: tea.KeyEnd})
			r.asksHost("y")
		},
		"ask_outside":      func(r *robot) { r.connect().failsInside() },
		"ask_outside_rule": func(r *robot) { r.connect().failsInside().asksHost("a") },
		"ask_push":         func(r *robot) { r.connect().asked("push") },
		"searching":        func(r *robot) { r.connect().say("/search") },
		"search": func(r *robot) {
			r.connect().say("/search tea")
			r.until("results", func() bool {
				return strings.Contains(r.view(), "I said") || strings.Contains(r.view(), "nothing") || strings.Contains(r.view(), "you")
			})
		},
		"transcript": func(r *robot) {
			r.connect().say("tools please")
			r.idle()
			r.key(tea.Key{Code: 'o', Mod: tea.ModCtrl})
		},
	}
}

func TestEverySceneFitsEveryScreen(t *testing.T) {
	t.Parallel()
	for name, set := range scenes() {
		sizes := [][2]int{{80, 24}, {200, 50}, {20, 8}}
		if strings.HasPrefix(name, "ask_") {
			sizes = append(sizes, [2]int{40, 12})
		}
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s_%dx%d", name, size[0], size[1]), func(t *testing.T) {
				t.Parallel()
				r := newRobot(t, newFake(), size[0], size[1])
				set(r)
				v := r.m.View()
				rows := strings.Split(v.Content, "\n")
				most := size[1]
				if !v.AltScreen {
					most--
				}
				if len(rows) > most {
					t.Errorf("%d rows", len(rows))
				}
				for _, row := range rows {
					if plain := ansi.Strip(row); term.Width(plain) > size[0] || (!v.AltScreen && strings.HasSuffix(plain, " ")) {
						t.Errorf("%q", plain)
					}
				}
				if c := v.Cursor; c != nil && (c.X >= size[0] || c.Y >= len(rows)) {
					t.Errorf("the caret is outside: %+v", c.Position)
				}
				golden.RequireEqual(t, r.view()+"\n")
			})
		}
	}
}

func TestAWaitIsSaidUntilTheAnswerComes(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.m.begin(&turn{feed: &feed[api.Message]{signal: make(chan struct{}, 1), stop: func() {}}, run: "run-9"})
	for kind, waits := range map[string]string{
		api.NoticeRetry:   "llamacpp: Loading model. Retrying for up to 1 minute.",
		api.NoticeWaiting: "llamacpp/gemma has not answered yet.",
	} {
		r.m.message(r.m.turn, &api.Message{MessageType: api.MessageNotice, Notice: &api.Notice{Kind: kind, Text: waits}})
		r.m.message(r.m.turn, &api.Message{MessageType: api.MessagePing})
		r.key(tea.Key{Code: 'x', Text: "x"})
		if !strings.Contains(r.view(), waits) || !strings.Contains(r.status(), "esc stops") {
			t.Errorf("a key has removed the wait:\n%s", r.view())
		}
		r.m.message(r.m.turn, &api.Message{MessageType: api.MessageAssistant, ID: "m", Content: api.Text("Hello")})
		if strings.Contains(r.view(), waits) {
			t.Errorf("the wait is over:\n%s", r.view())
		}
	}
}
