package trust

import (
	"bytes"
	"path"
	"path/filepath"
	"strings"

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

// said returns what was said of an item of a folder: there, or else of the same file in a folder around that one or in it,
// where it is of the same kind; the nearest one counts.
func (d *document) said(folder, item string) (trusted, refused string) {
	where, name := folder, item
	if own := d.Folders[folder]; own.Trusted[item] == "" && own.Refused[item] == "" {
		where = ""
		kind, _ := kindOf(item)
		for other, said := range d.Folders {
			rel, inside := below(other, folder, item)
			there, _ := kindOf(rel)
			known := said.Trusted[rel] != "" || said.Refused[rel] != ""
			if inside && there == kind && known && len(other) > len(where) {
				where, name = other, rel
			}
		}
	}
	return d.Folders[where].Trusted[name], d.Folders[where].Refused[name]
}

// below returns the path that an item of a folder has in another folder, if it is in that one.
func below(other, folder, item string) (rel string, inside bool) {
	around := strings.TrimSuffix(filepath.ToSlash(other), "/") + "/"
	return strings.CutPrefix(path.Join(filepath.ToSlash(folder), item), around)
}

// state is what was said of an item.
func (d *document) state(folder string, it *core.FolderItem) core.TrustState {
	trusted, refused := d.said(folder, it.Path)
	switch {
	case it.Hash != "" && trusted == it.Hash:
		return core.TrustGiven
	case it.Hash != "" && refused == it.Hash:
		return core.TrustRefused
	case trusted != "" || refused != "":
		return core.TrustChanged
	}
	return core.TrustNew
}

// forget drops what was said of an item, wherever it was.
func (d *document) forget(folder, item string) {
	for other, said := range d.Folders {
		if rel, inside := below(other, folder, item); inside {
			delete(said.Trusted, rel)
			delete(said.Refused, rel)
		}
	}
}

// removeBelow drops what was said of items of a folder that are in another one, and reports whether anything was.
func (d decisions) removeBelow(folder, inside string) (some bool) {
	for _, said := range []map[string]string{d.Trusted, d.Refused} {
		for item := range said {
			if _, in := below(inside, folder, item); in {
				delete(said, item)
				some = true
			}
		}
	}
	return some
}

// decide keeps what is said of an item.
func (d *document) decide(folder string, decision core.TrustDecision) {
	item := path.Clean(decision.Path)
	d.forget(folder, item)
	said := d.Folders[folder]
	if said.Trusted == nil {
		said.Trusted = map[string]string{}
	}
	if said.Refused == nil {
		said.Refused = map[string]string{}
	}
	if decision.Trusted {
		said.Trusted[item] = decision.Hash
	} else {
		said.Refused[item] = decision.Hash
	}
	d.Folders[folder] = said
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
