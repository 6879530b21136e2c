package engine

import (
	"loci/core"
	"loci/core/prompt"
)

// Trust knows what folders bring along and a person trusts.
type Trust interface {
	prompt.Trust
	// Trusted returns the text of an item of a folder, by its path in it, if a person trusts it as it is.
	Trusted(folder, path string) (text string, ok bool)
	// Waits returns the paths of instructions that stand in a folder of the open one, and of which nobody has said anything as
	// they are.
	Waits(folder, dir string) []string
}

// trusted is what prompts need to know of it; nil: nothing is trusted.
func trusted(t Trust) prompt.Trust {
	if t == nil {
		return nil
	}
	return t
}

// stageTrust keeps what a folder brings along from acting before a person trusted it, as it is. Hooks that a folder brings are
// not run before that either: who runs them asks the same.
func stageTrust(g *gate, p *pendingCall) verdict {
	item := p.tool.Info.Brought
	if item == "" {
		return verdict{}
	}
	if g.trust != nil && g.client.Workspace != "" {
		if _, ok := g.trust.Trusted(g.client.Workspace, item); ok {
			return verdict{}
		}
	}
	return verdict{deny: forbidden(p, "the open folder brings this tool along in "+item+", and no person trusts that as it is. "+
		"They read and trust it with /trust in the chat, or with: loci trust")}
}

// NoticeTrust tells of instructions that a person could trust, in a folder that a call touched.
const NoticeTrust = "trust"

// tellWaits tells the person of a chat what a folder that a call touched says to agents, which they don't follow yet. It is
// told once in a turn.
func (t *turn) tellWaits(root, dir string) {
	if t.run.Client.Kind != core.ClientChat || t.run.Client.Unattended {
		return
	}
	for _, path := range t.e.cfg.Trust.Waits(root, dir) {
		if t.waits[path] {
			continue
		}
		if t.waits == nil {
			t.waits = map[string]bool{}
		}
		t.waits[path] = true
		t.emit(core.Event{Body: core.Notice{
			Kind: NoticeTrust, Text: path + " says how to work there; agents don't follow it before you trust it: /trust",
			Data: map[string]any{"folder": root, "path": path},
		}})
	}
}
