package stage

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

// deniedHere are calls that only this architecture has, or that have another name here.
var deniedHere = []uint32{unix.SYS_KEXEC_FILE_LOAD}

// changersHere are changers that only this architecture has.
var changersHere []uint32
