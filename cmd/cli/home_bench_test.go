//go:build linux

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loci/core/coretest"
	"loci/daemon/api"
	"loci/daemon/client"
	"loci/providers/embed"
	"loci/providers/providertest"
)

var (
	homePassages = flag.Int("passages", 5_000, "passages of BenchmarkHome")
	homeMessages = flag.Int("messages", 2_000, "messages of BenchmarkHome, 100,000 to an agent")
	homeRecall   = flag.Int("recall", 0, "tokens of memories that join each turn of BenchmarkHome")
	homeDir      = flag.String("home", "", "a folder with a short path in which BenchmarkHome keeps its home and finds it again")
)

// BenchmarkHome measures what a person waits for in a home that is full: searches through the REST API with the built-in
// embedding, a message that an instant model answers with one call of each search tool, the start, and the space on disk.
//
//	go test ./cmd/cli -run XXX -bench Home -benchtime 200x -timeout 3h -passages 1000000 -messages 100000 -recall 800
func BenchmarkHome(b *testing.B) {
	h := newHomeBench(b)
	h.fill()
	h.start()
	h.space()
	b.Run("home", func(b *testing.B) {
		for b.Loop() {
			continue
		}
		for name, v := range h.figures {
			b.ReportMetric(v, name)
		}
		b.ReportMetric(0, "ns/op")
	})
	for _, kind := range h.kinds() {
		for _, in := range []string{"passages", "messages"} {
			b.Run(kind.name+"/"+in, func(b *testing.B) {
				search := h.passages
				if in == "messages" {
					search = h.messages
				}
				var took []time.Duration
				used := h.cpu()
				for b.Loop() {
					took = append(took, search(b, kind.query()))
				}
				b.ReportMetric((h.cpu()-used)*1000/float64(len(took)), "cpu-ms")
				report(b, "", took)
			})
		}
	}
	b.Run("message with both search tools", h.oneShot)
}

// homeBench is a full home and its daemon.
type homeBench struct {
	*bench
	b       *testing.B
	dir     string
	client  *client.Client
	talk    *talk
	draw    *rand.Rand
	agent   string // for the searches; it has the archive and the most messages
	archive string
	pid     int
	figures map[string]float64
	query   atomic.Pointer[string] // of the message in progress
}

func newHomeBench(b *testing.B) *homeBench {
	b.Helper()
	h := &homeBench{b: b, bench: newBench(b), talk: newTalk(b), draw: rand.New(rand.NewPCG(2, 2)), figures: map[string]float64{}}
	h.model.Reply = h.searchOnce
	if h.dir = filepath.Dir(filepath.Dir(h.socket)); *homeDir != "" {
		h.dir = *homeDir
		h.socket = filepath.Join(h.dir, "run", "loci.sock")
		h.env = append(h.env, "LOCI_HOME="+h.dir)
	}
	h.run(h.command("daemon", "start"))
	h.client = client.New(client.Options{Socket: h.socket})
	b.Cleanup(h.client.Close)
	return h
}

// searchOnce answers a message by calling every search tool, and answers the results with a word. The tools look
// for the question, which isn't the last message if something is recalled.
func (h *homeBench) searchOnce(r providertest.Request) providertest.Turn {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == "tool" || !slices.Contains(r.Tools, "archival_memory_search") {
		return providertest.Turn{Text: "found."}
	}
	args, _ := json.Marshal(map[string]string{"query": *h.query.Load()})
	return providertest.Turn{Calls: []providertest.Call{
		{ID: "call-a", Name: "archival_memory_search", Arguments: string(args)},
		{ID: "call-b", Name: "conversation_search", Arguments: string(args)},
	}}
}

// fill puts passages into one archive and messages into agents, unless the home already has them.
func (h *homeBench) fill() {
	h.b.Helper()
	ctx := h.b.Context()
	agents, err := h.client.Agents(ctx, api.ListAgents{})
	if err != nil {
		h.b.Fatal(err)
	}
	archives, err := h.client.Archives(ctx, api.ListArchives{})
	if err != nil {
		h.b.Fatal(err)
	}
	for _, a := range agents {
		if a.Name == "home-0" {
			h.agent = a.ID
		}
	}
	for _, a := range archives {
		if a.Name == "home" {
			h.archive = a.ID
		}
	}
	if h.agent == "" || h.archive == "" {
		began := time.Now()
		h.fillMessages()
		h.fillPassages()
		h.figures["fill-µs/text"] = float64(time.Since(began).Microseconds()) / float64(*homePassages+*homeMessages)
	}
	if *homeRecall > 0 {
		h.send(http.MethodPut, "/loci/v1/agents/"+h.agent+"/recall", map[string]int{"tokens": *homeRecall})
	}
	h.settled()
}

