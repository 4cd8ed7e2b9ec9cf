package wire

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"unicode/utf16"
)

// Names of the ext fields that carry a request's credentials.
const (
	FieldAccessKey     = "AccessKey"
	FieldSecurityToken = "SecurityToken"
	FieldSignature     = "Signature"
)

// Sign puts access key, security token (if not empty) and signature into a request's ext fields. It must be the last to touch
// them, and is to be repeated when a request is sent again with other fields.
func Sign(c *Command, accessKey, secretKey, securityToken string) {
	c.Ext.Set(FieldAccessKey, accessKey)
	if securityToken != "" {
		c.Ext.Set(FieldSecurityToken, securityToken)
	}
	c.Ext.Set(FieldSignature, Signature(c, secretKey))
}

// Signature computes a request's signature: HMAC-SHA1 over the values of all ext fields except Signature, in the order of
// their names, and the body; standard Base64 (AclClientRPCHook).
func Signature(c *Command, secretKey string) string {
	fields := make(map[string]string)
	names := make([]string, 0, c.Ext.Len())
	for k, v := range c.Ext.All() {
		if k == FieldSignature {
			continue
		}
		if _, ok := fields[k]; !ok {
			names = append(names, k)
		}
		fields[k] = v
	}
	slices.SortFunc(names, compareJava)
	mac := hmac.New(sha1.New, []byte(secretKey))
	for _, k := range names {
		mac.Write([]byte(fields[k]))
	}
	mac.Write(c.Body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// compareJava orders text as Java's String.compareTo does: by UTF-16 code units.
func compareJava(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}
