package wire

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ErrEncoding says that a body has a compression that we neither asked for nor can read.
var ErrEncoding = errors.New("the answer is packed in an unknown way")

// Unpack decompresses the body of an answer that is compressed although we didn't ask for it. It works as a stream.
func Unpack(resp *http.Response) {
	how := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	if how == "" || how == "identity" {
		return
	}
	resp.Body = &lazyReader{Closer: resp.Body, from: bufio.NewReader(resp.Body), how: how}
	resp.ContentLength = -1
}

// lazyReader opens its decompressor at the first read, because opening reads, and that may block.
type lazyReader struct {
	io.Closer
	from *bufio.Reader
	how  string
	r    io.Reader
}

// Read implements io.Reader.
func (u *lazyReader) Read(p []byte) (int, error) {
	if u.r == nil {
		r, err := u.open()
		if err != nil {
			return 0, err
		}
		u.r = r
	}
	return u.r.Read(p)
}

func (u *lazyReader) open() (io.Reader, error) {
	switch u.how {
	case "gzip", "x-gzip":
		return gzip.NewReader(u.from)
	case "deflate": // with a zlib header according to the standard, without one from some servers
		head, err := u.from.Peek(2)
		if err != nil {
			return nil, err
		}
		if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			return zlib.NewReader(u.from)
		}
		return flate.NewReader(u.from), nil
	}
	return nil, fmt.Errorf("%w: %.20s", ErrEncoding, u.how)
}