func (h *homeBench) fillMessages() {
	const each = 100_000
	for n := 0; n == 0 || n*each < *homeMessages; n++ {
		first := make([]api.Input, min(each, *homeMessages-n*each))
		for i := range first {
			text := h.talk.line(n*each + i)
			content := api.Text(strings.ToValidUTF8(text[:min(len(text), 90)], "")) // all of them must fit into one request
			first[i] = api.Input{Role: []string{"user", "assistant"}[i%2], Content: &content}
		}
		a, err := h.client.CreateAgent(h.b.Context(), api.CreateAgent{
			Name: api.PtrTo(fmt.Sprintf("home-%d", n)), Model: api.PtrTo("openai/test-model"), InitialMessageSequence: first,
			Tools: []string{"archival_memory_search", "conversation_search"},
		})
		if err != nil {
			h.b.Fatal(err)
		}
		if n == 0 {
			h.agent = a.ID
		}
	}
}

func (h *homeBench) fillPassages() {
	a, err := h.client.CreateArchive(h.b.Context(), api.CreateArchive{Name: "home"})
	if err == nil {
		err = h.client.AttachArchive(h.b.Context(), h.agent, a.ID)
	}
	if err != nil {
		h.b.Fatal(err)
	}
	h.archive = a.ID
	const batch = 500
	for at := 0; at < *homePassages; at += batch {
		var in api.CreateArchivePassages
		for i := at; i < min(at+batch, *homePassages); i++ {
			in.Passages = append(in.Passages, api.CreateArchivePassage{CreatePassage: api.CreatePassage{Text: h.talk.turn(i)}})
		}
		h.send(http.MethodPost, "/v1/archives/"+a.ID+"/passages/batch", in)
	}
}

// send makes a request that the client has no method for.
func (h *homeBench) send(method, path string, in any) {
	h.b.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		h.b.Fatal(err)
	}
	var dialer net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", h.socket)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(h.b.Context(), method, "http://loci"+path, bytes.NewReader(body))
	if err != nil {
		h.b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		h.b.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK && res.StatusCode != http.StatusCreated {
		h.b.Fatalf("%s: %d %.300s %v", path, res.StatusCode, text, err)
	}
}

// settled waits until everything can be found both by word and by meaning.
func (h *homeBench) settled() {
	h.b.Helper()
	began := time.Now()
	const patience = time.Second // a search that takes longer is waiting for the index
	coretest.UntilWithin(h.b, "the home is settled", 100*time.Millisecond, 2*time.Hour, func() bool {
		s, err := h.client.Status(h.b.Context())
		if err != nil {
			h.b.Fatal(err)
		}
		return s.Embedding == nil && h.passages(h.b, h.talk.ask(h.draw)) < patience && h.messages(h.b, h.talk.ask(h.draw)) < patience
	})
	h.figures["settle-s"] = time.Since(began).Seconds()
}

// start measures from a stopped daemon to the first results.
func (h *homeBench) start() {
	h.b.Helper()
	h.run(h.command("daemon", "stop"))
	began := time.Now()
	h.run(h.command("daemon", "start"))
	h.figures["start-s"] = time.Since(began).Seconds()
	h.passages(h.b, h.talk.ask(h.draw))
	h.figures["first-result-s"] = time.Since(began).Seconds()
	s, err := h.client.Status(h.b.Context())
	if err != nil {
		h.b.Fatal(err)
	}
	h.pid = s.PID
	if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.pid)); err == nil {
		_, rest, _ := strings.Cut(string(data), "RssAnon:")
		var kb float64
		_, _ = fmt.Sscan(rest, &kb)
		h.figures["anon-MB"] = kb / 1024
	}
}

