package offline_test

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const filesFound = `Found 2 semantic matches in 2 file(s) for query: 'lighthouse keeper'

=== docs/sea.md (passage #3) lines 64-66, page 2 ===
Gulls are loud. The lighthouse keeper of Skagen collects barometers. He has nine.

=== docs/land.md (passage #1) lines 1-1 ===
A lighthouse stands inland, too.

Note: 1 of the files are still being read, so that more may be found later.`

func withFiles(t *testing.T) *home {
	t.Helper()
	h := newHome(t)
	h.tools = append(h.tools[:len(h.tools):len(h.tools)], "open_files", "grep_files", "semantic_search_files")
	h.found["semantic_search_files"] = filesFound
	h.schemas = map[string]string{
		"semantic_search_files": `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}}}`,
	}
	return h
}

func TestQuestionsAboutFilesAreAnsweredFromThemWordForWord(t *testing.T) {
	t.Parallel()
	for asked, query := range map[string]string{
		"What do the files say about the lighthouse keeper?":                  "lighthouse keeper",
		"What does my folder say about lighthouse keepers?":                   "lighthouse keepers",
		"search the attached documents for the lighthouse keeper":             "lighthouse keeper",
		"Find the lighthouse keeper in my docs.":                              "lighthouse keeper",
		"Can you tell me who the lighthouse keeper in the documents is?":      "lighthouse keeper",
		"Is there anything about a lighthouse keeper in the attached folder?": "lighthouse keeper",
	} {
		h := withFiles(t)
		got := h.say(asked)
		if len(h.calls) != 1 || h.calls[0].Name != "semantic_search_files" || arguments(t, h.calls[0])["query"] != query {
			t.Errorf("%q calls %+v, want a search for %q", asked, h.calls, query)
			continue
		}
		want := "Passages of the attached files that match \"" + query + "\", word for word:\n" +
			"- docs/sea.md, lines 64-66: The lighthouse keeper of Skagen collects barometers. He has nine.\n" +
			"- docs/land.md, lines 1-1: A lighthouse stands inland, too."
		if got != want {
			t.Errorf("%q: %q", asked, got)
		}
	}
}

func TestWhatIsNotAboutFilesIsNotSearchedThere(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"I keep my files in Leipzig.", "What is my name?", "search for the lighthouse", "Where do I live?"} {
		h := withFiles(t)
		h.say(said)
		for _, c := range h.calls {
			if c.Name == "semantic_search_files" {
				t.Errorf("%q searches the files: %s", said, c.Arguments)
			}
		}
	}
	h := newHome(t) // nothing is attached
	if got := h.say("What do the files say about the lighthouse keeper?"); strings.Contains(got, "Passages") || got == "" {
		t.Errorf("without the tool: %q", got)
	}
}

func TestASearchOfFilesThatFindsNothingOrFailsIsToldSo(t *testing.T) {
	t.Parallel()
	for ret, want := range map[string]string{
		"No semantic matches found for query: 'whales'":     `I searched the attached files for "whales" and found nothing.`,
		"No files are currently attached to search":         `I searched the attached files for "whales" and found nothing.`,
		"=== \n=== (passage #x) ===\n" + "\x00" + "garbage": `I searched the attached files for "whales" and found nothing.`,
	} {
		h := withFiles(t)
		h.found["semantic_search_files"] = ret
		if got := h.say("What do the files say about whales?"); got != want {
			t.Errorf("%q: %q", ret, got)
		}
	}
	h := withFiles(t)
	h.found["semantic_search_files"] = strings.Repeat("=== a (passage #1) ===\n"+strings.Repeat("whale ", 5000)+"\n\n", 50)
	if got := h.say("What do the files say about whales?"); utf8.RuneCountInString(got) > 1500 {
		t.Errorf("an answer of %d characters", utf8.RuneCountInString(got))
	}
}

func TestAttachedFilesAreListedFromThePrompt(t *testing.T) {
	t.Parallel()
	h := withFiles(t)
	if got := h.say("Which files do you have?"); got != "I see no attached files." {
		t.Errorf("%q", got)
	}
	h.pinned = strings.Replace(
		h.compile(),
		"<memory_metadata>",
		"<directories>\n<directory name=\"docs\">\n<file status=\"open\" name=\"docs/sea.md\">\n<value>\n"+
			"1: <file status=\"open\" name=\"no/file\">\n</value>\n</file>\n"+
			"<file status=\"closed\" name=\"docs/R&amp;D.md\">3 lines, 20 characters</file>\n</directory>\n"+
			"</directories>\n\n<memory_metadata>",
		1,
	)
	want := "Attached files, as my prompt lists them:\n- docs/sea.md\n- docs/R&D.md\nAsk what they say about something, and I search them."
	if got := h.say("What files are attached?"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
