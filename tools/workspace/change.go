package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"loci/core"
	"loci/core/memory"
)

// document is a file as it is before a change; without info it is not there.
type document struct {
	name    string // as the model names it
	rel     string
	info    fs.FileInfo
	content []byte
	text    lines
	enc     encoding
}

// document reads the file that is to be changed.
func (f *folder) document(name string) (*document, error) {
	rel, err := f.resolve(name)
	if err != nil {
		return nil, err
	}
	if f.readOnly {
		return nil, core.E(core.Invalid, "%s is open for reading only; a person opens it for writing with /add-dir %s --write",
			clip(f.path, 200), clip(f.path, 200))
	}
	for part := range strings.SplitSeq(rel, "/") {
		if strings.EqualFold(part, ".git") {
			return nil, core.E(core.Invalid, "%q belongs to git itself, which these tools never change", clip(name, 200))
		}
	}
	d := &document{name: name, rel: rel, enc: utf8Encoding()}
	if rel == "." {
		return nil, f.cannot("change", name, rel, &irregularError{fs.ModeDir})
	}
	d.content, d.info, err = f.load(rel, core.MaxKeptContent)
	if errors.Is(err, fs.ErrNotExist) {
		d.info = nil
		return d, nil
	}
	if err != nil {
		return nil, f.cannot("change", name, rel, err)
	}
	if d.info.Mode().Perm()&0o200 == 0 {
		return nil, core.E(core.Invalid, "%q is read-only; a person has to make it writable first", clip(name, 200))
	}
	return d, nil
}

// decode reads the document's text.
func (d *document) decode() error {
	raw, enc, err := decode(d.content)
	if err != nil {
		return core.E(core.Invalid, "%q cannot be changed: %v", clip(d.name, 200), err)
	}
	d.text, d.enc = linesOf(raw), enc
	return nil
}

// maxDifference is how many characters of a difference a refusal shows.
const maxDifference = 6000

// changedSince refuses where the file is not what the conversation knows of it. Whether it knows the file at all is told too.
func (f *folder) changedSince(ctx context.Context, d *document) (known bool, refusal string, err error) {
	read, known, err := f.env.Workspace.Files.Read(ctx, f.env.Conversation, f.absolute(d.rel))
	if err != nil || !known || d.info == nil || read.Hash == core.ContentHash(d.content) {
		return known, "", err
	}
	refusal = fmt.Sprintf("%s changed since you read it, and nothing was written. Read it again, then repeat the change where it is "+
		"still right.", d.name)
	before, err := f.env.Workspace.Contents.Content(ctx, read.Hash)
	if core.KindOf(err) == core.NotFound {
		return known, refusal, nil
	}
	if err != nil {
		return known, "", err
	}
	was, _, err := decode(before)
	if err != nil {
		return known, refusal, nil //nolint:nilerr // what is no text has no difference to show
	}
	return known, refusal + " What changed:\n" + clip(memory.Diff(was, d.text.raw()), maxDifference), nil
}

// save records the change, and then makes it.
func (f *folder) save(ctx context.Context, d *document, content []byte) error {
	if len(content) > core.MaxKeptContent {
		return core.E(core.Invalid, "the file would have more than %d MB; nothing was written", core.MaxKeptContent>>20)
	}
	change := core.FileChange{
		Agent: f.env.Agent.ID, Conversation: f.env.Conversation, Run: f.env.Run, Step: f.env.Step, Call: f.env.Call,
		Workspace: f.path, Path: d.rel, At: f.env.Now,
		After: core.FileState{Kind: core.PathFile, Mode: core.ModeUnknown, Hash: core.ContentHash(content)},
	}
	kept := f.env.Workspace.Contents
	if d.info != nil {
		change.After.Mode = d.info.Mode() & permissions
		change.Before = core.FileState{Kind: core.PathFile, Mode: change.After.Mode, Hash: core.ContentHash(d.content)}
		if err := kept.Keep(ctx, d.content, true); err != nil {
			return err
		}
	}
	if err := kept.Keep(ctx, content, false); err != nil {
		return err
	}
	missing, err := f.missingFolders(d.rel)
	if err != nil {
		return err
	}
	change.Folders = missing
	if err := f.env.Workspace.Files.NoteChange(ctx, &change); err != nil {
		return err
	}
	if missing > 0 {
		if err := f.root.MkdirAll(path.Dir(d.rel), 0o777); err != nil { // the person's umask decides
			return core.E(core.Invalid, "the folder of %q cannot be made: %s", clip(d.name, 200), reason(err))
		}
	}
	if err := replaceFile(f.root, d.rel, d.info, content, change.After.Mode); err != nil {
		return core.E(core.Invalid, "%q was not written: %s", clip(d.name, 200), reason(err))
	}
	return nil
}

// missingFolders counts the folders above a file that are not there yet.
func (f *folder) missingFolders(rel string) (missing int, err error) {
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		info, err := f.root.Stat(dir)
		if err == nil && !info.IsDir() {
			return 0, core.E(core.Invalid, "%s is a file, so there can be no file below it", clip(dir, 200))
		}
		if err == nil {
			return missing, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return 0, core.E(core.Invalid, "the folder %s cannot be opened: %s", clip(dir, 200), reason(err))
		}
		missing++
	}
	return missing, nil
}

var errMeanwhile = errors.New("somebody else changed it at the same moment; read it again")

// replaceFile puts content in place of a file, whole or not at all; was is the file until now, nil: there was none. Where the
// system allows it, the owner stays.
func replaceFile(root *os.Root, rel string, was fs.FileInfo, content []byte, mode fs.FileMode) (err error) {
	dir := path.Dir(rel)
	temp := path.Join(dir, ".loci-"+strings.ToLower(rand.Text()[:12])+".tmp")
	first := fs.FileMode(0o600)
	if mode == core.ModeUnknown {
		first = 0o666 // the person's umask decides
	}
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, first)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temp)
		}
	}()
	_, err = file.Write(content)
	if err == nil && was != nil {
		keepOwner(file, was)
	}
	if err == nil && mode != core.ModeUnknown {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if !unchanged(root, rel, was) {
		return errMeanwhile
	}
	if err = root.Rename(temp, rel); err != nil {
		return err
	}
	syncFolder(root, dir)
	return nil
}

// unchanged reports whether a file is still the one that was read.
func unchanged(root *os.Root, rel string, was fs.FileInfo) bool {
	now, err := root.Lstat(rel)
	if was == nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil && os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
}

// syncFolder lets a rename survive a power failure, where the system can.
func syncFolder(root *os.Root, dir string) {
	if d, err := root.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// lineCount counts lines as people do.
func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// checkText refuses text that would make a file binary.
func checkText(name, text string) error {
	if !utf8.ValidString(text) || bytes.IndexByte([]byte(text), 0) >= 0 {
		return core.E(core.Invalid, "what is to be written to %q is no text", clip(name, 200))
	}
	return nil
}
