package main

import (
	"os"
	"os/signal"
	"syscall"
)

// endings are the signals that ask the program to end. That the terminal was
// closed is one of them, unless whoever started the program wants it to go on
// without one, as nohup does.
func endings() []os.Signal {
	out := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		out = append(out, syscall.SIGHUP)
	}
	return out
}
