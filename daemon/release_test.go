package daemon

import (
	"os"
	"strings"
	"testing"
)

func TestThePagesOfTheProgramAreGivenBackAndUsedAgain(t *testing.T) {
	t.Parallel()
	if err := releaseProgram(); err != nil {
		t.Fatal(err)
	}
	if got := strings.ToUpper("still here"); got != "STILL HERE" { // code and constants are read again
		t.Errorf("after it a program says %q", got)
	}
	if err := releaseProgram(); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if _, err := os.Executable(); err != nil {
		t.Error(err)
	}
}
