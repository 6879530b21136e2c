package gitconfig

import (
	"slices"
	"strings"

	"loci/core"
)

// Change is a setting that holds other values than before; without values, it is gone.
type Change struct {
	Name   string // as in Setting
	Key    string // as it was written
	Values []string
}

// Diff lists what has to change for the settings of one configuration to be those of another.
func Diff(from, to *File) []Change {
	var out []Change
	was, is := from.values(), to.values()
	seen := map[string]bool{}
	for _, s := range slices.Concat(to.settings, from.settings) {
		if !seen[s.Name] && !slices.Equal(is[s.Name], was[s.Name]) {
			out = append(out, Change{Name: s.Name, Key: s.Key, Values: is[s.Name]})
		}
		seen[s.Name] = true
	}
	return out
}

func (f *File) values() map[string][]string {
	all := map[string][]string{}
	for _, s := range f.settings {
		all[s.Name] = append(all[s.Name], s.Value)
	}
	return all
}

// With returns the text of the configuration with changes made to it. All else in it stays as it was written.
func (f *File) With(changes []Change) (string, error) {
	file := f
	for _, c := range changes {
		section, sub, key := split(c.Name)
		if section == "" || !strings.EqualFold(c.Key, key) || strings.ContainsAny(sub, "\n\r") {
			return "", core.E(core.Invalid, "the setting %s can't be written", c.Name)
		}
		var added strings.Builder
		for _, v := range c.Values {
			added.WriteString("\t" + c.Key + " = " + quote(v) + "\n")
		}
		text := file.plus(c, section, sub, added.String())
		if len(file.Values(c.Name)) > 0 {
			text = file.replace(c.Name, added.String())
		}
		var err error
		if file, err = Parse(text); err != nil {
			return "", err
		}
		if !slices.Equal(file.Values(c.Name), c.Values) {
			return "", core.E(core.Invalid, "the setting %s can't be written", c.Name)
		}
	}
	return file.text, nil
}

// replace puts lines in the place of the last that a setting has, and takes the others out, with sections that hold nothing then.
func (f *File) replace(name, lines string) string {
	left, gone, last := make([]int, len(f.sections)), make([]bool, len(f.sections)), -1
	for i, s := range f.settings {
		left[s.section]++
		if s.Name == name {
			left[s.section]--
			gone[s.section], last = true, i
		}
	}
	if lines != "" {
		left[f.settings[last].section]++
	}
	var text strings.Builder
	kept := 0 // up to here, the text was looked at
	cut := func(from, to int, instead string) {
		text.WriteString(f.text[kept:from] + instead)
		kept = to
	}
	next := 0
	for i, section := range f.sections {
		if gone[i] && left[i] == 0 && !section.commented {
			cut(section.from, section.end, "")
		}
		for ; next < len(f.settings) && f.settings[next].section == i; next++ {
			s := f.settings[next]
			if s.Name != name || s.from < kept {
				continue
			}
			instead := ""
			if s.from == section.to { // on the header's line, which still has to end
				instead = "\n"
			}
			if next == last {
				instead += lines
			}
			cut(s.from, s.to, instead)
		}
	}
	return text.String() + f.text[kept:]
}

// plus adds lines of a setting to the last of its sections, or a section at the end.
func (f *File) plus(c Change, section, sub, lines string) string {
	if lines == "" {
		return f.text
	}
	prefix := strings.TrimSuffix(c.Name, strings.ToLower(c.Key))
	for i, s := range slices.Backward(f.sections) {
		if s.name == prefix {
			at := f.tail(i)
			return ended(f.text[:at]) + lines + f.text[at:]
		}
	}
	header := "[" + section + "]\n"
	if sub != "" {
		header = "[" + section + ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(sub) + "\"]\n"
	}
	return ended(f.text) + header + lines
}

// tail is where a setting at the end of a section goes: after its last one, or on the line after its header.
func (f *File) tail(section int) int {
	at := f.sections[section].to
	for _, s := range f.settings {
		if s.section == section {
			at = s.to
		}
	}
	if f.text[at-1] == '\n' {
		return at
	}
	end := f.sections[section].end
	if i := strings.IndexByte(f.text[at:end], '\n'); i >= 0 {
		return at + i + 1
	}
	return end
}

// ended is a text whose last line has an end.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// quote writes a value so that git reads it as it is.
func quote(value string) string {
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(value)
	if value == "" || strings.ContainsAny(value, "#;") || strings.Trim(value, " ") != value {
		return `"` + escaped + `"`
	}
	return escaped
}

// split takes a name apart. Of the dots in it, the first and the last are the ones between.
func split(name string) (section, sub, key string) {
	section, rest, ok := strings.Cut(name, ".")
	if !ok {
		return "", "", ""
	}
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		return section, rest[:i], rest[i+1:]
	}
	return section, "", rest
}
