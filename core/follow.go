package core

// SkipReason says why something in a directory was not taken into the folder that follows it.
type SkipReason string

// The reasons. A directory that is skipped counts once.
const (
	SkipIgnored    SkipReason = "ignored" // a .gitignore says so
	SkipHidden     SkipReason = "hidden"  // its name begins with a dot
	SkipBinary     SkipReason = "binary"  // not readable as text
	SkipEmpty      SkipReason = "empty"
	SkipTooLarge   SkipReason = "too_large"  // more bytes than a file may have
	SkipLink       SkipReason = "link"       // a symbolic link: it is never followed
	SkipSpecial    SkipReason = "special"    // a pipe, a socket, a device
	SkipUnreadable SkipReason = "unreadable" // no permission
	SkipName       SkipReason = "name"       // a name that a file in a folder can't have, or that an added file already has
	SkipDeep       SkipReason = "deep"       // nested too deep
)

// DirectoryPlan says what a folder that follows a directory would take from it.
type DirectoryPlan struct {
	Path    string // absolute, links resolved
	Files   int
	Bytes   int64
	Skipped map[SkipReason]int
}

// FollowState says how far a folder is in following its directory.
type FollowState struct {
	Mirror  *Mirror // nil: it follows none
	Plan    DirectoryPlan
	Looking bool // a scan is under way; Plan holds what it has found so far
	Polled  bool // the system sends no change notifications, so the directory is polled
	Waiting int  // files still to be read or embedded
	Done    int
	Failed  int
}
