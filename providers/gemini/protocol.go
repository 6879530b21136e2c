package gemini

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"loci/core"
	"loci/providers/protocol"
)

// Quirks is how a server differs. It is the protocol as that server speaks it.
type Quirks struct {
	Whole bool // requests don't stream
	// Vertex is Google Cloud's service: a model's address has a project and a location, no models are listed, and none embeds.
	Vertex bool
}

// The variables that say where in Google Cloud the models are.
const (
	ProjectVar  = "GOOGLE_CLOUD_PROJECT"
	LocationVar = "GOOGLE_CLOUD_LOCATION"
)

// Name implements protocol.Protocol.
func (q Quirks) Name() string { return "gemini" }

// Address implements protocol.AddressParser. By convention, addresses for this wire are given without the version that its
// operations are under, whether or not they have a path; the whole address of an operation is taken too.
func (q Quirks) Address(variable, text string) (string, error) {
	before, _, _ := strings.Cut(text, "/models/")
	version := "v1beta"
	if q.Vertex {
		version = "v1"
	}
	base, err := protocol.Address(variable, before, "/"+version, "/models")
	if err != nil {
		return "", err
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	if q.Vertex && strings.Contains(u.Path, publisher) {
		return base, nil
	}
	if last := path.Base(u.Path); len(last) < 2 || last[0] != 'v' || last[1] < '0' || last[1] > '9' {
		return u.JoinPath(version).String(), nil
	}
	return base, nil
}

// publisher is where Google's own models are in Vertex.
const publisher = "/publishers/google"

// Open implements protocol.Protocol.
func (q Quirks) Open(o protocol.Options) (protocol.Server, error) {
	if !q.Vertex {
		return New(o, q), nil
	}
	if project, location := o.Values[ProjectVar], o.Values[LocationVar]; !strings.Contains(o.BaseURL, publisher) {
		if project != "" && location != "" {
			o.BaseURL += "/projects/" + url.PathEscape(project.Reveal()) + "/locations/" + url.PathEscape(location.Reveal())
		}
		o.BaseURL += publisher
	}
	return vertex{New(o, q)}, nil
}

// Set implements protocol.Configurer.
func (q Quirks) Set(settings map[string]string) (protocol.Protocol, error) {
	err := protocol.Apply(&q, settings, map[string]map[string]func(q *Quirks){
		"stream": {"on": func(q *Quirks) { q.Whole = false }, "off": func(q *Quirks) { q.Whole = true }},
	})
	if err != nil {
		return nil, err
	}
	return q, nil
}

// Key authenticates by the header that Google's own clients use; an empty key isn't sent.
type Key core.Secret

// Sign implements protocol.Signer.
func (k Key) Sign(req *http.Request) error {
	if k != "" {
		req.Header.Set("X-Goog-Api-Key", core.Secret(k).Reveal())
	}
	return nil
}
