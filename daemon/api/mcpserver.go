package api

// The paths of our own operations on MCP servers.
const (
	PathMCPServers      = "/loci/v1/mcp-servers"
	PathMCPServersAllow = PathMCPServers + "/allow"
	PathMCPServersCheck = PathMCPServers + "/check"
)

// The ways in which MCP servers are spoken to.
const (
	MCPStdio          = "stdio"
	MCPSSE            = "sse"
	MCPStreamableHTTP = "streamable_http"
)

// MCPServerConfig is what the contract says of a server. Type says which of the others count.
type MCPServerConfig struct {
	Type          string             `json:"mcp_server_type,omitempty" enum:"stdio,sse,streamable_http"`
	Command       *string            `json:"command,omitempty"`
	Args          *[]string          `json:"args,omitempty"`
	Env           *map[string]string `json:"env,omitempty"`
	ServerURL     *string            `json:"server_url,omitempty"`
	AuthHeader    *string            `json:"auth_header,omitempty"`
	AuthToken     *string            `json:"auth_token,omitempty"`
	CustomHeaders *map[string]string `json:"custom_headers,omitempty"`
}

// MCPServer is the contract's: a server with its configuration. What is secret in it is shown as dots.
type MCPServer struct {
	ID         string `json:"id" required:"true"`
	ServerName string `json:"server_name" required:"true"`
	MCPServerConfig
}

// CreateMCPServer is the body of POST /v1/mcp-servers/.
type CreateMCPServer struct {
	ServerName string          `json:"server_name" required:"true"`
	Config     MCPServerConfig `json:"config" required:"true"`
}

// UpdateMCPServer is the body of PATCH /v1/mcp-servers/{mcp_server_id}.
type UpdateMCPServer struct {
	ServerName *string         `json:"server_name,omitempty"`
	Config     MCPServerConfig `json:"config" required:"true"`
}

// RefreshedMCPServer is what became of a server's tools, by their names.
type RefreshedMCPServer struct {
	Deleted List[string] `json:"deleted"`
	Updated List[string] `json:"updated"`
	Added   List[string] `json:"added"`
}

// MCPGrants is what a person lets a server reach.
type MCPGrants struct {
	Read    List[string] `json:"read"`
	Write   List[string] `json:"write"`
	Hosts   List[string] `json:"hosts"`
	Private bool         `json:"private"` // its address may be on this machine or in its network
}

// KeptMCPServer is a server as its person sees it.
type KeptMCPServer struct {
	MCPServer
	Grants   MCPGrants     `json:"grants"`
	Was      string        `json:"was"`       // what rules about its name were meant for, where it is something else now
	Fault    string        `json:"fault"`     // why its tools could not be listed last
	ListedAt *Time         `json:"listed_at"` // when they were
	Tools    List[MCPTool] `json:"tools"`
}

// MCPTool is a tool of a server as its person sees it.
type MCPTool struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`        // what agents call it
	Remote      string       `json:"remote_name"` // what its server calls it
	Description string       `json:"description"`
	Health      string       `json:"health"`
	Reasons     List[string] `json:"reasons"`
	Changed     string       `json:"changed"` // how it differs from what was accepted
	Gone        bool         `json:"gone"`    // its server has it no more
}

// AddMCPServer is the body of PUT /loci/v1/mcp-servers.
type AddMCPServer struct {
	CreateMCPServer
	Grants MCPGrants `json:"grants"`
}

// AllowMCPServer is the body of POST /loci/v1/mcp-servers/allow: it adds to what a server may reach.
type AllowMCPServer struct {
	Name   string    `json:"name" required:"true"`
	Grants MCPGrants `json:"grants"`
}

// CheckMCPServer is the body of POST /loci/v1/mcp-servers/check: it asks a server for its tools.
type CheckMCPServer struct {
	Name   string `json:"name" required:"true"`
	Accept bool   `json:"accept"` // what it says then counts
}

// CheckedMCPServer is what came of it.
type CheckedMCPServer struct {
	Server  KeptMCPServer   `json:"server"`
	Added   List[string]    `json:"added"`
	Changed List[MCPChange] `json:"changed"`
	Left    List[string]    `json:"left_out"`
}

// MCPChange is how a tool differs from what a person accepted.
type MCPChange struct {
	Tool string `json:"tool"`
	How  string `json:"how"`
}

// NamedMCPServer are the parameters of DELETE /loci/v1/mcp-servers.
type NamedMCPServer struct {
	Name string `query:"name" required:"true"`
}
