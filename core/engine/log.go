package engine

import (
	"log/slog"
	"runtime/debug"

	"loci/core"
)

// The attributes of the engine's log lines.
func logRun(id core.RunID) slog.Attr         { return slog.String("run", string(id)) }
func logErr(err error) slog.Attr             { return slog.String("error", err.Error()) }
func logAny(key string, value any) slog.Attr { return slog.Any(key, value) }
func logStack() slog.Attr                    { return slog.String("stack", string(debug.Stack())) }
