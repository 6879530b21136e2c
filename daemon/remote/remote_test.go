package remote

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"loci/core"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestWhatIsAtAnAddressIsFetched(t *testing.T) {
	t.Parallel()
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/here", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("pixels"))
	})
	got, err := New(func(netip.Addr) error { return nil }).Fetch(t.Context(), at+"/moved")
	if err != nil || string(got) != "pixels" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNothingOfThisMachineIsFetched(t *testing.T) {
	t.Parallel()
	asked := false
	at := serve(t, func(http.ResponseWriter, *http.Request) { asked = true })
	_, err := New(nil).Fetch(t.Context(), at)
	if core.KindOf(err) != core.Forbidden || !strings.Contains(err.Error(), "of this machine itself") || asked {
		t.Errorf("asked: %v, %v", asked, err)
	}
}

func TestARedirectIsJudgedToo(t *testing.T) {
	t.Parallel()
	inner := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("secret")) })
	outer := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inner, http.StatusFound) })
	dials := 0
	f := New(func(netip.Addr) error {
		if dials++; dials > 1 {
			return core.E(core.Forbidden, "not this one")
		}
		return nil
	})
	if got, err := f.Fetch(t.Context(), outer); core.KindOf(err) != core.Forbidden {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWhatIsNoAddressOrTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/none" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(make([]byte, core.MaxImageBytes+10))
	})
	f := New(func(netip.Addr) error { return nil })
	for address, kind := range map[string]core.Kind{
		"file:///etc/passwd": core.Invalid, "ftp://x/y": core.Invalid, "http://a:b@c/": core.Invalid, "::": core.Invalid,
		at + "/none": core.Invalid, at + "/large": core.TooLarge,
	} {
		if _, err := f.Fetch(t.Context(), address); core.KindOf(err) != kind {
			t.Errorf("%s: %v", address, err)
		}
	}
}
