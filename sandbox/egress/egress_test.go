package egress

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"loci/core"
)

// open is the network of a job that may reach hosts below example.com.
func open(t *testing.T) *Egress {
	t.Helper()
	sockets := make([]*os.File, 0, 2)
	var lc net.ListenConfig
	resolver, err := lc.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []any{resolver, port} {
		file, err := s.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			t.Fatal(err)
		}
		sockets = append(sockets, file)
	}
	_, _ = resolver.Close(), port.Close()
	e, err := Start(Config{
		Allows:  func(host string, named bool) bool { return !named && strings.HasSuffix(host, "example.com") },
		Outside: nowhere{}, Bytes: 1,
	}, sockets)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// nowhere is a network that must not be used.
type nowhere struct{}

func (nowhere) Lookup(context.Context, string) ([]netip.Addr, error) { panic("a name is looked up") }

func (nowhere) Dial(context.Context, netip.AddrPort) (net.Conn, error) {
	panic("an address is dialled")
}
func (nowhere) Own() ([]netip.Addr, error) { return nil, nil }

// question is a query for a name.
func question(t *testing.T, name string, kind dnsmessage.Type) []byte {
	t.Helper()
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}},
	}
	query, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return query
}

func TestTheResolverKnowsAllowedNamesAndNoOthers(t *testing.T) {
	t.Parallel()
	e := open(t)
	ask := func(name string, kind dnsmessage.Type) string {
		var m dnsmessage.Message
		if err := m.Unpack(e.reply(question(t, name, kind))); err != nil || m.ID != 7 || m.Questions[0].Name.String() != name {
			t.Fatalf("%s: %+v %v", name, m, err)
		}
		said := m.RCode.String()
		for _, a := range m.Answers {
			said += fmt.Sprint(" ", netip.AddrFrom4(a.Body.(*dnsmessage.AResource).A))
		}
		return strings.TrimPrefix(said, "RCode")
	}
	for _, row := range []struct {
		name string
		kind dnsmessage.Type
		want string
	}{
		{"example.com.", dnsmessage.TypeA, "Success 127.9.0.1"},
		{"eXaMpLe.CoM.", dnsmessage.TypeA, "Success 127.9.0.1"},
		{"b.example.com.", dnsmessage.TypeA, "Success 127.9.0.2"},
		{"example.com.", dnsmessage.TypeAAAA, "Success"},
		{"example.com.", dnsmessage.TypeTXT, "Success"},
		{"example.com.", 65, "Success"},
		{"other.org.", dnsmessage.TypeA, "NameError"},
		{"c2VjcmV0.other.org.", dnsmessage.TypeTXT, "NameError"},
		{"other.org.", dnsmessage.TypeAAAA, "NameError"},
		{".", dnsmessage.TypeNS, "NameError"},
		{"1.0.0.127.in-addr.arpa.", dnsmessage.TypePTR, "NameError"},
		{"127.0.0.1.", dnsmessage.TypeA, "NameError"},
		{strings.Repeat("a", 63) + ".example.com.", dnsmessage.TypeA, "Success 127.9.0.3"},
	} {
		if got := ask(row.name, row.kind); got != row.want {
			t.Errorf("%s %v: %s, want %s", row.name, row.kind, got, row.want)
		}
	}
	if refused := e.Close(); len(refused) != 1 || refused[0].Host != "other.org" {
		t.Errorf("%+v", refused)
	}
}

func TestAFloodOfQuestionsIsBounded(t *testing.T) {
	t.Parallel()
	e := open(t)
	for i := range 2 * mostNames {
		e.reply(question(t, fmt.Sprintf("%d.example.com.", i), dnsmessage.TypeA))
		e.reply(question(t, fmt.Sprintf("%d.other.org.", i), dnsmessage.TypeA))
	}
	if refused := e.Close(); len(refused) != mostRefused || len(e.hosts) != mostNames {
		t.Errorf("%d refused, %d names", len(refused), len(e.hosts))
	}
}

