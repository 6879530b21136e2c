package daemon

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loci/core"
	"loci/core/coretest"
	"loci/daemon/api"
	"loci/daemon/client"
	"loci/daemon/config"
)

// requests are plain requests to a daemon, as programs make them.
type requests struct {
	t   *testing.T
	web *http.Client
}

func newRequests(t *testing.T, socket string) *requests {
	t.Helper()
	r := &requests{t, &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}}
	t.Cleanup(r.web.CloseIdleConnections)
	return r
}

func (r *requests) do(method, path, body string) (status int, answer string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://localhost/v1/"+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.web.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// ids are those of the things in a list or of a single one.
func (r *requests) ids(method, path, body string) []string {
	r.t.Helper()
	status, answer := r.do(method, path, body)
	type thing struct{ ID string }
	var all []thing
	var one thing
	if err := json.Unmarshal([]byte(answer), &all); err != nil && json.Unmarshal([]byte(answer), &one) == nil {
		all = []thing{one}
	}
	if status != http.StatusOK && status != http.StatusCreated {
		r.t.Errorf("%s %s: %d %s", method, path, status, answer)
	}
	var ids []string
	for _, one := range all {
		ids = append(ids, one.ID)
	}
	return ids
}

// shelf is a list in which the middle one of three is damaged. One of it is deleted at the path where it is read, where
// del doesn't say otherwise.
type shelf struct{ table, list, get, del, damage string }

func TestADamagedRowIsMissedAndNothingElse(t *testing.T) {
	t.Parallel()
	p, cfg, c, s, stop := inUse(t)
	r := newRequests(t, p.Socket)
	shelves := fill(t, r, c, s)
	var damage []string
	all := map[string][]string{}
	for _, one := range shelves {
		all[one.table] = r.ids("GET", one.list, "")
		if len(all[one.table]) < 3 {
			t.Fatalf("%s: %v", one.table, all[one.table])
		}
		damage = append(damage, `UPDATE `+one.table+` SET `+one.damage+` WHERE id = '`+all[one.table][1]+`'`)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	corrupt(t, p, strings.Join(damage, "; "))
	if err := os.Remove(filepath.Join(p.Data, "index.db")); err != nil { // what is found is indexed anew
		t.Fatal(err)
	}
	start(t, cfg)
	c, _ = talker(t, p, "/")
	for _, one := range shelves {
		r.misses(one, all[one.table])
	}
	for path, body := range map[string]string{
		"passages/search": `{"query":"a note on pears"}`, "messages/search": `{"query":"a word"}`,
		"agents/messages/search": `{"query":"a word"}`,
	} {
		if status, answer := r.do("POST", path, body); status != http.StatusOK || !strings.Contains(answer, "a ") {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	found, err := c.SearchArchival(t.Context(), s.AgentID, api.SearchArchival{Query: "pears"})
	if err != nil || len(found.Results) != 2 {
		t.Errorf("a search: %+v, %v", found, err)
	}
	if files, _, err := c.SearchFiles(t.Context(), api.SearchFiles{Query: "figs"}); err != nil || len(files) != 2 {
		t.Errorf("a search of files: %+v, %v", files, err)
	}
	if answer := say(t, c, s, "SAY and on it goes"); answer != "and on it goes" {
		t.Errorf("it answers %q", answer)
	}
	namesAll(t, c, all)
	for _, held := range []string{"folders/" + all["folders"][0], "blocks/" + all["blocks"][0]} { // by the damaged agent
		if status, answer := r.do("DELETE", held, ""); status != http.StatusOK {
			t.Errorf("DELETE %s: %d %s", held, status, answer)
		}
	}
	for _, one := range slices.Backward(shelves) { // those that hold others come after them
		r.deletes(one, all[one.table])
	}
}

// corrupt is change without the trigger that refuses archives whose data is no JSON: no disk asks it.
func corrupt(t *testing.T, p config.Paths, statements string) {
	t.Helper()
	const name = "archives_moved"
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.Data, "loci.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // it was only read from
	var trigger string
	if err := db.QueryRowContext(t.Context(), `SELECT sql FROM sqlite_master WHERE name = $1`, name).Scan(&trigger); err != nil {
		t.Fatal(err)
	}
	change(t, p, `DROP TRIGGER `+name+`; `+statements+`; `+trigger)
}

// fill makes three of each noun.
func fill(t *testing.T, r *requests, c *client.Client, s api.Session) []shelf {
	t.Helper()
	agent := url.PathEscape(s.AgentID)
	for _, n := range []string{"1", "2", "3"} {
		say(t, c, s, "SAY a word "+n)
		for _, one := range [][2]string{
			{"archives", `{"name":"n` + n + `"}`},
			{"agents/" + agent + "/archival-memory", `{"text":"a note on pears ` + n + `"}`}, // its archive is the second
			{"agents", `{"name":"n` + n + `"}`},
			{"blocks", `{"label":"spare","value":"` + n + `"}`},
			{"conversations?agent_id=" + agent, `{}`},
			{"folders", `{"name":"n` + n + `"}`},
		} {
			r.ids("POST", one[0], one[1])
		}
	}
	folder := r.ids("GET", "folders?order=asc", "")[2]
	r.ids("PATCH", "agents/"+agent+"/folders/attach/"+folder, "")
	r.ids("PATCH", "agents/"+agent+"/core-memory/blocks/attach/"+r.ids("GET", "blocks?label=spare", "")[1], "")
	damaged := "agents/" + r.ids("GET", "agents?order=asc", "")[1]
	r.ids("PATCH", damaged+"/folders/attach/"+r.ids("GET", "folders?order=asc", "")[0], "")
	r.ids("PATCH", damaged+"/core-memory/blocks/attach/"+r.ids("GET", "blocks?label=spare&limit=50", "")[0], "")
	for _, n := range []string{"1", "2", "3"} {
		if _, err := c.UploadFile(t.Context(), folder, n+".md", []byte("a page on figs"), api.UploadParams{}); err != nil {
			t.Fatal(err)
		}
	}
	coretest.Until(t, "the files are read", func() bool {
		_, answer := r.do("GET", "folders/"+folder+"/files", "")
		return strings.Count(answer, `"processing_status":"completed"`) == 3
	})
	const cut = `data = '{"tags":'`
	notes := "agents/" + agent + "/archival-memory"
	return []shelf{
		{"agents", "agents?order=asc&limit=50", "agents/", "", cut},
		{"blocks", "blocks?label=spare&limit=50", "blocks/", "", cut},
		{"conversations", "conversations?agent_id=" + agent + "&order=asc&limit=50", "conversations/", "", cut},
		{"runs", "runs?order=asc&limit=50", "runs/", "", cut},
		{"steps", "steps?order=asc&limit=50", "steps/", "-", "created_at = 'never'"},
		{"archives", "archives?order=asc&limit=50", "archives/", "", cut},
		{"passages", notes + "?ascending=true&limit=50", "", notes + "/", "created_at = 'never'"},
		{"folders", "folders?order=asc&limit=50", "folders/", "", cut},
		{"files", "folders/" + folder + "/files?limit=50", "folders/" + folder + "/files/", "folders/" + folder + "/", cut},
	}
}

// misses checks that a list misses the damaged one alone, also page by page, and that whoever asks for it learns why.
func (r *requests) misses(one shelf, all []string) {
	r.t.Helper()
	want := slices.Concat(all[:1], all[2:])
	if got := r.ids("GET", one.list, ""); !slices.Equal(got, want) {
		r.t.Errorf("%s: the list is %v, want %v", one.table, got, want)
	}
	var paged []string
	for after := ""; len(paged) <= len(all); {
		page := r.ids("GET", strings.Replace(one.list, "limit=50", "limit=1", 1)+after, "")
		if len(page) == 0 {
			break
		}
		paged = append(paged, page...)
		after = "&after=" + url.QueryEscape(page[len(page)-1])
	}
	if !slices.Equal(paged, want) {
		r.t.Errorf("%s: page by page the list is %v, want %v", one.table, paged, want)
	}
	if one.get == "" {
		return
	}
	if status, answer := r.do("GET", one.get+url.PathEscape(all[1]), ""); status != http.StatusInternalServerError ||
		!strings.Contains(answer, strings.TrimSuffix(one.table, "s")+" "+all[1]+" cannot be read: its row is damaged") {
		r.t.Errorf("GET %s of the damaged one: %d %s", one.table, status, answer)
	}
}

// deletes checks that the damaged one can be got rid of, and that it is gone then.
func (r *requests) deletes(one shelf, all []string) {
	r.t.Helper()
	if one.del == "-" {
		return
	}
	path := cmp.Or(one.del, one.get) + url.PathEscape(all[1])
	if status, answer := r.do("DELETE", path, ""); status != http.StatusOK && status != http.StatusNoContent {
		r.t.Errorf("DELETE of %s: %d %s", one.table, status, answer)
	}
	if status, answer := r.do("DELETE", path, ""); status != http.StatusNotFound {
		r.t.Errorf("DELETE of %s again: %d %s", one.table, status, answer)
	}
}

// namesAll checks that doctor and backup name the damaged ones, and that the backup is made.
func namesAll(t *testing.T, c *client.Client, all map[string][]string) {
	t.Helper()
	checks, err := c.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(checks, func(c api.Check) bool { return c.Name == "store" })
	file := filepath.Join(t.TempDir(), "saved")
	saved, err := c.Backup(t.Context(), file)
	if err != nil {
		t.Fatalf("backup: %v", err)
	}
	named := strings.Join(saved.Damaged, "\n")
	for table, ids := range all {
		if !strings.Contains(named, ids[1]) || !strings.Contains(checks[i].Detail, ids[1]) {
			t.Errorf("%s of %s is not named:\n%s\n%s", ids[1], table, named, checks[i].Detail)
		}
	}
}

// TestWhatNoColumnHoldsIsNamedAndBackedUp: a word for a number that nothing reads as a row of its own, nothing where there must
// be something, and a time after all times.
func TestWhatNoColumnHoldsIsNamedAndBackedUp(t *testing.T) {
	t.Parallel()
	p, cfg, c, s, stop := inUse(t)
	r := newRequests(t, p.Socket)
	say(t, c, s, "SAY one")
	say(t, c, s, "SAY two")
	steps := r.ids("GET", "steps?order=asc&limit=50", "")
	back, err := c.Rewind(t.Context(), api.RewindRequest{StepID: steps[1]})
	if err != nil {
		t.Fatal(err)
	}
	agents := []string{s.AgentID}
	for _, note := range []string{"a note on pears", "a note on figs"} {
		r.ids("POST", "agents/"+s.AgentID+"/archival-memory", `{"text":"`+note+`"}`)
	}
	for _, name := range []string{"late", "nameless"} {
		agents = append(agents, r.ids("POST", "agents", `{"name":"`+name+`"}`)...)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	const message = `(SELECT MIN(seq) FROM messages WHERE role = 'assistant')`
	loosen(t, p, `UPDATE rewinds SET after_step = 'abc'; UPDATE agents SET created_at = 9000000000000000000 WHERE name = 'late';
		UPDATE agents SET name = NULL WHERE name = 'nameless'; UPDATE messages SET run_id = NULL WHERE seq = `+message+`;
		UPDATE passages SET text = NULL WHERE text LIKE '%figs'`)
	if err := os.Remove(filepath.Join(p.Data, "index.db")); err != nil { // what is found is indexed anew
		t.Fatal(err)
	}
	start(t, cfg)
	c, _ = talker(t, p, "/")
	file := filepath.Join(t.TempDir(), "saved")
	saved, err := c.Backup(t.Context(), file)
	if err != nil {
		t.Fatalf("backup: %v", err)
	}
	named := strings.Join(saved.Damaged, "\n")
	want := map[string]string{back.ID: "after_step is no number", agents[1]: "created_at leaves no room", agents[2]: "name is missing"}
	for id, why := range want {
		if strings.Count(named, id) != 1 || !strings.Contains(named, why) {
			t.Errorf("%s: %s is not named once:\n%s", id, why, named)
		}
	}
	if !strings.Contains(named, "of messages: run_id is missing") || !strings.Contains(named, "of passages: text is missing") ||
		len(saved.Damaged) != 5 {
		t.Errorf("it names:\n%s", named)
	}
	list, err := c.Messages(t.Context(), s.AgentID, api.ListMessages{})
	if err != nil || !slices.ContainsFunc(list, func(m api.Message) bool { return strings.Contains(m.Content.String(), "one") }) {
		t.Errorf("the thread has %d messages: %v", len(list), err)
	}
	coretest.Until(t, "all is indexed and found", func() bool {
		found, partial, err := c.SearchPassages(t.Context(), api.SearchPassages{Query: api.PtrTo("a note on pears")})
		return err == nil && len(found) == 1 && partial == ""
	})
	if _, err := PrepareRestore(t.Context(), p, file); core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), " of ") {
		t.Errorf("restore: %v", err)
	}
}

// loosen is change where every column may be empty: a broken disk asks no constraint. The schema is as before then.
func loosen(t *testing.T, p config.Paths, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.Data, "loci.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // what it wrote is committed
	db.SetMaxOpenConns(1)
	const edit, done = `PRAGMA writable_schema = ON;`, `; PRAGMA writable_schema = RESET`
	for _, text := range []string{
		`CREATE TEMP TABLE was AS SELECT name, sql FROM sqlite_master WHERE type = 'table'`,
		edit + `UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE name IN (SELECT name FROM was)` + done,
		statements,
		edit + `UPDATE sqlite_master SET sql = (SELECT w.sql FROM was w WHERE w.name = sqlite_master.name) WHERE type = 'table'` + done,
	} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func TestAnAgentWhoseConversationIsDamagedIsTalkedToInAnother(t *testing.T) {
	t.Parallel()
	p, cfg, c, s, stop := inUse(t)
	say(t, c, s, "SAY one")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	change(t, p, `UPDATE conversations SET data = '{"model":'`)
	start(t, cfg)
	c = client.New(client.Options{Socket: p.Socket, Version: "test"})
	t.Cleanup(c.Close)
	hello := api.Client{Kind: api.ClientPrint, Folder: "/", Zone: "Europe/Berlin", Open: &api.Open{}}
	const says, todo = "its row is damaged; its agent can be talked to in another one", " --conversation new"
	_, err := c.Register(t.Context(), hello)
	var told *client.Error
	if !errors.As(err, &told) || !strings.Contains(told.Message, says) || !strings.HasSuffix(told.Hint, s.AgentID+todo) {
		t.Errorf("opened: %v", err)
	}
	r := newRequests(t, p.Socket)
	status, answer := r.do("POST", "agents/"+s.AgentID+"/messages", `{"input":"SAY two"}`)
	if status != http.StatusInternalServerError || !strings.Contains(answer, says) {
		t.Errorf("a message: %d %s", status, answer)
	}
	hello.Open = &api.Open{Agent: s.AgentID, Conversation: "new"}
	another, err := c.Register(t.Context(), hello)
	if err != nil || another.AgentID != s.AgentID {
		t.Fatalf("another: %+v, %v", another, err)
	}
	if answer := say(t, c, another, "SAY and on it goes"); answer != "and on it goes" {
		t.Errorf("it answers %q", answer)
	}
}
