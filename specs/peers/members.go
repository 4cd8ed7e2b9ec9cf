package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	memberQueues = 64
	memberRate   = 1000             // messages a second
	untilChange  = 5 * time.Second  // the load before a member comes, leaves or is killed
	untilSettled = 10 * time.Second // and after it
)

// members runs two members of one client under load and judges what a change of the group costs. A graceful run has two changes: the second
// member joins, and leaves. In a crash the second member is there from the beginning and is killed.
func (b *benchmark) members(ctx context.Context, client string, graceful bool) (join, leave moved, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	seconds := int((untilChange + untilSettled).Seconds())
	if graceful {
		seconds += int(untilSettled.Seconds())
	}
	t := task{nameServer: b.cluster.NameServer(), topic: b.unique("members"), group: b.unique("group"), member: true, count: memberRate * seconds}
	if err := b.cluster.CreateTopic(ctx, t.topic, memberQueues); err != nil {
		return join, leave, err
	}
	first, err := b.member(ctx, client, t)
	if err != nil {
		return join, leave, err
	}
	defer first.end()
	second := (*process)(nil)
	if !graceful {
		if second, err = b.member(ctx, client, t); err != nil {
			return join, leave, err
		}
		defer second.end()
	}
	time.Sleep(untilChange) // the peers need seconds from their start to the first pull, and for the second member
	load := make(chan error, 1)
	sent := make([]int64, t.count)
	go func() { load <- b.publishAt(ctx, t, memberRate, sent) }()
	time.Sleep(untilChange)
	joining := time.Now().UnixNano()
	if graceful {
		if second, err = b.member(ctx, client, t); err != nil {
			return join, leave, errors.Join(err, <-load)
		}
		defer second.end()
		time.Sleep(untilSettled)
	}
	leaving := time.Now().UnixNano()
	if graceful {
		err = second.stop()
	} else {
		second.end()
	}
	if err := errors.Join(err, <-load); err != nil {
		return join, leave, err
	}
	if len(second.deliveries()) == 0 {
		return join, leave, fmt.Errorf("the second member got no message within %v", untilSettled)
	}
	b.awaitAll(first, second, sent)
	end := time.Now().UnixNano()
	all := append(first.deliveries(), second.deliveries()...)
	return judge(all, sent, joining, leaving), judge(all, sent, leaving, end), nil
}

func (b *benchmark) member(ctx context.Context, client string, t task) (*process, error) {
	p, err := launch(ctx, b.bin, client, t)
	if err != nil {
		return nil, err
	}
	if err := p.ready(ctx); err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// awaitAll waits until each message has come to one of the two, at the most half a minute, and a second more for duplicates.
func (b *benchmark) awaitAll(first, second *process, sent []int64) {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(250 * time.Millisecond) {
		if judge(append(first.deliveries(), second.deliveries()...), sent, 0, 0).Lost == 0 {
			break
		}
	}
	time.Sleep(time.Second)
}
