package index

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"loci/core/search"
)

// candidates chooses the texts around which to look: by words, by words of those who are named, by days and by vectors.
func (m *matching) candidates(ctx context.Context, q search.Query, st search.Stats) (map[int64]bool, error) {
	found := map[int64]bool{}
	names := q.Names()
	said := int64(0)
	for _, n := range names {
		said += int64(st.Speakers[n])
	}
	words, common := q.Rarest(m.costs(st.DF), hitBudget)
	if len(words) > 0 {
		if err := m.pick(ctx, picking{words: words, common: common, names: names}, found); err != nil {
			return nil, err
		}
	}
	if len(names) > 0 && (len(words) == 0 || said*rareSpeaker < m.inReach) {
		apart := picking{words: words, who: names, common: len(words) == 0 || common}
		if err := m.pick(ctx, apart, found); err != nil {
			return nil, err
		}
	}
	if err := m.pickDays(ctx, q.Days(), found); err != nil {
		return nil, err
	}
	return found, m.pickNearest(ctx, found)
}

// apart says that the scope is so small a part of all that FTS5 looks for it, too; otherwise it is checked on the way.
func (m *matching) apart() bool { return m.inReach*rareScope < m.total }

// costs are in how many texts FTS5 finds the words.
func (m *matching) costs(df map[string]int) map[string]int {
	if !m.apart() {
		return df
	}
	costs := make(map[string]int, len(df))
	for w, n := range df {
		costs[w] = min(n, int(m.inReach))
	}
	return costs
}

// picking is one query of FTS5.
type picking struct {
	words  []string
	who    []string // only what these said
	names  []string // of what these said, as many again
	common bool     // too many texts to compare: the newest
}

// pick adds the best texts by FTS5's own measure, good enough to choose whom to rank. It reads them in that order until
// there are enough of all and, if somebody is named, of theirs.
func (m *matching) pick(ctx context.Context, p picking, found map[int64]bool) error {
	c := m.scope("d")
	match := c.arg(m.expression(p))
	m.filter(c, "d")
	c.and(m.t.words + " MATCH " + match)
	order := " ORDER BY rank"
	if p.common {
		order = " ORDER BY " + m.t.words + ".rowid DESC"
	} else {
		c.and("rank MATCH 'bm25(0.0, 0.0, 1.0)'")
	}
	rows, err := m.tx.QueryxContext(ctx, `SELECT d.seq, d.who FROM `+m.t.words+` CROSS JOIN `+m.t.docs+` d ON d.seq = `+m.t.words+`.rowid`+
		c.where()+order+` LIMIT `+strconv.Itoa(maxScanned), c.args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // what was read is complete or Err says so
	all, theirs := 0, 0
	for rows.Next() {
		var seq int64
		var who string
		if err := rows.Scan(&seq, &who); err != nil {
			return err
		}
		named := len(p.names) > 0 && theirs < maxCandidates && slices.ContainsFunc(search.NameParts(who), func(part string) bool { return slices.Contains(p.names, part) })
		if all < maxCandidates || named {
			found[seq] = true
		}
		all++
		if named {
			theirs++
		}
		if all >= maxCandidates && (len(p.names) == 0 || theirs >= maxCandidates || all >= maxCandidates*rareSpeaker) {
			break
		}
	}
	return rows.Err()
}

// expression makes the MATCH text: own words only, each quoted.
func (m *matching) expression(p picking) string {
	var parts []string
	if m.apart() {
		var scopes []string
		for _, o := range m.owners {
			scopes = append(scopes, quote(scopeToken(o)))
		}
		if m.lane != 0 {
			scopes = []string{quote(scopeToken(m.lane))}
		}
		if len(scopes) > 0 {
			parts = append(parts, `scope : (`+strings.Join(scopes, " OR ")+`)`)
		}
	}
	if len(p.who) > 0 {
		parts = append(parts, `who : (`+quoted(p.who)+`)`)
	}
	if len(p.words) > 0 {
		parts = append(parts, `body : (`+quoted(p.words)+`)`)
	}
	return strings.Join(parts, " AND ")
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quote(w)
	}
	return strings.Join(out, " OR ")
}

func quote(word string) string { return `"` + strings.ReplaceAll(word, `"`, `""`) + `"` }

// pickDays adds texts of the days asked for.
func (m *matching) pickDays(ctx context.Context, spans []search.Span, found map[int64]bool) error {
	if m.owners == nil {
		return nil
	}
	for _, s := range spans {
		from, until := minutes(s)
		c := m.scope("d")
		c.and("d.minute >= " + c.arg(from) + " AND d.minute < " + c.arg(until))
		m.filter(c, "d")
		var seqs []int64
		err := m.tx.SelectContext(ctx, &seqs, `SELECT d.seq FROM `+m.t.docs+` d`+c.where()+` ORDER BY d.minute LIMIT `+strconv.Itoa(maxDays), c.args...)
		if err != nil {
			return err
		}
		for _, seq := range seqs {
			found[seq] = true
		}
	}
	return nil
}

