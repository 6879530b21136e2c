package client

import (
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"loci/daemon/api"
)

// maxImage is how many bytes an image may have that is sent; the daemon scales down what is large.
const maxImage = 20 << 20

// ImageFile reads a file as a part of a message. The daemon says what is no image.
func ImageFile(path string) (api.Part, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return api.Part{}, unreadable(path, "there is no such file")
	case err != nil:
		return api.Part{}, unreadable(path, err.Error())
	case !info.Mode().IsRegular():
		return api.Part{}, unreadable(path, "it is no file")
	case info.Size() > maxImage:
		return api.Part{}, unreadable(path, "it has more than 20 MB")
	}
	f, err := os.Open(path)
	if err != nil {
		return api.Part{}, unreadable(path, err.Error())
	}
	defer func() { _ = f.Close() }() // it was only read from
	data, err := io.ReadAll(io.LimitReader(f, maxImage))
	if err != nil {
		return api.Part{}, unreadable(path, err.Error())
	}
	return api.Part{Type: api.PartImage, Source: &api.ImageSource{Type: "base64", Data: base64.StdEncoding.EncodeToString(data)}}, nil
}

func unreadable(path, why string) error {
	return &Error{Kind: api.KindInvalid, Message: "the image " + path + " cannot be sent: " + why}
}

// imageMark is how a text names an image that is sent in its place.
var imageMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[image (/[^\]\r\n]+)\]`) })

// ImageMark returns what stands in a text for an image, whose path is absolute. See Written.
func ImageMark(path string) string { return "[image " + path + "]" }

// Written returns what a person wrote as the content of a message: in the place of each mark of an image stands the image.
func Written(text string) (api.Content, error) {
	marks := imageMark().FindAllStringSubmatchIndex(text, -1)
	if len(marks) == 0 {
		return api.Text(text), nil
	}
	out := api.Content{Parts: []api.Part{}}
	from := 0
	add := func(to int) {
		if piece := text[from:to]; piece != "" {
			out.Parts = append(out.Parts, api.TextPart(piece))
		}
	}
	for _, m := range marks {
		part, err := ImageFile(text[m[2]:m[3]])
		if err != nil {
			return api.Content{}, err
		}
		add(m[0])
		out.Parts = append(out.Parts, part)
		from = m[1]
	}
	add(len(text))
	return out, nil
}

// imageEndings are how files of images are called.
var imageEndings = map[string]bool{".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".webp": true}

// IsImage reports whether a path is that of a file that is called as images are.
func IsImage(path string) bool {
	if !imageEndings[strings.ToLower(filepath.Ext(path))] {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Dropped returns the marks of the images that a terminal pasted, as it does when files are dragged into it: paths that are
// quoted, escaped or addresses of files. False: the text is anything else.
func Dropped(text string) (marks string, ok bool) {
	const most = 10_000 // characters
	if len(text) > most {
		return "", false
	}
	var out []string
	for _, path := range paths(strings.TrimSpace(text)) {
		if address, err := url.Parse(path); err == nil && address.Scheme == "file" {
			path = address.Path
		}
		if !filepath.IsAbs(path) || strings.ContainsAny(path, "]\r\n") || !IsImage(path) {
			return "", false
		}
		out = append(out, ImageMark(path))
	}
	return strings.Join(out, " "), len(out) > 0
}

// paths splits a text at spaces as a shell does.
func paths(text string) []string {
	var out []string
	var word strings.Builder
	quote, escaped, begun := rune(0), false, false
	end := func() {
		if begun {
			out = append(out, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, c := range text {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote == 0 && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			end()
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	end()
	return out
}
