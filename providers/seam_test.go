package providers_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers"
	"loci/providers/protocol"
	"loci/providers/providertest"
)

// telegraph is a protocol that nobody speaks: it signs with two variables and chats over one persistent connection. It
// proves that a protocol can be added with a package and a row.
type telegraph struct{}

func (telegraph) Name() string { return "telegraph" }

func (telegraph) Open(o protocol.Options) (protocol.Server, error) { return &office{opts: o}, nil }

// stamp signs a request's body with a name and a secret.
type stamp struct{ name, secret core.Secret }

func newStamp(v protocol.Values, _ http.RoundTripper) (protocol.Signer, error) {
	return stamp{v["TELEGRAPH_NAME"], v["TELEGRAPH_SECRET"]}, nil
}

func (s stamp) Sign(req *http.Request) error {
	var body []byte
	if req.GetBody != nil {
		r, err := req.GetBody()
		if err != nil {
			return err
		}
		if body, err = io.ReadAll(r); err != nil {
			return err
		}
	}
	req.Header.Set("X-Name", s.name.Reveal())
	req.Header.Set("X-Stamp", stamped(s.secret.Reveal(), body))
	return nil
}

func stamped(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// office is one telegraph server; its line is opened by the first chat and kept until Close.
type office struct {
	opts protocol.Options
	mu   sync.Mutex
	line io.ReadWriteCloser
	read *bufio.Reader
}

var _ interface {
	protocol.Server
	protocol.Embedder
	io.Closer
} = (*office)(nil)

func (o *office) send(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.opts.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: o.opts.HTTP}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return core.E(core.Unauthenticated, "the telegraph says %s", resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

func (o *office) List(ctx context.Context) (protocol.Listing, error) {
	var names []string
	err := o.send(ctx, "/list", "", &names)
	var l protocol.Listing
	for _, name := range names {
		l.Models = append(l.Models, protocol.Model{Name: name, Window: 5000, Tools: true, Binds: true, Own: "key of " + name})
	}
	return l, err
}

func (o *office) Describe(ctx context.Context, name string) (protocol.Model, error) {
	var window int
	err := o.send(ctx, "/describe", name, &window)
	if err == nil && window == 0 {
		err = core.E(core.NotFound, "the telegraph has no model %q", name)
	}
	return protocol.Model{Name: name, Window: window, Tools: true, Binds: true, Own: "key of " + name}, err
}

func (o *office) Embed(ctx context.Context, _ string, texts []string) (out [][]float32, err error) {
	err = o.send(ctx, "/embed", texts, &out)
	return out, err
}

func (o *office) connect(ctx context.Context) error {
	if o.line != nil {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.opts.BaseURL+"/line", http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "telegraph")
	resp, err := (&http.Client{Transport: o.opts.HTTP}).Do(req)
	if err != nil {
		return err
	}
	line, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		_ = resp.Body.Close()
		return core.E(core.Unauthenticated, "the telegraph says %s", resp.Status)
	}
	o.line, o.read = line, bufio.NewReader(line)
	return nil
}

// Stream sends the last message and what the wire knows of the model, and reads words until a full stop.
func (o *office) Stream(ctx context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if err := o.connect(ctx); err != nil {
			yield(core.Delta{}, err)
			return
		}
		own, _ := req.Info.Own.(string)
		if _, err := io.WriteString(o.line, own+": "+req.Messages[len(req.Messages)-1].Text+"\n"); err != nil {
			yield(core.Delta{}, err)
			return
		}
		for {
			word, err := o.read.ReadString('\n')
			switch {
			case err != nil:
				yield(core.Delta{}, err)
				return
			case word == "STOP\n":
				yield(core.Delta{End: true, Finish: core.FinishStop}, nil)
				return
			case !yield(core.Delta{Text: strings.TrimSuffix(word, "\n")}, nil):
				return
			}
		}
	}
}

func (o *office) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.line == nil {
		return nil
	}
	return o.line.Close()
}

// wires is the other end of the line.
type wires struct {
	url    string
	lines  atomic.Int32
	closed chan struct{} // one element for each line that was closed
}

