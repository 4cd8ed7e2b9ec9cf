package apache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

// Accounts of the brokers below.
var (
	admin    = apachebroker.Credentials{AccessKey: "administrator", SecretKey: "admin-secret-1"}
	permits  = rocketmq.Credentials{AccessKey: "permitted", SecretKey: "member-secret-1"}
	bystands = rocketmq.Credentials{AccessKey: "bystander", SecretKey: "other-secret-1"}
)

// guarded are the options of a cluster whose brokers check who asks: the only way of 4.x, and the one of 5.x.
func guarded(v apachebroker.Version, topic, group string) apachebroker.Options {
	o := apachebroker.Options{Version: v, Credentials: admin}
	if !v.Modern() {
		o.Config = map[string]string{"aclEnable": "true"}
		o.Files = map[string]string{"conf/plain_acl.yml": fmt.Sprintf(`globalWhiteRemoteAddresses: []
accounts:
- accessKey: %s
  secretKey: %s
  admin: true
- accessKey: %s
  secretKey: %s
  admin: false
  defaultTopicPerm: DENY
  defaultGroupPerm: DENY
  topicPerms:
  - %s=PUB|SUB
  groupPerms:
  - %s=SUB
- accessKey: %s
  secretKey: %s
  admin: false
  defaultTopicPerm: DENY
  defaultGroupPerm: DENY
`, admin.AccessKey, admin.SecretKey, permits.AccessKey, permits.SecretKey, topic, group, bystands.AccessKey, bystands.SecretKey)}
		return o
	}
	o.Config = map[string]string{
		"authenticationEnabled":                "true",
		"authenticationMetadataProvider":       "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider",
		"initAuthenticationUser":               fmt.Sprintf(`{"username":"%s","password":"%s"}`, admin.AccessKey, admin.SecretKey),
		"innerClientAuthenticationCredentials": fmt.Sprintf(`{"accessKey":"%s","secretKey":"%s"}`, admin.AccessKey, admin.SecretKey),
		"authorizationEnabled":                 "true",
		"authorizationMetadataProvider":        "org.apache.rocketmq.auth.authorization.provider.LocalAuthorizationMetadataProvider",
	}
	return o
}

// permit makes the accounts and their rights at a broker of 5.x.
func permit(ctx context.Context, c *apachebroker.Cluster, topic, group string) {
	GinkgoHelper()
	ask := func(code int, header map[string]string, body any) {
		GinkgoHelper()
		text, err := json.Marshal(body)
		Expect(err).NotTo(HaveOccurred())
		a, err := c.Call(ctx, c.BrokerAddr(), apachebroker.Request{Code: code, Header: header, Body: text})
		Expect(err).NotTo(HaveOccurred())
		Expect(a.Code).To(BeZero(), a.Remark)
	}
	const createUser, createACL = 3001, 3006
	for _, k := range []rocketmq.Credentials{permits, bystands} {
		ask(createUser, map[string]string{"username": k.AccessKey}, map[string]any{
			"username": k.AccessKey, "password": k.SecretKey, "userType": "Normal",
		})
	}
	entry := func(resource string, actions ...string) map[string]any {
		return map[string]any{"resource": resource, "actions": actions, "sourceIps": []string{}, "decision": "Allow"}
	}
	subject := "User:" + permits.AccessKey
	ask(createACL, map[string]string{"subject": subject}, map[string]any{"subject": subject, "policies": []any{map[string]any{
		"policyType": "Custom", "entries": []any{entry("Topic:"+topic, "Pub", "Sub"), entry("Group:"+group, "Sub")},
	}}})
}

var _ = onEveryVersion("A cluster that checks who asks", func(v apachebroker.Version, _ func(context.Context) *apachebroker.Cluster) {
	It("serves those it permits, and refuses others with one clear error and no storm", Label("A45"), func(ctx SpecContext) {
		topic, group := unique("Acl"), unique("AclGroup")
		c, err := apachebroker.Start(ctx, guarded(v, topic, group))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(c.Close()).To(Succeed()) })
		Expect(c.CreateTopic(ctx, topic, 2)).To(Succeed())
		if v.Modern() {
			permit(ctx, c, topic, group)
		}
		with := func(k rocketmq.Credentials) rocketmq.Cluster {
			return rocketmq.Cluster{NameServers: []string{c.NameServer()}, Credentials: k}
		}
		works(ctx, with(permits), topic, group)

		for name, k := range map[string]rocketmq.Credentials{
			"no credentials": {}, "an unknown key": {AccessKey: "somebody", SecretKey: "some-secret-1"},
			"a wrong secret": {AccessKey: permits.AccessKey, SecretKey: "wrong-secret-1"}, "no right": bystands,
		} {
			By(name)
			told, err := fails(ctx, with(k), topic, group, 4*time.Second)
			var start *troupe.StartError
			Expect(err).To(BeAssignableToTypeOf(start), name)
			AddReportEntry(name, fmt.Sprint(err, told))
			Expect(err).To(MatchError(ContainSubstring("HEART_BEAT ("+c.BrokerAddr()+")")), name)
			Expect(told["EVENT_KIND_HEARTBEAT_FAILED"]).To(And(BeNumerically(">=", 1), BeNumerically("<=", 12)), "%s: %v", name, told)
		}
	}, SpecTimeout(4*time.Minute))
})
