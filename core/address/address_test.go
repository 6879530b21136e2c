package address_test

import (
	"net/netip"
	"strings"
	"testing"

	"loci/core"
	"loci/core/address"
)

func TestOnlyAddressesOfThePublicInternetAreDialled(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"93.184.216.34": "", "8.8.8.8": "", "172.15.255.255": "", "172.32.0.0": "", "100.63.255.255": "", "100.128.0.0": "",
		"2606:4700::1111": "", "2a00:1450:4001::1": "", "::ffff:93.184.216.34": "",

		"127.0.0.1": "machine itself", "127.255.255.254": "machine itself", "0.0.0.0": "machine itself", "0.1.2.3": "machine itself",
		"10.0.0.1": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private",
		"100.64.0.1": "provider", "169.254.1.1": "local link", "169.254.169.254": "metadata", "168.63.129.16": "metadata",
		"100.100.100.200": "metadata", "192.0.0.192": "special", "192.0.2.1": "documentation", "192.88.99.1": "another one",
		"198.18.0.1": "measurements", "198.51.100.9": "documentation", "203.0.113.9": "documentation", "224.0.0.1": "group",
		"240.0.0.1": "special", "255.255.255.255": "special",

		"::1": "machine itself", "::": "machine itself", "fd00:ec2::254": "metadata", "fd12::1": "private", "fec0::1": "private",
		"fe80::1": "local link", "fe80::1%eth0": "local link", "2606:4700::1%eth0": "local link", "ff02::1": "group",
		"::ffff:127.0.0.1": "machine itself", "::ffff:a9fe:a9fe": "metadata", "::127.0.0.1": "special",
		"64:ff9b::7f00:1": "another one", "64:ff9b:1::a00:1": "another one", "2002:7f00:1::": "another one", "2001:0:1::1": "another one",
		"2001:2::1": "special", "2001:db8::1": "documentation", "3fff::1": "documentation", "100::1": "special", "5f00::1": "special",
	} {
		a := netip.MustParseAddr(text)
		err := address.Public(a, nil)
		if got := address.Kind(a); (want == "") != (got == "") || !strings.Contains(got, want) || (err == nil) != (want == "") {
			t.Errorf("%s is an address %q (%v), want %q", text, got, err, want)
		}
	}
	if address.Kind(netip.Addr{}) == "" {
		t.Error("an address that can't be read passes")
	}
}

func TestAnAddressOfThisMachineIsNotDialledAlthoughItIsPublic(t *testing.T) {
	t.Parallel()
	own := []netip.Addr{netip.MustParseAddr("::ffff:93.184.216.34")}
	err := address.Public(netip.MustParseAddr("93.184.216.34"), own)
	if core.KindOf(err) != core.Forbidden || !strings.Contains(err.Error(), "of this machine itself") {
		t.Errorf("%v", err)
	}
	if err := address.Public(netip.MustParseAddr("93.184.216.35"), own); err != nil {
		t.Error(err)
	}
}
