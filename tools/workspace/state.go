package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"loci/core"
)

// permissions are the bits of a mode that can be set.
const permissions = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// standing is what stands at a path now.
type standing struct {
	core.FileState
	info    fs.FileInfo // nil: nothing
	content []byte      // of a file or, of a link, what it names; nil: too large, or not to be read
}

// stand looks at a path whose folders are no links.
func (f *folder) stand(rel string) (s standing, err error) {
	s.info, err = f.root.Lstat(rel)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return standing{}, nil
	}
	if err != nil {
		return s, err
	}
	switch s.Kind = kindOf(s.info.Mode()); s.Kind {
	case core.PathFolder:
		s.Mode = s.info.Mode() & permissions
	case core.PathLink:
		target, err := f.root.Readlink(rel)
		s.content, s.Hash = []byte(target), core.ContentHash([]byte(target))
		return s, err
	case core.PathFile:
		s.Mode = s.info.Mode() & permissions
		content, info, err := f.load(rel, core.MaxKeptContent)
		switch {
		case errors.Is(err, errLarge) || errors.Is(err, fs.ErrPermission):
			s.Hash = statHash(s.info)
		case err != nil:
			return s, err
		default:
			s.info, s.content, s.Hash = info, content, core.ContentHash(content)
		}
	case core.PathAbsent, core.PathOther:
	}
	return s, nil
}

func kindOf(mode fs.FileMode) core.PathKind {
	switch {
	case mode.IsRegular():
		return core.PathFile
	case mode.IsDir():
		return core.PathFolder
	case mode.Type() == fs.ModeSymlink:
		return core.PathLink
	}
	return core.PathOther
}

// statHash tells a file apart whose content is not kept. No content has such a hash.
func statHash(info fs.FileInfo) string { return statOf(info.Size(), info.ModTime().UnixNano()) }

func statOf(size, modified int64) string { return fmt.Sprintf("stat:%d:%d", size, modified) }

func isStat(hash string) bool { return strings.HasPrefix(hash, "stat:") }

// is reports whether a state is what stands there. What was never read is told by what tells it apart.
func (s *standing) is(want core.FileState) bool {
	now := s.FileState
	if isStat(want.Hash) && s.Kind == core.PathFile {
		now.Hash = statHash(s.info)
	}
	return now.Is(want)
}

// direct reports whether the way to a path is in the folder and leads through no link.
func (f *folder) direct(rel string) bool {
	clean, err := f.inside(rel)
	if err != nil || clean != rel || rel == "." {
		return false
	}
	dir, err := f.resolve(path.Dir(rel))
	return err == nil && dir == path.Dir(rel)
}

// ofGit reports whether a path belongs to git itself, and whether it is one of the few there that a shell line's change is
// known of: what is checked out, what is staged, and where branches and tags stand.
func ofGit(rel string) (git, state bool) {
	parts := strings.Split(rel, "/")
	for i, part := range parts {
		if !strings.EqualFold(part, ".git") {
			continue
		}
		return true, i == 0 && part == ".git" && len(parts) > 1 && isGitState(parts[1:])
	}
	return false, false
}

func isGitState(parts []string) bool {
	switch parts[0] {
	case "HEAD", "ORIG_HEAD", "index", "packed-refs":
		return len(parts) == 1
	}
	return parts[0] == "refs"
}
