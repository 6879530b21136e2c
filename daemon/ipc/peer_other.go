//go:build !linux && !darwin

package ipc

import (
	"errors"
	"fmt"
)

// errNoPeer refuses to go on: without the peer's account the socket would be open to others.
var errNoPeer = fmt.Errorf("this system does not tell who opened a socket: %w", errors.ErrUnsupported)

func checkPeerSupport() error { return errNoPeer }

func peerUID(uintptr) (int, error) { return 0, errNoPeer }

func peerPID(uintptr) (int, error) { return 0, errNoPeer }
