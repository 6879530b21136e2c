package adc

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
)

var testKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err) // there is no randomness
	}
	return key
})

// tokens is a token server: it gives token-1, token-2 and so on.
type tokens struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	body   string
	forms  []string
}

func newTokens(t *testing.T) *tokens {
	t.Helper()
	s := &tokens{status: http.StatusOK}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // what is missing, the test misses
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forms = append(s.forms, r.PostForm.Encode())
		body := s.body
		if body == "" {
			body = `{"access_token":"token-` + string(rune('0'+len(s.forms))) + `","expires_in":3600,"token_type":"Bearer"}`
		}
		if s.status == http.StatusFound {
			w.Header().Set("Location", "http://elsewhere.test/")
		}
		w.WriteHeader(s.status)
		_, _ = w.Write([]byte(body)) // a client that has left needs no answer
	}))
	t.Cleanup(s.Close)
	return s
}

func file(t *testing.T, fields map[string]string) string {
	t.Helper()
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func account(t *testing.T, server string) map[string]string {
	t.Helper()
	raw, err := x509.MarshalPKCS8PrivateKey(testKey())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"type": "service_account", "client_email": "robot@p.test", "private_key_id": "key-1", "token_uri": server + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})),
	}
}

func transport(t *testing.T) http.RoundTripper {
	t.Helper()
	out := wire.NewTransport(nil)
	t.Cleanup(out.CloseIdleConnections)
	return out
}

func signed(t *testing.T, s *Signer) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://vertex.test/", nil)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Sign(req)
	return req.Header.Get("Authorization"), err
}

func TestAServiceAccountSignsForATokenAndKeepsItUntilItsEnd(t *testing.T) {
	t.Parallel()
	server := newTokens(t)
	s, err := New("google_vertex", "X", file(t, account(t, server.URL)), transport(t))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	s.now = func() time.Time { return now }
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{0, "Bearer token-1"}, {57 * time.Minute, "Bearer token-1"}, {2 * time.Minute, "Bearer token-2"}} {
		now = now.Add(c.after)
		if got, err := signed(t, s); err != nil || got != c.want {
			t.Errorf("after %s: %q, %v", c.after, got, err)
		}
	}
	form := server.forms[0]
	_, assertion, ok := strings.Cut(form, "assertion=")
	assertion, _, _ = strings.Cut(assertion, "&")
	parts := strings.Split(assertion, ".")
	if !ok || len(parts) != 3 || !strings.Contains(form, "grant-type%3Ajwt-bearer") {
		t.Fatalf("sent %s", form)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || rsa.VerifyPKCS1v15(&testKey().PublicKey, crypto.SHA256, sum[:], signature) != nil {
		t.Errorf("the signature is not the key's: %v", err)
	}
	var claims struct {
		Iss, Scope, Aud string
		Iat, Exp        int64
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(raw, &claims) != nil || claims.Iss != "robot@p.test" || claims.Aud != server.URL+"/token" ||
		claims.Scope != scope || claims.Exp-claims.Iat != 3600 {
		t.Errorf("%s, %v", raw, err)
	}
	if head, _ := base64.RawURLEncoding.DecodeString(parts[0]); string(head) != `{"alg":"RS256","kid":"key-1","typ":"JWT"}` {
		t.Errorf("%s", head)
	}
}

func TestManyRequestsWaitForOneToken(t *testing.T) {
	t.Parallel()
	server := newTokens(t)
	s, err := New("google_vertex", "X", file(t, account(t, server.URL)), transport(t))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := signed(t, s); err != nil || got != "Bearer token-1" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	wg.Wait()
	if len(server.forms) != 1 {
		t.Errorf("%d tokens were asked for", len(server.forms))
	}
	s.slot <- struct{}{} // somebody else is asking
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://vertex.test/", nil)
	if err != nil || !errors.Is(s.Sign(req), context.Canceled) {
		t.Errorf("one that is cancelled still waits: %v", err)
	}
}

func TestAPersonsLoginIsRefreshed(t *testing.T) {
	t.Parallel()
	server := newTokens(t)
	s, err := New("google_vertex", "X", file(t, map[string]string{
		"type": "authorized_user", "client_id": "id", "client_secret": "geheim", "refresh_token": "again", "token_uri": server.URL,
	}), transport(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := signed(t, s)
	if want := "client_id=id&client_secret=geheim&grant_type=refresh_token&refresh_token=again"; err != nil ||
		got != "Bearer token-1" || server.forms[0] != want {
		t.Errorf("%q, %v: %v", got, err, server.forms)
	}
}

func TestWhatGoesWrongWithATokenIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		kind   core.Kind
		want   string
	}{
		"revoked":    {400, `{"error":"invalid_grant","error_description":"Account has been deleted"}`, core.Unauthenticated, "deleted"},
		"overloaded": {503, `busy`, core.Unavailable, "503"},
		"no token":   {200, `{}`, core.Unauthenticated, "no token"},
		"a page":     {200, `<html>`, core.Unauthenticated, "no token"},
		"a redirect": {302, ``, core.Unauthenticated, "no token"},
	} {
		server := newTokens(t)
		server.status, server.body = c.status, c.body
		if server.body == "" {
			server.body = " "
		}
		s, err := New("google_vertex", "X", file(t, account(t, server.URL)), transport(t))
		if err != nil {
			t.Fatal(err)
		}
		_, err = signed(t, s)
		var e *core.Error
		if !errors.As(err, &e) || e.Kind != c.kind || !e.Provider || e.Hint == "" || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s: %#v", name, err)
		}
	}
}

func TestCredentialsThatCannotBeUsedAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	without := func(name string) map[string]string {
		fields := account(t, "http://127.0.0.1:1")
		delete(fields, name)
		return fields
	}
	odd := func(name, value string) map[string]string {
		fields := account(t, "http://127.0.0.1:1")
		fields[name] = value
		return fields
	}
	for want, fields := range map[string]map[string]string{
		"no RSA key":              odd("private_key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
		"not in PEM form":         odd("private_key", "geheim"),
		"no safe address":         odd("token_uri", "http://oauth2.test/token"),
		"a part of the file":      without("client_email"),
		`type "external_account"`: odd("type", "external_account"),
	} {
		_, err := New("google_vertex", "GOOGLE_X", file(t, fields), transport(t))
		if core.KindOf(err) != core.Unauthenticated || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "GOOGLE_X") ||
			!strings.Contains(core.HintOf(err), "gcloud") || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, name := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		if _, err := New("google_vertex", "X", name, transport(t)); core.KindOf(err) != core.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
}
