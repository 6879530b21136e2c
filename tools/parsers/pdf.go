package parsers

import (
	"bytes"
	"errors"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"

	"loci/core"
)

// The bounds of a PDF beside those of every file.
const (
	maxPDFObjects = 2_000_000
	maxPDFForms   = 20_000     // times that one drawing calls another
	maxPDFOps     = 50_000_000 // drawing operations
	minObjStream  = 256 << 10  // what an object stream may always unpack to
	maxObjStream  = 32 << 20
)

// pdfReader holds what is read from one PDF.
type pdfReader struct {
	j       *parseTask
	x       *model.XRefTable
	fonts   map[int]*pdfFont // by object number
	pages   [][]pdfRun
	notes   [][]string   // what was written upon each page
	visited map[int]bool // nodes of the page tree
	drawing map[int]bool // forms that are being drawn
	text    int          // bytes collected
	forms   int
	ops     int
}

func (j *parseTask) pdf() (core.Document, error) {
	ctx, err := j.openPDF()
	if err != nil {
		return core.Document{}, err
	}
	r := &pdfReader{j: j, x: ctx.XRefTable, fonts: map[int]*pdfFont{}, visited: map[int]bool{}, drawing: map[int]bool{}}
	catalog, err := r.x.Catalog()
	if err != nil || catalog == nil {
		return core.Document{}, core.E(core.Invalid, "%q is damaged: it has no pages", j.name)
	}
	if err := r.tree(catalog["Pages"], nil, 0); err != nil {
		return core.Document{}, err
	}
	c := &composer{j: j}
	if err := layPages(c, r.pages, r.notes); err != nil {
		return core.Document{}, err
	}
	title := ""
	if r.x.Info != nil {
		title = r.string(r.dict(*r.x.Info)["Title"])
	}
	doc := c.document(title)
	doc.Pages = len(r.pages)
	return doc, nil
}

// openPDF reads the structure of the file: the cross references, the objects, what encryption without a password hides.
func (j *parseTask) openPDF() (*model.Context, error) {
	streams := bytes.Count(j.data, []byte("/ObjStm"))
	if streams > j.limits.Parts {
		return nil, core.E(core.TooLarge, "%q has more parts than can be read", j.name)
	}
	conf := &model.Configuration{
		Reader15:       true,
		ValidationMode: model.ValidationRelaxed,
		Offline:        true,
		Cmd:            model.LISTINFO,
		Limits: model.ResourceLimits{
			MaxStreamBytes:       int64(len(j.data)),
			MaxDecodeBytes:       max(minObjStream, min(maxObjStream, j.limits.Unpacked/int64(max(streams, 1)))),
			MaxImagePixels:       1,
			MaxImageBytes:        1,
			MaxObjectCount:       min(maxPDFObjects, len(j.data)),
			MaxObjectStreamCount: 100_000,
			MaxObjectStreamFirst: 4 << 20,
			MaxXRefEntries:       min(maxPDFObjects, len(j.data)),
			MaxRecursionDepth:    j.limits.Depth,
		},
	}
	ctx, err := pdfcpu.ReadWithContext(j.ctx, bytes.NewReader(j.data), conf)
	switch {
	case err == nil:
		return ctx, nil
	case j.ctx.Err() != nil:
		return nil, j.ctx.Err()
	case errors.Is(err, pdfcpu.ErrWrongPassword), bytes.Contains(j.data, []byte("/Encrypt")) && strings.Contains(err.Error(), "ncrypt"):
		return nil, core.E(core.Unsupported, "%q is encrypted and needs a password", j.name).WithHint("save a copy without the password")
	}
	return nil, core.E(core.Invalid, "%q is a damaged PDF: %s", j.name, firstWords(err.Error()))
}

