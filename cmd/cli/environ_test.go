package cli

import (
	"path/filepath"
	"testing"

	"loci/daemon"
	"loci/daemon/config"
)

// TestADaemonIsToldOfTheDesktopAndThePersonsHome runs alone: it sets variables of the whole program.
func TestADaemonIsToldOfTheDesktopAndThePersonsHome(t *testing.T) {
	want := map[string]string{daemon.BusVariable: "unix:path=/run/user/1/bus", "HOME": "/home/ann", "PATH": "/bin"}
	for name, value := range want {
		t.Setenv(name, value)
	}
	cfg, err := (&app{}).daemonConfig(config.Paths{Config: filepath.Join(t.TempDir(), "config.toml")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		if got, _ := cfg.Environ(name); got != value {
			t.Errorf("%s = %q", name, got)
		}
	}
}