func telegraphServer(t *testing.T, name, secret string) *wires {
	t.Helper()
	w := &wires{closed: make(chan struct{}, 8)}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("X-Name") != name || r.Header.Get("X-Stamp") != stamped(secret, body) {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/list":
			_, _ = io.WriteString(rw, `["morse"]`)
		case "/describe":
			_, _ = io.WriteString(rw, map[string]string{`"morse"`: "5000"}[string(body)]+"\n")
			if string(body) != `"morse"` {
				_, _ = io.WriteString(rw, "0")
			}
		case "/embed":
			_, _ = io.WriteString(rw, "[[1,0],[0,1]]")
		case "/line":
			w.serve(t, rw)
		}
	}))
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

// serve answers each line with its words, each on a line of its own.
func (w *wires) serve(t *testing.T, rw http.ResponseWriter) {
	t.Helper()
	conn, rest, err := rw.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close(); w.closed <- struct{}{} }()
	w.lines.Add(1)
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: telegraph\r\n\r\n")
	for {
		text, err := rest.ReadString('\n')
		if err != nil {
			return
		}
		for word := range strings.FieldsSeq(text) {
			_, _ = io.WriteString(conn, word+"\n")
		}
		_, _ = io.WriteString(conn, "STOP\n")
	}
}

func TestAProtocolIsAPackageAndARow(t *testing.T) {
	t.Parallel()
	w := telegraphServer(t, "bell", "geheim-0123")
	row := providers.Row{
		Name: "telegraph", Title: "Telegraph", Protocol: telegraph{}, BaseURL: "http://{TELEGRAPH_HOST}",
		Keys: []providers.Key{{Needs: []string{"TELEGRAPH_NAME", "TELEGRAPH_SECRET"}}}, Sign: newStamp,
	}
	if diff := cmp.Diff([]string{"TELEGRAPH_NAME", "TELEGRAPH_SECRET", "TELEGRAPH_HOST"}, row.Variables()); diff != "" {
		t.Error(diff)
	}
	row.BaseURLVar, row.BaseURL = "TELEGRAPH_URL", "http://telegraph.invalid"
	p := providers.New(providers.Config{Rows: append([]providers.Row{row}, providers.Rows()...)})
	t.Cleanup(p.Close)
	vars := env(map[string]string{"TELEGRAPH_NAME": "bell", "TELEGRAPH_SECRET": "geheim-0123", "TELEGRAPH_URL": w.url})

	if found := p.First(
		t.Context(),
		vars,
	); !found.OK || found.Info.Handle != "telegraph/morse" ||
		!strings.HasPrefix(found.Because, "TELEGRAPH_NAME is set") {
		t.Errorf("first: %+v", found)
	}
	list, err := p.List(t.Context(), vars, core.ModelQuery{})
	if err != nil ||
		!slices.ContainsFunc(list, func(m core.ModelInfo) bool { return m.Handle == "telegraph/morse" && m.ContextWindow == 5000 }) {
		t.Errorf("list: %+v %v", list, err)
	}
	chat, info, err := p.Chat(t.Context(), "telegraph/morse", vars)
	if err != nil || info.Protocol != "telegraph" || !info.BindsPrefix || info.Own != "key of morse" {
		t.Fatalf("%+v %v", info, err)
	}
	for text, want := range map[string]string{"what hath": "keyofmorse:whathath", "God wrought": "keyofmorse:Godwrought"} {
		if a, err := providertest.Collect(t.Context(), t, chat, providertest.Ask("morse", text)); err != nil || a.Text != want {
			t.Errorf("%q: %q %v", text, a.Text, err)
		}
	}
	if n := w.lines.Load(); n != 1 {
		t.Errorf("%d lines for two turns", n)
	}
	embedder, what, err := p.Embedder(t.Context(), "telegraph/morse", vars)
	if err != nil || what.Protocol != "telegraph" {
		t.Fatalf("%+v %v", what, err)
	}
	if got, err := embedder.Embed(t.Context(), []string{"a", "b"}); err != nil || cmp.Diff([][]float32{{1, 0}, {0, 1}}, got) != "" {
		t.Errorf("%v %v", got, err)
	}
	if _, _, err := p.Chat(t.Context(), "telegraph/nobody", vars); core.KindOf(err) != core.NotFound {
		t.Errorf("a model that it does not have: %v", err)
	}

	p.Close()
	select {
	case <-w.closed:
	case <-t.Context().Done():
	}
	if _, _, err := p.Chat(t.Context(), "telegraph/morse", vars); core.KindOf(err) != core.Unavailable {
		t.Errorf("after Close: %v", err)
	}
}