// pickNearest adds the texts that the vectors found.
func (m *matching) pickNearest(ctx context.Context, found map[int64]bool) error {
	if m.ask.Meaning == nil {
		return nil
	}
	nearest, err := m.ask.Meaning.Nearest(ctx)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(nearest, lookupBatch) {
		c := m.scope("d")
		c.and("d.seq IN " + numbers(chunk))
		m.filter(c, "d")
		var seqs []int64
		if err := m.tx.SelectContext(ctx, &seqs, `SELECT d.seq FROM `+m.t.docs+` d`+c.where(), c.args...); err != nil {
			return err
		}
		for _, seq := range seqs {
			found[seq] = true
		}
	}
	return nil
}

// stretch is a part of a lane that is read.
type stretch struct {
	Lane int64 `db:"lane"`
	From int64 `db:"first"`
	To   int64 `db:"last"`
}

// near reads the candidates and what is around them in their lanes. Only what is close to a candidate may be returned.
func (m *matching) near(ctx context.Context, candidates map[int64]bool) ([]search.Doc, error) {
	stretches, err := m.stretches(ctx, candidates)
	if err != nil {
		return nil, err
	}
	var docs []search.Doc
	for chunk := range slices.Chunk(stretches, lookupBatch) {
		values := make([]string, len(chunk))
		for i, s := range chunk {
			values[i] = "(" + strconv.FormatInt(s.Lane, 10) + ", " + strconv.FormatInt(s.From, 10) + ", " + strconv.FormatInt(s.To, 10) + ")"
		}
		c := &conditions{}
		c.and("d.lane = r.lane AND d.seq BETWEEN r.first AND r.last")
		read, err := m.read(ctx, "WITH r (lane, first, last) AS (VALUES "+strings.Join(values, ", ")+") ", c)
		if err != nil {
			return nil, err
		}
		docs = append(docs, read...)
	}
	mark(docs, stretches, candidates)
	return docs, nil
}

// stretches returns what lies around the candidates, in order, those that touch joined.
func (m *matching) stretches(ctx context.Context, candidates map[int64]bool) ([]stretch, error) {
	seqs := make([]int64, 0, len(candidates))
	for seq := range candidates {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	var found []stretch
	end := func(compare, order, edge string) string {
		return `COALESCE((SELECT n.seq FROM ` + m.t.docs + ` n WHERE n.lane = d.lane AND n.seq ` + compare + ` d.seq ORDER BY n.seq ` + order +
			` LIMIT 1 OFFSET ` + strconv.Itoa(around-1) + `), ` + edge + `)`
	}
	for chunk := range slices.Chunk(seqs, lookupBatch) {
		var part []stretch
		err := m.tx.SelectContext(ctx, &part, `SELECT d.lane, `+end("<", "DESC", "0")+` AS first, `+end(">", "ASC", "9223372036854775807")+` AS last
			FROM `+m.t.docs+` d WHERE d.seq IN `+numbers(chunk))
		if err != nil {
			return nil, err
		}
		found = append(found, part...)
	}
	slices.SortFunc(found, func(a, b stretch) int {
		if a.Lane != b.Lane {
			return int(max(-1, min(1, a.Lane-b.Lane)))
		}
		return int(max(-1, min(1, a.From-b.From)))
	})
	joined := found[:0]
	for _, s := range found {
		if n := len(joined); n > 0 && joined[n-1].Lane == s.Lane && s.From <= joined[n-1].To {
			joined[n-1].To = max(joined[n-1].To, s.To)
			continue
		}
		joined = append(joined, s)
	}
	return joined, nil
}

// mark says where documents may be missing and lets only those pass that are close to a candidate.
func mark(docs []search.Doc, stretches []stretch, candidates map[int64]bool) {
	at := 0
	close := make([]bool, len(docs))
	for i := range docs {
		for at < len(stretches) && (stretches[at].Lane < docs[i].Lane || stretches[at].Lane == docs[i].Lane && stretches[at].To < docs[i].Seq) {
			at++
			docs[i].Gap = true
		}
		docs[i].Gap = docs[i].Gap || i == 0
		if candidates[docs[i].Seq] {
			close[i] = true
		}
	}
	for i := range docs {
		if !candidates[docs[i].Seq] {
			continue
		}
		for by, j := 1, i-1; by <= returned && j >= 0 && !docs[j+1].Gap; by, j = by+1, j-1 {
			close[j] = true
		}
		for by, j := 1, i+1; by <= returned && j < len(docs) && !docs[j].Gap; by, j = by+1, j+1 {
			close[j] = true
		}
	}
	for i := range docs {
		docs[i].Allowed = docs[i].Allowed && close[i]
	}
}
