package daemon

import (
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
