package rocketmq

import (
	"strings"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// Credentials of the ACL of RocketMQ, 4.x and 5.x alike. Every request is signed with them, to name servers and brokers, with
// and without an answer (AclClientRPCHook, protocol.md 1.8).
type Credentials struct {
	// AccessKey is the user's name.
	AccessKey string
	// SecretKey is the user's password; it signs and is never sent.
	SecretKey string
	// SecurityToken accompanies temporary keys; empty: none.
	SecurityToken string
}

// String shows that there are credentials, but not which.
func (c Credentials) String() string {
	if c.isZero() {
		return "none"
	}
	return "(not shown)"
}

// GoString is String: a secret does not appear in %#v either.
func (c Credentials) GoString() string { return c.String() }

func (c Credentials) isZero() bool { return c == Credentials{} }

// faults calls fault with what is wrong, by field.
func (c Credentials) faults(fault func(field, reason string)) {
	if c.isZero() {
		return
	}
	if c.AccessKey == "" {
		fault("AccessKey", "is needed beside a secret key or token")
	}
	if c.SecretKey == "" {
		fault("SecretKey", "is needed beside an access key")
	}
	// A key read from a file with its line's end is the usual cause of a signature that does not match.
	for _, f := range [][2]string{{"AccessKey", c.AccessKey}, {"SecretKey", c.SecretKey}, {"SecurityToken", c.SecurityToken}} {
		if strings.TrimSpace(f[1]) != f[1] {
			fault(f[0], "begins or ends with white space")
		}
	}
}

// marks gives what is put into every request at last: the second kind of namespace, then the signature, which covers it
// (protocol.md 1.7). nil: nothing.
func (c Cluster) marks() func(*wire.Command) {
	k, ns := c.Credentials, c.NamespaceV2
	if k.isZero() && ns == "" {
		return nil
	}
	return func(cmd *wire.Command) {
		if ns != "" {
			cmd.Ext.SetBool("nsd", true)
			cmd.Ext.Set("ns", ns)
		}
		if !k.isZero() {
			wire.Sign(cmd, k.AccessKey, k.SecretKey, k.SecurityToken)
		}
	}
}
