package core

import (
	"fmt"
	"math/big"
	"strings"
)

// Money is an amount of US dollars, in millionths of a millionth of one: a price for each token is a whole number.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1_000_000_000_000

// mostMoney is more than anything costs; sums stop there.
const mostMoney = 1_000_000 * Dollar

// Plus returns the sum, which no amount makes overflow.
func (m Money) Plus(o Money) Money { return min(m+min(o, mostMoney), mostMoney) }

// String writes an amount as people do: $1.23, and the first digits that are not zero below a cent.
func (m Money) String() string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	if m >= Dollar/100 || m == 0 {
		cents := (m + Dollar/200) / (Dollar / 100)
		return fmt.Sprintf("%s$%d.%02d", sign, cents/100, cents%100)
	}
	text := fmt.Sprintf("%012d", int64(m))
	first := strings.IndexFunc(text, func(r rune) bool { return r != '0' })
	return sign + "$0." + text[:min(first+2, len(text))]
}

// Dollars returns the amount as a number of dollars.
func (m Money) Dollars() float64 { return float64(m) / float64(Dollar) }

// ParseMoney reads an amount of dollars, like 2.50 or $2.50.
func ParseMoney(text string) (Money, error) {
	bad := E(Invalid, "%q is no amount of money", text).WithHint("write dollars, like 2.50")
	plain := strings.TrimPrefix(strings.TrimSpace(text), "$")
	if plain == "" || len(plain) > 20 || strings.Trim(plain, "0123456789.") != "" {
		return 0, bad
	}
	amount, ok := new(big.Rat).SetString(plain)
	if !ok {
		return 0, bad
	}
	amount.Mul(amount, new(big.Rat).SetInt64(int64(Dollar)))
	if !amount.IsInt() || amount.Cmp(new(big.Rat).SetInt64(int64(mostMoney))) > 0 {
		return 0, bad
	}
	return Money(amount.Num().Int64()), nil
}

// Price is what a model costs, for each token.
type Price struct {
	Input      Money `json:"input"`
	Output     Money `json:"output"`
	CacheRead  Money `json:"cache_read"`
	CacheWrite Money `json:"cache_write"`
	// Above are the prices of requests with more tokens than a limit, by rising limits.
	Above []PriceAbove `json:"above,omitempty"`
}

// PriceAbove is what requests with more tokens than Over cost.
type PriceAbove struct {
	Over       int   `json:"over"`
	Input      Money `json:"input"`
	Output     Money `json:"output"`
	CacheRead  Money `json:"cache_read"`
	CacheWrite Money `json:"cache_write"`
}

// at is the price of a request of a size.
func (p *Price) at(prompt int) Price {
	now := *p
	for _, a := range p.Above {
		if prompt > a.Over {
			now = Price{Input: a.Input, Output: a.Output, CacheRead: a.CacheRead, CacheWrite: a.CacheWrite}
		}
	}
	return now
}

// Of returns what a call cost. What is kept for an hour costs as much more as it does with whoever sells both: twice what is
// sent, where the shorter time costs one and a quarter.
func (p *Price) Of(u Usage) Money {
	now := p.at(u.Prompt)
	part := func(n *int) int {
		if n == nil {
			return 0
		}
		return max(*n, 0)
	}
	read, hour := part(u.Cached), part(u.CacheWriteHour)
	short := max(part(u.CacheWrite)-hour, 0)
	plain := max(u.Prompt-read-short-hour, 0)
	return Money(0).Plus(Money(plain) * now.Input).Plus(Money(read) * now.CacheRead).Plus(Money(short) * now.CacheWrite).
		Plus(Money(hour) * (now.CacheWrite / 5 * 8)).Plus(Money(max(u.Completion, 0)) * now.Output)
}

// Asking returns the most that a request of a size costs before its answer: nothing of it is read from a cache, and all may
// be written to one.
func (p *Price) Asking(prompt int) Money {
	now := p.at(prompt)
	return Money(0).Plus(Money(max(prompt, 0)) * max(now.Input, now.CacheWrite))
}

// Answering returns what each token of the answer to a request of a size costs.
func (p *Price) Answering(prompt int) Money { return p.at(prompt).Output }
