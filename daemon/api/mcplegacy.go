package api

// MCPServerByName is the contract's older form of a server, which goes by its name.
type MCPServerByName struct {
	ServerName    string             `json:"server_name"`
	Type          string             `json:"type,omitempty" enum:"stdio,sse,streamable_http"`
	Command       *string            `json:"command,omitempty"`
	Args          *[]string          `json:"args,omitempty"`
	Env           *map[string]string `json:"env,omitempty"`
	ServerURL     *string            `json:"server_url,omitempty"`
	AuthHeader    *string            `json:"auth_header,omitempty"`
	AuthToken     *string            `json:"auth_token,omitempty"`
	CustomHeaders *map[string]string `json:"custom_headers,omitempty"`
}

// MCPToolByName is the contract's older form of a tool of a server: as the server describes it, with the health of its schema.
type MCPToolByName struct {
	Name        string        `json:"name" required:"true"`
	Description *string       `json:"description"`
	InputSchema Object        `json:"inputSchema" required:"true"`
	Health      MCPToolHealth `json:"health"`
}

// MCPToolHealth says what models can make of a schema.
type MCPToolHealth struct {
	Status  string       `json:"status" required:"true"`
	Reasons List[string] `json:"reasons"`
}