// cpu is how many seconds of processor time the daemon has used: unlike the clock, it doesn't count other
// processes.
func (h *homeBench) cpu() float64 {
	h.b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.pid))
	if err != nil {
		h.b.Fatal(err)
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	var user, system float64
	_, _ = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	const ticks = 100 // a second, on every Linux
	return (user + system) / ticks
}

// space reports the home's files by purpose.
func (h *homeBench) space() {
	sizes := map[string]int64{}
	_ = filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name := d.Name()
		for prefix, kind := range map[string]string{"loci.db": "facts", "log.db": "log", "index.db": "index", "vectors-": "codes"} {
			if strings.HasPrefix(name, prefix) {
				sizes[kind] += info.Size()
			}
		}
		sizes["home"] += info.Size()
		return nil
	})
	for kind, n := range sizes {
		h.figures[kind+"-MB"] = float64(n) / (1 << 20)
	}
}

func (h *homeBench) passages(tb testing.TB, query string) time.Duration {
	tb.Helper()
	began := time.Now()
	_, _, err := h.client.SearchPassages(
		context.WithoutCancel(tb.Context()),
		api.SearchPassages{Query: &query, AgentID: &h.agent, Limit: api.PtrTo(10)},
	)
	if err != nil {
		tb.Fatal(err)
	}
	return time.Since(began)
}

func (h *homeBench) messages(tb testing.TB, query string) time.Duration {
	tb.Helper()
	began := time.Now()
	_, _, err := h.client.SearchMessages(
		context.WithoutCancel(tb.Context()),
		api.SearchMessages{Query: query, AgentID: &h.agent, Limit: api.PtrTo(10)},
	)
	if err != nil {
		tb.Fatal(err)
	}
	return time.Since(began)
}

// oneShot compares a message to the two searches that its model calls for.
func (h *homeBench) oneShot(b *testing.B) {
	var whole, searches []time.Duration
	for b.Loop() {
		query := h.talk.ask(h.draw)
		h.query.Store(&query)
		searches = append(searches, h.passages(b, query)+h.messages(b, query))
		began := time.Now()
		content := api.Text(query)
		req := api.StreamingRequest{Request: api.Request{Messages: []api.Input{{Role: "user", Content: &content}}}}
		res, err := h.client.Send(context.WithoutCancel(b.Context()), client.Target{AgentID: h.agent}, req)
		if err != nil {
			b.Fatal(err)
		}
		whole = append(whole, time.Since(began))
		returns := 0
		for _, m := range res.Messages {
			if m.MessageType == api.MessageToolReturn {
				returns += len(m.ToolReturns)
			}
		}
		if returns != 2 {
			b.Fatalf("the model asked for two searches, %d came back", returns)
		}
	}
	report(b, "message-", whole)
	report(b, "searches-", searches)
	b.ReportMetric(median(whole)-median(searches), "more-ms")
}

func report(b *testing.B, name string, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(took[len(took)/2]), name+"p50-ms")
	b.ReportMetric(ms(took[len(took)*99/100]), name+"p99-ms")
	b.ReportMetric(ms(took[len(took)-1]), name+"max-ms")
	b.ReportMetric(0, "ns/op")
}

type kind struct {
	name  string
	query func() string
}

// kinds are the queries: the way people ask, and ones that may be slow.
func (h *homeBench) kinds() []kind {
	t := h.talk
	return []kind{
		{"conversational", func() string { return t.ask(h.draw) }},
		{"the most common word", func() string { return t.words[h.draw.IntN(3)] }},
		{"ten common words", func() string { return strings.Join(t.words[:10], " ") }},
		{"a name", func() string { return "what did " + t.name(h.draw.IntN(40)) + " say?" }},
		{"a day", func() string { return "what happened on 5 March 2019?" }},
		{"a year", func() string { return "what happened in 2020?" }},
		{"Chinese", func() string { return t.han(h.draw.IntN(1000)) }},
		{"emoji", func() string { return "🎉🎉 👩‍👩‍👧 ☕️" }},
		{"a paste of 100 KB", func() string {
			var text strings.Builder
			for at := h.draw.IntN(1000); text.Len() < 100<<10; at++ {
				text.WriteString(t.turn(at) + "\n")
			}
			return text.String()
		}},
	}
}

