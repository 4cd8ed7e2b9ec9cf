package memnet_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/remoting/memnet"
)

const server = "10.0.0.1:9000"

// pair gives both ends of a connection to server.
func pair(n *memnet.Network) (near, far net.Conn) {
	GinkgoHelper()
	l, err := n.Listen(server)
	Expect(err).NotTo(HaveOccurred())
	near, err = n.Dialer("10.0.0.9")(context.Background(), "tcp", server)
	Expect(err).NotTo(HaveOccurred())
	far, err = l.Accept()
	Expect(err).NotTo(HaveOccurred())
	Expect(l.Close()).To(Succeed())
	return near, far
}

func write(c net.Conn, text string) {
	GinkgoHelper()
	Expect(c.Write([]byte(text))).To(Equal(len(text)))
}

func read(c net.Conn, n int) string {
	GinkgoHelper()
	b := make([]byte, n)
	_, err := io.ReadFull(c, b)
	Expect(err).NotTo(HaveOccurred())
	return string(b)
}

func closeBoth(a, b net.Conn) {
	GinkgoHelper()
	Expect(a.Close()).To(Succeed())
	Expect(b.Close()).To(Succeed())
}

var _ = Describe("A connection in memory", func() {
	It("carries bytes both ways, without the writer waiting for the reader", func() {
		inVirtualTime(func() {
			a, b := pair(memnet.New())
			write(a, "hello ")
			write(a, "there")
			write(b, "well")
			Expect(read(b, 11)).To(Equal("hello there"))
			Expect(read(a, 4)).To(Equal("well"))
			closeBoth(a, b)
		})
	})

	It("knows its addresses", func() {
		inVirtualTime(func() {
			a, b := pair(memnet.New())
			Expect(a.RemoteAddr().String()).To(Equal(server))
			Expect(b.LocalAddr().String()).To(Equal(server))
			Expect(a.LocalAddr()).To(Equal(b.RemoteAddr()))
			Expect(a.LocalAddr().String()).To(HavePrefix("10.0.0.9:"))
			closeBoth(a, b)
		})
	})

	It("does not alias the writer's memory", func() {
		inVirtualTime(func() {
			a, b := pair(memnet.New())
			text := []byte("before")
			Expect(a.Write(text)).To(Equal(6))
			copy(text, "after!")
			Expect(read(b, 6)).To(Equal("before"))
			closeBoth(a, b)
		})
	})

	It("delivers what was written before it was closed, then the end", func() {
		inVirtualTime(func() {
			a, b := pair(memnet.New())
			write(a, "last words")
			Expect(a.Close()).To(Succeed())
			Expect(read(b, 10)).To(Equal("last words"))
			_, err := b.Read(make([]byte, 1))
			Expect(err).To(BeIdenticalTo(io.EOF))
			_, err = b.Write([]byte("too late"))
			Expect(err).To(MatchError(syscall.EPIPE))
			_, err = a.Read(make([]byte, 1))
			Expect(err).To(MatchError(net.ErrClosed))
			_, err = a.Write([]byte("x"))
			Expect(err).To(MatchError(net.ErrClosed))
			Expect(a.Close()).To(MatchError(net.ErrClosed))
			Expect(b.Close()).To(Succeed())
		})
	})

	It("wakes a reader and a writer when it is closed", func() {
		inVirtualTime(func() {
			a, b := pair(memnet.New())
			ends := make(chan error, 2)
			go func() { _, err := a.Read(make([]byte, 1)); ends <- err }()
			go func() { _, err := a.Write(make([]byte, 10<<20)); ends <- err }()
			synctest.Wait()
			Expect(ends).To(BeEmpty())
			Expect(a.Close()).To(Succeed())
			Expect(<-ends).To(MatchError(net.ErrClosed))
			Expect(<-ends).To(MatchError(net.ErrClosed))
			Expect(b.Close()).To(Succeed())
		})
	})

	It("makes a writer wait while 256 KiB are under way, and loses nothing of more", func() {
		inVirtualTime(func() {
			a, b := pair(memnet.New())
			sent := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
			done := make(chan error, 1)
			go func() { _, err := a.Write(sent); done <- err }()
			synctest.Wait()
			Expect(done).To(BeEmpty())
			got := make([]byte, len(sent))
			_, err := io.ReadFull(b, got)
			Expect(err).NotTo(HaveOccurred())
			Expect(bytes.Equal(got, sent)).To(BeTrue())
			Expect(<-done).To(Succeed())
			closeBoth(a, b)
		})
	})

	It("honours deadlines, also ones set while somebody waits", func() {
		inVirtualTime(func() {
			a, b := pair(memnet.New())
			begun := time.Now()
			Expect(a.SetReadDeadline(begun.Add(time.Second))).To(Succeed())
			_, err := a.Read(make([]byte, 1))
			Expect(err).To(MatchError(os.ErrDeadlineExceeded))
			var timeout net.Error
			Expect(errors.As(err, &timeout) && timeout.Timeout()).To(BeTrue())
			Expect(time.Since(begun)).To(Equal(time.Second))

			Expect(a.SetReadDeadline(time.Time{})).To(Succeed())
			time.AfterFunc(time.Second, func() { _ = a.SetDeadline(time.Now()) })
			_, err = a.Read(make([]byte, 1))
			Expect(err).To(MatchError(os.ErrDeadlineExceeded))
			Expect(time.Since(begun)).To(Equal(2 * time.Second))

			Expect(b.SetWriteDeadline(time.Now().Add(3 * time.Second))).To(Succeed())
			n, err := b.Write(make([]byte, 1<<20))
			Expect(err).To(MatchError(os.ErrDeadlineExceeded))
			Expect(n).To(Equal(256 << 10))
			Expect(time.Since(begun)).To(Equal(5 * time.Second))
			closeBoth(a, b)
		})
	})
})

