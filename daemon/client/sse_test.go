package client

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// split reads a whole stream with a limit.
func split(r io.Reader, limit int) (names, data []string, err error) {
	in := newSSEReader(r)
	in.limit = limit
	for {
		e, err := in.next()
		if errors.Is(err, io.EOF) {
			return names, data, nil
		}
		if err != nil {
			return names, data, err
		}
		names, data = append(names, e.name), append(data, string(e.data))
	}
}

func TestAStreamIsSplitIntoEvents(t *testing.T) {
	t.Parallel()
	in := ": hello\n\nevent: error\ndata: a\n\nevent: lost\n\ndata:b\r\ndata:  c\r\nid: 7\r\n\r\ndata\n\n" +
		"data: " + strings.Repeat("x", 100_000) + "\n\n"
	names, data, err := split(strings.NewReader(in), maxEvent)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"error", "", "", ""}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b\n c", "", strings.Repeat("x", 100_000)}, data); diff != "" {
		t.Error(diff)
	}
}

func TestAnEventThatIsCutIsAnErrorAndNotAnEvent(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"data: a", "data: a\n", "data: a\n\nda"} {
		_, data, err := split(strings.NewReader(in), maxEvent)
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(data) > 1 {
			t.Errorf("%q: %q %v", in, data, err)
		}
	}
}

func TestAnEventThatIsTooLongEndsTheStream(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", 1000),
		"many lines": strings.Repeat("data: xxxxxxxx\n", 100),
		"a comment":  ":" + strings.Repeat("x", 100_000),
	} {
		if _, _, err := split(strings.NewReader(in), 500); !errors.Is(err, errEventTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzEventsAreBoundedAndSplitTheSameHoweverTheyArrive(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "event: error\r\ndata: {}\r\n\r\n", ":\n\n\n", "data\n", "data: a\ndata: b\n\ndata: [DONE]\n\n", "\r\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 64
		names, data, err := split(bytes.NewReader(in), limit)
		slowNames, slowData, slowErr := split(oneByte{bytes.NewReader(in)}, limit)
		if diff := cmp.Diff(names, slowNames) + cmp.Diff(data, slowData); diff != "" || !errors.Is(slowErr, err) {
			t.Errorf("byte by byte it differs: %s %v %v", diff, err, slowErr)
		}
		for _, d := range data {
			if len(d) > limit {
				t.Errorf("an event of %d bytes", len(d))
			}
		}
	})
}

// oneByte gives its bytes one at a time.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) {
	if len(p) > 1 {
		p = p[:1]
	}
	return o.r.Read(p)
}
