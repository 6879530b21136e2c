package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The limits of MCP servers.
const (
	MaxMCPServers = 200 // in one home
	MaxMCPTools   = 500 // of one server
	MaxMCPName    = 60  // characters
	MaxMCPWords   = 200 // arguments of a command; variables; headers
	MaxMCPWord    = 8 << 10
	MaxMCPGrants  = 40
	MaxMCPFault   = 1000 // characters of what went wrong
)

// MCPServerID names an MCP server: "mcp_server-" and a UUIDv4.
type MCPServerID string

// NewMCPServerID returns a fresh id.
func NewMCPServerID() MCPServerID { return NewID[MCPServerID]("mcp_server") }

// MCPTransport is how a server is spoken to: the contract's mcp_server_type.
type MCPTransport string

// The transports.
const (
	MCPStdio MCPTransport = "stdio" // a program of its own, over its standard input and output
	MCPSSE   MCPTransport = "sse"
	MCPHTTP  MCPTransport = "streamable_http"
)

// MCPServer is a server whose tools agents may call. What is secret of it is sealed.
type MCPServer struct {
	ID         MCPServerID
	Name       string
	Transport  MCPTransport
	Command    string // of MCPStdio
	Args       []string
	URL        string // of the others
	AuthHeader string // which header carries the token; empty: Authorization
	Grants     MCPGrants
	Needs      []string  // the variables that its settings name
	Sealed     []byte    // MCPSecrets, as only a Sealer can open them; empty: it has none
	Was        string    // what it was when its tools were last accepted, where it is something else now
	Fault      string    // why its tools could not be listed last; empty: they were
	ListedAt   time.Time // when they were
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// MCPGrants is what a person lets a server reach beyond its own process or address.
type MCPGrants struct {
	Read    []string `json:"read,omitempty"`    // folders and files, absolute
	Write   []string `json:"write,omitempty"`   // folders, absolute
	Hosts   []string `json:"hosts,omitempty"`   // names that its program reaches
	Private bool     `json:"private,omitempty"` // its address may be on this machine or in its network
}

// MCPSecrets is what of a server nobody but it reads. Values may hold {{ NAME }} and {{ NAME | default }}, which stand for variables
// of the agent.
type MCPSecrets struct {
	Env     map[string]string `json:"env,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Token   string            `json:"token,omitempty"`
}

// Empty reports whether there are none.
func (s *MCPSecrets) Empty() bool { return len(s.Env) == 0 && len(s.Headers) == 0 && s.Token == "" }

// Validate reports the first fault of a server.
func (s *MCPServer) Validate() error {
	if err := ValidateMCPName(s.Name); err != nil {
		return err
	}
	if err := s.validateTransport(); err != nil {
		return err
	}
	if len(s.AuthHeader) > 100 || !isToken(s.AuthHeader) && s.AuthHeader != "" {
		return E(Invalid, "%q is no name of a header", clipped(s.AuthHeader))
	}
	return s.Grants.validate()
}

// ValidateMCPName reports what is wrong with the name of a server. Rules of permission and tags hold it.
func ValidateMCPName(name string) error {
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ._-", r) {
			return E(Invalid, "%q is no name of a server", clipped(name)).WithHint("use letters, digits, blanks and . _ -")
		}
	}
	if name != strings.TrimSpace(name) || name == "" || utf8.RuneCountInString(name) > MaxMCPName {
		return E(Invalid, "the name of a server has 1 to %d characters, and no blank first or last", MaxMCPName)
	}
	return nil
}

func (s *MCPServer) validateTransport() error {
	switch s.Transport {
	case MCPStdio:
		switch {
		case strings.TrimSpace(s.Command) == "":
			return E(Invalid, "the server %s names no command", s.Name)
		case len(s.Args) > MaxMCPWords:
			return E(TooLarge, "the command of %s has more than %d arguments", s.Name, MaxMCPWords)
		}
		for _, word := range append([]string{s.Command}, s.Args...) {
			if len(word) > MaxMCPWord || strings.ContainsRune(word, 0) || !utf8.ValidString(word) {
				return E(Invalid, "an argument of %s is no text of up to %d bytes", s.Name, MaxMCPWord)
			}
		}
		return nil
	case MCPSSE, MCPHTTP:
		u, err := url.Parse(s.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || len(s.URL) > MaxMCPWord {
			return E(Invalid, "the address of %s is no URL of the web that names no user", s.Name).
				WithHint("it begins with https:// or http://; a password belongs into a header")
		}
		return nil
	}
	return E(Invalid, "mcp_server_type %q is not known; it can be %s, %s or %s", clipped(string(s.Transport)), MCPStdio, MCPSSE, MCPHTTP)
}

func (g *MCPGrants) validate() error {
	if len(g.Read)+len(g.Write)+len(g.Hosts) > MaxMCPGrants {
		return E(TooLarge, "a server gets at most %d folders and hosts", MaxMCPGrants)
	}
	for _, path := range slices.Concat(g.Read, g.Write) {
		if !filepath.IsAbs(path) || filepath.Clean(path) == "/" || strings.ContainsRune(path, 0) {
			return E(Invalid, "%q is no absolute path below the root", clipped(path))
		}
	}
	for _, host := range g.Hosts {
		if host == "" || len(host) > 253 || strings.ContainsAny(host, "/:@ *?\x00") {
			return E(Invalid, "%q is no name of a host", clipped(host)).WithHint("name it without scheme, port and path")
		}
	}
	return nil
}

// Validate reports the first fault of secrets.
func (s *MCPSecrets) Validate() error {
	if len(s.Env) > MaxMCPWords || len(s.Headers) > MaxMCPWords {
		return E(TooLarge, "a server has at most %d variables and as many headers", MaxMCPWords)
	}
	for name, value := range s.Env {
		if err := ValidateVariableName(name); err != nil {
			return err
		}
		if len(value) > MaxMCPWord || strings.ContainsRune(value, 0) {
			return E(Invalid, "the variable %s has more than %d bytes, or a zero byte", name, MaxMCPWord)
		}
	}
	for name, value := range s.Headers {
		if !isToken(name) || len(name) > 100 {
			return E(Invalid, "%q is no name of a header", clipped(name))
		}
		if len(value) > MaxMCPWord || !isHeaderValue(value) {
			return E(Invalid, "the header %s holds what no header can", name)
		}
	}
	if len(s.Token) > MaxMCPWord || !isHeaderValue(s.Token) {
		return E(Invalid, "that is no usable token").WithHint("give the token alone, without line breaks")
	}
	return nil
}

// isToken reports whether a text can be the name of a header.
func isToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r > '~' || r <= ' ' || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	}) < 0
}

func isHeaderValue(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

// Place says in words what a server is: its command, or its address.
func (s *MCPServer) Place() string {
	if s.Transport == MCPStdio {
		return strings.Join(append([]string{s.Command}, s.Args...), " ")
	}
	return s.URL
}

// Identity names what a server is: another command or address, another server, whatever it is called.
func (s *MCPServer) Identity() string {
	return hashOf(s.Transport, s.Command, append([]string{}, s.Args...), s.URL)
}

func hashOf(parts ...any) string {
	text, _ := json.Marshal(parts) // texts and lists of them, which can be written
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// MCPServerStore keeps servers, and the tools that they were found to have. It never sees a secret.
type MCPServerStore interface {
	Get(ctx context.Context, id MCPServerID) (MCPServer, error)
	Find(ctx context.Context, name string) (MCPServer, bool, error)
	// List returns all, by name.
	List(ctx context.Context) ([]MCPServer, error)
	// Put stores a server in place of one with its id. A name that another one has is a conflict.
	Put(ctx context.Context, s *MCPServer) error
	// Delete removes a server with its tools.
	Delete(ctx context.Context, id MCPServerID) error

	// Tools returns the tools of a server, or of all if none is named, by name.
	Tools(ctx context.Context, server MCPServerID) ([]MCPTool, error)
	// ToolsAmong returns those of the given ids that there are, in no order.
	ToolsAmong(ctx context.Context, ids []ToolID) ([]MCPTool, error)
	FindTool(ctx context.Context, name string) (MCPTool, bool, error)
	// PutTool stores a tool in place of one with its id. A name that another one has is a conflict.
	PutTool(ctx context.Context, t *MCPTool) error
	DeleteTool(ctx context.Context, id ToolID) error
}
