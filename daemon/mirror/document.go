package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"loci/core"
	"loci/core/service"
)

// Limits on a file.
const (
	maxFront = 64 << 10                                  // bytes of front matter
	maxFile  = utf8.UTFMax*core.MaxBlockChars + maxFront // bytes
)

const fence = "---"

// The front matter keys that have a meaning here. All others are kept as they are.
const (
	keyDescription = "description"
	keyLimit       = "limit"
	keyReadOnly    = "read_only"
)

// document is a memory file: front matter and the text.
type document struct {
	front       []segment // as written in the file
	Value       string
	Description core.Opt[string]
	Limit       core.Opt[int]
	ReadOnly    core.Opt[bool] // set whenever there is front matter: a missing key means false
}

// segment is the lines of one front matter key, or those before the first key.
type segment struct {
	key   string
	lines string // each with its line ending
}

// parse parses a file. Front matter that isn't closed, isn't a mapping or has an impossible value is an error:
// treated as text it would be lost as settings, and the other way round.
func parse(data []byte) (document, error) {
	var d document
	switch {
	case len(data) > maxFile:
		return d, fmt.Errorf("it is larger than %d bytes", maxFile)
	case !utf8.Valid(data):
		return d, errors.New("it is not UTF-8 text")
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	front, body, found, err := cutFront(text)
	if err != nil {
		return d, err
	}
	if found {
		if err := d.readFront(front); err != nil {
			return d, err
		}
	}
	d.Value = strings.TrimSuffix(body, "\n")
	return d, nil
}

// cutFront splits front matter from the text. One empty line between the two belongs to neither.
func cutFront(text string) (front, body string, found bool, err error) {
	first, rest, ended := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != fence {
		return "", text, false, nil
	}
	for at := 0; ended && at <= maxFront; {
		line, _, more := strings.Cut(rest[at:], "\n")
		next := at + len(line) + 1
		if strings.TrimRight(line, " \t\r") == fence {
			if !more {
				return rest[:at], "", true, nil
			}
			body = rest[next:]
			if empty, after, ok := strings.Cut(body, "\n"); ok && (empty == "" || empty == "\r") {
				body = after
			}
			return rest[:at], body, true, nil
		}
		if !more {
			break
		}
		at = next
	}
	return "", "", false, fmt.Errorf("its front matter does not end with a line %s", fence)
}

// readFront interprets the keys it knows and keeps everything, line by line.
func (d *document) readFront(front string) error {
	d.ReadOnly = core.Opt[bool]{Present: true}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(front), &root); err != nil {
		return fmt.Errorf("its front matter is no YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(root.Content) == 0 { // only comments, or nothing
		d.front = []segment{{lines: front}}
		return nil
	}
	m := root.Content[0]
	if m.Kind != yaml.MappingNode || m.Style&yaml.FlowStyle != 0 {
		return errors.New("its front matter is not a list of keys with values")
	}
	lines := strings.SplitAfter(front, "\n")
	begin, key := 0, ""
	seen := map[string]bool{}
	for i := 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		at := k.Line - 1
		if k.Kind != yaml.ScalarNode || k.Column != 1 || at < begin || at > len(lines) || seen[k.Value] {
			return errors.New("its front matter has a key that is twice there or is no word")
		}
		seen[k.Value] = true
		if joined := strings.Join(lines[begin:at], ""); joined != "" || key != "" {
			d.front = append(d.front, segment{key: key, lines: joined})
		}
		begin, key = at, k.Value
		if err := d.readKey(k.Value, v); err != nil {
			return err
		}
	}
	d.front = append(d.front, segment{key: key, lines: strings.Join(lines[begin:], "")})
	return nil
}

