package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// dirPanel is /add-dir.
type dirPanel struct{ permissionPanel }

// run opens a folder to the agent; without one it shows those that are open.
func (p dirPanel) run(arg string) tea.Cmd {
	if p.folder == "" {
		p.ui.flash = "no folder is open here, so there is nothing to add to"
		return nil
	}
	path, writable, always := wantedDir(arg)
	if strings.HasPrefix(path, "--") {
		p.ui.flash = transcript.OneLine(path) + " is not known; /add-dir takes a folder, --write and --always"
		return nil
	}
	if path == "" && (writable || always) {
		p.ui.flash = "which folder? /add-dir ../library --write; --always keeps it for this folder"
		return nil
	}
	if path == "" {
		return p.list()
	}
	path = client.RealFolder(path, p.folder)
	rule := api.PermissionRule{Effect: api.EffectAllow, Rule: api.DirRule(path, writable), Session: !always}
	if always {
		rule.Folder = p.folder
	}
	add := func(ctx context.Context) (struct{}, error) { return struct{}{}, p.backend.AddPermission(ctx, rule) }
	return load(p.ui, add, func(struct{}) tea.Cmd {
		may := "read"
		if writable {
			may = "read and change"
		}
		lasts := "in this session (--always: in later ones as well)"
		if always {
			lasts = "here, in later sessions as well"
		}
		what := may + " " + transcript.OneLine(path) + " " + lasts
		p.ui.notice("from the next message on agents can " + what + " · /add-dir takes it back")
		return nil
	})
}

// wantedDir takes what follows /add-dir apart: a folder, whose name may hold spaces, and flags on either side.
func wantedDir(arg string) (path string, writable, always bool) {
	path = strings.TrimSpace(arg)
	for _, side := range []func(string, string) (string, bool){strings.CutSuffix, strings.CutPrefix} {
		for found := true; found; {
			found = false
			for flag, set := range map[string]*bool{"--write": &writable, "--always": &always} {
				if rest, is := side(path, flag); is && (rest == "" || strings.TrimSpace(rest) != rest) {
					path, *set, found = strings.TrimSpace(rest), true, true
				}
			}
		}
	}
	path, marked := api.WantedDir(path)
	return path, writable || marked, always
}

// list shows the folders that are open, each to be closed again.
func (p dirPanel) list() tea.Cmd {
	list := func(ctx context.Context) (api.Permissions, error) { return p.backend.Permissions(ctx, p.folder) }
	return load(p.ui, list, func(found api.Permissions) tea.Cmd {
		l := &panel.List{Theme: p.ui.theme, Title: "Folders that agents may use here"}
		l.Entries = append(l.Entries, panel.Entry{Title: "open    " + transcript.OneLine(p.folder)})
		var rules []api.PermissionRule
		for _, r := range found.Rules {
			path, writable, ok := api.DirOf(r)
			if !ok {
				continue
			}
			may := "read    "
			if writable {
				may = "change  "
			}
			rules = append(rules, r)
			l.Entries = append(l.Entries, panel.Entry{Title: may + transcript.OneLine(transcript.Reveal(path)), Note: r.Source})
		}
		if len(rules) == 0 {
			const how = "/add-dir FOLDER opens one (--write to change it, --always to keep)"
			l.Entries = append(l.Entries, panel.Entry{Title: "no other", Note: how})
		}
		p.ui.push(l, func(a panel.Action) tea.Cmd {
			if i := a.Index - 1; a.Kind == panel.Choose && i >= 0 && i < len(rules) {
				p.rule(rules[i])
			}
			return nil
		})
		return nil
	})
}
