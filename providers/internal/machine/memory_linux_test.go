package machine

import "testing"

func TestMemoryIsReadFromWhatTheKernelSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"MemTotal:       16384256 kB\nMemFree:  1 kB\n": 16384256 << 10,

		"MemFree: 1 kB\n": 0, "MemTotal: x kB\n": 0, "MemTotal: -1 kB\n": 0, "": 0,
	} {
		if got := total(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if Memory() < 1<<20 {
		t.Errorf("this machine has %d bytes", Memory())
	}
}
