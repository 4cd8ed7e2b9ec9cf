package kit

// Delivery is a message on the way from one actor to another: what a spec needs to compare an actor's behaviour with its card.
type Delivery struct {
	// From and FromRole are path and role of the sender; empty for messages from outside, timers and results.
	From, FromRole string
	// To and ToRole are path and role of the receiver.
	To, ToRole string
	// Message is the name of the type of the message, e.g. messages.Pull.
	Message string
}

func delivery(to, from *cell, m Message) Delivery {
	d := Delivery{To: to.id, ToRole: to.spec.Role, Message: typeName(m)}
	if from != nil {
		d.From, d.FromRole = from.id, from.spec.Role
	}
	return d
}
