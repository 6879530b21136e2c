package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loci/daemon/api"
)

func (a *app) daemonLogs() *cobra.Command {
	var follow bool
	var lines int
	c := &cobra.Command{
		Use: "logs", Short: "Print the daemon's log", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.paths()
			if err != nil {
				return err
			}
			return a.printLog(cmd.Context(), p.Log, lines, follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on as lines are written")
	c.Flags().IntVarP(&lines, "lines", "n", 50, "how many lines from the end; 0: all")
	return c
}

// printLog prints the end of the log and, with follow, whatever is added until ctx ends.
func (a *app) printLog(ctx context.Context, path string, lines int, follow bool) error {
	offset, err := a.logTail(path, lines)
	if errors.Is(err, os.ErrNotExist) && !follow {
		return (&fault{kind: api.KindNotFound, msg: "there is no log yet: " + path}).withHint(
			"it begins with the first start of the daemon",
		)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if !follow {
		return nil
	}
	ticker := time.NewTicker(followLog)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil // this is how following normally ends
		case <-ticker.C:
		}
		if offset, err = a.logFrom(path, offset); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
}

// logTail prints the last lines and returns the offset at which it stopped.
func (a *app) logTail(path string, lines int) (int64, error) {
	const most = 8 << 20
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // read only
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	from := max(info.Size()-most, 0)
	if lines <= 0 {
		from = 0
	}
	data, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return 0, err
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	all := bytes.SplitAfter(data[:end], []byte("\n"))
	all = all[:len(all)-1]
	if lines > 0 && len(all) > lines {
		all = all[len(all)-lines:]
	}
	for _, line := range all {
		if err := a.logLine(line); err != nil {
			return 0, err
		}
	}
	return from + int64(end), nil
}

// logFrom prints the complete lines after an offset. A log that has become shorter was rotated and is read from its
// start.
func (a *app) logFrom(path string, offset int64) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return offset, err
	}
	defer func() { _ = f.Close() }() // read only
	if info, err := f.Stat(); err != nil {
		return offset, err
	} else if info.Size() < offset {
		offset = 0
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return offset, err
	}
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return offset, nil // half a line: the rest is still being written
		}
		offset += int64(len(line))
		if err := a.logLine(line); err != nil {
			return offset, err
		}
	}
}

// logIndent is that of what doesn't fit beside the rest of a log's line.
const logIndent = 4

// logLine prints one line: unchanged for a script, in words for a person.
func (a *app) logLine(line []byte) error {
	text := strings.TrimRight(string(line), "\n")
	if !a.json {
		text = filled(wordsOf(text), columnsOf(a.out), logIndent)
	}
	_, err := fmt.Fprintln(a.out, text)
	return err
}

// wordsOf turns a JSON log line into time, level, message and attributes; anything else stays unchanged.
func wordsOf(line string) string {
	var fields map[string]any
	read := json.NewDecoder(strings.NewReader(line))
	read.UseNumber()
	if read.Decode(&fields) != nil {
		return safe(line)
	}
	if n, ok := fields["dur"].(json.Number); ok {
		if took, err := n.Int64(); err == nil {
			fields["dur"] = time.Duration(took).Round(time.Microsecond)
		}
	}
	when, _ := fields["time"].(string)
	if t, err := time.Parse(time.RFC3339Nano, when); err == nil {
		when = t.Local().Format("2006-01-02 15:04:05.000")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %-5v %v", when, fields["level"], fields["msg"])
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key != "time" && key != "level" && key != "msg" {
			fmt.Fprintf(&b, " %s=%v", key, fields[key])
		}
	}
	return safe(b.String())
}
