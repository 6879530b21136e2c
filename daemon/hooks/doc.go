// Package hooks runs programs of the person's own around the calls of tools. They stand in a file beside the settings, in the
// form that Claude Code has:
//
//	{"hooks": {"PreToolUse": [{"matcher": "shell|edit", "hooks": [{"type": "command", "command": "~/bin/look", "timeout": 5}]}]}}
//
// Promises: the file is read at each call, so that a change counts at once; a program gets one JSON object, has ten seconds or
// what the file says, up to a minute, and is ended with all that it started; what it says is bounded. One that fails before a
// tool asks the person, since nobody knows what it would have said. They are not confined: they are the person's, as is the file.
//
// Layer 4: it imports core and daemon/ownfile.
package hooks
