package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"loci/core"
	"loci/daemon/api"
	"loci/providers"
	"loci/sandbox"
	backups "loci/storage/backup"
	"loci/storage/datadir"
)

const (
	doctorAsks = 10 * time.Second // for all providers together
	// maxProbe is the largest database that the doctor reads in full; a larger one would take too long.
	maxProbe = 256 << 20
)

// Doctor reports on the store and on the providers that the caller's variables reach.
func (d *Daemon) Doctor(ctx context.Context, env core.Env) []api.Check {
	checks := append([]api.Check{d.checkStore(ctx)}, sizes(d.cfg.Paths.Data)...)
	if d.cfg.Settings.Listen != "" && d.cfg.Settings.Token == "" {
		checks = append(
			checks,
			api.Warning(
				"port",
				fmt.Sprintf("every account of this machine can use http://%s", d.tcp.Addr()),
				"set LOCI_TOKEN, then loci daemon restart",
			),
		)
	}
	if s := d.current().sandbox; s != nil {
		checks = append(checks, checkSandbox(s.Probe(ctx)))
	}
	if p := d.current().packages; p != nil {
		if n, bytes := p.Size(); n > 0 {
			checks = append(checks, api.Good("packages", fmt.Sprintf("%.1f MB: %s of packages that tools ask for",
				float64(bytes)/(1<<20), core.Count(n, "set"))))
		}
	}
	checks = append(checks, d.checkSecrets(ctx))
	checks = append(checks, d.checkEmbedding(ctx)...)
	checks = append(checks, d.checkMirrors()...)
	checks = append(checks, d.checkFollowed(ctx)...)
	checks = append(checks, d.checkWaiting(ctx)...)
	return append(checks, d.checkProviders(ctx, env)...)
}

// sizes lists the files of the home, what each is for and how much space it takes.
func sizes(dir string) []api.Check {
	parts, err := datadir.Sizes(dir)
	if err != nil {
		return []api.Check{api.Broken("disk", err.Error(), "check the disk under "+dir)}
	}
	checks := make([]api.Check, len(parts))
	for i, p := range parts {
		checks[i] = api.Good(p.Name, fmt.Sprintf("%.1f MB: %s", float64(p.Bytes)/(1<<20), p.For))
	}
	return checks
}

// checkSandbox reports what this machine can confine. Only programs that agents start need it, so that what is missing is no
// fault of the home.
func checkSandbox(r sandbox.Report) api.Check {
	const name = "sandbox"
	switch r.Level {
	case sandbox.LevelFull:
		return api.Good(name, "full: "+strings.Join(r.Layers, ", "))
	case sandbox.LevelPartial:
		return api.Good(name, "partial: "+strings.Join(r.Layers, ", ")+": "+r.Detail)
	case sandbox.LevelReduced:
		return api.Warning(name, strings.Join(r.Layers, ", ")+": "+r.Detail, r.Fix)
	case sandbox.LevelOff, sandbox.LevelNone:
	}
	return api.Warning(name, string(r.Level)+": "+r.Detail, r.Fix)
}

