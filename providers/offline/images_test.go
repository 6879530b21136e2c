package offline

import (
	"strings"
	"testing"

	"loci/core"
)

func TestTheOfflineModelSaysThatItCannotSee(t *testing.T) {
	t.Parallel()
	img := core.Image{Type: "image/png", Width: 640, Height: 480, Bytes: 23_000}
	line := img.StandIn(core.ImageUnseen) + "\n"
	ask := func(text string) string {
		var b strings.Builder
		req := core.ChatRequest{Messages: []core.ChatMessage{{Role: core.ChatUser, Text: text}}}
		for d, err := range New().Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(d.Text)
		}
		return b.String()
	}
	const says = "I cannot see the image 640x480 PNG, 23 KB"
	alone := ask("[Sunday, 1 March 2026, 12:00]\n" + line)
	if !strings.HasPrefix(alone, says) || strings.Contains(alone, "not shown") {
		t.Errorf("alone: %q", alone)
	}
	if got := ask("What is this?\n" + line); !strings.HasPrefix(got, says) {
		t.Errorf("with a question: %q", got)
	}
	if got := ask("Hello"); strings.Contains(got, "cannot see") {
		t.Errorf("without an image: %q", got)
	}
}
