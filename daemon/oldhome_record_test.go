package daemon

import (
	"archive/tar"
	"bytes"
	"compress/bzip2"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"loci/core/coretest"
	"loci/daemon/api"
	"loci/daemon/client"
	"loci/daemon/config"
	"loci/providers/providertest"
)

// recordOldHome makes testdata/oldhome.tar.bz2. The home in it was made on 2026-11-22 by the program of commit 303ec3f:
//
//	git worktree add old 303ec3f && (cd old && go build -o /tmp/loci-303ec3f ./cmd/loci)
//	go test ./daemon -run TestRecordAnOldHome -record-old-home /tmp/loci-303ec3f
//
// It is never made again by a newer program: that it is old is the point.
var recordOldHome = flag.String("record-old-home", "", "make the fixture of an old home with this program")

const (
	oldHomeFile  = "testdata/oldhome.tar.bz2"
	oldHomeFacts = "recorded.json" // an oldHome, beside the home
	oldSummary   = "They spoke of a lighthouse, its keeper Ann Bell and the ferry."
)

// oldHome is what the old program showed of its home.
type oldHome struct {
	Dir    string            // where it was; the paths in its tables begin with it
	At     time.Time         // when the program was killed
	Model  string            // the URL of its model server
	Agents map[string]string // ids, by name
	Steps  []oldStep
	Runs   map[string]string // ids of runs that have a name
}

// oldStep is one request of the old program.
type oldStep struct {
	Agent string          // its name
	Sent  api.SentRequest // what the program said it had sent
	Wire  json.RawMessage // what the server got; null of the offline model
}

// oldModel is the scripted server of the old home, and of the program that opens it later.
func oldModel(t *testing.T) *providertest.Server {
	t.Helper()
	s := providertest.NewServer(t)
	s.Models = []providertest.Model{{Name: "test-model", Window: 32_000}, {Name: "small-model", Window: 6_000}}
	s.Reply = func(r providertest.Request) providertest.Turn {
		if len(r.Tools) == 0 {
			return providertest.Turn{Text: oldSummary}
		}
		return s.Directives(r)
	}
	return s
}

func oldVariables(url string) []string {
	return []string{
		"OPENAI_API_KEY",
		"key",
		"OPENAI_BASE_URL",
		url + "/v1",
		"XAI_API_KEY",
		"key",
		"XAI_BASE_URL",
		url + "/v1",
		"OLLAMA_HOST",
		url,
	}
}

// recorder drives the old program.
type recorder struct {
	t      *testing.T
	server *providertest.Server
	c      *client.Client
	daemon *exec.Cmd
	home   oldHome
}

func TestRecordAnOldHome(t *testing.T) {
	if *recordOldHome == "" {
		t.Skip("the fixture is made once")
	}
	r := &recorder{t: t, server: oldModel(t)}
	r.home = oldHome{
		Dir:    filepath.Join(os.TempDir(), "loci-old-home"),
		Model:  r.server.URL,
		Agents: map[string]string{},
		Runs:   map[string]string{},
	}
	if err := os.Mkdir(r.home.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(r.home.Dir) })
	r.start()
	r.agents()
	r.files()
	r.mirror()
	r.talk()
	r.past()
	r.half()
	r.pack()
}

