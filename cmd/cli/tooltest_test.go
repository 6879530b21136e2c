package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestArgumentsOfATrialAreAsTyped(t *testing.T) {
	t.Parallel()
	args, err := toolArguments(`{"a": 9007199254740993, "b": 1}`, []string{"b=1234567890123456789012", "c=[1]", "d=hello", "e=1 2"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"a":9007199254740993,"b":1234567890123456789012,"c":[1],"d":"hello","e":"1 2"}`
	if got, err := json.Marshal(args); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := toolArguments("", []string{"a=1", "a=2"}); err == nil || !strings.Contains(err.Error(), "--arg gives a twice") {
		t.Errorf("an argument given twice: %v", err)
	}
}
