package actors

import "time"

// memberChoice is which member of a broker set is asked for a queue: the one that the last answer suggested, unless it could not be
// reached a moment ago and there is another. Name servers may go on naming a dead master for minutes.
type memberChoice struct {
	suggested int64
	avoided   avoidance
}

// target gives the member to ask now; false if no route names any.
func (m *memberChoice) target(d *Directory, broker string, now time.Time) (address string, id int64, ok bool) {
	address, id, ok = d.Address(broker, m.suggested)
	if ok && m.avoided.now(address, now) {
		if other, otherID, another := d.Beside(broker, id); another {
			return other, otherID, true
		}
	}
	return address, id, ok
}

// answered notes that a member answered, and whom it suggests.
func (m *memberChoice) answered(address string, suggested int64) {
	m.suggested = suggested
	m.avoided.reached(address)
}

// failed goes back to the master: a slave that cannot or will not serve must not be asked for ever.
func (m *memberChoice) failed() { m.suggested = masterID }

// missed notes that a member could not be reached.
func (m *memberChoice) missed(address string, now time.Time) { m.avoided.missed(address, now) }

// avoidance remembers the address that could not be reached last, and for how long to ask another one instead.
type avoidance struct {
	address string
	until   time.Time
	misses  int
}

// A member that could not be reached is tried again after this, doubling.
const (
	avoidFirst = time.Second
	avoidLast  = 10 * time.Second
)

func (v *avoidance) missed(address string, now time.Time) {
	if v.address != address {
		*v = avoidance{address: address}
	}
	v.misses++
	v.until = now.Add(backOff(avoidFirst, avoidLast, v.misses))
}

func (v *avoidance) reached(address string) {
	if v.address == address {
		*v = avoidance{}
	}
}

func (v *avoidance) now(address string, now time.Time) bool {
	return v.address == address && now.Before(v.until)
}
