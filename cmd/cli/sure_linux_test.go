package cli

import (
	"bytes"
	"testing"

	"github.com/creack/pty"

	"loci/daemon/api"
)

func TestAPersonWhoSaysNoIsNotToldHowToDoItAfterAll(t *testing.T) {
	t.Parallel()
	keyboard, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer keyboard.Close()
	defer terminal.Close()
	if _, err := keyboard.WriteString("n\n"); err != nil {
		t.Fatal(err)
	}
	a := &app{in: terminal, errOut: &bytes.Buffer{}}
	err = a.sure(false, "delete it?", "nothing was deleted", "loci uninstall --purge --yes")
	if kind, hint := explain(err); err == nil || err.Error() != "nothing was deleted" || kind != api.KindCancelled || hint != "" {
		t.Errorf("%v (%s), try %q", err, kind, hint)
	}
}