func (r *recorder) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *recorder) start() {
	dir := filepath.Join(r.home.Dir, "home")
	paths, err := config.FindPaths(func(name string) (string, bool) { return dir, name == "LOCI_HOME" })
	r.must(err)
	r.daemon = exec.Command(*recordOldHome, "daemon", "run")
	r.daemon.Env = []string{"LOCI_HOME=" + dir, "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	vars := oldVariables(r.server.URL)
	for i := 0; i < len(vars); i += 2 {
		r.daemon.Env = append(r.daemon.Env, vars[i]+"="+vars[i+1])
	}
	r.daemon.Stderr = r.t.Output()
	r.must(r.daemon.Start())
	r.t.Cleanup(func() { _ = r.daemon.Process.Kill() })
	r.c = client.New(client.Options{Socket: paths.Socket, Version: "dev"})
	r.t.Cleanup(r.c.Close)
	coretest.Until(r.t, "ready", func() bool {
		status, err := r.c.Status(r.t.Context())
		return err == nil && status.Ready
	})
}

// agents makes one agent for each wire, one without a language model, and one whose window is small.
func (r *recorder) agents() {
	ctx := r.t.Context()
	shared, err := r.c.CreateBlock(ctx, api.CreateBlock{Label: "house", Value: "Nobody has been here yet."})
	r.must(err)
	for name, model := range map[string]string{
		"Chat": "openai/test-model", "Responses": "xai/test-model", "Ollama": "ollama/test-model", "Offline": "offline/loci",
		"Small": "openai/small-model",
	} {
		a, err := r.c.CreateAgent(ctx, api.CreateAgent{
			Name:     &name,
			Model:    &model,
			BlockIDs: []string{shared.ID},
			Tools:    []string{"archival_memory_insert", "archival_memory_search"},
			MemoryBlocks: []api.CreateBlock{
				{Label: "human", Value: "Nothing is known yet."},
				{Label: "persona", Value: "I am " + name + "."},
			},
		})
		r.must(err)
		r.home.Agents[name] = a.ID
	}
	for i, topic := range topics() {
		_, err := r.c.CreatePassage(ctx, r.home.Agents["Chat"], api.CreatePassage{
			Text: fmt.Sprintf(
				"The %s belongs to family number %d and was bought in %d.",
				topic,
				i,
				1900+i,
			),
			Tags: []string{"family", topic},
		})
		r.must(err)
	}
}

// files makes a folder of files and one that follows a directory; two agents have both.
func (r *recorder) files() {
	ctx := r.t.Context()
	papers, err := r.c.CreateFolder(ctx, api.CreateFolder{Name: "papers"})
	r.must(err)
	var lines strings.Builder
	for i, topic := range slices.Concat(topics(), topics(), topics()) {
		fmt.Fprintf(
			&lines,
			"Line %d tells that the %s has %d doors and stands at the end of a long road that nobody walks any more.\n",
			i+1,
			topic,
			i,
		)
	}
	for name, text := range map[string]string{
		"doors.txt": lines.String(), "boats.md": "# Boats\n\nThe ferry leaves at nine.\n\n# Keepers\n\nAnn Bell keeps the light.\n",
		"prices.csv": "thing,price\nrope,12\nlamp oil,7\n", "page.html": "<h1>Tides</h1><p>High water comes at noon.</p>",
	} {
		_, err := r.c.UploadFile(ctx, papers.ID, name, []byte(text), api.UploadParams{})
		r.must(err)
	}
	shelf := filepath.Join(r.home.Dir, "shelf")
	r.must(os.Mkdir(shelf, 0o700))
	r.must(os.WriteFile(filepath.Join(shelf, "letter.md"), []byte("Dear Ann, the anchor was found in the harbour.\n"), 0o600))
	followed, err := r.c.CreateFolder(ctx, api.CreateFolder{Name: "shelf"})
	r.must(err)
	_, err = r.c.SetFolderMirror(ctx, followed.ID, api.SetFolderMirror{Path: shelf})
	r.must(err)
	for id, want := range map[string]int{papers.ID: 4, followed.ID: 1} {
		r.must(r.c.AttachFolder(ctx, r.home.Agents["Chat"], id))
		r.must(r.c.AttachFolder(ctx, r.home.Agents["Ollama"], id))
		coretest.Until(r.t, "read", func() bool {
			files, err := r.c.Files(ctx, id, client.ListFiles{})
			r.must(err)
			done := slices.DeleteFunc(files, func(f api.File) bool { return f.ProcessingStatus != "completed" })
			return len(done) == want
		})
	}
}

func (r *recorder) mirror() {
	_, err := r.c.SetMirror(r.t.Context(), r.home.Agents["Ollama"], api.SetMemoryMirror{Path: filepath.Join(r.home.Dir, "notes")})
	r.must(err)
	_, err = r.c.SyncMirror(r.t.Context(), r.home.Agents["Ollama"])
	r.must(err)
}

// say sends a message and keeps every step of the run.
func (r *recorder) say(agent, text string) (run string) {
	r.t.Helper()
	ctx := r.t.Context()
	before := len(r.server.Requests())
	answer, err := r.c.Send(ctx, client.Target{AgentID: r.home.Agents[agent]}, api.StreamingRequest{
		Request: api.Request{Messages: []api.Input{api.UserInput(text, "")}},
	})
	r.must(err)
	run = answer.Usage.RunIDs[0]
	wire := slices.DeleteFunc(r.server.Requests()[before:], func(q providertest.Request) bool { return len(q.Tools) == 0 })
	steps, err := r.c.RunSteps(ctx, run, api.Page{Order: "asc", Limit: 100})
	r.must(err)
	if agent != "Offline" && len(steps) != len(wire) {
		r.t.Fatalf("%s made %d requests and has %d steps", text, len(wire), len(steps))
	}
	for i, s := range steps {
		sent, err := r.c.StepRequest(ctx, s.ID)
		r.must(err)
		step := oldStep{Agent: agent, Sent: sent}
		if agent != "Offline" {
			step.Wire = wire[i].Body
		}
		r.home.Steps = append(r.home.Steps, step)
	}
	return run
}

// talk fills the windows: with edits of memory, searches, open files, reasoning, calls in parallel and compactions.
func (r *recorder) talk() {
	for _, agent := range []string{"Chat", "Responses", "Ollama"} {
		r.say(agent, "CALL memory_insert {\"label\":\"human\",\"new_string\":\"Her name is Ada.\"}\nSAY I will remember that, Ada.")
		r.say(agent, "CALL memory_insert {\"label\":\"house\",\"new_string\":\"The lamp was lit by "+agent+".\"}\nSAY The lamp is lit.")
		r.say(
			agent,
			"THINK She wants to know about boats.\nCALL archival_memory_insert {\"content\":\"The ferry was painted "+
				"green.\",\"tags\":[\"boats\"]}\n"+
				"CALL& archival_memory_search {\"query\":\"lighthouse\"}\nTHINK Both are done.\nSAY The ferry is green.",
		)
		r.say(agent, "CALL conversation_search {\"query\":\"lamp\"}\nSAY The lamp was lit.")
		r.say(agent, "What is there to tell of the observatory?")
	}
	r.say(
		"Chat",
		"CALL open_files {\"file_requests\":[{\"file_name\":\"papers/doors.txt\",\"offset\":20,\"length\":10},"+
			"{\"file_name\":\"papers/boats.md\"}]}\nSAY Open.",
	)
	r.say(
		"Chat",
		"CALL grep_files {\"pattern\":\"harbour\"}\nCALL semantic_search_files {\"query\":\"when does the ferry go\"}\nSAY Found.",
	)
	r.say(
		"Ollama",
		"CALL open_files {\"file_requests\":[{\"file_name\":\"shelf/letter.md\",\"offset\":0,\"length\":1}]}\nSAY It is a letter.",
	)
	for _, text := range []string{"My name is Ada and I live in Leipzig", "I like tea", "Where do I live?"} {
		r.say("Offline", text)
	}
	for i := range 12 {
		r.say(
			"Small",
			fmt.Sprintf(
				"Day %d of %s.\nSAY The %s was seen. %s",
				i,
				topics()[i],
				topics()[i],
				strings.Repeat("It stood there as it always had. ", 40),
			),
		)
	}
}

// past makes versions of blocks, a rewind, an undone one and a fork.
func (r *recorder) past() {
	ctx := r.t.Context()
	for _, text := range []string{"I am terse.", "I am talkative."} {
		_, _, err := r.c.UpdateAgentBlock(ctx, r.home.Agents["Chat"], "persona", api.UpdateBlock{Value: api.Some(text)}, "")
		r.must(err)
	}
	r.home.Runs["rewound"] = r.say("Responses", "SAY This will be taken back.")
	_, err := r.c.Rewind(ctx, api.RewindRequest{RunID: r.home.Runs["rewound"]})
	r.must(err)
	r.say("Responses", "SAY This stays.")
	undone := r.say("Ollama", "SAY This comes back.")
	rewind, err := r.c.Rewind(ctx, api.RewindRequest{RunID: undone})
	r.must(err)
	_, err = r.c.UndoRewind(ctx, rewind.ID)
	r.must(err)
	_, err = r.c.ForkConversation(ctx, "default", r.home.Agents["Chat"], api.ForkConversation{})
	r.must(err)
	_, err = r.c.SyncMirror(ctx, r.home.Agents["Ollama"])
	r.must(err)
}

// half begins a run whose client goes on reading, and kills the program when a tool has run and half of the answer is there.
func (r *recorder) half() {
	text := "CALL memory_insert {\"label\":\"human\",\"new_string\":\"She was here when the light went out.\"}\nTOKENS 20ms\nLONG 60"
	words := 0
	for m, err := range r.c.Stream(r.t.Context(), client.Target{AgentID: r.home.Agents["Chat"]}, api.StreamingRequest{
		Request: api.Request{Messages: []api.Input{api.UserInput(text, "otid-half")}},
	}) {
		r.must(err)
		if m.RunID != "" {
			r.home.Runs["half"] = m.RunID
		}
		if m.MessageType == api.MessageAssistant {
			words++
		}
		if words == 5 {
			break
		}
	}
	r.must(r.daemon.Process.Kill())
	_ = r.daemon.Wait() // it was killed
	r.home.At = time.Now().UTC()
}

// pack writes the databases, the mirror and the followed directory into the fixture.
func (r *recorder) pack() {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(name string, data []byte) {
		r.must(w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), Format: tar.FormatPAX}))
		_, err := w.Write(data)
		r.must(err)
	}
	var facts bytes.Buffer
	enc := json.NewEncoder(&facts)
	enc.SetEscapeHTML(false) // what went over the wire stays as it was
	r.must(enc.Encode(r.home))
	add(oldHomeFacts, facts.Bytes())
	for _, dir := range []string{"home/data", "notes", "shelf"} {
		r.must(fs.WalkDir(os.DirFS(r.home.Dir), dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || strings.HasSuffix(name, "-shm") || strings.HasSuffix(name, ".lock") {
				return err
			}
			data, err := os.ReadFile(filepath.Join(r.home.Dir, name))
			if err == nil {
				add(name, data)
			}
			return err
		}))
	}
	r.must(w.Close())
	pack := exec.Command("bzip2", "-9") // the window of gzip is too small for databases, and Go reads bzip2 as well
	pack.Stdin = &b
	packed, err := pack.Output()
	r.must(err)
	r.must(os.WriteFile(oldHomeFile, packed, 0o600))
	r.t.Logf("%s: %d bytes, %d steps", oldHomeFile, len(packed), len(r.home.Steps))
}

// unpackOldHome unpacks the fixture into dir, which becomes its place, and tells what was recorded.
func unpackOldHome(t *testing.T, dir string) oldHome {
	t.Helper()
	f, err := os.Open(oldHomeFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var h oldHome
	for r := tar.NewReader(bzip2.NewReader(f)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return h
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err == nil && header.Name == oldHomeFacts {
			err = json.Unmarshal(data, &h)
		}
		path := filepath.Join(dir, header.Name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
