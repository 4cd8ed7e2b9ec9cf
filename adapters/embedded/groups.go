package embedded

import "sync"

// GroupConfig is what a broker knows about a consumer group (SubscriptionGroupConfig). Groups are made on demand with
// DefaultGroupConfig.
type GroupConfig struct {
	Consume          bool  // false: pulls are refused with NO_PERMISSION
	ConsumeBroadcast bool  // false: pulls of a broadcasting group are refused
	RetryQueues      int32 // queues of the retry topic; 0 or less: messages handed back are dropped
	RetryMaxTimes    int32 // used when the client names no maximum
	NotifyChanges    bool  // tell members when members come and go
}

// DefaultGroupConfig is Apache's: consumption allowed, 1 retry queue, 16 retries, members notified.
func DefaultGroupConfig() GroupConfig {
	return GroupConfig{Consume: true, ConsumeBroadcast: true, RetryQueues: 1, RetryMaxTimes: 16, NotifyChanges: true}
}

// groupTable is the group configurations of one broker.
type groupTable struct {
	mu     sync.RWMutex
	groups map[string]*GroupConfig
	auto   bool
}

// builtInGroups are what a broker has from its start, for tools and services of its own (SubscriptionGroupManager.init).
var builtInGroups = []string{
	"CID_ONS-HTTP-PROXY", "CID_ONSAPI_OWNER", "CID_ONSAPI_PERMISSION", "CID_ONSAPI_PULL", "CID_RMQ_SYS_TRANS", "FILTERSRV_CONSUMER",
	"SELF_TEST_C_GROUP", "TOOLS_CONSUMER",
}

func newGroupTable(auto bool) *groupTable {
	t := &groupTable{groups: map[string]*GroupConfig{}, auto: auto}
	for _, name := range builtInGroups {
		t.put(name, DefaultGroupConfig())
	}
	return t
}

// find gives a group's configuration, made on demand if that is on and the name is good; else nil.
func (t *groupTable) find(name string) *GroupConfig {
	if g := t.get(name); g != nil || !t.auto || checkGroupName(name) != "" {
		return g
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.groups[name]; g != nil {
		return g
	}
	g := DefaultGroupConfig()
	t.groups[name] = &g
	return &g
}

// get gives a group's configuration without making it.
func (t *groupTable) get(name string) *GroupConfig {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.groups[name]
}

func (t *groupTable) put(name string, g GroupConfig) {
	t.mu.Lock()
	t.groups[name] = &g
	t.mu.Unlock()
}

// all gives every group's configuration by name.
func (t *groupTable) all() map[string]GroupConfig {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make(map[string]GroupConfig, len(t.groups))
	for name, g := range t.groups {
		out[name] = *g
	}
	return out
}

func (t *groupTable) remove(name string) {
	t.mu.Lock()
	delete(t.groups, name)
	t.mu.Unlock()
}
