package simulation_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// A schedule has this many events, with up to ten seconds between two.
const events = 20

func (w *world) pause() { time.Sleep(time.Duration(6+w.rng.IntN(5)) * time.Second) }

// graceful runs a schedule in which nobody misbehaves: members join and leave while messages come.
func graceful(seed uint64, orderly bool) {
	bubble(func() {
		w := newWorld(seed)
		w.orderly, w.slow = orderly, seed%2 == 0
		w.handOff = 10 * time.Second // four workers need more than the default's two for what they have begun, now and then
		w.join()
		for range events {
			w.publish(20 + w.rng.IntN(60))
			switch {
			case len(w.members) == 1, len(w.members) < 4 && w.rng.IntN(2) == 0:
				w.join()
			default:
				w.leave()
			}
			w.publish(20)
			w.pause()
			w.checkCommitted()
		}
		w.finish()
		Expect(w.repeated()).To(BeEmpty(), w.story())
		if orderly {
			Expect(w.outOfOrder()).To(BeEmpty(), w.story())
		}
	})
}

// rough runs a schedule with everything that goes wrong in a cluster.
func rough(seed uint64, orderly bool) {
	bubble(func() {
		w := newWorld(seed)
		w.orderly = orderly
		w.failing, w.slow = true, seed%2 == 0
		w.join()
		w.join()
		for range events {
			w.publish(20 + w.rng.IntN(60))
			switch event := w.rng.IntN(6); {
			case event == 0 && len(w.members) < 4:
				w.join()
			case event == 1 && len(w.members) > 1:
				w.leave()
			case event == 2 && len(w.members) > 1:
				w.crash()
			case event == 3:
				w.restartBroker()
			case event == 4:
				w.network.CutAll()
				w.note("all connections cut")
			default:
				w.note("nothing happened")
			}
			w.pause()
			w.checkCommitted()
		}
		if len(w.members) < 2 {
			w.join()
		}
		w.finish()
	})
}

// still publishes to one member and lets it leave: what is repeated then is repeated for no reason.
func still(seed uint64, orderly bool) {
	bubble(func() {
		w := newWorld(seed)
		w.slow, w.orderly = true, orderly
		for range 5 {
			w.join()
			w.publish(40)
			time.Sleep(time.Duration(w.rng.IntN(3000)) * time.Millisecond)
			w.leave()
		}
		w.join()
		w.finish()
		Expect(w.repeated()).To(BeEmpty(), w.story())
	})
}

var schedules = []struct {
	promise string
	run     func(seed uint64, orderly bool)
}{
	{"loses no message and repeats none while members come and go", graceful},
	{"loses no message and commits none too early through crashes, restarts, cut connections and failing handlers", rough},
	{"repeats nothing at all when one member drains and the next takes over", still},
}

var groups = []struct {
	kind    string
	orderly bool
}{{"a concurrent", false}, {"an orderly", true}}

var _ = Describe("A cluster", func() {
	for _, g := range groups {
		for _, s := range schedules {
			for _, seed := range seeds(4) {
				It(fmt.Sprintf("with %s group %s (seed %d)", g.kind, s.promise, seed), func() { s.run(seed, g.orderly) })
			}
		}
	}
})

var _ = Describe("A cluster, at length", Label("slow"), func() {
	for _, g := range groups {
		for _, s := range schedules {
			It(fmt.Sprintf("with %s group %s", g.kind, s.promise), func() {
				for _, seed := range seeds(250) {
					s.run(seed, g.orderly)
				}
			})
		}
	}
})
