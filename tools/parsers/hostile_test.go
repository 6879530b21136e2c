package parsers_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/tools/parsers"
	"loci/tools/parsers/parserstest"
)

func TestHostileFilesAreRefusedAlone(t *testing.T) {
	t.Parallel()
	p := parsers.New()
	for _, h := range parserstest.Hostiles(t) {
		t.Run(fmt.Sprintf("%.30q", h.Name), func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			doc, err := p.Parse(context.Background(), core.ParseInput{Name: h.Name, Data: h.Data, Limits: h.Bound})
			if err == nil {
				t.Fatalf("it was read: %d bytes of text", len(doc.Text))
			}
			if core.KindOf(err) != h.Kind || !strings.Contains(err.Error(), h.Says) {
				t.Errorf("error %q of kind %s, want %q of kind %s", err, core.KindOf(err), h.Says, h.Kind)
			}
			if len(err.Error()) > 3000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
			// The next file is read as if nothing had happened.
			if _, err := p.Parse(context.Background(), core.ParseInput{Name: "next.txt", Data: []byte("all well")}); err != nil {
				t.Errorf("the next file: %v", err)
			}
		})
	}
}

func TestReadingEndsWithItsContextAndItsTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	slow := parserstest.PDFWith("BT /F1 9 Tf "+strings.Repeat("0 -1 Td (x) Tj /X1 Do ", 30_000)+"ET", true, func(p *parserstest.PDFFile) {
		p.Stream(6, "/Type /XObject /Subtype /Form /BBox [0 0 1 1]", "BT /F1 9 Tf (y) Tj ET")
	})
	for _, s := range parserstest.Samples(t) {
		if s.Kind == core.FileText || s.Kind == core.FileMarkdown || s.Kind == core.FileCode || s.Kind == core.FileCSV ||
			s.Kind == core.FileJSON {
			continue // read at once
		}
		if _, err := parsers.New().Parse(ctx, core.ParseInput{Name: s.Name, Data: s.Data}); core.KindOf(err) != core.Cancelled {
			t.Errorf("%s: %v, want it cancelled", s.Name, err)
		}
	}
	_, err := parsers.New().
		Parse(context.Background(), core.ParseInput{Name: "slow.pdf", Data: slow, Limits: core.ParseLimits{Time: time.Millisecond}})
	if core.KindOf(err) != core.Timeout {
		t.Errorf("slow.pdf: %v, want a timeout", err)
	}
}

func TestAFormThatDrawsItselfIsDrawnOnce(t *testing.T) {
	t.Parallel()
	data := parserstest.PDFWith("/X1 Do", true, func(p *parserstest.PDFFile) {
		p.Stream(
			6,
			"/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /Font << /F1 5 0 R >> /XObject << /X1 6 0 R >> >>",
			"BT /F1 9 Tf (once) Tj ET /X1 Do /X1 Do",
		)
	})
	doc, err := parsers.New().Parse(context.Background(), core.ParseInput{Name: "a.pdf", Data: data})
	if err != nil || strings.Count(doc.Text, "once") != 1 {
		t.Errorf("text %q, error %v", doc.Text, err)
	}
}

func TestADamagedPDFIsReadAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	data := parserstest.Report(true, []string{"Title", "The words survive."})
	at := bytes.LastIndex(data, []byte("startxref"))
	broken := append(bytes.Clone(data[:at]), []byte("startxref\n7\n%%EOF\n")...)
	doc, err := parsers.New().Parse(context.Background(), core.ParseInput{Name: "a.pdf", Data: broken})
	if err != nil || !strings.Contains(doc.Text, "The words survive.") {
		t.Errorf("text %q, error %v", doc.Text, err)
	}
}
