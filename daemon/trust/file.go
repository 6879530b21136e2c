package trust

import (
	"bytes"

	"github.com/BurntSushi/toml"

	"loci/core"
	"loci/daemon/ownfile"
)

// The bounds of the file.
const (
	maxFile    = 4 << 20
	maxFolders = 1000
	maxSaid    = 1000 // items of one folder
)

// document is the whole file.
type document struct {
	Folders map[string]decisions `toml:"folders,omitempty"`
}

// decisions are hashes of the items of a folder by their paths, as they were when a person said something of them.
type decisions struct {
	Trusted map[string]string `toml:"trusted,omitempty"`
	Refused map[string]string `toml:"refused,omitempty"`
}

// state is what was said of an item.
func (d decisions) state(it *core.FolderItem) core.TrustState {
	trusted, given := d.Trusted[it.Path]
	refused, declined := d.Refused[it.Path]
	switch {
	case it.Hash != "" && trusted == it.Hash:
		return core.TrustGiven
	case it.Hash != "" && refused == it.Hash:
		return core.TrustRefused
	case given || declined:
		return core.TrustChanged
	}
	return core.TrustNew
}

func (d *decisions) decide(path, hash string, trusted bool) {
	if d.Trusted == nil {
		d.Trusted = map[string]string{}
	}
	if d.Refused == nil {
		d.Refused = map[string]string{}
	}
	delete(d.Trusted, path)
	delete(d.Refused, path)
	if trusted {
		d.Trusted[path] = hash
	} else {
		d.Refused[path] = hash
	}
}

// change edits the file.
func (t *Trust) change(edit func(*document) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	doc, err := load(t.path)
	if err != nil {
		return err
	}
	if doc.Folders == nil {
		doc.Folders = map[string]decisions{}
	}
	if err := edit(&doc); err != nil {
		return err
	}
	if len(doc.Folders) > maxFolders {
		return core.E(core.TooLarge, "trust is kept for at most %d folders", maxFolders).
			WithHint("take one back: loci trust FOLDER --remove")
	}
	for folder, said := range doc.Folders {
		if len(said.Trusted)+len(said.Refused) > maxSaid {
			return core.E(core.TooLarge, "at most %d items of %s can be trusted", maxSaid, folder)
		}
	}
	return save(t.path, doc)
}

// load reads the file; one that isn't there says nothing.
func load(path string) (doc document, err error) {
	fault := func(err error) (document, error) {
		return document{}, core.E(core.Invalid, "what you trust, in %s, can't be read: %w", path, err).
			WithHint("fix or remove the file; until then nothing that a folder brings counts")
	}
	text, err := ownfile.Read(path, maxFile)
	if err != nil {
		return fault(err)
	}
	if _, err := toml.Decode(string(text), &doc); err != nil {
		return fault(err)
	}
	return doc, nil
}

// save replaces the file: whole, or not at all.
func save(path string, doc document) error {
	var b bytes.Buffer
	b.WriteString("# What you trust of what folders bring along; see docs/trust.md. Loci rewrites this file.\n")
	if err := toml.NewEncoder(&b).Encode(doc); err != nil {
		return err
	}
	return ownfile.Replace(path, b.Bytes())
}
