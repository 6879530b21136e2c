package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/core/service"
)

// killed ends a pass as a kill would: nothing after it happens.
var errKilled = errors.New("killed")

// world edits both sides at random and keeps account of every text.
type world struct {
	*house
	rng    *rand.Rand
	made   int
	labels []string
	blocks map[string]core.BlockID // by label
	texts  []string                // every one that had to survive
	fresh  map[string]string       // by file: written since the last whole pass; a person may overwrite their own
	heads  []string
	// What each side last said since the last whole pass, by label; crashed says that a pass was killed since.
	fileSaid, blockSaid map[string]string
	crashed             bool
}

func (w *world) text() string {
	w.made++
	return fmt.Sprintf("text-%d-", w.made)
}

func (w *world) label() string { return w.labels[w.rng.IntN(len(w.labels))] }

// overwritten is called before a person writes over a file or deletes it.
func (w *world) overwritten(name string) {
	if text := w.fresh[name]; text != "" {
		for i, t := range w.texts {
			if t == text {
				w.texts = append(w.texts[:i], w.texts[i+1:]...)
				break
			}
		}
		delete(w.fresh, name)
	}
}

func (w *world) editFile() {
	label := w.label()
	name := blocksDir + "/" + label + extension
	w.overwritten(name)
	text := w.text()
	body := text + "\n"
	if old, err := os.ReadFile(w.path(name)); err == nil && w.rng.IntN(2) == 0 {
		if d, err := parse(old); err == nil { // the front matter stays
			d.Value = text
			body = string(render(d.over(core.Block{Limit: 1000}), d))
		}
	}
	if w.rng.IntN(2) == 0 {
		w.save(name, body)
	} else { // as careful editors do
		w.save(name+"~", body)
		w.ok(os.Rename(w.path(name+"~"), w.path(name)))
	}
	w.texts, w.fresh[name], w.fileSaid[label] = append(w.texts, text), text, text
}

func (w *world) editBlock() {
	label := w.label()
	id, ok := w.blocks[label]
	if !ok {
		return
	}
	text := w.text()
	patch := service.BlockPatch{Value: core.Opt[string]{Present: true, Value: text}}
	if w.rng.IntN(3) == 0 {
		patch.Description = core.Opt[string]{Present: true, Value: "about: " + text}
	}
	_, err := w.services.Blocks.Update(w.ctx, id, patch, 0, "")
	w.ok(err)
	w.texts, w.blockSaid[label] = append(w.texts, text), text
}

