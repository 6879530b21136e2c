package parsers

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strings"

	"golang.org/x/net/html/charset"

	"loci/core"
)

// container is a zip archive whose parts are read one by one, in memory, within the job's bounds.
type container struct {
	j     *parseTask
	parts map[string]*zip.File
}

// container opens the file as an archive. A part whose name leads elsewhere, or too many of them, condemn the whole.
func (j *parseTask) container() (*container, error) {
	z, err := zip.NewReader(bytes.NewReader(j.data), int64(len(j.data)))
	if err != nil {
		return nil, err
	}
	if len(z.File) > j.limits.Parts {
		return nil, core.E(core.TooLarge, "%q holds %d files, more than the %d allowed", j.name, len(z.File), j.limits.Parts)
	}
	c := &container{j: j, parts: make(map[string]*zip.File, len(z.File))}
	for _, f := range z.File {
		if strings.HasPrefix(f.Name, "/") || strings.Contains(f.Name, "\\") ||
			path.Clean("/"+f.Name) != "/"+strings.TrimSuffix(f.Name, "/") {
			return nil, core.E(core.Invalid, "%q holds a file whose name leads out of it: %q", j.name, cut(f.Name))
		}
		if _, twice := c.parts[f.Name]; twice {
			return nil, core.E(core.Invalid, "%q holds two files of the name %q", j.name, cut(f.Name))
		}
		c.parts[f.Name] = f
	}
	return c, nil
}

// read returns a part, or nil if there is none of that name.
func (c *container) read(name string) ([]byte, error) {
	f := c.parts[name]
	if f == nil {
		return nil, nil
	}
	if f.Flags&1 != 0 {
		return nil, core.E(core.Unsupported, "%q is protected by a password", c.j.name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(&boundedReader{c.j, r, int64(f.CompressedSize64), 0})
	if err != nil {
		return nil, err
	}
	return data, nil
}

// boundedReader counts what comes out of a decompressor, and ends it at the limits and with the context.
type boundedReader struct {
	j      *parseTask
	r      io.Reader
	packed int64
	out    int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if err := b.j.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	b.out += int64(n)
	b.j.unpacked += int64(n)
	if b.j.unpacked > b.j.limits.Unpacked || b.out > 1<<20 && b.out > b.j.limits.Ratio*max(b.packed, 1) {
		return n, core.E(core.TooLarge, "%q unpacks to far more than its size lets expect and was not read on", b.j.name)
	}
	return n, err
}

// node is what walk hands out: the start of an element, its end, or text.
type node struct {
	name  string // of the element, without its name space
	attr  []xml.Attr
	text  string
	start bool
	end   bool
}

func (n node) get(name string) string {
	for _, a := range n.attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// walk reads XML from front to back. No entities but those of XML and HTML, one character each, are known, so none can
// expand; documents that define some are refused outright.
func (j *parseTask) walk(data []byte, visit func(node) error) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = charset.NewReaderLabel
	d.Entity = xml.HTMLEntity
	depth := 0
	for n := 0; ; n++ {
		if n%256 == 0 && j.ctx.Err() != nil {
			return context.Cause(j.ctx)
		}
		tok, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			if depth != 0 {
				return core.E(core.Invalid, "%q is damaged: a part of it ends too early", j.name)
			}
			return nil
		}
		if err != nil {
			return err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			if depth++; depth > j.limits.Depth {
				return j.tooDeep()
			}
			err = visit(node{name: tok.Name.Local, attr: tok.Attr, start: true})
		case xml.EndElement:
			if depth--; depth < 0 {
				return core.E(core.Invalid, "%q is damaged: its XML does not nest", j.name)
			}
			err = visit(node{name: tok.Name.Local, end: true})
		case xml.CharData:
			err = visit(node{text: string(tok)})
		case xml.Directive:
			if bytes.Contains(bytes.ToUpper(tok), []byte("<!ENTITY")) {
				return core.E(core.Invalid, "%q defines XML entities, which are not read", j.name)
			}
		}
		if err != nil {
			return err
		}
	}
}
