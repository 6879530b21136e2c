package daemon

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/core/coretest"
	"loci/daemon/api"
	"loci/daemon/client"
)

func TestAFullDiskCanStillBeRead(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	coretest.SmallDisk(t, p.Home)
	cfg := Config{Paths: p, Settings: settings}
	_, stop := start(t, cfg)
	c, s := talker(t, p, "/")
	say(t, c, s, "My name is Ada")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	coretest.FillDisk(t, p.Home)
	d, stop := start(t, cfg)
	c = client.New(client.Options{Socket: p.Socket, Version: "test"})
	defer c.Close()
	list, err := c.Messages(t.Context(), s.AgentID, api.ListMessages{})
	if err != nil || len(list) < 2 {
		t.Errorf("%d messages are listed, %v", len(list), err)
	}
	human, _, err := c.AgentBlock(t.Context(), s.AgentID, "human")
	if err != nil || !strings.Contains(human.Value, "Ada") {
		t.Errorf("the memory is %q, %v", human.Value, err)
	}
	coretest.FillDisk(t, p.Home) // what the reserve gave, too
	check := d.checkStore(t.Context())
	if check.Level != api.CheckError || !strings.Contains(check.Fix, "free some space") || strings.Contains(check.Fix, "backup") {
		t.Errorf("the doctor says: %+v", check)
	}
	_, err = d.Backup(t.Context(), filepath.Join(p.Home, "saved"))
	if core.KindOf(err) != core.Unavailable || !strings.Contains(core.HintOf(err), "free some space") {
		t.Errorf("a backup fails with %v (%s)", err, core.HintOf(err))
	}
	if err := stop(); err != nil {
		t.Logf("the daemon ended with %v", err)
	}
}

func TestARunningDaemonReadsOnWhenTheDiskIsFull(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	coretest.SmallDisk(t, p.Home)
	_, stop := start(t, Config{Paths: p, Settings: settings})
	c, s := talker(t, p, "/")
	say(t, c, s, "My name is Ada")
	human, _, err := c.AgentBlock(t.Context(), s.AgentID, "human")
	if err != nil {
		t.Fatal(err)
	}
	r := newRequests(t, p.Socket)
	r.ids("PATCH", "blocks/"+human.ID, `{"value":"Grace"}`) // the system message would be compiled anew
	coretest.FillDisk(t, p.Home)
	for i, status := 0, 0; status != http.StatusServiceUnavailable; i++ { // what the log of writes has room for
		var answer string
		status, answer = r.do("POST", "agents/"+s.AgentID+"/archival-memory", `{"text":"`+strings.Repeat("pears ", 1000)+`"}`)
		if i > 10_000 || status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Fatalf("a write: %d %s", status, answer)
		}
	}
	for _, path := range []string{
		"agents/" + s.AgentID + "/messages", "conversations/" + s.ConversationID + "/messages", "agents", "agents/" + s.AgentID,
		"agents/" + s.AgentID + "/core-memory/blocks", "agents/" + s.AgentID + "/archival-memory", "runs", "steps", "blocks",
		"agents/" + s.AgentID + "/context", "agents/" + s.AgentID + "/archival-memory/search?query=pears",
		"conversations?agent_id=" + s.AgentID, "models", "tools", "folders", "agents/" + s.AgentID + "/files",
	} {
		if status, answer := r.do("GET", path, ""); status != http.StatusOK {
			t.Errorf("GET %s: %d %s", path, status, answer)
		}
	}
	if list, err := c.Messages(t.Context(), s.AgentID, api.ListMessages{}); err != nil || len(list) < 2 {
		t.Errorf("%d messages are listed, %v", len(list), err)
	}
	if err := stop(); err != nil {
		t.Logf("the daemon ended with %v", err)
	}
}