func (d *document) readKey(key string, v *yaml.Node) error {
	known := key == keyDescription || key == keyLimit || key == keyReadOnly
	if known && v.Kind != yaml.ScalarNode {
		return fmt.Errorf("%s in its front matter is no single value", key)
	}
	null := v.Tag == "!!null"
	switch key {
	case keyDescription:
		d.Description = core.Opt[string]{Present: true, Value: v.Value}
		if null {
			d.Description.Value = ""
		}
	case keyLimit:
		if null {
			return nil
		}
		n, err := strconv.Atoi(v.Value)
		if err != nil || n < 1 {
			return errors.New("limit in its front matter is no whole number above 0")
		}
		d.Limit = core.Opt[int]{Present: true, Value: n}
	case keyReadOnly:
		switch strings.ToLower(v.Value) {
		case "true", "yes", "on":
			d.ReadOnly.Value = true
		case "false", "no", "off":
		default:
			if !null {
				return errors.New("read_only in its front matter is neither true nor false")
			}
		}
	}
	return nil
}

// over returns the block as it would be with what the document says.
func (d *document) over(b core.Block) core.Block {
	b.Value = d.Value
	if d.Description.Present {
		b.Description = d.Description.Value
	}
	if d.Limit.Present {
		b.Limit = d.Limit.Value
	}
	if d.ReadOnly.Present {
		b.ReadOnly = d.ReadOnly.Value
	}
	return b
}

// patch returns what a document says about a block.
func (d *document) patch() service.BlockPatch {
	return service.BlockPatch{
		Value: core.Opt[string]{Present: true, Value: d.Value}, Description: d.Description, Limit: d.Limit, ReadOnly: d.ReadOnly,
	}
}

// alike reports whether the block matches the document.
func (d *document) alike(b core.Block) bool {
	o := d.over(b)
	return o.Value == b.Value && o.Description == b.Description && o.Limit == b.Limit && o.ReadOnly == b.ReadOnly
}

// render writes a block as a file. Front matter of was besides the known keys is kept, unless it would then be read
// as something else.
func render(b core.Block, was document) []byte {
	out := printed(b, was)
	if d, err := parse(out); err == nil && d.alike(b) {
		return out
	}
	return printed(b, document{})
}

func printed(b core.Block, was document) []byte {
	var out strings.Builder
	out.WriteString(fence + "\n")
	known := map[string]string{
		keyDescription: keyDescription + ": " + scalar(b.Description) + "\n",
		keyLimit:       keyLimit + ": " + strconv.Itoa(b.Limit) + "\n",
		keyReadOnly:    "",
	}
	if b.ReadOnly {
		known[keyReadOnly] = keyReadOnly + ": true\n"
	}
	for _, s := range was.front {
		line, ours := known[s.key]
		if !ours {
			out.WriteString(s.lines)
			continue
		}
		out.WriteString(line)
		delete(known, s.key)
		for l := range strings.SplitAfterSeq(s.lines, "\n") {
			if strings.HasPrefix(l, "#") { // a comment after the value
				out.WriteString(l)
			}
		}
	}
	for _, k := range []string{keyDescription, keyLimit, keyReadOnly} {
		out.WriteString(known[k])
	}
	out.WriteString(fence + "\n\n")
	out.WriteString(b.Value)
	out.WriteString("\n")
	return []byte(out.String())
}

// scalar writes a text as YAML on one line: unquoted if nothing in it is special, else in double quotes.
func scalar(s string) string {
	if plain(s) {
		return s
	}
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case unicode.IsPrint(r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, `\U%08X`, r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// plain reports whether a text consists only of words and harmless punctuation and isn't a word that YAML takes for a
// value.
func plain(s string) bool {
	for i, r := range s {
		if !unicode.IsLetter(r) && (i == 0 || !unicode.IsNumber(r) && !strings.ContainsRune(" .,;()/'_-", r)) {
			return false
		}
	}
	switch strings.ToLower(s) {
	case "", "true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf":
		return false
	}
	return !strings.HasSuffix(s, " ")
}

// hashFile identifies the bytes of a file.
func hashFile(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// hashBlock identifies what a file shows of a block.
func hashBlock(b core.Block) string {
	h := sha256.New()
	for _, part := range []string{b.Value, b.Description, strconv.Itoa(b.Limit), strconv.FormatBool(b.ReadOnly)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
