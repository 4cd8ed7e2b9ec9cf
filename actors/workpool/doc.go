// Package workpool is the only place where user code runs: a bounded number of workers that claim messages of submitted
// groups. It must not know what a message is, what a verdict is, or who waits for it.
//
// # Groups
//
// A Group is a whole pull. While handlers are fast one worker takes many of its messages at once, which costs a few
// nanoseconds for each; the slower the handlers of a lane are known to be, the fewer it takes, down to one. A worker that
// took several and got stuck at one is noticed within two times SlowAfter: the rest of what it took goes to other workers,
// one message at a time. So a slow handler holds nothing back but itself, and no goroutine is made for a message.
//
// # Lanes
//
// Groups of one topic share a Lane, and lanes share the workers like this (N workers, L lanes, a share is N/L rounded down,
// at least one):
//
//   - A free worker goes to the lane that has work waiting and has the fewest workers; equals take turns.
//   - A lane may always have its share. It may borrow more, but one more worker for each message that it has completed, so
//     a lane whose handlers never return never gets beyond its share.
//   - What is lent is what the others leave: each of them keeps as many workers free for itself as it has used within the
//     last seconds, at least one and at most its share. So a lane that hangs after having worked for hours leaves the
//     others the workers that they had. With fewer than two workers for each lane nothing is kept free: two workers on
//     two lanes would otherwise mean one at a time for the only busy one.
//
// Never do more than N handlers run at once. A pool with one worker therefore stands still if its one handler does.
package workpool
