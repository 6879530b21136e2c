package server

import (
	"net/http"
	"strings"
	"testing"

	"loci/daemon/api"
)

func TestOthersAreKeptOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"), func(c *Config) { c.Token = "secret" })
	get := func(path string, set func(*http.Request)) reply {
		req := f.request("GET", path, nil)
		set(req)
		return f.do(req)
	}
	token := func(r *http.Request) { r.Header.Set("Authorization", "Bearer secret") }
	get("/v1/health/", func(*http.Request) {}).want(http.StatusOK)
	get("/v1/agents", func(*http.Request) {}).want(http.StatusUnauthorized)
	get("/v1/agents", func(r *http.Request) { r.Header.Set("Authorization", "Bearer other") }).want(http.StatusUnauthorized)
	get("/v1/agents/", token).want(http.StatusOK)
	get("/latest/agents/", token).want(http.StatusOK)
	get("/v1/agents", func(r *http.Request) { r.Header.Set("X-BARE-PASSWORD", "password secret") }).want(http.StatusOK)
	get("/v1/health", func(r *http.Request) { r.Host = "evil.example" }).want(http.StatusForbidden)
	get("/v1/health", func(r *http.Request) { r.Host = "127.0.0.1.evil.example:8283" }).want(http.StatusForbidden)
	get("/v1/health", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }).want(http.StatusForbidden)
	get("/v1/health", func(r *http.Request) { r.Header.Set("Origin", "null") }).want(http.StatusForbidden)
	get("/v1/health", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }).want(http.StatusForbidden)
	f.socket("GET", "/v1/agents", nil, "").want(http.StatusOK)
	register := f.request("POST", api.PathClients, api.Client{Kind: "chat"})
	token(register)
	f.do(register).want(http.StatusForbidden)
}

func TestOnlyPagesOfConfiguredOriginsMayAsk(t *testing.T) {
	t.Parallel()
	const mine = "http://localhost:3000"
	f := newFixture(t, always("ok"), func(c *Config) { c.Origins = []string{mine, "https://notes.example"} })
	ask := func(method string, header ...string) reply {
		req := f.request(method, "/v1/agents", nil)
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		return f.do(req)
	}
	preflight := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type"}
	for _, origin := range []string{mine, "https://notes.example"} {
		r := ask("GET", "Origin", origin, "Sec-Fetch-Site", "cross-site").want(http.StatusOK)
		exposed := r.header.Get("Access-Control-Expose-Headers")
		if r.header.Get("Access-Control-Allow-Origin") != origin || r.header.Get("Vary") != "Origin" ||
			!strings.Contains(exposed, api.HeaderHint) {
			t.Errorf("%s: %v", origin, r.header)
		}
		r = ask("OPTIONS", append([]string{"Origin", origin}, preflight...)...).want(http.StatusNoContent)
		allowed := r.header.Get("Access-Control-Allow-Methods")
		if r.header.Get("Access-Control-Allow-Origin") != origin ||
			r.header.Get("Access-Control-Allow-Headers") != "authorization,content-type" ||
			!strings.Contains(allowed, "PATCH") ||
			r.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("preflight of %s: %v", origin, r.header)
		}
	}
	others := []string{
		"http://localhost",
		"http://localhost:3001",
		"https://localhost:3000",
		"http://127.0.0.1:3000",
		"http://localhost:3000.evil.example",
		"https://evil.example",
		"null",
		"http://LOCALHOST:3000",
		"localhost:3000",
		"http://127.0.0.1:8283",
	}
	for _, origin := range others {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			r := ask(method, append([]string{"Origin", origin}, preflight...)...).want(http.StatusForbidden)
			for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers"} {
				if v := r.header.Get(name); v != "" {
					t.Errorf("%s of %s: %s: %s", method, origin, name, v)
				}
			}
		}
	}
	for site, want := range map[string]int{
		"none": http.StatusOK, "same-origin": http.StatusOK, "same-site": http.StatusForbidden, "cross-site": http.StatusForbidden,
	} {
		ask("GET", "Sec-Fetch-Site", site).want(want) // as pictures and scripts of a page are asked for, without an origin
	}
	r := ask("GET").want(http.StatusOK)
	if r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a program is told %v", r.header)
	}
}
