package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// pipeQuiet is how long to wait for a silent pipe before ignoring it: many programs start others with an open pipe
	// that nobody writes to.
	pipeQuiet = 250 * time.Millisecond
	// maxInput bounds how much is read from standard input.
	maxInput = 8 << 20
)

// readPrompt joins the prompt's words with piped input. A single "-" waits for the end of standard input, no matter
// how long it stays silent.
func readPrompt(ctx context.Context, words []string, in io.Reader, errOut io.Writer) (string, error) {
	wait := false
	kept := make([]string, 0, len(words))
	for _, w := range words {
		if w == "-" {
			wait = true
			continue
		}
		kept = append(kept, w)
	}
	text := strings.Join(kept, " ")
	piped, err := readPiped(ctx, in, wait, errOut)
	if err != nil {
		return "", err
	}
	piped = strings.TrimRight(piped, "\r\n")
	switch {
	case strings.TrimSpace(text) == "":
		text = piped
	case strings.TrimSpace(piped) != "":
		text += "\n\n" + piped
	}
	if strings.TrimSpace(text) == "" {
		return "", invalid("there is no prompt").withHint(`loci -p "your question", or pipe it in; "-" waits for a slow pipe`)
	}
	return text, nil
}

// readPiped returns the content of standard input if it is a pipe or a file.
func readPiped(ctx context.Context, in io.Reader, wait bool, errOut io.Writer) (string, error) {
	f, isFile := in.(*os.File)
	if in == nil || isFile && f == nil {
		return "", nil
	}
	if isFile && !wait {
		info, err := f.Stat()
		if err != nil {
			return "", nil //nolint:nilerr // it is closed: no input
		}
		if info.Mode()&os.ModeCharDevice != 0 {
			return "", nil // a terminal or the null device
		}
		if !info.Mode().IsRegular() {
			ready, err := readable(f, pipeQuiet)
			if err != nil {
				return "", err
			}
			if !ready {
				say(errOut, `ignoring standard input: nothing has come through that pipe yet ("-" waits for it)`)
				return "", nil
			}
		}
	}
	return readAll(ctx, in)
}

// readAll reads standard input.
func readAll(ctx context.Context, in io.Reader) (string, error) {
	return readText(ctx, in, "standard input")
}

// readText reads text up to a limit. A read that never returns is abandoned until the process exits: an interrupt
// must not wait for the other end.
func readText(ctx context.Context, in io.Reader, from string) (string, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
		done <- result{data, err}
	}()
	var r result
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r = <-done:
	}
	if r.err != nil {
		return "", fmt.Errorf("read %s: %w", from, r.err)
	}
	if len(r.data) > maxInput {
		return "", invalid("%s is larger than %s", from, size(maxInput)).withHint("send less, or a part of it")
	}
	data := bytes.TrimPrefix(r.data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		return "", invalid("%s is not text in UTF-8", from).withHint("send text; describe or convert anything else first")
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return "", invalid("%s is not text: it has NUL bytes", from).withHint("send text; describe or convert anything else first")
	}
	return string(data), nil
}
