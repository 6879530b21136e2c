package daemon

import (
	"io"
	"log/slog"
	"strings"

	"gopkg.in/natefinch/lumberjack.v2"

	"loci/core"
	"loci/daemon/config"
)

// openLog returns a logger that writes JSON lines to a file rotated by size; the level can be changed at any time.
// The file is created with the first line and is readable only by its owner.
func openLog(path string, settings config.Config) (*slog.Logger, *slog.LevelVar, io.Closer) {
	level := new(slog.LevelVar)
	if l, err := parseLevel(settings.LogLevel); err == nil {
		level.Set(l)
	}
	file := &lumberjack.Logger{Filename: path, MaxSize: max(settings.LogSizeMB, 1), MaxBackups: max(settings.LogBackups, 1)}
	return slog.New(slog.NewJSONHandler(file, &slog.HandlerOptions{Level: level})), level, file
}

func parseLevel(name string) (slog.Level, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(name)); err != nil {
		return l, core.E(core.Invalid, "%q is not a log level", name).WithHint("debug, info, warn or error")
	}
	return l, nil
}

func levelName(l slog.Level) string { return strings.ToLower(l.String()) }
