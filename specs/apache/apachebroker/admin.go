package apachebroker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// The administrative requests the package itself needs.
const (
	pullMessage          = 11
	updateAndCreateTopic = 17
	updateBrokerConfig   = 25
	getMaxOffset         = 30
	getRoute             = 105
	updateGroup          = 200
)

// A RefusedError is an answer whose code is not success.
type RefusedError struct {
	Code   int
	Remark string
}

// Error gives code and remark as the broker sent them.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("refused with code %d: %s", e.Code, e.Remark)
}

// success turns an answer with a code other than 0 into a RefusedError.
func success(a Answer, err error) (Answer, error) {
	if err == nil && a.Code != 0 {
		err = &RefusedError{Code: a.Code, Remark: a.Remark}
	}
	return a, err
}

// route is the part of TopicRouteData that matters here.
type route struct {
	BrokerDatas []struct {
		BrokerName  string            `json:"brokerName"`
		BrokerAddrs map[string]string `json:"brokerAddrs"`
	} `json:"brokerDatas"`
	QueueDatas []struct {
		BrokerName     string `json:"brokerName"`
		ReadQueueNums  int    `json:"readQueueNums"`
		WriteQueueNums int    `json:"writeQueueNums"`
		Perm           int    `json:"perm"`
	} `json:"queueDatas"`
}

// route asks the name server for a topic; an unknown topic is an error.
func (c *Cluster) route(ctx context.Context, topic string) (route, error) {
	var r route
	a, err := success(c.Call(ctx, c.NameServer(), Request{Code: getRoute, Header: map[string]string{"topic": topic}}))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(a.Body, &r)
}

// knows tells whether a broker has registered completely: a topic that every master has from its start leads to it.
func (c *Cluster) knows(ctx context.Context, b *Broker, topic string) (bool, error) {
	r, err := c.route(ctx, topic)
	if err != nil {
		return false, err
	}
	for _, d := range r.BrokerDatas {
		if d.BrokerName == b.name && d.BrokerAddrs[b.id] == b.Addr() {
			return true, nil
		}
	}
	return false, nil
}

// CreateTopic creates a topic, or changes its number of queues, on every running master, and returns
// when the name server gives out the new route.
func (c *Cluster) CreateTopic(ctx context.Context, topic string, queues int) error {
	n := strconv.Itoa(queues)
	for _, b := range c.Brokers() {
		if b.id != "0" || b.PID() == 0 {
			continue
		}
		_, err := success(c.Call(ctx, b.Addr(), Request{Code: updateAndCreateTopic, Header: map[string]string{
			"topic": topic, "defaultTopic": "TBW102", "readQueueNums": n, "writeQueueNums": n, "perm": "6",
			"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
		}}))
		if err != nil {
			return fmt.Errorf("create topic %s on %s: %w", topic, b.name, err)
		}
		if err := c.awaitRoute(ctx, topic, b.name, queues); err != nil {
			return fmt.Errorf("wait for the route of %s on %s: %w", topic, b.name, err)
		}
	}
	return nil
}

func (c *Cluster) awaitRoute(ctx context.Context, topic, broker string, queues int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := c.route(ctx, topic)
		for _, q := range r.QueueDatas {
			if q.BrokerName == broker && q.ReadQueueNums == queues && q.WriteQueueNums == queues {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return err
		}
	}
}

// Configure changes settings of every running broker, e.g. {"useServerSideResetOffset": "false"}, as far as they can be changed while it
// runs. A broker also keeps them in its configuration file, so they outlive a restart.
func (c *Cluster) Configure(ctx context.Context, settings map[string]string) error {
	for _, b := range c.Brokers() {
		if b.PID() == 0 {
			continue
		}
		if _, err := success(Call(ctx, b.Addr(), Request{Code: updateBrokerConfig, Body: conf(settings)})); err != nil {
			return fmt.Errorf("configure %s: %w", b.name, err)
		}
	}
	return nil
}

// CreateGroup creates a consumer group on every running master or changes its settings, e.g. {"retryMaxTimes": 2}. Settings that are not given have
// Apache's defaults. Without it a broker creates a group when its first member sends a heartbeat.
func (c *Cluster) CreateGroup(ctx context.Context, group string, settings map[string]any) error {
	config := map[string]any{
		"groupName": group, "consumeEnable": true, "consumeFromMinEnable": true, "consumeBroadcastEnable": true,
		"retryQueueNums": 1, "retryMaxTimes": 16, "brokerId": 0, "whichBrokerWhenConsumeSlowly": 1, "notifyConsumerIdsChangedEnable": true,
	}
	for key, value := range settings {
		config[key] = value
	}
	body, err := json.Marshal(config)
	if err != nil {
		return err
	}
	for _, b := range c.Brokers() {
		if b.id != "0" || b.PID() == 0 {
			continue
		}
		if _, err := success(c.Call(ctx, b.Addr(), Request{Code: updateGroup, Body: body})); err != nil {
			return fmt.Errorf("create group %s on %s: %w", group, b.name, err)
		}
	}
	return nil
}

// Configure changes settings of a running broker, e.g. {"slaveReadEnable": "true"}. They last until its next start.
func (b *Broker) Configure(ctx context.Context, lines map[string]string) error {
	if _, err := success(Call(ctx, b.Addr(), Request{Code: updateBrokerConfig, Body: conf(lines)})); err != nil {
		return fmt.Errorf("configure %s: %w", b.name, err)
	}
	return nil
}

// AwaitReplica waits until a slave serves everything that its master has stored in a topic so far.
func (c *Cluster) AwaitReplica(ctx context.Context, slave, master *Broker, topic string, queues int) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	var last error
	for id := 0; id < queues; {
		err := replicated(ctx, slave.Addr(), master.Addr(), topic, strconv.Itoa(id))
		if err == nil {
			id++
			continue
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the replica of %s: %w", topic, errors.Join(ctx.Err(), last))
		}
	}
	return nil
}

func replicated(ctx context.Context, slave, master, topic, queue string) error {
	var end [2]string
	for i, addr := range []string{slave, master} {
		a, err := success(Call(ctx, addr, Request{Code: getMaxOffset, Header: map[string]string{"topic": topic, "queueId": queue}}))
		if err != nil {
			return err
		}
		end[i] = a.Header["offset"]
	}
	if end[0] != end[1] {
		return fmt.Errorf("queue %s ends at %s, at the master at %s", queue, end[0], end[1])
	}
	// A slave that has the messages may not know the topic yet.
	a, err := Call(ctx, slave, Request{Code: pullMessage, Header: map[string]string{
		"consumerGroup": "CLIENT_INNER_CONSUMER_LOOK", "topic": topic, "queueId": queue, "queueOffset": "0", "maxMsgNums": "1", "sysFlag": "4",
		"commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "0", "expressionType": "TAG",
	}})
	if err == nil && a.Code != 0 && end[1] != "0" {
		err = &RefusedError{Code: a.Code, Remark: a.Remark}
	}
	return err
}
