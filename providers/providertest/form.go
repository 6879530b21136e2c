package providertest

import (
	"bytes"
	"compress/gzip"
	"net/http"
)

// Form is how the bytes of an answer arrive, whatever they say.
type Form struct {
	CRLF  bool
	Gzip  bool
	Bytes bool // each byte in a piece of its own
	Cut   int  // the connection ends cleanly after so many bytes; 0: never
}

// formed sends what is written through it in a form.
type formed struct {
	http.ResponseWriter
	form Form
	zip  *gzip.Writer
	sent int
}

func (f Form) wrap(w http.ResponseWriter) (http.ResponseWriter, func()) {
	if f == (Form{}) {
		return w, func() {}
	}
	out := &formed{ResponseWriter: w, form: f}
	if f.Gzip {
		w.Header().Set("Content-Encoding", "gzip")
		out.zip = gzip.NewWriter(w)
		return out, func() { _ = out.zip.Close() } // a client that has left needs no answer
	}
	return out, func() {}
}

// Write implements http.ResponseWriter.
func (o *formed) Write(p []byte) (int, error) {
	whole := len(p)
	if o.form.CRLF {
		p = bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))
	}
	if o.form.Cut > 0 {
		p = p[:min(len(p), max(o.form.Cut-o.sent, 0))]
	}
	o.sent += len(p)
	if o.zip != nil {
		_, err := o.zip.Write(p)
		return whole, err
	}
	if !o.form.Bytes {
		_, err := o.ResponseWriter.Write(p)
		return whole, err
	}
	for i := range p {
		if _, err := o.ResponseWriter.Write(p[i : i+1]); err != nil {
			return 0, err
		}
		o.Flush()
	}
	return whole, nil
}

// Flush implements http.Flusher.
func (o *formed) Flush() {
	if o.form.Cut > 0 {
		return // it all arrives at once
	}
	if o.zip != nil {
		_ = o.zip.Flush() // a client that has left needs no answer
	}
	if f, ok := o.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}
