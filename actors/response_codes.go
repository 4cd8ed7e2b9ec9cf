package actors

// Response codes that decide how an actor goes on (protocol.md 1.4).
const (
	codeSystemBusy                = 2
	codeSubscriptionNotExist      = 24
	codeSubscriptionNotLatest     = 25
	codeSubscriptionGroupNotExist = 26
	codeFlowControl               = 215
)
