package permissions

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"github.com/BurntSushi/toml"

	"loci/core"
	"loci/core/permission"
	"loci/daemon/ownfile"
)

// The bounds of a file.
const (
	maxFile    = 256 << 10
	maxFolders = 1000
	maxPath    = 4096
)

// ProjectFile is where a project keeps its rules, within its folder.
const ProjectFile = ".loci/permissions.toml"

// Config says where the files are.
type Config struct {
	Own    string   // the person's file
	System string   // empty: none
	Home   string   // the person's home folder, which rules write as ~/
	Ours   []string // folders of Loci's, by their absolute paths, which no agent may read or change
}

// Files are the rules of one home.
type Files struct {
	cfg Config
	mu  sync.Mutex // held while the person's file is changed
}

// New returns the rules in the files.
func New(cfg Config) *Files { return &Files{cfg: cfg} }

// Home returns the person's home folder.
func (f *Files) Home() string { return f.cfg.Home }

// list is what a file says about one place.
type list struct {
	Allow []string `toml:"allow,omitempty"`
	Ask   []string `toml:"ask,omitempty"`
	Deny  []string `toml:"deny,omitempty"`
}

// document is a whole file.
type document struct {
	list
	Folders map[string]list `toml:"folders,omitempty"`
}

func (l list) parse(source permission.Source) (permission.Set, error) {
	return permission.ParseList(permission.List{Allow: l.Allow, Ask: l.Ask, Deny: l.Deny}, source)
}

// of returns the rules of an effect.
func (l *list) of(effect permission.Effect) *[]string {
	switch effect {
	case permission.Allow:
		return &l.Allow
	case permission.Ask:
		return &l.Ask
	case permission.Deny:
		return &l.Deny
	default:
		return nil
	}
}

// Rules returns the rules that count in a folder; empty: where none is open. An error means that some can't be known,
// and that nobody can say what they forbid.
func (f *Files) Rules(folder string) (permission.Set, error) {
	set, err := permission.Closed(f.cfg.Ours)
	faults := []error{err}
	for _, s := range f.sources(folder) {
		rules, err := s.rules()
		set = append(set, rules...)
		faults = append(faults, err)
	}
	return set, errors.Join(faults...)
}

// source is one list of rules.
type source struct {
	from   permission.Source
	path   string // the file
	folder string // whose list in it is meant; empty: the list of the whole file
}

// sources are those that count in a folder, the strongest first.
func (f *Files) sources(folder string) []source {
	all := []source{{permission.FromSystem, f.cfg.System, ""}, {permission.FromUser, f.cfg.Own, ""}}
	if folder != "" {
		all = append(all, source{permission.FromFolder, f.cfg.Own, folder},
			source{permission.FromProject, filepath.Join(folder, filepath.FromSlash(ProjectFile)), ""})
	}
	return slices.DeleteFunc(all, func(s source) bool { return s.path == "" })
}

// rules reads the list.
func (s source) rules() (permission.Set, error) {
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	if s.from == permission.FromProject {
		l.Allow = nil
	}
	return l.parse(s.from)
}

func (s source) read() (list, error) {
	doc, err := load(s.path)
	if err != nil {
		return list{}, err
	}
	if s.folder != "" {
		return doc.Folders[s.folder], nil
	}
	if s.from == permission.FromProject && len(doc.Folders) > 0 {
		return list{}, core.E(core.Invalid, "%s speaks of other folders, which a project can't", s.path)
	}
	return doc.list, nil
}

// load reads a file; one that isn't there says nothing.
func load(path string) (doc document, err error) {
	fault := func(err error) (document, error) {
		return document{}, core.E(core.Invalid, "the permissions in %s can't be read: %w", path, err).
			WithHint("mend or remove the file; until then everything asks")
	}
	text, err := ownfile.Read(path, maxFile)
	if err != nil {
		return fault(err)
	}
	meta, err := toml.Decode(string(text), &doc)
	if err != nil {
		return fault(err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return fault(core.E(core.Invalid, "the key %s is not known; known are allow, ask, deny and folders", unknown[0]))
	}
	return doc, nil
}
