package daemon

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loci/core"
	"loci/daemon/api"
	"loci/daemon/client"
	"loci/daemon/config"
	"loci/providers/providertest"
)

// change runs a statement on the facts of a home whose daemon is stopped.
func change(t *testing.T, p config.Paths, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.Data, "loci.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // what it wrote is committed
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// inUse is a home whose daemon has a model that says what it is told to, and an agent to talk to.
func inUse(t *testing.T) (p config.Paths, cfg Config, c *client.Client, s api.Session, stop func() error) {
	t.Helper()
	p, settings := home(t)
	model := providertest.NewServer(t)
	cfg = Config{Paths: p, Settings: settings, Environ: environ("OPENAI_API_KEY", "key", "OPENAI_BASE_URL", model.V1())}
	_, stop = start(t, cfg)
	c, s = talker(t, p, "/")
	return p, cfg, c, s, stop
}

func TestADamagedMessageDoesNotEndItsThread(t *testing.T) {
	t.Parallel()
	p, cfg, c, s, stop := inUse(t)
	say(t, c, s, "CALL archival_memory_search {\"query\":\"pears\"}\nSAY none")
	say(t, c, s, "SAY still here")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	change(t, p, `UPDATE messages SET data = '{"content":' WHERE seq IN (SELECT MIN(seq) FROM messages WHERE role = 'assistant')`)
	d, _ := start(t, cfg)
	c, _ = talker(t, p, "/")
	list, err := c.Messages(t.Context(), s.AgentID, api.ListMessages{})
	if err != nil || !slices.ContainsFunc(list, func(m api.Message) bool { return strings.Contains(m.Content.String(), "is damaged") }) {
		t.Errorf("the list has %d messages, none of them damaged: %v", len(list), err)
	}
	if answer := say(t, c, s, "SAY and on it goes"); answer != "and on it goes" {
		t.Errorf("it answers %q", answer)
	}
	none := func(string) (core.Secret, bool) { return "", false }
	for _, check := range d.Doctor(t.Context(), none) {
		if check.Name == "store" && (check.Level != api.CheckError || !strings.Contains(check.Detail, "message-")) {
			t.Errorf("the doctor says: %+v", check)
		}
	}
	file := filepath.Join(t.TempDir(), "saved")
	saved, err := c.Backup(t.Context(), file)
	if err != nil || len(saved.Damaged) != 1 || !strings.Contains(saved.Damaged[0], "message-") {
		t.Errorf("backup: %+v, %v", saved, err)
	}
	if _, err := PrepareRestore(t.Context(), p, file); core.KindOf(err) != core.Invalid {
		t.Errorf("restore: %v", err)
	}
}

// TestOfManyDamagedRowsDoctorAndBackupTellHowMany: twenty are named.
func TestOfManyDamagedRowsDoctorAndBackupTellHowMany(t *testing.T) {
	t.Parallel()
	p, cfg, c, s, stop := inUse(t)
	for range 12 {
		say(t, c, s, "SAY still here")
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	change(t, p, `UPDATE messages SET data = '{"content":' WHERE seq IN (SELECT seq FROM messages ORDER BY seq DESC LIMIT 24)`)
	d, _ := start(t, cfg)
	c, _ = talker(t, p, "/")
	none := func(string) (core.Secret, bool) { return "", false }
	for _, check := range d.Doctor(t.Context(), none) {
		if check.Name == "store" && !strings.HasSuffix(check.Detail, "; and 4 more") {
			t.Errorf("the doctor says: %s", check.Detail)
		}
	}
	saved, err := c.Backup(t.Context(), filepath.Join(t.TempDir(), "saved"))
	if err != nil || len(saved.Damaged) != 20 || saved.DamagedRows != 24 {
		t.Errorf("backup: %+v, %v", saved, err)
	}
}
