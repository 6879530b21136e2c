package mirror

import (
	"os"
	"strings"
	"testing"
)

func TestAFileThatIsTooLongOrNoTextIsRefusedWithANoteBesideIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human := h.block("human", "Ada")
	h.on()
	long, bytes := strings.Repeat("é", 300_000), "PK\x03\x04\x00\x00"
	h.save("system/human.md", long)
	h.save("system/book.md", long)
	h.save("system/archive.md", bytes)
	h.save("system/picture.md", "\xff\xd8\xff")
	h.save("system/mine.refused.txt", "my own\n")
	s := h.sync()
	same(t, "notes", []string{
		"unreadable system/human.mdhuman", "unreadable system/archive.mdarchive", "unreadable system/book.mdbook",
		"unreadable system/picture.mdpicture",
	}, noted(s))
	same(t, "the block", "Ada", h.get(human.ID).Value)
	same(t, "the long file", long, h.file("system/human.md"))
	same(t, "the bytes", bytes, h.file("system/archive.md"))
	for name, why := range map[string]string{
		"human": "300000 characters", "book": "300000 characters", "archive": "no text", "picture": "not UTF-8",
	} {
		if note := h.file("system/" + name + refusedMark); !strings.Contains(note, why) {
			t.Errorf("beside %s stands %q", name, note)
		}
	}

	// The notes of files that are taken or gone go away; what a person wrote stays.
	h.save("system/human.md", "Ada Lovelace\n")
	h.save("system/book.md", "---\nlimit: 400000\n---\n\n"+long+"\n")
	h.save("system/picture.refused.txt", h.file("system/picture.refused.txt")+"It is of our cat.\n")
	h.ok(os.Remove(h.path("system/archive.md")))
	h.ok(os.Remove(h.path("system/picture.md")))
	same(t, "notes", []string{}, noted(h.sync()))
	same(t, "the block", "Ada Lovelace", h.get(human.ID).Value)
	book, err := h.services.Blocks.ByLabel(h.ctx, h.agent, "book")
	h.ok(err)
	same(t, "the longer block", long, book.Value)
	for _, name := range []string{"human", "book", "archive"} {
		if _, err := os.Stat(h.path("system/" + name + refusedMark)); !os.IsNotExist(err) {
			t.Errorf("the note beside %s: %v", name, err)
		}
	}
	same(t, "a person's own", "my own\n", h.file("system/mine.refused.txt"))
	if !strings.HasSuffix(h.file("system/picture.refused.txt"), "of our cat.\n") {
		t.Error("what a person added to a note is gone")
	}
}
