package wire

// RegisterBrokerHeader is the header of REGISTER_BROKER (103).
type RegisterBrokerHeader struct {
	// Broker is the broker's name.
	Broker string
	// Addr is its host:port.
	Addr string
	// Cluster is the cluster it belongs to.
	Cluster string
	// HAServerAddr is where slaves fetch from.
	HAServerAddr string
	// BrokerID: 0 is the master.
	BrokerID int64
	// HeartbeatTimeoutMillis is after how much silence it is to be dropped; 0 is the default.
	HeartbeatTimeoutMillis int64
	// ActingMaster allows a slave to stand in for the master.
	ActingMaster bool
	// Compressed says that the body is deflated.
	Compressed bool
	// BodyCRC32 is the body's CRC; 0 is unchecked.
	BodyCRC32 int32
}

// AppendTo writes the header into ext fields.
func (h *RegisterBrokerHeader) AppendTo(e *Ext) {
	e.Set("brokerName", h.Broker)
	e.Set("brokerAddr", h.Addr)
	e.Set("clusterName", h.Cluster)
	e.Set("haServerAddr", h.HAServerAddr)
	e.SetInt("brokerId", h.BrokerID)
	if h.HeartbeatTimeoutMillis != 0 {
		e.SetInt("heartbeatTimeoutMillis", h.HeartbeatTimeoutMillis)
	}
	e.SetBool("enableActingMaster", h.ActingMaster)
	e.SetBool("compressed", h.Compressed)
	e.SetInt("bodyCrc32", int64(h.BodyCRC32))
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *RegisterBrokerHeader) ReadFrom(e *Ext) error {
	*h = RegisterBrokerHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "brokerName":
			s.text(&h.Broker)
			s.saw(0)
		case "brokerAddr":
			s.text(&h.Addr)
			s.saw(1)
		case "clusterName":
			s.text(&h.Cluster)
			s.saw(2)
		case "haServerAddr":
			s.text(&h.HAServerAddr)
			s.saw(3)
		case "brokerId":
			s.int64(&h.BrokerID)
			s.saw(4)
		case "heartbeatTimeoutMillis":
			s.int64(&h.HeartbeatTimeoutMillis)
		case "enableActingMaster":
			s.bool(&h.ActingMaster)
		case "compressed":
			s.bool(&h.Compressed)
		case "bodyCrc32":
			s.int32(&h.BodyCRC32)
		}
	}
	return s.finish("brokerName", "brokerAddr", "clusterName", "haServerAddr", "brokerId")
}

// RegisterBrokerResponseHeader is the header of the answer to REGISTER_BROKER.
type RegisterBrokerResponseHeader struct {
	// HAServerAddr is where a slave fetches from.
	HAServerAddr string
	// MasterAddr is the master's address, told to slaves.
	MasterAddr string
}

// AppendTo writes the header into ext fields.
func (h *RegisterBrokerResponseHeader) AppendTo(e *Ext) {
	if h.HAServerAddr != "" {
		e.Set("haServerAddr", h.HAServerAddr)
	}
	if h.MasterAddr != "" {
		e.Set("masterAddr", h.MasterAddr)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *RegisterBrokerResponseHeader) ReadFrom(e *Ext) error {
	*h = RegisterBrokerResponseHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "haServerAddr":
			s.text(&h.HAServerAddr)
		case "masterAddr":
			s.text(&h.MasterAddr)
		}
	}
	return s.finish()
}

// UnregisterBrokerHeader is the header of UNREGISTER_BROKER (104).
type UnregisterBrokerHeader struct {
	// Broker is the broker's name.
	Broker string
	// Addr is its host:port.
	Addr string
	// Cluster is the cluster it belongs to.
	Cluster string
	// BrokerID: 0 is the master.
	BrokerID int64
}

// AppendTo writes the header into ext fields.
func (h *UnregisterBrokerHeader) AppendTo(e *Ext) {
	e.Set("brokerName", h.Broker)
	e.Set("brokerAddr", h.Addr)
	e.Set("clusterName", h.Cluster)
	e.SetInt("brokerId", h.BrokerID)
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *UnregisterBrokerHeader) ReadFrom(e *Ext) error {
	*h = UnregisterBrokerHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "brokerName":
			s.text(&h.Broker)
			s.saw(0)
		case "brokerAddr":
			s.text(&h.Addr)
			s.saw(1)
		case "clusterName":
			s.text(&h.Cluster)
			s.saw(2)
		case "brokerId":
			s.int64(&h.BrokerID)
			s.saw(3)
		}
	}
	return s.finish("brokerName", "brokerAddr", "clusterName", "brokerId")
}

// KVConfigHeader is the header of PUT_, GET_ and DELETE_KV_CONFIG (100 to 102) and of GET_KVLIST_BY_NAMESPACE (219).
type KVConfigHeader struct {
	// Namespace is the table.
	Namespace string
	// Key is the name of the value.
	Key string
	// Value is the value to store.
	Value string
}

// AppendTo writes the header into ext fields.
func (h *KVConfigHeader) AppendTo(e *Ext) {
	e.Set("namespace", h.Namespace)
	if h.Key != "" {
		e.Set("key", h.Key)
	}
	if h.Value != "" {
		e.Set("value", h.Value)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *KVConfigHeader) ReadFrom(e *Ext) error {
	*h = KVConfigHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "namespace":
			s.text(&h.Namespace)
			s.saw(0)
		case "key":
			s.text(&h.Key)
		case "value":
			s.text(&h.Value)
		}
	}
	return s.finish("namespace")
}

// KVConfigResponseHeader is the header of the answer to GET_KV_CONFIG.
type KVConfigResponseHeader struct {
	// Value is the value stored.
	Value string
}

// AppendTo writes the header into ext fields.
func (h *KVConfigResponseHeader) AppendTo(e *Ext) {
	if h.Value != "" {
		e.Set("value", h.Value)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *KVConfigResponseHeader) ReadFrom(e *Ext) error {
	*h = KVConfigResponseHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "value":
			s.text(&h.Value)
		}
	}
	return s.finish()
}