func (w *world) deleteFile() {
	label := w.label()
	name := blocksDir + "/" + label + extension
	w.overwritten(name)
	delete(w.fileSaid, label)
	if err := os.Remove(w.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
}

// resolve deletes a conflict's file, as a person who has read it does.
func (w *world) resolve() {
	found, err := filepath.Glob(w.path(blocksDir + "/*.conflict-*" + extension))
	w.ok(err)
	if len(found) > 0 {
		w.ok(os.Remove(found[w.rng.IntN(len(found))]))
	}
}

// kill syncs, and ends before the n-th action.
func (w *world) kill(n int) {
	w.restart(func(string) {
		if n--; n < 0 {
			panic(errKilled)
		}
	})
	died := func() (died bool) {
		defer func() {
			if e := recover(); e != nil {
				if e != errKilled { //nolint:errorlint // exactly that one
					panic(e)
				}
				died = true
			}
		}()
		_, err := w.mirrors.Sync(w.ctx, w.agent)
		w.ok(err)
		return false
	}()
	w.restart(nil)
	if died {
		w.crashed = true
		return
	}
	w.whole()
}

// whole is what must hold after a whole pass.
func (w *world) whole() {
	w.t.Helper()
	w.known()
	if head := w.git("rev-parse", "HEAD"); len(w.heads) == 0 || w.heads[len(w.heads)-1] != head {
		w.heads = append(w.heads, head)
	}
	if status := w.git("status", "--porcelain", "--", blocksDir+"/*"+extension); status != "" {
		w.t.Fatalf("git status is not clean: %s", status)
	}
	for _, label := range w.labels {
		id, ok := w.blocks[label]
		if !ok {
			continue
		}
		value := w.get(id).Value
		inFile := w.file(blocksDir + "/" + label + extension)
		if !strings.Contains(inFile, value) {
			w.t.Fatalf("%s: the block has %q, the file %q", label, value, inFile)
		}
		sides := value + "\n" + inFile
		found, err := filepath.Glob(w.path(blocksDir + "/" + label + ".conflict-*" + extension))
		w.ok(err)
		for _, f := range found {
			data, err := os.ReadFile(f)
			w.ok(err)
			sides += string(data)
		}
		for side, said := range map[string]string{"block": w.blockSaid[label], "file": w.fileSaid[label]} {
			if !w.crashed && !strings.Contains(sides, said) {
				w.t.Fatalf("%s: the %s said %q, and no side and no conflict has it: %q", label, side, said, sides)
			}
		}
	}
	w.fileSaid, w.blockSaid, w.fresh, w.crashed = map[string]string{}, map[string]string{}, map[string]string{}, false
}

// known looks which blocks there are.
func (w *world) known() {
	w.t.Helper()
	blocks, err := w.services.Blocks.OfAgent(w.ctx, w.agent)
	w.ok(err)
	for _, id := range w.blocks {
		found := false
		for _, b := range blocks {
			found = found || b.ID == id
		}
		if !found {
			w.t.Fatalf("block %s is not attached any more", id)
		}
	}
	for _, b := range blocks {
		w.blocks[b.Label] = b.ID
	}
}

// survived is what must hold in the end: every text is on a side, in a conflict or in the history, and every commit that
// ever was the newest one is before the last.
func (w *world) survived() {
	w.t.Helper()
	var all strings.Builder
	for _, id := range w.blocks {
		versions, err := w.services.Blocks.Versions(w.ctx, id, core.Page{Limit: 1000})
		w.ok(err)
		for _, v := range versions {
			all.WriteString(v.Value + "\n")
		}
	}
	w.ok(filepath.WalkDir(w.path(blocksDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	}))
	all.WriteString(w.git("log", "-p", "--format=%H"))
	for _, text := range w.texts {
		if !strings.Contains(all.String(), text) {
			w.t.Errorf("%q is lost", text)
		}
	}
	for _, commit := range w.heads {
		if w.git("merge-base", commit, "HEAD") != commit {
			w.t.Errorf("%s is no ancestor of the newest commit", commit)
		}
	}
}

// TestNoTextIsLostWhateverIsEditedAndWheneverItIsKilled edits both sides at random, syncs, and kills syncs at random points.
func TestNoTextIsLostWhateverIsEditedAndWheneverItIsKilled(t *testing.T) {
	t.Parallel()
	seeds, rounds := uint64(3), 40
	if testing.Short() {
		seeds, rounds = 2, 12
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := &world{
				house: newHouse(t), rng: rand.New(rand.NewPCG(seed, 7)), labels: []string{"a", "b", "c"}, blocks: map[string]core.BlockID{},
				fresh: map[string]string{}, fileSaid: map[string]string{}, blockSaid: map[string]string{},
			}
			w.block("a", "")
			w.block("b", "")
			w.on()
			w.whole()
			for range rounds {
				for range 1 + w.rng.IntN(3) {
					switch w.rng.IntN(12) {
					case 0:
						w.deleteFile()
					case 1:
						w.resolve()
					case 2, 3, 4, 5, 6:
						w.editFile()
					default:
						w.editBlock()
					}
				}
				w.kill(w.rng.IntN(25))
			}
			w.kill(1 << 30)
			if w.made < rounds || len(w.heads) < rounds/4 {
				t.Errorf("only %d texts and %d commits", w.made, len(w.heads))
			}
			w.survived()
		})
	}
}
