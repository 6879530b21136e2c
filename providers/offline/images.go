package offline

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"loci/core"
)

// unseen matches the line that stands for an image; its group says which.
var unseen = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[(image [^\];]*); ` + regexp.QuoteMeta(core.ImageUnseen) + `\]\n?`)
})

// clockLine matches the line of time before what a user says.
var clockLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*\[[^\]\n]*\]\n?`) })

// withoutImages takes the lines that stand for images out of a request, and returns what the last thing that a user said
// shows; alone: nothing else was said.
func withoutImages(req core.ChatRequest) (out core.ChatRequest, images []string, alone bool) {
	req.Messages = slices.Clone(req.Messages)
	last := -1
	for i := range req.Messages {
		if req.Messages[i].Role == core.ChatUser {
			last = i
		}
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Role != core.ChatUser || !strings.Contains(m.Text, core.ImageUnseen) {
			continue
		}
		if i == last {
			for _, found := range unseen().FindAllStringSubmatch(m.Text, -1) {
				images = append(images, found[1])
			}
		}
		m.Text = unseen().ReplaceAllString(m.Text, "")
		if i == last {
			alone = strings.TrimSpace(clockLine().ReplaceAllString(m.Said(), "")) == ""
		}
	}
	return req, images, alone
}

// blind says that the images are not seen.
func blind(images []string) string {
	what := "the " + images[0]
	if len(images) > 1 {
		what = core.Count(len(images), "image")
	}
	return "I cannot see " + what + ": I am the built-in offline model. A connected model that takes images can look; loci models " +
		"--all says which do."
}
