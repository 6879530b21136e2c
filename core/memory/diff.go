package memory

import (
	"fmt"
	"slices"
	"strings"
)

const (
	diffContext = 3         // unchanged lines shown around a change
	maxDiffWork = 4_000_000 // line pairs compared; beyond this, the changed middle counts as replaced entirely
)

// line is one line of a diff: its mark is ' ' (in both), '-' (removed) or '+' (added).
type line struct {
	mark byte
	text string
}

// Diff returns the hunks of a unified line diff; empty if nothing differs.
func Diff(before, after string) string {
	lines := align(split(before), split(after))
	var b strings.Builder
	for from, to := hunk(lines, 0); from < to; from, to = hunk(lines, to) {
		old, now := position(lines[:from])
		gone, come := position(lines[from:to])
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", old+1, gone, now+1, come)
		for _, l := range lines[from:to] {
			b.WriteByte(l.mark)
			b.WriteString(l.text + "\n")
		}
	}
	return b.String()
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// hunk returns the bounds of the next group of changes after at, including context lines; empty at the end.
func hunk(lines []line, at int) (from, to int) {
	changed := func(l line) bool { return l.mark != ' ' }
	first := slices.IndexFunc(lines[at:], changed)
	if first < 0 {
		return 0, 0
	}
	from, to = max(at, at+first-diffContext), at+first
	for {
		next := slices.IndexFunc(lines[to:], changed)
		if next < 0 || next > 2*diffContext {
			return from, min(len(lines), to+diffContext)
		}
		to += next + 1
	}
}

// position counts the lines of the old and of the new text in these.
func position(lines []line) (old, now int) {
	for _, l := range lines {
		if l.mark != '+' {
			old++
		}
		if l.mark != '-' {
			now++
		}
	}
	return old, now
}

// align aligns the lines of two texts along a longest common subsequence.
func align(a, b []string) []line {
	var lines []line
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		lines = append(lines, line{' ', a[same]})
		same++
	}
	a, b = a[same:], b[same:]
	end := 0
	for end < min(len(a), len(b)) && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	lines = append(lines, alignMiddle(a[:len(a)-end], b[:len(b)-end])...)
	for _, text := range a[len(a)-end:] {
		lines = append(lines, line{' ', text})
	}
	return lines
}

func alignMiddle(a, b []string) []line {
	common := func(int, int) int32 { return 0 } // nothing is compared if there is too much
	if len(a) > 0 && len(b) <= maxDiffWork/len(a) {
		width := len(b) + 1
		table := make([]int32, (len(a)+1)*width) // common lines of a[i:] and b[j:]
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if a[i] == b[j] {
					table[i*width+j] = table[(i+1)*width+j+1] + 1
				} else {
					table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
				}
			}
		}
		common = func(i, j int) int32 { return table[i*width+j] }
	}
	var lines []line
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, line{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common(i+1, j) >= common(i, j+1)):
			lines = append(lines, line{'-', a[i]})
			i++
		default:
			lines = append(lines, line{'+', b[j]})
			j++
		}
	}
	return lines
}
