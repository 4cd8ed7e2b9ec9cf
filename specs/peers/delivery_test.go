package main

import "testing"

const ms = int64(1e6)

func TestMembersAreJudgedByWhatTheyWereGiven(t *testing.T) {
	sent := []int64{0, 10 * ms, 20 * ms, 30 * ms, 40 * ms}
	all := []delivery{
		{queue: 1, number: 3, at: 930 * ms}, // by another member
		{queue: 1, number: 1, at: 100 * ms}, {queue: 2, number: 0, at: 1 * ms}, {queue: 2, number: 2, at: 300 * ms},
		{queue: 1, number: 1, at: 400 * ms}, {queue: 1, number: 1, at: 2000 * ms},
	}
	got := judge(all, sent, 200*ms, 1000*ms)
	want := moved{GapMS: 830, WaitMS: 900, Duplicates: 1, Lost: 1}
	if got != want {
		t.Errorf("judged as %+v, not %+v", got, want)
	}
	if got := judge(all, sent, 1000*ms, 3000*ms); got.GapMS != 0 || got.Duplicates != 1 {
		t.Errorf("after the change: %+v", got)
	}
}

func TestDeliveriesAreReadFromTheLinesOfClients(t *testing.T) {
	d, ok := parseDelivery("delivery 63 17 1764570000000000001\n")
	if want := (delivery{queue: 63, number: 17, at: 1764570000000000001}); !ok || d != want {
		t.Errorf("read as %+v, %v", d, ok)
	}
	for _, line := range []string{"", `{"event":"ready"}`, "delivery 1 2", "delivery a 2 3", "delivery 1 2 3 4"} {
		if d, ok := parseDelivery(line); ok {
			t.Errorf("%q read as %+v", line, d)
		}
	}
}
