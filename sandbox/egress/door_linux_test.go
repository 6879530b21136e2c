package egress

import (
	"errors"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"loci/sandbox/frame"
)

// knocked is a door with somebody behind it who answers in this way, one time after the other.
func knocked(t *testing.T, answers ...string) *door {
	t.Helper()
	ours, theirs, err := frame.Pair(unix.SOCK_SEQPACKET)
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDoor(ours)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := frame.Conn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	ended := make(chan struct{})
	t.Cleanup(func() { _ = inside.Close(); <-ended })
	go func() {
		defer close(ended)
		for _, answer := range answers {
			var k frame.Knock
			if _, err := frame.Receive(inside, &k); err != nil {
				return
			}
			_, _ = inside.Write([]byte(answer))
		}
	}()
	return d
}

func TestADoorWhoseAnswersMayBeOfOtherQuestionsStaysShut(t *testing.T) {
	t.Parallel()
	shut := `{"Errno":111}`
	d := knocked(t, shut, shut)
	for range 2 {
		if _, err := d.knock(3000); !errors.Is(err, errShut) {
			t.Errorf("where nothing listens: %v", err)
		}
	}
	d = knocked(t, "?", shut)
	if _, err := d.knock(3000); err == nil || errors.Is(err, errShut) {
		t.Errorf("an answer that is none: %v", err)
	}
	if _, err := d.knock(3001); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after it: %v", err)
	}
}
