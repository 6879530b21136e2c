package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// waits are the bounds on time that a Config has.
func waits(c Config) []time.Duration {
	return []time.Duration{c.Deadline, c.Grace, c.Patience, c.KeyWait, c.SummaryWait, c.RecallWait, c.Silence, c.SummaryQuiet}
}

func TestWhatAConfigLeavesOutHasABoundAndWhatItSaysHolds(t *testing.T) {
	t.Parallel()
	of := New(Config{}).cfg
	for i, d := range waits(of) {
		if d <= 0 {
			t.Errorf("wait %d has no bound", i)
		}
	}
	if of.MaxSteps <= 0 || of.MaxQueue <= 0 || of.AnswerLimit <= 0 {
		t.Errorf("%d steps, %d in the queue, %d bytes of an answer", of.MaxSteps, of.MaxQueue, of.AnswerLimit)
	}
	said := Config{
		Deadline: 1, Grace: 2, Patience: 3, KeyWait: 4, SummaryWait: 5, RecallWait: 6, Silence: 10, SummaryQuiet: 11,
		MaxSteps: 7, MaxQueue: 8, AnswerLimit: 9,
	}
	of = New(said).cfg
	if diff := cmp.Diff(waits(said), waits(of)); diff != "" || of.MaxSteps != 7 || of.MaxQueue != 8 || of.AnswerLimit != 9 {
		t.Errorf("what was said is changed (-want +got):\n%s", diff)
	}
}

func TestASilenceThatEndedInTimeIsNotMentioned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := 0
		s := newSilence(time.Second, func() { told++ })
		<-time.After(time.Second - 1)
		s.end()
		<-time.After(time.Hour)
		if told != 0 {
			t.Errorf("told %d times", told)
		}
		s = newSilence(time.Second, func() { told++ })
		<-time.After(time.Second + 1)
		s.end()
		if told != 1 {
			t.Errorf("told %d times, want once", told)
		}
	})
}
