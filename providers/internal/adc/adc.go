// Package adc signs requests to Google Cloud with the credentials in a file: the key of a service account, or what gcloud
// keeps of a person who has logged in ("application default credentials").
//
// The token comes from Google's token server, is kept in memory until it is about to expire, and is fetched by one request
// at a time.
package adc

import (
	"bytes"
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
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
)

// Limits of what is read, and how long a token that is asked for lives.
const (
	mostFile  = 64 << 10
	mostReply = 64 << 10
	life      = time.Hour
	early     = 2 * time.Minute // before its end a token is renewed
	within    = 30 * time.Second
)

const (
	tokenServer = "https://oauth2.googleapis.com/token" //nolint:gosec // an address
	scope       = "https://www.googleapis.com/auth/cloud-platform"
)

// credentials is what such a file holds.
type credentials struct {
	Type string `json:"type"`

	Email string `json:"client_email"` // of a service account
	Key   string `json:"private_key"`
	KeyID string `json:"private_key_id"`
	Token string `json:"token_uri"`

	ClientID string `json:"client_id"` // of a person
	Secret   string `json:"client_secret"`
	Refresh  string `json:"refresh_token"`
}

// Signer signs requests with a token. It is safe for concurrent use.
type Signer struct {
	who  wire.Who
	from credentials
	key  *rsa.PrivateKey
	http *http.Client
	now  func() time.Time

	slot  chan struct{} // its holder may use what follows
	token string
	until time.Time
}

// New reads the credentials in a file. variable is what named it, for hints.
func New(provider, variable, file string, transport http.RoundTripper) (*Signer, error) {
	s := &Signer{
		who: wire.Who{Provider: provider}, now: time.Now, slot: make(chan struct{}, 1),
		http: &http.Client{Transport: transport, CheckRedirect: wire.NoRedirect},
	}
	if err := s.read(file); err != nil {
		return nil, s.who.E(core.Unauthenticated, "the credentials that %s names cannot be used: %w", variable, err).
			WithHint("%s is the path of a service account's key, or of the file that `gcloud auth application-default login` "+
				"writes", variable)
	}
	return s, nil
}

func (s *Signer) read(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return errors.New("the file cannot be opened")
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, mostFile))
	if err != nil || json.Unmarshal(raw, &s.from) != nil {
		return errors.New("the file is no JSON")
	}
	if s.from.Token == "" {
		s.from.Token = tokenServer
	}
	if u, err := url.Parse(s.from.Token); err != nil || u.Scheme != "https" && !loopback(u.Hostname()) {
		return errors.New("its token_uri is no safe address")
	}
	switch c := s.from; {
	case c.Type == "service_account" && c.Email != "" && c.Key != "":
		s.key, err = parseKey(c.Key)
		return err
	case c.Type == "authorized_user" && c.ClientID != "" && c.Refresh != "":
		return nil
	case c.Type == "service_account", c.Type == "authorized_user":
		return errors.New("a part of the file is missing")
	}
	return fmt.Errorf("credentials of type %.40q are not supported", s.from.Type)
}

func loopback(host string) bool { return host == "127.0.0.1" || host == "::1" || host == "localhost" }

func parseKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("its private key is not in PEM form")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := any.(*rsa.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("its private key is no RSA key")
	}
	return key, nil
}

// Sign implements protocol.Signer.
func (s *Signer) Sign(req *http.Request) error {
	ctx := req.Context()
	select {
	case s.slot <- struct{}{}:
		defer func() { <-s.slot }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.now().After(s.until.Add(-early)) {
		if err := s.renew(ctx); err != nil {
			return err
		}
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	return nil
}

// renew fetches a token.
func (s *Signer) renew(ctx context.Context) error {
	form := url.Values{
		"grant_type": {"refresh_token"}, "client_id": {s.from.ClientID}, "client_secret": {s.from.Secret},
		"refresh_token": {s.from.Refresh},
	}
	if s.key != nil {
		assertion, err := s.assertion()
		if err != nil {
			return s.who.E(core.Unauthenticated, "the request for a token cannot be signed: %w", err)
		}
		form = url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.from.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return s.who.E(core.Invalid, "the address of the token server is not a URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := s.http.Do(req)
	if err != nil {
		return s.who.Network(ctx, nil, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, mostReply))
	if err != nil {
		return s.who.Network(ctx, nil, err)
	}
	return s.take(resp.StatusCode, raw)
}

// take reads the answer of the token server.
func (s *Signer) take(status int, raw []byte) error {
	var answer struct {
		Token   string `json:"access_token"`
		Expires int    `json:"expires_in"`
		Error   string `json:"error"`
		Why     string `json:"error_description"`
	}
	readable := json.Unmarshal(raw, &answer) == nil
	switch {
	case status >= http.StatusInternalServerError:
		return s.who.E(core.Unavailable, "%s: the token server answers with status %d", s.who.Provider, status)
	case status >= 300 || !readable || answer.Token == "":
		why := strings.TrimSpace(answer.Error + " " + answer.Why)
		if why == "" {
			why = "the token server gives no token"
		}
		return s.who.E(core.Unauthenticated, "%s: %s", s.who.Provider, why).
			WithHint("the credentials are no longer valid: log in again, or make a new key of the service account")
	}
	s.token, s.until = answer.Token, s.now().Add(min(time.Duration(max(answer.Expires, 0))*time.Second, life))
	return nil
}

// assertion is the signed statement of a service account for which it gets a token.
func (s *Signer) assertion() (string, error) {
	now := s.now().Unix()
	var out bytes.Buffer
	for _, part := range []map[string]any{
		{"alg": "RS256", "typ": "JWT", "kid": s.from.KeyID},
		{"iss": s.from.Email, "scope": scope, "aud": s.from.Token, "iat": now, "exp": now + int64(life.Seconds())},
	} {
		raw, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		if out.Len() > 0 {
			out.WriteByte('.')
		}
		out.WriteString(base64.RawURLEncoding.EncodeToString(raw))
	}
	sum := sha256.Sum256(out.Bytes())
	signature, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", err
	}
	return out.String() + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
