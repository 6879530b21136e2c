package providers

import (
	"cmp"
	"strings"

	"loci/core"
	"loci/providers/facts"
	"loci/providers/protocol"
)

// The windows of unknown models.
const (
	unknownLocal = 32_768
	unknownCloud = 128_000
)

// known is what the table knows of a model at an endpoint: as its provider sells it, or else by its name alone.
func (e endpoint) known(m protocol.Model) facts.Fact {
	model := e.of(m)
	family, _ := facts.Family(model)
	if e.foreign || e.row.Local || e.row.Named {
		return family
	}
	f, ok := facts.Sold(e.row.Name, model)
	if !ok {
		return family
	}
	return f.With(family)
}

// of is the name by which it is known what a model is: that of the model behind it, where a person or the server says so.
func (e endpoint) of(m protocol.Model) string {
	return cmp.Or(e.row.models[m.Name].base, m.Base, m.Name)
}

// window is the size of a model's window that the server or the table knows; 0: neither does.
func (e endpoint) window(m protocol.Model) int {
	if m.Window <= 0 {
		if known := e.known(m); !e.local() || !known.Open { // a local server runs open models with any window
			return known.Window
		}
	}
	return m.Window
}

// price is what a model costs at an endpoint; nil if that is unknown. What runs on the user's own machines costs nothing.
func (e endpoint) price(model string, known *core.Price) *core.Price {
	if !e.row.Local {
		return known
	}
	if hosted := strings.HasSuffix(model, "-cloud") || strings.HasSuffix(model, ":cloud"); hosted || under(e.base, "https://ollama.com") {
		return nil
	}
	return &core.Price{}
}
