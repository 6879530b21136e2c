package parsers

import (
	"net/url"
	"path"
	"strings"

	"loci/core"
)

// book is what the package file of an EPUB says.
type book struct {
	title string
	spine []string // names of the parts, in reading order
}

func (j *parseTask) epub() (core.Document, error) {
	z, err := j.container()
	if err != nil {
		return core.Document{}, err
	}
	if err := z.readable(); err != nil {
		return core.Document{}, err
	}
	b, err := z.book()
	if err != nil {
		return core.Document{}, err
	}
	if len(b.spine) > j.limits.Pages {
		return core.Document{}, core.E(core.TooLarge, "%q has %d chapters, more than the %d allowed", j.name, len(b.spine), j.limits.Pages)
	}
	c := &composer{j: j}
	for _, name := range b.spine {
		data, err := z.read(name)
		if err != nil {
			return core.Document{}, err
		}
		if err := j.chapter(c, data); err != nil {
			return core.Document{}, err
		}
	}
	return c.document(b.title), nil
}

// chapter writes XHTML, or, where it is not well formed, the HTML that it then is.
func (j *parseTask) chapter(c *composer, data []byte) error {
	if j.walk(data, func(node) error { return nil }) != nil {
		_, err := j.htmlInto(c, data, "text/html; charset=utf-8", true)
		return err
	}
	w := &pageWriter{c: c}
	err := j.walk(data, func(n node) error {
		a := strings.ToLower(n.name)
		switch {
		case n.start:
			return w.open(a, n.get(telling(a)))
		case n.end:
			return w.close(a)
		}
		w.text(n.text)
		return nil
	})
	if err != nil {
		return err
	}
	return w.flush()
}

// readable refuses books under copy protection. Fonts that are merely obfuscated do not matter.
func (c *container) readable() error {
	data, err := c.read("META-INF/encryption.xml")
	if err != nil {
		return err
	}
	return c.j.walk(data, func(n node) error {
		if n.start && n.name == "EncryptionMethod" && !strings.Contains(n.get("Algorithm"), "obfuscation") &&
			!strings.Contains(n.get("Algorithm"), "ns.adobe.com/pdf/enc") {
			return core.E(core.Unsupported, "%q is copy-protected", c.j.name)
		}
		return nil
	})
}

// book follows the container's pointer to the package file and reads its spine.
func (c *container) book() (book, error) {
	root := ""
	data, err := c.read("META-INF/container.xml")
	if err != nil {
		return book{}, err
	}
	err = c.j.walk(data, func(n node) error {
		if n.start && n.name == "rootfile" && root == "" {
			root = n.get("full-path")
		}
		return nil
	})
	if err != nil {
		return book{}, err
	}
	if data, err = c.read(root); err != nil || data == nil {
		return book{}, core.E(core.Invalid, "%q is damaged: its table of contents is missing", c.j.name)
	}
	return c.j.readPackage(data, path.Dir(root))
}

func (j *parseTask) readPackage(data []byte, dir string) (book, error) {
	var b book
	inTitle := false
	hrefs, seen := map[string]string{}, map[string]bool{}
	var listed []string // every chapter, in the order of the list of parts
	add := func(href string) error {
		// A chapter that is listed twice is read once: a short list must not become a long text.
		name, err := inside(dir, href)
		if err != nil {
			return core.E(core.Invalid, "%q names a chapter outside of itself: %q", j.name, cut(href))
		}
		if !seen[name] {
			seen[name] = true
			b.spine = append(b.spine, name)
		}
		return nil
	}
	err := j.walk(data, func(n node) error {
		switch {
		case n.name == "title":
			inTitle = n.start && b.title == ""
		case n.name == "" && inTitle && len(b.title) < maxHeading:
			b.title += n.text
		case n.start && n.name == "item":
			if isChapter(n.get("media-type")) {
				hrefs[n.get("id")] = n.get("href")
				listed = append(listed, n.get("href"))
			}
		case n.start && n.name == "itemref":
			if href, ok := hrefs[n.get("idref")]; ok {
				return add(href)
			}
		}
		return nil
	})
	if len(b.spine) > 0 || err != nil {
		return b, err
	}
	for _, href := range listed { // no reading order: that of the list of parts
		if err := add(href); err != nil {
			return b, err
		}
	}
	return b, nil
}

// isChapter reports the types that a chapter's text has, the one of the books before EPUB among them.
func isChapter(mediaType string) bool {
	return strings.Contains(mediaType, "html") || mediaType == "text/x-oeb1-document"
}

// inside resolves a reference against a folder of the archive.
func inside(dir, href string) (string, error) {
	u, err := url.Parse(href)
	if err != nil {
		return "", err
	}
	if u.Scheme != "" || u.Host != "" || strings.HasPrefix(u.Path, "/") {
		return "", core.E(core.Invalid, "an outside reference")
	}
	name := path.Join(dir, u.Path)
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", core.E(core.Invalid, "a reference that leads out")
	}
	return name, nil
}
