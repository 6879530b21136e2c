package config

// docs says what each setting is, for help and `loci config`, by its key.
func docs() map[string]string {
	return map[string]string{
		"model":            "model of new agents, as provider/model; empty: the first that is reachable",
		"listen":           "loopback address for TCP, like 127.0.0.1:8283; empty: the socket only",
		"token":            "password that TCP requests must carry; empty: none",
		"origins":          "web pages that may use the TCP address, like http://localhost:3000; empty: none",
		"mcp_agents":       "agents whose memory other programs reach over TCP at /mcp, with the token; empty: none",
		"max_steps":        "model calls that one request may take",
		"run_timeout":      "time that one request may take; 0s: no limit",
		"comments_timeout": "time that a provider may send signs of life and nothing else",
		"answer_limit_mb":  "size at which a model's answer is stopped, in megabytes",
		"shutdown_grace":   "time that runs get to finish when the daemon stops",
		"log_level":        "least level that is logged: debug, info, warn or error",
		"log_size_mb":      "size at which the log file is rotated, in megabytes",
		"log_backups":      "rotated log files that are kept",
		"color":            "colour: auto, always or never",
		"theme":            "colours for a background: auto, dark or light",
		"editor":           "program for editing texts; empty: $VISUAL, then $EDITOR",
		"sandbox": "what confines programs that agents start: full, reduced for the layers that there are, " +
			"or off for nothing at all",
		"permission_mode": "what agents may do without asking in the chat and in one shot: ask, edits, plan or all",
		"searxng":         "address of a SearXNG server that agents search the web with, like http://127.0.0.1:8888; empty: none",
		"pip_index":       "index that packages of Python tools are installed from; empty: pypi.org",
		"npm_registry":    "registry that packages of JavaScript tools are installed from; empty: registry.npmjs.org",
		"traces":          "keep each request to a model and its answer whole, for loci runs show --trace",
		"traces_keep":     "time that traces are kept",
		"traces_mb":       "what traces may take on the disk, in megabytes; the oldest go first",
		"no_daemon_start": "never start the daemon by itself",
		"notify":          "how the chat calls you",
	}
}