// tree walks the page tree. Resources are inherited.
func (r *pdfReader) tree(o types.Object, resources types.Dict, depth int) error {
	if err := r.j.ctx.Err(); err != nil {
		return err
	}
	if depth > r.j.limits.Depth {
		return r.j.tooDeep()
	}
	if ref, ok := o.(types.IndirectRef); ok {
		n := ref.ObjectNumber.Value()
		if r.visited[n] {
			return core.E(core.Invalid, "%q is damaged: its pages contain themselves", r.j.name)
		}
		r.visited[n] = true
	}
	node := r.dict(o)
	if node == nil {
		return nil
	}
	if own := r.dict(node["Resources"]); own != nil {
		resources = own
	}
	kids := r.array(node["Kids"])
	if kids == nil {
		return r.page(node, resources)
	}
	for _, kid := range kids {
		if err := r.tree(kid, resources, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// page collects the text of one page. A page whose content cannot be decoded is empty; the others are not harmed.
func (r *pdfReader) page(page, resources types.Dict) error {
	if len(r.pages) >= r.j.limits.Pages {
		return core.E(core.TooLarge, "%q has more than the %d pages allowed", r.j.name, r.j.limits.Pages).WithHint("split the file")
	}
	var content []byte
	o := r.get(page["Contents"])
	parts, ok := o.(types.Array)
	if !ok {
		parts = types.Array{o}
	}
	for _, part := range parts {
		data, err := r.stream(part)
		if err != nil {
			return err
		}
		content = append(append(content, data...), '\n')
	}
	d := drawing{r: r, state: newState(identity)}
	err := d.run(content, resources, 0)
	r.pages = append(r.pages, d.runs)
	r.notes = append(r.notes, r.annotations(page))
	return err
}

// annotations returns what was written upon a page: notes and the values of form fields.
func (r *pdfReader) annotations(page types.Dict) []string {
	var out []string
	for _, o := range r.array(page["Annots"]) {
		a := r.dict(o)
		key := "Contents"
		switch r.name(a["Subtype"]) {
		case "Popup", "Link":
			continue
		case "Widget":
			key = "V"
		}
		if text := r.string(a[key]); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// stream decodes a stream; a damaged one gives what could be read of it.
func (r *pdfReader) stream(o types.Object) ([]byte, error) {
	sd, ok := r.get(o).(types.StreamDict)
	if !ok {
		return nil, nil
	}
	left := r.j.limits.Unpacked - r.j.unpacked
	if most := r.j.limits.Ratio * int64(len(sd.Raw)); most > 1<<20 {
		left = min(left, most)
	} else {
		left = min(left, 1<<20)
	}
	err := sd.DecodeWithLimit(left + 1)
	r.j.unpacked += int64(len(sd.Content))
	if int64(len(sd.Content)) > left || err != nil && strings.Contains(err.Error(), "limit") {
		return nil, core.E(core.TooLarge, "%q unpacks to far more than its size lets expect and was not read on", r.j.name)
	}
	return sd.Content, r.j.ctx.Err()
}

// get follows a reference; what is missing or broken is nil.
func (r *pdfReader) get(o types.Object) types.Object {
	v, err := r.x.Dereference(o)
	if err != nil {
		return nil
	}
	return v
}

func (r *pdfReader) dict(o types.Object) types.Dict {
	switch d := r.get(o).(type) {
	case types.Dict:
		return d
	case types.StreamDict:
		return d.Dict
	}
	return nil
}

func (r *pdfReader) array(o types.Object) types.Array {
	a, _ := r.get(o).(types.Array)
	return a
}

func (r *pdfReader) name(o types.Object) string {
	n, _ := r.get(o).(types.Name)
	return string(n)
}

func (r *pdfReader) number(o types.Object, other float64) float64 {
	switch n := r.get(o).(type) {
	case types.Integer:
		return float64(n)
	case types.Float:
		return float64(n)
	}
	return other
}

func (r *pdfReader) string(o types.Object) string {
	s, err := model.Text(r.get(o))
	if err != nil {
		return ""
	}
	return s
}
