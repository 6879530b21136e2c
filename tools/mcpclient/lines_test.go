package mcpclient

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestAMessageCountsNotAsWhatIsSkipped(t *testing.T) {
	t.Parallel()
	message := `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 2*mostSkippedBytes) + `"}` + "\n"
	said := strings.NewReader(message + "a line of its log\n" + message)
	var aside bytes.Buffer
	got, err := io.ReadAll(&messages{
		lines: bufio.NewReader(said), aside: &aside, tooMany: func() error { return errors.New("it was cut off") },
	})
	if err != nil || string(got) != message+message || aside.String() != "a line of its log\n" {
		t.Errorf("%v: %d bytes of %d, aside %q", err, len(got), 2*len(message), aside.String())
	}
}