func TestAFloodOfQuestionsThatAPersonWouldBeAskedIsBounded(t *testing.T) {
	t.Parallel()
	e := open(t)
	ask := make(chan struct{})
	e.cfg.Ask = func(ctx context.Context, a core.HostAsk) *core.JobRefusal {
		select {
		case <-ask:
		case <-ctx.Done():
		}
		return &core.JobRefusal{Host: a.Host, Why: "no"}
	}
	held, nobody := 0, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}
	for i := range 2 * mostHeld {
		if e.hold(question(t, fmt.Sprintf("%d.other.org.", i), dnsmessage.TypeA), nobody) {
			held++
		}
	}
	for name, kind := range map[string]dnsmessage.Type{"example.com.": dnsmessage.TypeA, "x.org.": dnsmessage.TypeTXT, "127.0.0.1.": 1} {
		if e.hold(question(t, name, kind), nobody) {
			t.Errorf("a person is asked for %s", name)
		}
	}
	close(ask)
	e.Close()
	if held != mostHeld {
		t.Errorf("%d wait for a person", held)
	}
	if e.cfg.Ask = nil; len(e.asked) != mostHeld {
		t.Errorf("%d answers", len(e.asked))
	}
}

func TestOnlyNamesOfHostsAreNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Example.COM.": "example.com", "_dns.a-b.c": "_dns.a-b.c", "xn--mnchen-3ya.de": "xn--mnchen-3ya.de",
		"": "", ".": "", "a..b": "", "a.b..": "", "münchen.de": "", "a b.c": "", "a/b": "", "a\x00b.c": "",
		"127.0.0.1": "", "a.1": "", "a.0x7f": "",
		strings.Repeat("a", 64) + ".b": "", strings.Repeat("a.", 127) + "bc": "", "*.example.com": "", "[::1]": "",
	} {
		if got, _ := hostname(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// FuzzReply sends the resolver whatever there is.
func FuzzReply(f *testing.F) {
	e := &Egress{cfg: Config{Allows: func(string, bool) bool { return true }}, names: map[string]int{}}
	f.Add([]byte{0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, 1, 0, 1})
	f.Add([]byte{0, 7, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1})
	f.Fuzz(func(t *testing.T, query []byte) {
		var m dnsmessage.Message
		if reply := e.reply(query); reply != nil && m.Unpack(reply) != nil {
			t.Errorf("%x is answered with %x", query, reply)
		}
	})
}

func TestATLSHelloThatHidesItsServerIsNotTrusted(t *testing.T) {
	t.Parallel()
	hello := func(config *tls.Config) (string, error) {
		ours, theirs := net.Pipe()
		defer func() { _ = ours.Close() }() // the handshake ends with it
		go func() { _ = tls.Client(theirs, config).HandshakeContext(t.Context()) }()
		return tlsName(t.Context(), ours)
	}
	if name, err := hello(&tls.Config{ServerName: "example.com"}); name != "example.com" || err != nil {
		t.Error(name, err)
	}
	if name, err := hello(&tls.Config{InsecureSkipVerify: true}); name != "" || err == nil {
		t.Error(name, err)
	}
	if name, err := hello(&tls.Config{ServerName: "hidden.org", EncryptedClientHelloConfigList: echList(t)}); name != "" ||
		err == nil || !strings.Contains(err.Error(), "ECH") {
		t.Error(name, err)
	}
}

// echList is what a server publishes that can read hidden names. Its public name is example.com.
func echList(t *testing.T) []byte {
	t.Helper()
	key := append([]byte{9}, make([]byte, 31)...) // the base point of X25519
	config := []byte{7, 0, 0x20, 0, 32}
	config = append(config, key...)
	config = append(config, 0, 4, 0, 1, 0, 1, 32, 11)
	config = append(append(config, "example.com"...), 0, 0)
	config = append([]byte{0xfe, 0x0d, 0, byte(len(config))}, config...)
	return append([]byte{0, byte(len(config))}, config...)
}
