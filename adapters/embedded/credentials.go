package embedded

import (
	"crypto/subtle"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// Credentials are the one account that a broker serves, as if Apache's authentication were on and that account had every right.
type Credentials struct {
	AccessKey string
	SecretKey string
}

// checkSignature refuses a request that is not signed by the account, in the words of Apache 5.x; nil: it is. A name server asks for no
// signature, also one that shares the broker's port.
func (i *incarnation) checkSignature(cmd *wire.Command) *wire.Command {
	k := i.b.cfg.Credentials
	if k == (Credentials{}) || wire.RequestCode(cmd.Code) == wire.GetRouteInfoByTopic {
		return nil
	}
	switch name := cmd.Ext.Text(wire.FieldAccessKey); {
	case name == "":
		return refuse(wire.NoPermission, "username cannot be null.")
	case name != k.AccessKey:
		return refuse(wire.NoPermission, "User:"+name+" is not found")
	case subtle.ConstantTimeCompare([]byte(wire.Signature(cmd, k.SecretKey)), []byte(cmd.Ext.Text(wire.FieldSignature))) != 1:
		return refuse(wire.NoPermission, "check signature failed")
	}
	return nil
}