// talk makes up what people say: real words, as frequent as they are in talk, in sessions of two speakers. Lines
// are numbered, and a number always gives the same line.
type talk struct{ words []string }

func newTalk(tb testing.TB) *talk {
	tb.Helper()
	t := &talk{words: strings.Fields(everyday)}
	known := map[string]bool{}
	for _, w := range t.words {
		known[w] = true
	}
	exceptions, err := embed.Exceptions()
	if err != nil {
		tb.Fatal(err)
	}
	var more []string
	for form, base := range exceptions {
		for _, w := range []string{base, form} {
			if !known[w] && !strings.ContainsAny(w, " _-.'") {
				known[w] = true
				more = append(more, w)
			}
		}
	}
	draw := rand.New(rand.NewPCG(1, 1))
	draw.Shuffle(len(more), func(i, j int) { more[i], more[j] = more[j], more[i] })
	t.words = append(t.words, more...)
	return t
}

const everyday = `time year day thing world life hand part child eye woman place work week case point company number group problem fact
money month lot night story book water room mother area head father hour game line end member law car city name team minute idea body
friend face door reason history party result morning food house school family music garden train summer winter lake river bridge kitchen
bread soup coffee tea dog cat horse bird tree flower mountain beach island boat ship plane ticket holiday birthday wedding brother sister
doctor nurse teacher lawyer painter guitar violin piano song dance movie theatre museum picture camera phone computer letter paper pen
table chair window wall roof street market shop price color red green blue yellow black white small large old new young happy sad tired
hungry cold warm hot dry wet fast slow early late easy hard bright dark cheap expensive quiet loud clean dirty run walk swim climb ride
drive fly cook bake paint write read sing play build repair plant grow buy sell pay travel visit meet call ask answer tell think know
remember forget learn teach start finish open close win lose find keep bring send wait help love hope plan dream sleep wake`

var givenNames = []string{
	"Ann",
	"Bob",
	"Carla",
	"David",
	"Ella",
	"Frank",
	"Gina",
	"Hugo",
	"Ida",
	"Jonas",
	"Karin",
	"Louis",
	"Maria",
	"Nils",
	"Olga",
	"Paul",
	"Rita",
	"Sven",
	"Tina",
	"Viktor",
}

func (*talk) name(i int) string { return givenNames[i%len(givenNames)] }

// line is what is said, without time and name.
func (t *talk) line(i int) string {
	draw := rand.New(rand.NewPCG(uint64(i), 7))
	if i%50 == 49 {
		return t.han(draw.IntN(1000)) + " 🎉 " + t.han(draw.IntN(1000))
	}
	zipf := rand.NewZipf(draw, 1.15, 8, 60_000)
	words := make([]string, 10+draw.IntN(12))
	for j := range words {
		if n := int(zipf.Uint64()); n < len(t.words) {
			words[j] = t.words[n]
		} else {
			words[j] = fmt.Sprintf("no%dx", n) // part numbers, place names, anything that isn't in a dictionary
		}
	}
	return strings.Join(words, " ") + []string{".", ".", "!", "?"}[draw.IntN(4)]
}

// turn is a line with its time and speaker.
func (t *talk) turn(i int) string {
	session := i / 20
	at := time.Date(2019, 1, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(session) * 150 * time.Minute)
	return "(" + at.Format("3:04 pm on 2 January, 2006") + ") " + t.name(session*7+i%2) + ": " + t.line(i)
}

// han is some Chinese characters.
func (*talk) han(i int) string {
	return string([]rune{rune(0x4e00 + i), rune(0x4e00 + i*7%900), rune(0x4e00 + i*13%700), rune(0x4e00 + i%50)})
}

// ask is a question with some words of a line and, half of the time, the speaker's name.
func (t *talk) ask(draw *rand.Rand) string {
	i := draw.IntN(*homePassages)
	words := strings.Fields(strings.Trim(t.line(i), ".!?"))
	q := []string{"what", "was", "it", "about"}
	if draw.IntN(2) == 0 {
		q = append(q, t.name(i/20*7+i%2))
	}
	for _, at := range draw.Perm(len(words))[:min(5, len(words))] {
		q = append(q, words[at])
	}
	return strings.Join(q, " ") + "?"
}
