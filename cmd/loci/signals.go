package main

import (
	"os"
	"os/signal"
	"syscall"
)

// endings are the signals that ask the program to end. Closing the terminal counts, unless the program was started
// to survive it, as with nohup.
func endings() []os.Signal {
	out := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		out = append(out, syscall.SIGHUP)
	}
	return out
}
