package api

// PathToolPackages installs what a tool asks for: POST, answered with a stream of InstalledPackages.
const PathToolPackages = "/loci/v1/tools/packages"

// InstallPackages names packages as a tool does.
type InstallPackages struct {
	SourceType      *string       `json:"source_type,omitempty"`
	PipRequirements []Requirement `json:"pip_requirements,omitempty"`
	NpmRequirements []Requirement `json:"npm_requirements,omitempty"`
}

// InstalledPackages is one event of an installation: what is done, its end, or why it failed.
type InstalledPackages struct {
	Status string `json:"status,omitempty"`
	Done   bool   `json:"done,omitempty"`

	Error string `json:"error,omitempty"`
	Kind  string `json:"kind,omitempty"`
	Hint  string `json:"hint,omitempty"`
}
