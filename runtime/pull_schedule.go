package troupe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/messages"
)

// Task is called for a queue again and again; next is how long to wait before the next call. ctx ends when the queue goes to another
// member and when the Runtime is shut down.
type Task func(ctx context.Context, q *Queue) (next time.Duration)

// A task that panics is called again after this (pullTimeDelayMillsWhenException).
const taskPause = time.Second

// Schedule shares the queues of a topic out as Listen does, and calls task for each queue of this member, at most
// PullConfig.ScheduleWorkers at once: a loop that pulls by hand (MQPullConsumerScheduleService). Call it before the start. Errors: as those of
// Listen.
func (g *PullGroup) Schedule(topic string, task Task) error {
	if task == nil {
		return &ConfigError{Field: "group " + g.group.name + ": task of " + topic, Value: nil, Reason: "must not be nil"}
	}
	if err := g.Listen(topic); err != nil {
		return err
	}
	g.schedule.add(topic, task)
	return nil
}

// schedule runs a group's tasks.
type schedule struct {
	group *PullGroup

	mu      sync.Mutex
	tasks   map[string]Task
	loops   map[messages.QueueKey]context.CancelFunc
	turn    chan struct{}
	running sync.WaitGroup
	ended   bool
}

func (s *schedule) add(topic string, task Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks == nil {
		s.tasks, s.loops = make(map[string]Task), make(map[messages.QueueKey]context.CancelFunc)
		s.turn = make(chan struct{}, s.group.config.ScheduleWorkers)
	}
	s.tasks[topic] = task
}

// any tells whether there are tasks.
func (s *schedule) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tasks) > 0
}

// assigned begins and ends loops as the queues of a topic come and go.
func (s *schedule) assigned(topic string, mine []*Queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	task := s.tasks[topic]
	if task == nil || s.ended {
		return
	}
	for key, end := range s.loops {
		if key.Topic == topic && !slices.ContainsFunc(mine, func(q *Queue) bool { return q.Key() == key }) {
			end()
			delete(s.loops, key)
		}
	}
	for _, q := range mine {
		if s.loops[q.Key()] != nil {
			continue
		}
		ctx, end := context.WithCancel(context.Background())
		s.loops[q.Key()] = end
		s.running.Go(func() { s.loop(ctx, q, task) })
	}
}

func (s *schedule) loop(ctx context.Context, q *Queue, task Task) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		select {
		case <-ctx.Done():
			return
		case s.turn <- struct{}{}:
		}
		timer.Reset(s.call(ctx, q, task))
	}
}

func (s *schedule) call(ctx context.Context, q *Queue, task Task) (next time.Duration) {
	defer func() {
		<-s.turn
		if value := recover(); value != nil {
			next = taskPause
			s.group.group.runtime.options.log.WithField("group", s.group.group.name).WithField("queue", q.Text()).
				WithField("panic", fmt.Sprint(value)).Error("scheduled task panicked; it is called again")
		}
	}()
	return task(ctx, q)
}

// end ends all loops and waits for the tasks that run, as long as ctx lasts.
func (s *schedule) end(ctx context.Context) {
	s.mu.Lock()
	s.ended = true
	for _, end := range s.loops {
		end()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
