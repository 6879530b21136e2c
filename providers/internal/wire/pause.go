package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"loci/core"
)

// pauseOf returns how long the server wants us to wait: by its headers, its message, or the time its limits reset.
func pauseOf(kind core.Kind, h http.Header, words string) time.Duration {
	if d := retryAfter(h); d > 0 {
		return d
	}
	if kind != core.RateLimited && kind != core.Unavailable {
		return 0
	}
	if d := pauseIn(words); d > 0 {
		return d
	}
	if kind == core.RateLimited {
		return resetAfter(h)
	}
	return 0
}

// pause is how long the server wants us to wait: by what the error holds, or else as pauseOf finds it.
func (s *errorBody) pause(kind core.Kind, h http.Header) time.Duration {
	if s.again > 0 && (kind == core.RateLimited || kind == core.Unavailable) {
		return s.again
	}
	return pauseOf(kind, h, s.text)
}

// retryAfter reads the headers that say it directly.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(ms / 1000)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return bounded(s)
	}
	if at, err := http.ParseTime(v); err == nil {
		return until(at)
	}
	return 0
}

// pauseIn finds "try again in 2.5s" in a server's message.
func pauseIn(words string) time.Duration {
	words = strings.ToLower(words)
	for _, before := range []string{"try again in ", "retry in ", "retry after ", "available in "} {
		if _, rest, ok := strings.Cut(words, before); ok {
			if d := span(strings.TrimPrefix(rest, "about ")); d > 0 {
				return d
			}
		}
	}
	return 0
}

// span reads a duration at the start of a text: "2.5s", "1m30s", "20 seconds"; a bare number is seconds.
func span(text string) time.Duration {
	seconds := 0.0
	for {
		text = strings.TrimLeft(text, " ")
		digits := strings.IndexFunc(text+"!", func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		n, err := strconv.ParseFloat(text[:digits], 64)
		if err != nil {
			return bounded(seconds)
		}
		text = strings.TrimLeft(text[digits:], " ")
		letters := strings.IndexFunc(text+"!", func(r rune) bool { return r < 'a' || r > 'z' })
		unit := 1.0
		switch u := text[:letters]; {
		case u == "ms" || strings.HasPrefix(u, "milli"):
			unit = 0.001
		case u == "m" || strings.HasPrefix(u, "min"):
			unit = 60
		case u == "h" || strings.HasPrefix(u, "hour"):
			unit = 3600
		case u == "d" || strings.HasPrefix(u, "day"):
			unit = 86400
		case u != "s" && !strings.HasPrefix(u, "sec"):
			return bounded(seconds + n) // a bare number, or the last one
		}
		seconds += n * unit
		text = text[letters:]
	}
}

// resetAfter reads the headers that say when a limit resets: as a duration or a point in time. If there are several
// limits, only exhausted ones count.
func resetAfter(h http.Header) time.Duration {
	var longest time.Duration
	for name, values := range h {
		lower := strings.ToLower(name)
		if !strings.Contains(lower, "ratelimit") || !strings.Contains(lower, "reset") || len(values) == 0 {
			continue
		}
		remaining := h.Get(strings.Replace(lower, "reset", "remaining", 1))
		if n, err := strconv.ParseFloat(remaining, 64); err == nil && n > 0 {
			continue
		}
		longest = max(longest, moment(strings.TrimSpace(values[0])))
	}
	return longest
}

// moment reads "2.5s", "60", a Unix time in seconds or milliseconds, or a date.
func moment(v string) time.Duration {
	n, err := strconv.ParseFloat(v, 64)
	switch {
	case err == nil && n > 5e11:
		return until(time.UnixMilli(int64(min(n, 1e15))))
	case err == nil && n > 5e8:
		return until(time.Unix(int64(n), 0))
	case err == nil:
		return bounded(n)
	}
	if at, err := time.Parse(time.RFC3339, v); err == nil {
		return until(at)
	}
	return span(strings.ToLower(v))
}

const longestAsked = 24 * time.Hour

func until(at time.Time) time.Duration { return min(max(time.Until(at), 0), longestAsked) }

func bounded(seconds float64) time.Duration {
	return time.Duration(min(max(seconds, 0), longestAsked.Seconds()) * float64(time.Second))
}
