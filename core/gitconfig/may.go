package gitconfig

import "strings"

// May says what git may do because of a change that is not safe, in words that follow the setting's name.
func May(c Change) string {
	section, sub, key := split(c.Name)
	switch program := starts(section, key); {
	case section == "user" || section == "author" || section == "committer":
		return "says who you are in what is committed here"
	case len(c.Values) == 0:
		return "would be gone, and git then does what it does without"
	case section == "include" || section == "includeif":
		return "makes git obey the settings in another file"
	case key == "hookspath":
		return "makes git run the programs in that folder as hooks"
	case section == "alias" && !strings.HasPrefix(strings.TrimSpace(c.Values[len(c.Values)-1]), "!"):
		return "makes a new command of git's: git " + sub + key
	case section == "alias", program:
		return "is a program that git runs"
	case section == "url", key == "insteadof", key == "pushinsteadof":
		return "leads git to another address than the one that is typed"
	case section == "remote" || section == "submodule" || section == "branch":
		return "leads git to an address that is no host's: a folder there brings hooks, another scheme a program"
	case section == "http" || section == "https":
		return "changes how git reaches hosts, and whom it trusts there"
	case section == "protocol":
		return "lets git use ways to fetch that it refuses otherwise"
	case section == "core" && key == "worktree", section == "extensions":
		return "changes where git looks for the project's files"
	}
	return "is not known here, so that git may run or read something because of it"
}

// starts reports whether a setting names a program.
func starts(section, key string) bool {
	switch key {
	case "pager", "editor", "sshcommand", "fsmonitor", "askpass", "gitproxy", "alternaterefscommand", "textconv", "command", "cmd",
		"driver", "clean", "smudge", "process", "program", "helper", "external", "browser", "uploadpack", "receivepack", "vcs",
		"difffilter", "packobjectshook", "tool", "guitool", "sequenceeditor":
		return true
	}
	return section == "pager" || section == "sequence"
}
