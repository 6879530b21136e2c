package sandbox

// Level is how much of the sandbox works on a machine.
type Level string

// The levels.
const (
	LevelFull    Level = "full"
	LevelReduced Level = "reduced" // what the machine can have, by a person's choice
	LevelPartial Level = "partial" // what macOS itself has; Detail says what is missing
	LevelNone    Level = "none"
	LevelOff     Level = "off" // by a person's choice
)

// level is what a mode comes to without a try: what the system's own sandbox is, where there is one.
func (m Mode) level() Level {
	if m == Off {
		return LevelOff
	}
	return systemLevel
}

// Report is what a try of the whole chain found.
type Report struct {
	Level  Level
	Layers []string // in force
	Detail string   // which step failed, and why
	Fix    string   // what a person can do about it; empty: nothing
}
