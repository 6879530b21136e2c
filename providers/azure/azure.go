// Package azure is OpenAI's wire as Azure serves it: models are deployments with names of a person's own, a key has its own
// header, and older addresses name the deployment in their path and a version in their query.
//
// It adds to the package openai what is different: addresses, the listing of deployments, and the way to sign.
package azure

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/openai"
	"loci/providers/protocol"
)

// The variables that say more than where the resource is and with which key.
const (
	VersionVar    = "AZURE_OPENAI_API_VERSION"
	DeploymentVar = "AZURE_OPENAI_DEPLOYMENT"
)

// path is where a resource has OpenAI's operations.
const path = "/openai/v1"

// Quirks is how Azure differs.
type Quirks struct {
	openai.Quirks
	Version string // of the older addresses; empty: the current ones, which need none
}

// Address implements protocol.AddressParser: what was copied from a portal is brought to the resource's own path.
func (q Quirks) Address(variable, text string) (string, error) {
	if u, err := url.Parse(text); err == nil {
		u.RawQuery = "" // of an older address: its version is a setting
		text = u.String()
	}
	base, err := protocol.Address(variable, text, path, "/chat/completions", "/responses", "/models", "/embeddings")
	if err != nil {
		return "", err
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", core.E(core.Invalid, "%s is not the address of a server", variable)
	}
	if before, _, old := strings.Cut(u.Path, "/openai/deployments/"); old {
		u.Path = before + path
	}
	if strings.HasSuffix(u.Path, "/openai") {
		u.Path += "/v1"
	}
	return u.String(), nil
}

// Set implements protocol.Configurer.
func (q Quirks) Set(settings map[string]string) (protocol.Protocol, error) {
	settings = maps.Clone(settings)
	if v, ok := settings["api_version"]; ok {
		if !dated(v) {
			return nil, core.E(core.Invalid, "api_version cannot be %q", v).
				WithHint("it is a version of the older addresses, like 2024-10-21; without it the current ones are used, which need none")
		}
		q.Version = v
		delete(settings, "api_version")
	}
	set, err := q.Quirks.Set(settings)
	if err != nil {
		return nil, err
	}
	q.Quirks, _ = set.(openai.Quirks)
	return q, nil
}

// dated reports whether a version is one of the older addresses, as it stands in a query.
func dated(version string) bool {
	return len(version) >= 10 && len(version) <= 30 && strings.Trim(version, "0123456789-abcdefghijklmnopqrstuvwxyz") == "" &&
		strings.Trim(version[:4], "0123456789") == ""
}

// Open implements protocol.Protocol.
func (q Quirks) Open(o protocol.Options) (protocol.Server, error) {
	version := cmp.Or(q.Version, strings.TrimSpace(o.Values[VersionVar].Reveal()))
	if !dated(version) { // "v1", "preview" and "latest" are words for the current addresses
		version = ""
	}
	s := &server{root: strings.TrimSuffix(o.BaseURL, "/v1"), deployment: o.Values[DeploymentVar].Reveal()}
	s.calls = wire.NewCaller(o)
	s.calls.Base = s.root
	if version != "" {
		o.HTTP = older{base: o.HTTP, version: version}
		q.Wire = openai.Chat
	}
	s.Client = openai.New(o, q.Quirks)
	return s, nil
}

// server is one resource.
type server struct {
	*openai.Client
	calls      wire.Caller
	root       string // the address up to /openai
	deployment string // that a variable names
}

// Listings of deployments are served under this version alone, and not by every resource.
const listVersion = "2023-03-15-preview"

// noList says what to write where a resource doesn't list its deployments.
const noList = "its deployments cannot be listed; name each: [providers.azure.models.\"DEPLOYMENT\"] with base_model = \"gpt-5.4\" in " +
	"config.toml, or one with " + DeploymentVar

// List implements protocol.Server: the models are the deployments.
func (s *server) List(ctx context.Context) (protocol.Listing, error) {
	body, err := s.calls.Exchange(ctx, http.MethodGet, "/deployments?api-version="+listVersion, nil, nil)
	var said struct {
		Data []struct {
			ID     string `json:"id"`
			Model  string `json:"model"`
			Status string `json:"status"`
		} `json:"data"`
	}
	if err == nil && json.Unmarshal(body, &said) != nil {
		err = wire.ErrListing
	}
	var out protocol.Listing
	for _, d := range said.Data {
		if d.ID != "" {
			out.Models = append(out.Models, deployed(d.ID, d.Model, d.Status))
		}
	}
	kind := core.KindOf(err)
	refused := err != nil && (kind == core.Unauthenticated || kind == core.Timeout || kind == core.RateLimited || kind == core.Unavailable)
	switch unlisted := len(out.Models) == 0; {
	case unlisted && s.deployment != "" && kind != core.Unauthenticated:
		return protocol.Listing{Models: []protocol.Model{deployed(s.deployment, "", "succeeded")}}, nil
	case refused && !errors.Is(err, wire.ErrListing):
		return protocol.Listing{}, err
	case unlisted:
		return protocol.Listing{}, s.calls.Who.E(core.NotFound, "%s: %w", s.calls.Who.Provider, &wire.ListingError{Text: noList})
	}
	return out, nil
}

// deployed is a deployment as a model.
func deployed(name, base, status string) protocol.Model {
	m := protocol.Model{Name: name, Base: base, Tools: true, ToolsGuess: true, Forced: true, Reasoning: openai.Reasons(cmp.Or(base, name))}
	switch {
	case strings.Contains(base, "embedding"):
		m.Hidden, m.Embeds = "it embeds texts", true
	case status != "" && status != "succeeded":
		m.Hidden = "its deployment is " + status
	}
	return m
}

// older sends requests to the addresses that Azure had before: the deployment stands in the path, a version in the query.
type older struct {
	base    http.RoundTripper
	version string
}

// RoundTrip implements http.RoundTripper.
func (t older) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	at := strings.LastIndex(out.URL.Path, "/v1/")
	if at < 0 || req.Body == nil {
		return t.base.RoundTrip(out)
	}
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var of struct {
		Model string `json:"model"`
	}
	if err := json.Unmarshal(raw, &of); err != nil {
		return nil, err
	}
	out.Body = io.NopCloser(bytes.NewReader(raw))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	before, operation := out.URL.Path[:at], out.URL.Path[at+len("/v1/"):]
	out.URL.Path = before + "/deployments/" + of.Model + "/" + operation
	out.URL.RawPath = before + "/deployments/" + url.PathEscape(of.Model) + "/" + operation
	out.URL.RawQuery = url.Values{"api-version": {t.version}}.Encode()
	return t.base.RoundTrip(out)
}

// Key signs with a key, in Azure's header; a token of Entra is a bearer.
func Key(key, token core.Secret) protocol.Signer {
	if key == "" {
		return protocol.Bearer(token)
	}
	return header(key)
}

type header core.Secret

// Sign implements protocol.Signer.
func (k header) Sign(req *http.Request) error {
	req.Header.Set("Api-Key", core.Secret(k).Reveal())
	return nil
}