func TestAKeyOfTwoVariablesIsSetWholeOrNamed(t *testing.T) {
	t.Parallel()
	row := providers.Row{
		Name:     "telegraph",
		Title:    "Telegraph",
		Protocol: telegraph{},
		BaseURL:  "https://{TELEGRAPH_HOST}/v1",
		Keys: []providers.Key{
			{Needs: []string{"TELEGRAPH_TOKEN"}},
			{Needs: []string{"TELEGRAPH_NAME", "TELEGRAPH_SECRET"}},
		},
		Sign: newStamp,
	}
	p := providers.New(providers.Config{Rows: []providers.Row{row}})
	t.Cleanup(p.Close)
	for want, vars := range map[string]map[string]string{
		"there is no key for Telegraph":                     {},
		"TELEGRAPH_NAME is set and TELEGRAPH_SECRET is not": {"TELEGRAPH_NAME": "bell"},
		"TELEGRAPH_SECRET is set and TELEGRAPH_NAME is not": {"TELEGRAPH_SECRET": "s"},
		"TELEGRAPH_SECRET holds no usable key":              {"TELEGRAPH_NAME": "bell", "TELEGRAPH_SECRET": "a\nb"},
		"TELEGRAPH_NAME is set and TELEGRAPH_HOST is not":   {"TELEGRAPH_NAME": "bell", "TELEGRAPH_SECRET": "s"},
		"TELEGRAPH_HOST is no part of an address": {
			"TELEGRAPH_NAME": "bell", "TELEGRAPH_SECRET": "s", "TELEGRAPH_HOST": "evil.example/x?",
		},
	} {
		if _, _, err := p.Chat(t.Context(), "telegraph/morse", env(vars)); err == nil || err.Error() != want || core.HintOf(err) == "" {
			t.Errorf("got %v (%s), want %s", err, core.HintOf(err), want)
		}
	}
}

func TestAServerInUseIsClosedAfterItsLastCall(t *testing.T) {
	t.Parallel()
	w := telegraphServer(t, "bell", "secret")
	p := providers.New(providers.Config{Rows: []providers.Row{{
		Name: "telegraph", Title: "Telegraph", Protocol: telegraph{}, BaseURL: "http://telegraph.invalid", BaseURLVar: "TELEGRAPH_URL",
		Keys: []providers.Key{{Needs: []string{"TELEGRAPH_NAME", "TELEGRAPH_SECRET"}}}, Sign: newStamp,
	}}})
	chat, _, err := p.Chat(
		t.Context(),
		"telegraph/morse",
		env(map[string]string{"TELEGRAPH_NAME": "bell", "TELEGRAPH_SECRET": "secret", "TELEGRAPH_URL": w.url}),
	)
	if err != nil {
		t.Fatal(err)
	}
	text, ended := "", false
	for d, err := range chat.Stream(t.Context(), providertest.Ask("morse", "one two")) {
		if err != nil {
			t.Fatal(err)
		}
		if text == "" {
			p.Close()
		}
		text, ended = text+d.Text, d.End
	}
	if !ended || text != "keyofmorse:onetwo" {
		t.Errorf("%q, ended %v", text, ended)
	}
	select {
	case <-w.closed:
	case <-t.Context().Done():
	}
}

func TestASignedRequestGoesToItsOwnOriginOnly(t *testing.T) {
	t.Parallel()
	sent := errors.New("sent")
	transport := protocol.Signed(roundTrip(func(req *http.Request) (*http.Response, error) {
		if req.Header.Get("Authorization") != "Bearer k" || req.Header.Get("X-Title") != "Loci" {
			t.Errorf("header %v", req.Header)
		}
		return nil, sent
	}), "https://api.vendor.example/v1", map[string]string{"X-Title": "Loci"}, protocol.Bearer("k"))
	for url, want := range map[string]bool{
		"https://api.vendor.example/v1/models": true, "https://api.vendor.example.evil.example/v1": false,
		"http://api.vendor.example/v1":       false,
		"https://api.vendor.example:8443/v1": false,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if resp != nil {
			resp.Body.Close()
		}
		if errors.Is(err, sent) != want || req.Header.Get("Authorization") != "" {
			t.Errorf("%s: %v", url, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
