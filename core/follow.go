package core

// SkipReason says why something in a directory is not taken into the folder that follows it.
type SkipReason string

// The reasons. A directory that is passed over counts as one.
const (
	SkipIgnored    SkipReason = "ignored" // a .gitignore says so
	SkipHidden     SkipReason = "hidden"  // its name begins with a dot
	SkipBinary     SkipReason = "binary"  // nothing that can be read as text
	SkipEmpty      SkipReason = "empty"
	SkipTooLarge   SkipReason = "too_large"  // more bytes than a file may have
	SkipLink       SkipReason = "link"       // a symbolic link: it is never followed
	SkipSpecial    SkipReason = "special"    // a pipe, a socket, a device
	SkipUnreadable SkipReason = "unreadable" // no permission
	SkipName       SkipReason = "name"       // a name that a file of a folder cannot have, or that an added one has
	SkipDeep       SkipReason = "deep"       // in too many directories
)

// DirectoryPlan says what a folder that follows a directory would take of it.
type DirectoryPlan struct {
	Path    string // absolute, links resolved
	Files   int
	Bytes   int64
	Skipped map[SkipReason]int
}

// FollowState says how far a folder is with the directory that it follows.
type FollowState struct {
	Mirror  *Mirror // nil: it follows none
	Plan    DirectoryPlan
	Looking bool // a look is under way; what it found so far is in Plan
	Polled  bool // changes are looked for, since the system does not tell of them
	Waiting int  // files that are still to be read or embedded
	Done    int
	Failed  int
}
