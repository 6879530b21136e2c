package core

// OpeningKind is what a person can open to a shell line that the sandbox kept from it.
type OpeningKind string

// The kinds.
const (
	OpenFolder    OpeningKind = "folder"     // of the machine, beside the open one
	OpenPort      OpeningKind = "port"       // of the sandbox, reached at the same port of this machine
	OpenLocalPort OpeningKind = "local_port" // of this machine, reached from the sandbox
	OpenUncaged   OpeningKind = "uncaged"    // this line, outside of the sandbox
)

// Opening is one thing that a person can open to a shell line.
type Opening struct {
	Kind  OpeningKind
	Dir   WorkspaceDir // of OpenFolder
	Port  uint16       // of OpenPort and OpenLocalPort
	Rules []string     // of permission that open it for good; none: it can be opened this once
	Asks  bool         // a person may be asked for it while the line runs
}

// Openings says what a person can open to one shell line. What a rule forbids, and what the mode leaves out, is not among it.
type Openings interface {
	// Folder returns the folder that has to be open for a path of the machine.
	Folder(path string, writing bool) (o Opening, ok bool)
	// Paths are the rules about files where these folders are open to the line as well.
	Paths(opened []WorkspaceDir) PathRules
	// LocalPorts are the ports of this machine that rules open to the line.
	LocalPorts() []uint16
	// LocalPort is one of them that no rule opens.
	LocalPort(port uint16) (o Opening, ok bool)
	// Port is a port on which the line listens; open: a rule lets this machine reach it.
	Port(port uint16) (o Opening, open, ok bool)
	// Uncaged is the line itself, outside of the sandbox.
	Uncaged() (o Opening, ok bool)
}

// Same reports whether two openings are of the same thing.
func (o Opening) Same(p Opening) bool { return o.Kind == p.Kind && o.Dir == p.Dir && o.Port == p.Port }
