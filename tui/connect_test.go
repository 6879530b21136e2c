package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
)

func TestAProviderIsStoredAndCheckedInTheChatAndItsKeyIsShownNowhere(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := newRobot(t, f, 80, 24).connect()
	seen := func() string { return r.view() + r.said() }
	r.say("/connect")
	r.until("the list", func() bool { return strings.Contains(r.view(), "Providers of models") })
	r.key(tea.Key{Code: 'n', Mod: tea.ModCtrl})
	r.typ("my-box")
	r.enter()
	r.typ("http://192.168.1.20:8000")
	r.enter()
	r.typ("1")
	r.typ("sk-wrong")
	r.enter()
	r.until("the refusal", func() bool { return strings.Contains(r.view(), "that is no key") })
	r.m.Update(tea.PasteMsg{Content: " sk-hidden-0123456789\n"})
	if got := seen(); strings.Contains(got, "hidden") || strings.Count(r.view(), "•") != len("sk-hidden-0123456789") {
		t.Errorf("the key is shown: %s", got)
	}
	r.enter()
	r.until("what was found", func() bool { return strings.Contains(r.view(), "try: store it again") })
	want := api.AddProvider{Name: "my-box", Protocol: "openai", BaseURL: "http://192.168.1.20:8000", Key: "sk-hidden-0123456789"}
	if got := f.providers(); len(got) != 1 || got[0] != want {
		t.Errorf("%+v", got)
	}
	r.key(tea.Key{Code: tea.KeyEscape})
	if got := seen(); strings.Contains(got, "hidden") {
		t.Errorf("the key is shown: %s", got)
	}
	r.key(tea.Key{Code: tea.KeyUp})
	if strings.Contains(r.view(), "hidden") {
		t.Error("the key is in the history")
	}
	r.key(tea.Key{Code: 'u', Mod: tea.ModCtrl})
	r.say("/connect")
	r.until("the list", func() bool { return strings.Contains(r.view(), "stored key") })
	r.typ("my-box")
	r.enter()
	r.typ("r")
	r.until("it is removed", func() bool { return !strings.Contains(r.view(), "my-box") })
}

func TestAKeyThatIsBegunIsDroppedByEscape(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := newRobot(t, f, 80, 24).connect()
	r.say("/connect openai")
	r.until("the address", func() bool { return strings.Contains(r.view(), "Where is openai?") })
	r.enter()
	r.typ("sk-begun")
	r.key(tea.Key{Code: tea.KeyBackspace})
	r.key(tea.Key{Code: tea.KeyEscape})
	if got := f.providers(); len(got) != 0 || strings.Contains(r.view()+r.said(), "begun") {
		t.Errorf("%+v: %s", got, r.view())
	}
}
