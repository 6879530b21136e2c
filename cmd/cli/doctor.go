package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loci/daemon"
	"loci/daemon/api"
	"loci/daemon/config"
)

// doctorCommand is `loci doctor`.
func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Say what works, what does not, and how to fix it", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

// doctor checks from this side, then asks the daemon to check from its own. If anything is broken, it exits with an
// error code.
func (a *app) doctor(ctx context.Context) error {
	checks := a.localChecks()
	more, err := a.daemonChecks(ctx)
	checks = append(checks, more...)
	if err != nil {
		_, hint := explain(err)
		checks = append(checks, api.Broken("daemon", err.Error(), hint))
	}
	broken := 0
	for _, c := range checks {
		if c.Level == api.CheckError {
			broken++
		}
	}
	if a.json {
		err = writeJSON(a.out, checks)
	} else {
		err = a.printChecks(checks)
	}
	if broken > 0 {
		return errors.Join(
			&fault{kind: api.KindInternal, msg: fmt.Sprintf("%d of %d checks found something broken", broken, len(checks))},
			err,
		)
	}
	return err
}

// checkIndent is where the text of a check begins.
const checkIndent = 24

func (a *app) printChecks(checks []api.Check) error {
	width := columnsOf(a.out)
	for _, c := range checks {
		line := fmt.Sprintf("%-8s %-14s %s", levelWord(c.Level), oneLine(c.Name), oneLine(c.Detail))
		if _, err := fmt.Fprintln(a.out, filled(line, width, checkIndent)); err != nil {
			return err
		}
		if c.Fix != "" {
			fmt.Fprintln(a.out, filled(strings.Repeat(" ", checkIndent)+"try: "+oneLine(c.Fix), width, checkIndent+len("try: ")))
		}
	}
	return nil
}

func levelWord(level string) string {
	switch level {
	case api.CheckOK:
		return "ok"
	case api.CheckWarning:
		return "warning"
	}
	return "broken"
}

// localChecks are the checks that don't need the daemon.
func (a *app) localChecks() []api.Check {
	checks := []api.Check{api.Good("version", versionText())}
	p, err := a.paths()
	if err != nil {
		return append(checks, api.Broken("home", err.Error(), "set HOME or LOCI_HOME"))
	}
	checks = append(checks, homeCheck(p))
	if _, err := a.checkedConfig(); err != nil {
		_, hint := explain(err)
		checks = append(checks, api.Broken("configuration", err.Error(), hint))
	} else {
		checks = append(checks, api.Good("configuration", configDetail(p.Config)))
	}
	return append(checks, terminalCheck(config.OSEnv), clockCheck(time.Now(), zoneName(config.OSEnv)))
}

func configDetail(path string) string {
	if _, err := os.Stat(path); err != nil {
		return "defaults; " + path + " does not exist"
	}
	return path
}

// homeCheck tries to write to the home, and says how large it is.
func homeCheck(p config.Paths) api.Check {
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		return api.Broken("home", err.Error(), "make "+p.Home+" a folder that you can write, or set LOCI_HOME")
	}
	f, err := os.CreateTemp(p.Data, "doctor-*")
	if err != nil {
		return api.Broken("home", err.Error(), "make "+p.Data+" a folder that you can write, or set LOCI_HOME")
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return api.Broken("home", err.Error(), "check the disk under "+p.Data)
	}
	return api.Good("home", fmt.Sprintf("%s, %s", p.Home, size(folderSize(p.Data))))
}

// folderSize adds up the sizes in a folder; unreadable files count as zero.
func folderSize(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // unreadable files count as zero
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// terminalCheck says what kind of terminal the chat will get.
func terminalCheck(lookup config.Env) api.Check {
	name, _ := lookup("TERM")
	facts := []string{"TERM=" + name}
	for _, v := range []string{"COLORTERM", "TERM_PROGRAM", "NO_COLOR"} {
		if value, ok := lookup(v); ok && value != "" {
			facts = append(facts, v+"="+value)
		}
	}
	if v, ok := lookup("TMUX"); ok && v != "" {
		facts = append(facts, "inside tmux")
	}
	if v, ok := lookup("SSH_CONNECTION"); ok && v != "" {
		facts = append(facts, "over SSH")
	}
	detail := strings.Join(facts, ", ")
	if name == "" || name == "dumb" {
		return api.Warning("terminal", detail, `the chat needs a real terminal; loci -p "…" works everywhere`)
	}
	return api.Good("terminal", detail)
}

// clockCheck says which time and zone agents will be told.
func clockCheck(now time.Time, zone string) api.Check {
	detail := now.Format("2006-01-02 15:04:05 -0700")
	switch {
	case now.Year() < 2026:
		return api.Broken("clock", detail+": this is in the past", "set this machine's clock")
	case zone == "":
		return api.Warning("clock", detail+"; the zone has no name that is known here", "set TZ, like TZ=Europe/Berlin")
	}
	return api.Good("clock", detail+", "+zone)
}

// daemonChecks asks the daemon for its checks, starting it if necessary.
func (a *app) daemonChecks(ctx context.Context) ([]api.Check, error) {
	p, err := a.paths()
	if err != nil {
		return nil, err
	}
	if a.noStart {
		if socket, err := daemon.FindSocket(ctx, p); err != nil || socket == "" {
			return []api.Check{api.Warning("daemon", "not running", "loci daemon start")}, err
		}
	}
	c, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := a.register(ctx, c, api.ClientScript, nil); err != nil {
		return nil, err
	}
	s, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	checks := []api.Check{api.Good("daemon", fmt.Sprintf("running, pid %d, version %s, %s", s.PID, s.Version, s.Socket))}
	if s.Version != versionText() {
		checks[0] = api.Warning("daemon", fmt.Sprintf("version %s is running, this is %s", s.Version, versionText()), "loci daemon restart")
	}
	more, err := c.Doctor(ctx)
	return append(checks, more...), err
}
