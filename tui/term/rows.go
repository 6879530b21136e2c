package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const tabStop = 4

// maxStyle bounds what is repeated on every row while a style stays open.
const maxStyle = 256

// Rows splits text into lines fit for printing: no tabs, and styles closed at
// the end of each line and reopened on the next. A long line of single-width
// characters stays whole, so that it copies as one line, if it fits into limit
// rows.
func Rows(text string, width, limit int) []string {
	width, limit = max(width, 1), max(limit, 1)
	var rows []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r", ""), "\n") {
		line = ExpandTabs(line)
		if w := Width(line); w <= width || w <= width*limit && isASCII(ansi.Strip(line)) {
			rows = append(rows, line)
			continue
		}
		rows = append(rows, strings.Split(Hardwrap(line, width), "\n")...)
	}
	return closeStyles(rows)
}

// ExpandTabs replaces tabs with spaces up to the next tab stop.
func ExpandTabs(line string) string {
	if !strings.ContainsRune(line, '\t') {
		return line
	}
	var b strings.Builder
	col := 0
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			n := tabStop - col%tabStop
			b.WriteString(strings.Repeat(" ", n))
			col += n
		}
		b.WriteString(part)
		col += Width(part)
	}
	return b.String()
}

// TrimRight removes the spaces at the end of a line, even with styles around
// them.
func TrimRight(line string) string {
	plain := ansi.Strip(line)
	kept := strings.TrimRight(plain, " \u00a0")
	if len(kept) == len(plain) {
		return line
	}
	if kept == "" {
		return ""
	}
	cut := Truncate(line, Width(kept), "")
	short := cut
	for { // the styles of the spaces removed
		i := strings.LastIndex(short, "\x1b[")
		if i < 0 || strings.TrimLeft(short[i+2:], "0123456789;:") != "m" { // it may be followed by text
			break
		}
		short = short[:i]
	}
	if len(short) < len(cut) {
		short += ansi.ResetStyle
	}
	return short
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// closeStyles makes each row self-contained: styles and links open at its end
// are closed there and reopened on the next row.
func closeStyles(rows []string) []string {
	var style, link string
	out := make([]string, len(rows))
	for i, row := range rows {
		open := style + link
		style, link = scanStyles(row, style, link)
		out[i] = open + row
		if link != "" {
			out[i] += ansi.ResetHyperlink()
		}
		if style != "" {
			out[i] += ansi.ResetStyle
		}
	}
	return out
}

func scanStyles(row, style, link string) (string, string) {
	for i := strings.IndexByte(row, '\x1b'); i >= 0; i = strings.IndexByte(row, '\x1b') {
		row = row[i:]
		seq, _, n, _ := ansi.DecodeSequence(row, 0, nil)
		switch {
		case n == 0:
			return style, link
		case strings.HasPrefix(seq, "\x1b[") && strings.HasSuffix(seq, "m"):
			if seq == "\x1b[m" || seq == "\x1b[0m" {
				style = ""
			} else if style += seq; len(style) > maxStyle {
				style = seq
			}
		case strings.HasPrefix(seq, "\x1b]8;"):
			if strings.HasPrefix(seq, "\x1b]8;;\x07") || strings.HasPrefix(seq, "\x1b]8;;\x1b") {
				link = ""
			} else {
				link = seq
			}
		}
		row = row[n:]
	}
	return style, link
}
