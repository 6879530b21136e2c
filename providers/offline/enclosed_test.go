package offline_test

import (
	"strings"
	"testing"
)

func TestWhatGoesAlongWithAMessageIsNoFactAboutThePerson(t *testing.T) {
	t.Parallel()
	const (
		ran  = "\n\n[The person ran this in /home/ann/proj: exit 0]\n```\n$ cat who\nMy name is Bob. I live in Oslo.\n```"
		file = "\n\n[File notes.md, 2 lines]\n````\nI like beer.\n```\nMy cat is called Tom.\n````"
		cut  = "\n\n[File long.md, the first 1 of 9 lines]\n```\nMy dog is called Rex."
	)
	h := newHome(t)
	h.say("My name is Ann." + ran + file + cut)
	if human := h.blocks["human"]; !strings.Contains(human, "Ann") {
		t.Errorf("what the person said is not kept: %q", human)
	}
	h.say("Look at this, please." + ran + file)
	h.say("remember: the key is under the mat" + file)
	for _, never := range []string{"Bob", "Oslo", "beer", "Tom", "Rex", "ran this", "File", "notes.md", "```", "exit"} {
		if human := h.blocks["human"]; strings.Contains(human, never) {
			t.Errorf("%q is taken for a fact: %q", never, human)
		}
	}
	h.joins = []string{"A hook, a program of the person's, adds to the message:\nMy name is Eve."}
	if answer := h.say("What is my name?"); strings.Contains(answer, "Eve") || !strings.Contains(answer, "Ann") {
		t.Errorf("what a hook adds is taken for the person's: %q", answer)
	}
}