// checkStore reads all facts by making a copy, which is verified like any backup and leaves nothing.
func (d *Daemon) checkStore(ctx context.Context) api.Check {
	const name = "store"
	info, err := os.Stat(filepath.Join(d.cfg.Paths.Data, "loci.db"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return api.Broken(name, err.Error(), "check the disk under "+d.cfg.Paths.Data)
	}
	if info != nil && info.Size() > maxProbe {
		return api.Good(name, fmt.Sprintf("open, %d MB; too large to be read whole now", info.Size()>>20))
	}
	store := d.current().store
	if store == nil {
		return api.Broken(name, "the store is not open", "loci daemon logs says why")
	}
	r, damage, err := countContents(ctx, store, func() error { return backups.Probe(ctx, store, filepath.Join(d.cfg.Paths.Data, "probe")) })
	if err != nil {
		return api.Broken(
			name,
			err.Error(),
			cmp.Or(core.HintOf(err), "loci backup FILE, while that still works; then loci restore an older one"),
		)
	}
	if damage.Rows > 0 {
		return api.Broken(
			name,
			"rows cannot be read: "+damage.String(),
			"restore a backup that was made before: loci restore FILE",
		)
	}
	return api.Good(name, "read whole and found good: "+core.Count(r.Agents, "agent")+", "+core.Count(r.Messages, "message"))
}

// checkProviders queries every configured provider and lists those that can't be queried.
func (d *Daemon) checkProviders(ctx context.Context, env core.Env) []api.Check {
	ctx, cancel := context.WithTimeout(ctx, doctorAsks)
	defer cancel()
	models, err := d.current().models.List(ctx, env, core.ModelQuery{MaxAge: core.ListedNow})
	if err != nil {
		return []api.Check{api.Broken("providers", err.Error(), "check the network")}
	}
	found, mute := map[string]int{}, map[string]int{}
	for _, m := range models {
		if m.Hidden == "" {
			found[m.Provider]++
		} else {
			mute[m.Provider]++
		}
	}
	silent := map[string]providers.Silence{}
	for _, s := range d.current().reached.Silences(ctx, env) {
		silent[s.Provider] = s
	}
	var checks []api.Check
	reached := false
	for _, row := range d.current().reached.Rows() {
		if row.Offline {
			continue
		}
		if s, ok := silent[row.Name]; ok && found[row.Name] == 0 && mute[row.Name] == 0 && !row.Local {
			checks = append(checks, api.Broken(row.Name, s.Why, cmp.Or(s.Hint, "loci providers check "+row.Name+" says where it fails")))
			continue
		}
		check, configured := checkProvider(row, found[row.Name], mute[row.Name], env)
		if configured {
			checks = append(checks, check)
			reached = reached || found[row.Name] > 0
		}
	}
	if _, err := d.current().engine.ChooseDefault(ctx, env); !reached && err != nil {
		_, hint := Explain(err)
		checks = append(checks, api.Broken("model", err.Error(), hint))
	} else if !reached {
		checks = append(checks, api.Warning("model", "only the built-in offline model, which is no language model",
			"export OPENAI_API_KEY=… (or ANTHROPIC_API_KEY, GEMINI_API_KEY), or start Ollama; docs/providers.md lists the rest"))
	}
	return checks
}

// checkProvider reports on one provider if it is configured or reachable: models is how many models it lists, mute
// how many of them can't chat.
func checkProvider(row providers.Row, models, mute int, env core.Env) (api.Check, bool) {
	set := row.Settings()
	for _, name := range append(row.KeyVars(), row.BaseURLVar) {
		if name == "" {
			continue
		}
		if _, ok := env(name); ok {
			set = append(set, name)
		}
	}
	by := strings.Join(set, ", ")
	switch {
	case len(set) > 0 && !row.Built():
		return api.Warning(
			row.Name,
			by+" is set, but "+row.Title+" is not built yet and is not used",
			"use another provider for now: docs/providers.md",
		), true
	case models > 0 && by == "":
		return api.Good(row.Name, core.Count(models, "chat model")), true
	case models > 0:
		return api.Good(row.Name, core.Count(models, "chat model")+", by "+by), true
	case mute > 0:
		return api.Warning(
			row.Name,
			row.Title+" lists "+core.Count(mute, "model")+", and none for chats",
			"loci models --all says why; any of them can be named with --model",
		), true
	case len(set) > 0 && row.Local:
		return api.Warning(row.Name, fmt.Sprintf("%s does not answer (by %s)", row.Title, by), "start it, or unset "+by), true
	case len(set) > 0:
		return api.Broken(
			row.Name,
			fmt.Sprintf("%s does not answer or refuses the key (by %s)", row.Title, by),
			"check "+by+" and the network",
		), true
	}
	return api.Check{}, false
}