var _ = Describe("A network in memory", func() {
	ctx := context.Background()

	It("refuses a dial where nobody listens, and one address twice", func() {
		inVirtualTime(func() {
			n := memnet.New()
			_, err := n.Dial(ctx, "tcp", server)
			Expect(err).To(MatchError(syscall.ECONNREFUSED))
			l, err := n.Listen(server)
			Expect(err).NotTo(HaveOccurred())
			_, err = n.Listen(server)
			Expect(err).To(MatchError(syscall.EADDRINUSE))
			Expect(l.Close()).To(Succeed())
			l, err = n.Listen(server)
			Expect(err).NotTo(HaveOccurred())
			Expect(l.Close()).To(Succeed())
			Expect(n.Dials(server)).To(Equal(1))
		})
	})

	It("gives free ports", func() {
		n := memnet.New()
		a, err := n.Listen("10.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		b, err := n.Listen("10.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		Expect(a.Addr().String()).NotTo(Equal(b.Addr().String()))
		Expect(a.Addr().Network()).To(Equal("tcp"))
	})

	It("ends Accept when the listener is closed, and resets who was not accepted", func() {
		inVirtualTime(func() {
			n := memnet.New()
			l, err := n.Listen(server)
			Expect(err).NotTo(HaveOccurred())
			c, err := n.Dial(ctx, "tcp", server)
			Expect(err).NotTo(HaveOccurred())
			Expect(l.Close()).To(Succeed())
			_, err = c.Read(make([]byte, 1))
			Expect(err).To(MatchError(syscall.ECONNRESET))
			_, err = l.Accept()
			Expect(err).To(MatchError(net.ErrClosed))
			Expect(c.Close()).To(Succeed())
		})
	})

	It("refuses on demand", func() {
		inVirtualTime(func() {
			n := memnet.New()
			l, err := n.Listen(server)
			Expect(err).NotTo(HaveOccurred())
			n.Refuse("10.0.0.1")
			_, err = n.Dial(ctx, "tcp", server)
			Expect(err).To(MatchError(syscall.ECONNREFUSED))
			n.Accept("10.0.0.1")
			c, err := n.Dial(ctx, "tcp", server)
			Expect(err).NotTo(HaveOccurred())
			Expect(c.Close()).To(Succeed())
			Expect(l.Close()).To(Succeed())
		})
	})

	It("swallows everything of a black hole, and delivers it after it is healed", func() {
		inVirtualTime(func() {
			n := memnet.New()
			a, b := pair(n)
			n.Blackhole(server)
			write(a, "lost?")
			Expect(b.SetReadDeadline(time.Now().Add(time.Hour))).To(Succeed())
			_, err := b.Read(make([]byte, 1))
			Expect(err).To(MatchError(os.ErrDeadlineExceeded))

			Expect(b.SetReadDeadline(time.Time{})).To(Succeed())
			time.AfterFunc(time.Minute, func() { n.Heal(server) })
			Expect(read(b, 5)).To(Equal("lost?"))
			closeBoth(a, b)
		})
	})

	It("does not even tell a close through a black hole", func() {
		inVirtualTime(func() {
			n := memnet.New()
			a, b := pair(n)
			n.Blackhole("10.0.0.9") // the dialling host
			Expect(a.Close()).To(Succeed())
			write(b, "still there?")
			Expect(b.SetReadDeadline(time.Now().Add(time.Hour))).To(Succeed())
			_, err := b.Read(make([]byte, 1))
			Expect(err).To(MatchError(os.ErrDeadlineExceeded))
			Expect(b.SetReadDeadline(time.Time{})).To(Succeed())
			n.Heal("10.0.0.9")
			_, err = b.Read(make([]byte, 1))
			Expect(err).To(BeIdenticalTo(io.EOF))
			Expect(b.Close()).To(Succeed())
		})
	})

	It("lets a dial into a black hole hang until its context ends or the hole is healed", func() {
		inVirtualTime(func() {
			n := memnet.New()
			l, err := n.Listen(server)
			Expect(err).NotTo(HaveOccurred())
			n.Blackhole(server)
			begun := time.Now()
			short, cancel := context.WithTimeout(ctx, 3*time.Second)
			defer cancel()
			_, err = n.Dial(short, "tcp", server)
			Expect(err).To(MatchError(context.DeadlineExceeded))
			Expect(time.Since(begun)).To(Equal(3 * time.Second))
			time.AfterFunc(time.Second, func() { n.Heal(server) })
			c, err := n.Dial(ctx, "tcp", server)
			Expect(err).NotTo(HaveOccurred())
			Expect(time.Since(begun)).To(Equal(4 * time.Second))
			Expect(c.Close()).To(Succeed())
			Expect(l.Close()).To(Succeed())
		})
	})

	It("partitions two hosts and leaves the others alone", func() {
		inVirtualTime(func() {
			n := memnet.New()
			a, b := pair(n)
			n.Partition("10.0.0.9", "10.0.0.1")
			write(a, "x")
			Expect(b.SetReadDeadline(time.Now().Add(time.Second))).To(Succeed())
			_, err := b.Read(make([]byte, 1))
			Expect(err).To(MatchError(os.ErrDeadlineExceeded))
			l, err := n.Listen(server)
			Expect(err).NotTo(HaveOccurred())
			c, err := n.Dialer("10.0.0.8")(ctx, "tcp", server)
			Expect(err).NotTo(HaveOccurred())
			n.Join("10.0.0.1", "10.0.0.9")
			Expect(b.SetReadDeadline(time.Time{})).To(Succeed())
			Expect(read(b, 1)).To(Equal("x"))
			Expect(c.Close()).To(Succeed())
			Expect(l.Close()).To(Succeed())
			closeBoth(a, b)
		})
	})

	It("cuts the connections of an address, and counts them", func() {
		inVirtualTime(func() {
			n := memnet.New()
			a, b := pair(n)
			Expect(n.Connections(server)).To(Equal(1))
			write(a, "under way")
			Expect(n.Cut("10.0.0.2")).To(BeZero())
			Expect(n.Cut(server)).To(Equal(1))
			for _, c := range []net.Conn{a, b} {
				_, err := c.Read(make([]byte, 1))
				Expect(err).To(MatchError(syscall.ECONNRESET))
				_, err = c.Write([]byte("x"))
				Expect(err).To(MatchError(syscall.ECONNRESET))
			}
			Expect(n.Cut(server)).To(BeZero(), "it is cut already")
			closeBoth(a, b)
			Expect(n.Connections(server)).To(BeZero())

			a, b = pair(n)
			n.CutAll()
			_, err := a.Read(make([]byte, 1))
			Expect(err).To(MatchError(syscall.ECONNRESET))
			closeBoth(a, b)
		})
	})

	It("delays what is written, in order, and the end behind it", func() {
		inVirtualTime(func() {
			n := memnet.New()
			a, b := pair(n)
			n.Delay("10.0.0.1", 50*time.Millisecond)
			begun := time.Now()
			write(a, "a")
			n.Delay("10.0.0.1", 0)
			write(a, "b")
			Expect(a.Close()).To(Succeed())
			Expect(read(b, 2)).To(Equal("ab"))
			Expect(time.Since(begun)).To(Equal(50 * time.Millisecond))
			_, err := b.Read(make([]byte, 1))
			Expect(err).To(BeIdenticalTo(io.EOF))
			Expect(b.Close()).To(Succeed())
		})
	})
})
