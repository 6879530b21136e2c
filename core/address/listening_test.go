package address_test

import (
	"fmt"
	"strings"
	"testing"

	"loci/core/address"
)

func TestAListOfSocketsIsReadAsFarAsItIsWhole(t *testing.T) {
	t.Parallel()
	list := "  sl  local_address rem_address   st tx_queue\n" +
		"   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000\n" +
		"   1: 00000000:0FA0 00000000:0000 0A 00000000:00000000\n" +
		"   2: 0100007F:1388 0100007F:0BB8 01 00000000:00000000\n" +
		"   3: 0100007F:1770 00000000:0000 0"
	if got := fmt.Sprint(address.Listening(strings.NewReader(list))); got != "[3000 4000]" {
		t.Errorf("it listens on %s", got)
	}
}
