//go:build !unix

package mirror

import "os"

// makePipe makes what is no file either, where there are no named pipes.
func makePipe(path string) error { return os.Mkdir(path, 0o700) }
