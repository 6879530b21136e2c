package sandbox

import (
	"context"
	"runtime"
	"strings"
	"testing"
)

func TestEveryLayerIsTriedAndSaysWhatWasSeen(t *testing.T) {
	t.Parallel()
	layers := Probe(t.Context())
	if runtime.GOOS != "linux" {
		if len(layers) != 0 {
			t.Fatalf("%s has layers that nothing here knows: %+v", runtime.GOOS, layers)
		}
		return
	}
	var names []string
	for _, l := range layers {
		names = append(names, l.Name)
		if l.Detail == "" {
			t.Errorf("%s says nothing of what was seen", l.Name)
		}
		if l.Works && l.Fix != "" {
			t.Errorf("%s works and yet asks for %q", l.Name, l.Fix)
		}
	}
	if got := strings.Join(names, " "); got != "namespaces Landlock seccomp cgroup" {
		t.Errorf("the layers are %q", got)
	}
}

func TestAProbeThatMayTakeNoTimeSaysSo(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("no layers are known here")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if l := Probe(ctx)[0]; l.Works || !strings.Contains(l.Detail, context.Canceled.Error()) {
		t.Errorf("a cancelled probe found %+v", l)
	}
}
