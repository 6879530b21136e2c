package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Paths are all places the program reads and writes. LOCI_HOME moves all of them; otherwise they follow the XDG base
// directories. Only the socket may be elsewhere: its path must be short.
type Paths struct {
	Home   string `json:"home"`   // identifies this installation: LOCI_HOME, or the data folder
	Config string `json:"config"` // config.toml
	Data   string `json:"data"`   // the databases
	State  string `json:"state"`  // the log, histories
	Run    string `json:"run"`    // the start lock

	Socket    string `json:"socket"`
	Lock      string `json:"lock"`       // held by the daemon; its note is the socket
	StartLock string `json:"start_lock"` // held by whoever starts the daemon
	Stopped   string `json:"stopped"`    // exists after the daemon was stopped on purpose
	Log       string `json:"log"`
}

// maxSocket is the maximum length of a socket's path in its usual place.
const maxSocket = 100

// Permissions is the person's file of permission rules, beside the settings.
func (p Paths) Permissions() string { return filepath.Join(filepath.Dir(p.Config), "permissions.toml") }

// Trust is the file of what the person trusts of what folders bring along.
func (p Paths) Trust() string { return filepath.Join(filepath.Dir(p.Config), "trust.toml") }

// Hooks is the file of the person's own programs around calls of tools.
func (p Paths) Hooks() string { return filepath.Join(filepath.Dir(p.Config), "hooks.json") }

// Key is the file with the key that seals secrets. It lies beside the settings, apart from the databases, and no backup has it.
func (p Paths) Key() string { return filepath.Join(filepath.Dir(p.Config), "secret.key") }

// Commands is the folder with the person's own commands of the chat, beside the configuration.
func (p Paths) Commands() string { return filepath.Join(filepath.Dir(p.Config), "commands") }

// Tools is the folder with the person's own scripts that are tools, beside the configuration.
func (p Paths) Tools() string { return filepath.Join(filepath.Dir(p.Config), "tools") }

// SystemPermissions is the file in which whoever runs the machine writes rules that count for everybody; empty: there is
// none on this system.
func SystemPermissions() string {
	if runtime.GOOS == "windows" {
		return ""
	}
	return "/etc/loci/permissions.toml"
}

// FindPaths determines where everything is. It creates nothing.
func FindPaths(lookup Env) (Paths, error) {
	p, err := folders(lookup)
	if err != nil {
		return p, err
	}
	p.Lock = filepath.Join(p.Data, "loci.lock")
	p.StartLock = filepath.Join(p.Run, "start.lock")
	p.Stopped = filepath.Join(p.Run, "stopped")
	p.Log = filepath.Join(p.State, "daemon.log")
	p.Socket = socketPath(p, lookup)
	return p, nil
}

func folders(lookup Env) (Paths, error) {
	if home, _ := lookup("LOCI_HOME"); home != "" {
		abs, err := filepath.Abs(home)
		if err != nil {
			return Paths{}, fmt.Errorf("LOCI_HOME: %w", err)
		}
		return Paths{
			Home: abs, Config: filepath.Join(abs, "config.toml"), Data: filepath.Join(abs, "data"),
			State: filepath.Join(abs, "state"), Run: filepath.Join(abs, "run"),
		}, nil
	}
	base, err := userHome(lookup)
	if err != nil {
		return Paths{}, err
	}
	data := filepath.Join(xdg(lookup, "XDG_DATA_HOME", filepath.Join(base, ".local", "share")), "loci")
	state := filepath.Join(xdg(lookup, "XDG_STATE_HOME", filepath.Join(base, ".local", "state")), "loci")
	return Paths{
		Home: data, Data: data, State: state,
		Config: filepath.Join(xdg(lookup, "XDG_CONFIG_HOME", filepath.Join(base, ".config")), "loci", "config.toml"),
		Run:    filepath.Join(xdg(lookup, "XDG_RUNTIME_DIR", filepath.Join(state, "run")), "loci"),
	}, nil
}

// userHome returns the user's home folder.
func userHome(lookup Env) (string, error) {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if home, _ := lookup(name); filepath.IsAbs(home) {
		return home, nil
	}
	return "", errors.New("no home folder is known: set HOME, or LOCI_HOME to say where everything goes")
}

// xdg returns a base directory; the specification says to ignore one that isn't absolute.
func xdg(lookup Env, name, otherwise string) string {
	if dir, _ := lookup(name); filepath.IsAbs(dir) {
		return dir
	}
	return otherwise
}

// socketPath is in the run folder if the path is short enough, else in the user's runtime folder, else in a temporary
// folder; the last two are named after the home, so that two homes never share a socket.
func socketPath(p Paths, lookup Env) string {
	const name = "loci.sock"
	if path := filepath.Join(p.Run, name); len(path) <= maxSocket {
		return path
	}
	sum := sha256.Sum256([]byte(p.Home))
	hash := hex.EncodeToString(sum[:8])
	if dir := xdg(lookup, "XDG_RUNTIME_DIR", ""); dir != "" {
		if path := filepath.Join(dir, "loci-"+hash, name); len(path) <= maxSocket {
			return path
		}
	}
	folder := "loci-" + strconv.Itoa(os.Getuid()) + "-" + hash
	if path := filepath.Join(os.TempDir(), folder, name); len(path) <= maxSocket {
		return path
	}
	return filepath.Join("/tmp", folder, name)
}

// Environ returns an environment in which the same home is found from another folder: a relative LOCI_HOME is made
// absolute.
func (p Paths) Environ(environ []string) []string {
	out := slices.Clone(environ)
	for i, v := range out {
		if value, ok := strings.CutPrefix(v, "LOCI_HOME="); ok && value != "" {
			out[i] = "LOCI_HOME=" + p.Home
		}
	}
	return out
}
