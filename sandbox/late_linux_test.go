package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"loci/core"
	"loci/sandbox/frame"
)

func TestWhatAProgramWroteIsReadHoweverLateWhoeverReadsComes(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]bool{"it has ended": false, "what it started has not": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = out.Close() }()
			text := strings.Repeat("x", 60_000)
			if _, err := io.WriteString(write, text); err != nil {
				t.Fatal(err)
			}
			if !open {
				_ = write.Close()
			}
			defer func() { _ = write.Close() }()
			_ = out.SetReadDeadline(time.Now().Add(-time.Second))
			var got core.JobOutput
			newOutputs(100_000, nil, func(error) {}).drain(&late{from: out}, &got)
			if string(got.Kept) != text {
				t.Errorf("%d bytes are kept", len(got.Kept))
			}
		})
	}
}

func TestWhatAProgramSaidIsReadHoweverLateWhoeverReadsComes(t *testing.T) {
	t.Parallel()
	ours, theirs, err := frame.Pair(unix.SOCK_STREAM)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := frame.Conn(ours)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.WriteString("said"); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(-time.Second))
	var said []byte
	c := &call{job: core.Job{Channel: func(_ context.Context, stream io.ReadWriter) { said, err = io.ReadAll(stream) }}}
	c.talk(t.Context(), conn)
	if string(said) != "said" || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v", said, err)
	}
	_ = theirs.Close()
}
