package permissions

import (
	"bytes"
	"path/filepath"
	"slices"

	"github.com/BurntSushi/toml"

	"loci/core"
	"loci/core/permission"
	"loci/daemon/ownfile"
)

// List returns the rules that count in a folder, the strongest source first, and what is wrong with the files.
func (f *Files) List(folder string) (rules permission.Set, faults []string, err error) {
	if err := checkFolder(folder); err != nil {
		return nil, nil, err
	}
	for _, s := range f.sources(folder) {
		found, err := s.rules()
		rules = append(rules, found...)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		if s.from != permission.FromProject {
			continue
		}
		if l, err := s.read(); err == nil && len(l.Allow) > 0 {
			_, err = permission.ParseList(permission.List{Allow: l.Allow}, s.from)
			faults = append(faults, err.Error())
		}
	}
	return rules, faults, nil
}

// Add keeps a rule in the person's file: for a folder, or everywhere. One that stands there already is left alone, and one
// with another effect is replaced.
func (f *Files) Add(effect permission.Effect, text, folder string) error {
	rule, err := permission.Parse(effect, text, permission.FromUser)
	if err != nil {
		return err
	}
	return f.change(folder, func(l *list) error {
		for _, e := range []permission.Effect{permission.Allow, permission.Ask, permission.Deny} {
			texts := l.of(e)
			*texts = slices.DeleteFunc(*texts, func(t string) bool { return t == rule.Text })
		}
		texts := l.of(effect)
		*texts = append(*texts, rule.Text)
		return nil
	})
}

// Remove takes a rule out of the person's file.
func (f *Files) Remove(text, folder string) error {
	return f.change(folder, func(l *list) error {
		found := false
		for _, e := range []permission.Effect{permission.Allow, permission.Ask, permission.Deny} {
			texts := l.of(e)
			n := len(*texts)
			*texts = slices.DeleteFunc(*texts, func(t string) bool { return t == text })
			found = found || len(*texts) < n
		}
		if !found {
			return core.E(core.NotFound, "there is no rule %q", text).WithHint("loci permissions")
		}
		return nil
	})
}

// change edits one list of the person's file.
func (f *Files) change(folder string, edit func(*list) error) error {
	if err := checkFolder(folder); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	doc, err := load(f.cfg.Own)
	if err != nil {
		return err
	}
	l := doc.list
	if folder != "" {
		l = doc.Folders[folder]
	}
	if err := edit(&l); err != nil {
		return err
	}
	source := permission.FromUser
	if folder != "" {
		source = permission.FromFolder
	}
	if _, err := l.parse(source); err != nil {
		return err
	}
	switch {
	case folder == "":
		doc.list = l
	case len(l.Allow)+len(l.Ask)+len(l.Deny) == 0:
		delete(doc.Folders, folder)
	default:
		if doc.Folders == nil {
			doc.Folders = map[string]list{}
		}
		doc.Folders[folder] = l
	}
	if len(doc.Folders) > maxFolders {
		return core.E(core.TooLarge, "rules are kept for at most %d folders", maxFolders)
	}
	return save(f.cfg.Own, doc)
}

// save replaces the file: whole, or not at all.
func save(path string, doc document) error {
	var b bytes.Buffer
	b.WriteString("# What agents may do without asking; see docs/permissions.md. Loci rewrites this file, and comments are lost.\n")
	if err := toml.NewEncoder(&b).Encode(doc); err != nil {
		return err
	}
	if b.Len() > maxFile {
		return core.E(core.TooLarge, "the permissions would be larger than %d bytes", maxFile)
	}
	return ownfile.Replace(path, b.Bytes())
}

// checkFolder makes sure that a folder has one name.
func checkFolder(folder string) error {
	if folder != "" && (!filepath.IsAbs(folder) || filepath.Clean(folder) != folder || len(folder) > maxPath) {
		return core.E(core.Invalid, "a folder is named by its absolute path")
	}
	return nil
}
