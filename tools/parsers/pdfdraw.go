package parsers

import (
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

	signs []sign    // of what is being shown; kept for their memory, as are
	gaps  []float64 // those between its letters
	track float64   // the character spacing that was last taken for letters set apart
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
		return d.show(args[len(args)-1].list)
	case "Tj":
	default:
		return nil
	}
	if len(args) == 0 {
		return nil
	}
	return d.show(args[len(args)-1:])
}

func (d *drawing) move(x, y float64) {
	d.line = matrix{1, 0, 0, 1, x, y}.then(d.line)
	d.tm = d.line
}

// form draws a form inside the drawing.
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
