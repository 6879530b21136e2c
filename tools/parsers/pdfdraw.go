package parsers

import (
	"math"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"

	"loci/core"
)

// matrix is an affine map [a b c d e f] as PDF writes it.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// then returns the map that applies m first and n after it.
func (m matrix) then(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// pdfRun is a string that was shown at a place: along the direction of writing from x0 to x1, at height y above the
// bottom, whichever way the page is turned.
type pdfRun struct {
	text      string
	x0, x1, y float64
	size      float64
	turn      int // quarter turns of the direction of writing
}

// textState is what the operators set.
type textState struct {
	ctm        matrix
	font       *pdfFont
	size       float64
	char, word float64 // extra space
	scale      float64 // horizontal, 1 is normal
	leading    float64
	rise       float64
}

func newState(ctm matrix) textState { return textState{ctm: ctm, scale: 1} }

// drawing interprets the content of one page.
type drawing struct {
	r     *pdfReader
	state textState
	saved []textState
	tm    matrix // where the next glyph goes
	line  matrix // where the line began
	runs  []pdfRun
}

const (
	maxSaved    = 500
	maxForms    = 8 // drawings within drawings
	maxOperands = 64
)

// run interprets one content stream with its resources.
func (d *drawing) run(content []byte, resources types.Dict, depth int) error {
	lex := lexer{data: content}
	var args []operand
	for {
		tok, ok := lex.next(0)
		if !ok {
			return nil
		}
		if tok.kind != opKeyword {
			if len(args) < maxOperands {
				args = append(args, tok)
			}
			continue
		}
		if d.r.ops++; d.r.ops%1024 == 0 {
			if err := d.r.j.ctx.Err(); err != nil {
				return err
			}
			if d.r.ops > maxPDFOps {
				return core.E(core.TooLarge, "%q draws more than can be read", d.r.j.name)
			}
		}
		if tok.str == "Do" {
			if err := d.form(args, resources, depth); err != nil {
				return err
			}
		} else if err := d.operator(tok.str, args, resources); err != nil {
			return err
		}
		args = args[:0]
	}
}

func num(args []operand, i int) float64 {
	if i < len(args) && args[i].kind == opNumber {
		return args[i].num
	}
	return 0
}

func toMatrix(args []operand) matrix {
	var m matrix
	for i := range m {
		m[i] = num(args, i)
	}
	return m
}

// operator carries out what concerns text; everything else is drawn by nobody.
func (d *drawing) operator(op string, args []operand, resources types.Dict) error {
	s := &d.state
	switch op {
	case "q":
		if len(d.saved) < maxSaved {
			d.saved = append(d.saved, *s)
		}
	case "Q":
		if n := len(d.saved); n > 0 {
			*s, d.saved = d.saved[n-1], d.saved[:n-1]
		}
	case "cm":
		s.ctm = toMatrix(args).then(s.ctm)
	case "BT":
		d.tm, d.line = identity, identity
	case "Tf":
		if len(args) > 1 && args[0].kind == opName {
			s.font, s.size = d.r.font(d.r.dict(resources["Font"])[args[0].str]), num(args, 1)
		}
	case "Tc":
		s.char = num(args, 0)
	case "Tw":
		s.word = num(args, 0)
	case "Tz":
		s.scale = num(args, 0) / 100
	case "TL":
		s.leading = num(args, 0)
	case "Ts":
		s.rise = num(args, 0)
	case "Tm":
		d.line = toMatrix(args)
		d.tm = d.line
	case "Td":
		d.move(num(args, 0), num(args, 1))
	case "TD":
		s.leading = -num(args, 1)
		d.move(num(args, 0), num(args, 1))
	case "T*":
		d.move(0, -s.leading)
	default:
		return d.showOperator(op, args)
	}
	return nil
}

func (d *drawing) showOperator(op string, args []operand) error {
	switch op {
	case "'":
		d.move(0, -d.state.leading)
	case "\"":
		if len(args) < 3 {
			return nil
		}
		d.state.word, d.state.char = num(args, 0), num(args, 1)
		d.move(0, -d.state.leading)
	case "TJ":
		if len(args) == 0 {
			return nil
		}
		for _, part := range args[len(args)-1].list {
			if part.kind == opNumber {
				d.tm = matrix{1, 0, 0, 1, -part.num / 1000 * d.state.size * d.state.scale, 0}.then(d.tm)
			} else if err := d.show(part); err != nil {
				return err
			}
		}
		return nil
	case "Tj":
	default:
		return nil
	}
	if len(args) == 0 {
		return nil
	}
	return d.show(args[len(args)-1])
}

func (d *drawing) move(x, y float64) {
	d.line = matrix{1, 0, 0, 1, x, y}.then(d.line)
	d.tm = d.line
}

// form draws a form inside of the drawing.
func (d *drawing) form(args []operand, resources types.Dict, depth int) error {
	if len(args) == 0 || args[0].kind != opName || depth >= maxForms {
		return nil
	}
	o := d.r.dict(resources["XObject"])[args[0].str]
	form := d.r.dict(o)
	if form == nil || d.r.name(form["Subtype"]) != "Form" {
		return nil
	}
	if ref, ok := o.(types.IndirectRef); ok {
		n := ref.ObjectNumber.Value()
		if d.r.drawing[n] { // a form that draws itself
			return nil
		}
		d.r.drawing[n] = true
		defer delete(d.r.drawing, n)
	}
	if d.r.forms++; d.r.forms > maxPDFForms {
		return core.E(core.TooLarge, "%q draws more than can be read", d.r.j.name)
	}
	content, err := d.r.stream(o)
	if err != nil {
		return err
	}
	if own := d.r.dict(form["Resources"]); own != nil {
		resources = own
	}
	inner := drawing{r: d.r, state: d.state}
	if a := d.r.array(form["Matrix"]); len(a) == 6 {
		var m matrix
		for i := range m {
			m[i] = d.r.number(a[i], 0)
		}
		inner.state.ctm = m.then(d.state.ctm)
	}
	err = inner.run(content, resources, depth+1)
	d.runs = append(d.runs, inner.runs...)
	return err
}

// show places a string and moves on by its width.
func (d *drawing) show(op operand) error {
	s := &d.state
	if op.kind != opString || s.font == nil {
		return nil
	}
	begin := d.place()
	text, width := s.font.decode(op.str, s.size, s.char, s.word)
	d.tm = matrix{1, 0, 0, 1, width * s.scale, 0}.then(d.tm)
	if text == "" {
		return nil
	}
	if d.r.text += len(text); d.r.text > d.r.j.limits.Text {
		return d.r.j.tooMuchText()
	}
	d.runs = append(d.runs, d.runFrom(begin, text))
	return nil
}

// place returns the map from the next glyph's space to the page.
func (d *drawing) place() matrix {
	return matrix{1, 0, 0, 1, 0, d.state.rise}.then(d.tm).then(d.state.ctm)
}

func (d *drawing) runFrom(begin matrix, text string) pdfRun {
	end := d.place()
	angle := math.Atan2(begin[1], begin[0])
	turn := (int(math.Round(angle/(math.Pi/2))) + 4) % 4
	run := pdfRun{text: text, turn: turn, size: d.state.size * math.Hypot(begin[2], begin[3])}
	along := func(m matrix) (x, y float64) {
		switch turn {
		case 1:
			return m[5], -m[4]
		case 2:
			return -m[4], -m[5]
		case 3:
			return -m[5], m[4]
		}
		return m[4], m[5]
	}
	run.x0, run.y = along(begin)
	run.x1, _ = along(end)
	if run.size = math.Abs(run.size); !finite(run.x0, run.x1, run.y, run.size) || run.size == 0 {
		run.x0, run.x1, run.y, run.size = 0, 0, 0, 1
	}
	return run
}

func finite(vs ...float64) bool {
	for _, v := range vs {
		if math.IsNaN(v) || math.Abs(v) > 1e9 {
			return false
		}
	}
	return true
}
