package api

// PathCommands is the path of the commands that people wrote for the chat.
const PathCommands = "/loci/v1/commands"

// ListCommands are the parameters of GET /loci/v1/commands: the open folder, if one is.
type ListCommands struct {
	Folder string `query:"folder"`
}

// CommandList are commands by their names.
type CommandList struct {
	Commands []Command `json:"commands"`
}

// Command is a text that is sent as a message by its name. $ARGUMENTS in it stands for what is typed behind the name.
type Command struct {
	Name         string `json:"name"`
	Description  string `json:"description"`
	ArgumentHint string `json:"argument_hint,omitempty"`
	Text         string `json:"text"`
	Path         string `json:"path"`
	Brought      bool   `json:"brought"` // the open folder brings it, and a person trusts it
}
