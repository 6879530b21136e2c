package index

import (
	"cmp"
	"context"
	"database/sql/driver"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"loci/core/search"
)

// candidates chooses the texts around which to look: by words, by words of those who are named, by days and by vectors.
func (m *matching) candidates(ctx context.Context, q search.Query, st search.Stats, nearest <-chan nearby) (map[int64]bool, error) {
	found := map[int64]bool{}
	g, err := m.gates(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.pick(ctx, q, q.Rarest(st.DF, cmp.Or(m.ask.entries, maxEntries)), g, found); err != nil {
		return nil, err
	}
	if err := m.pickDays(ctx, q.Days(), found); err != nil {
		return nil, err
	}
	return found, m.pickNearest(ctx, <-nearest, found)
}

// nearby is what the vectors found.
type nearby struct {
	seqs []int64
	err  error
}

// nearest begins to search by vectors, which needs nothing of the file. The channel gives the result.
func (m *matching) nearest(ctx context.Context, wg *sync.WaitGroup) <-chan nearby {
	out := make(chan nearby, 1)
	if m.ask.Meaning == nil {
		out <- nearby{}
		return out
	}
	wg.Go(func() {
		seqs, err := m.ask.Meaning.Nearest(ctx)
		out <- nearby{seqs, err}
	})
	return out
}

// gates are the scopes and tags asked for.
func (m *matching) gates(ctx context.Context) (gates, error) {
	var sets [][]string
	if m.owners != nil && m.inReach < m.total {
		var scopes []string
		for _, o := range m.owners {
			scopes = append(scopes, scopeTerm(o))
		}
		sets = append(sets, scopes)
	}
	if m.lane != 0 {
		sets = append(sets, []string{scopeTerm(m.lane)})
	}
	var tags []string
	for _, tag := range m.ask.Filter.Tags {
		if m.ask.Filter.AllTags {
			sets = append(sets, []string{tagTerm(tag)})
		} else {
			tags = append(tags, tagTerm(tag))
		}
	}
	if len(tags) > 0 {
		sets = append(sets, tags)
	}
	if files := m.ask.Filter.Files; len(files) > 0 {
		terms := make([]string, len(files))
		for i, tag := range fileTags(files) {
			terms[i] = tagTerm(tag)
		}
		sets = append(sets, terms)
	}
	var g gates
	for _, terms := range sets {
		lists, err := m.lists(ctx, terms)
		if err != nil {
			return nil, err
		}
		g = append(g, lists)
	}
	return g, nil
}

// pick adds the texts in which the words are worth most, good enough to choose whom to rank, and as many again of those
// who are named. Where only names are left to look for, it adds their newest.
func (m *matching) pick(ctx context.Context, q search.Query, words []string, g gates, found map[int64]bool) error {
	var who []string
	for _, n := range q.Names() {
		who = append(who, whoTerm(n))
	}
	names, err := m.lists(ctx, who)
	if err != nil {
		return err
	}
	lists, err := m.lists(ctx, words)
	if err != nil {
		return err
	}
	n := maxCandidates
	if f := m.ask.Filter; f.From != 0 || f.Until != 0 {
		n = maxScanned // there are no lists of times
	}
	all, theirs := &best{n: n}, &best{n: n}
	score(lists, g, names, all, theirs)
	if len(names) > 0 && len(theirs.list) == 0 {
		newest(names, g, theirs)
	}
	for _, b := range []*best{all, theirs} {
		if err := m.keep(ctx, b.list, found); err != nil {
			return err
		}
	}
	return nil
}

// keep adds the first of a list that are of the times asked for.
func (m *matching) keep(ctx context.Context, list []scored, found map[int64]bool) error {
	f := m.ask.Filter
	kept := 0
	for chunk := range slices.Chunk(list, lookupBatch) {
		timely := map[int64]bool{}
		if f.From != 0 || f.Until != 0 {
			seqs := make([]int64, len(chunk))
			for i, s := range chunk {
				seqs[i] = s.seq
			}
			c := &conditions{}
			c.and("d.seq IN " + numbers(seqs))
			m.times(c, "d")
			var in []int64
			if err := m.tx.SelectContext(ctx, &in, `SELECT d.seq FROM `+m.bySeq()+c.where(), c.args...); err != nil {
				return err
			}
			for _, seq := range in {
				timely[seq] = true
			}
		}
		for _, s := range chunk {
			if (f.From == 0 && f.Until == 0 || timely[s.seq]) && kept < maxCandidates {
				found[s.seq] = true
				kept++
			}
		}
		if kept == maxCandidates {
			return nil
		}
	}
	return nil
}

// pickDays adds texts of the days asked for.
func (m *matching) pickDays(ctx context.Context, spans []search.Span, found map[int64]bool) error {
	if m.owners == nil {
		return nil
	}
	seen := map[search.Span]bool{}
	for _, s := range spans {
		if seen[s] {
			continue
		}
		seen[s] = true
		from, until := minutes(s)
		c := m.scope("d")
		c.and("d.minute >= " + c.arg(from) + " AND d.minute < " + c.arg(until))
		m.filter(c, "d")
		var keys []int64 // which stand in the index: several owners' texts are sorted by it alone
		err := m.tx.SelectContext(ctx, &keys, `SELECT d.key FROM `+m.byMinute()+c.where()+` ORDER BY d.minute LIMIT `+strconv.Itoa(maxDays), c.args...)
		if err != nil {
			return err
		}
		for _, key := range keys {
			found[key&(1<<laneShift-1)] = true
		}
	}
	return nil
}

// pickNearest adds the texts that the vectors found.
func (m *matching) pickNearest(ctx context.Context, nearest nearby, found map[int64]bool) error {
	if nearest.err != nil {
		return nearest.err
	}
	for chunk := range slices.Chunk(nearest.seqs, lookupBatch) {
		c := &conditions{}
		c.and("d.seq IN " + numbers(chunk))
		m.filter(c, "d")
		var rows []struct {
			Key   int64 `db:"key"`
			Owner int64 `db:"owner"`
		}
		if err := m.tx.SelectContext(ctx, &rows, `SELECT d.key, d.owner FROM `+m.bySeq()+c.where(), c.args...); err != nil {
			return err
		}
		for _, r := range rows { // not in the statement, which might go through all of a scope
			if (m.owners == nil || slices.Contains(m.owners, r.Owner)) && (m.lane == 0 || m.lane == r.Key>>laneShift) {
				found[r.Key&(1<<laneShift-1)] = true
			}
		}
	}
	return nil
}

// bySeq and byMinute name the table with the index that must be used: what is known of numbers of rows is too little for
// SQLite to choose well.
func (m *matching) bySeq() string    { return m.t.docs + ` d INDEXED BY ` + m.t.docs + `_seq` }
func (m *matching) byMinute() string { return m.t.docs + ` d INDEXED BY ` + m.t.docs + `_minute` }

// stretch is a part of a lane that is read, from key to key.
type stretch struct {
	From int64 `db:"first"`
	To   int64 `db:"last"`
}

// near reads the candidates and what is around them in their lanes. Only what is close to a candidate may be returned.
func (m *matching) near(ctx context.Context, candidates map[int64]bool) ([]search.Doc, error) {
	seqs := slices.Sorted(maps.Keys(candidates))
	var docs []search.Doc
	var read []stretch
	if m.kind == Passage { // an archive that was filled at once has its texts in a row: that is read before anything is asked
		var err error
		if read, err = m.windows(ctx, seqs); err != nil {
			return nil, err
		}
		if docs, err = m.readStretches(ctx, read); err != nil {
			return nil, err
		}
		seqs = lonely(docs, candidates)
	}
	if len(seqs) > 0 {
		more, err := m.stretches(ctx, seqs)
		if err != nil {
			return nil, err
		}
		others, err := m.readStretches(ctx, more)
		if err != nil {
			return nil, err
		}
		docs, read = together(docs, others), joined(append(read, more...))
	}
	mark(docs, read, candidates)
	return docs, nil
}

// windows returns the keys close to those of candidates, as if there were no gaps in their lanes.
func (m *matching) windows(ctx context.Context, seqs []int64) ([]stretch, error) {
	found := make([]stretch, 0, len(seqs))
	for chunk := range slices.Chunk(seqs, lookupBatch) {
		err := m.each(ctx, `SELECT d.key FROM `+m.bySeq()+` WHERE d.seq IN `+numbers(chunk), nil, func(row []driver.Value) error {
			key, ok := row[0].(int64)
			if !ok {
				return errDamaged
			}
			lane := key >> laneShift
			found = append(found, stretch{max(key-around, docKey(lane, 0)), min(key+around, docKey(lane+1, 0)-1)})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return joined(found), nil
}

// lonely returns the candidates that have fewer neighbours among the docs than a lane may hold.
func lonely(docs []search.Doc, candidates map[int64]bool) []int64 {
	var out []int64
	for i := range docs {
		if !candidates[docs[i].Seq] {
			continue
		}
		before, after := i-around, i+around
		if before < 0 || after >= len(docs) || docs[before].Lane != docs[i].Lane || docs[before].Seq != docs[i].Seq-around ||
			docs[after].Lane != docs[i].Lane || docs[after].Seq != docs[i].Seq+around {
			out = append(out, docs[i].Seq)
		}
	}
	return out
}

// together joins docs in the order of their keys, each once.
func together(a, b []search.Doc) []search.Doc {
	if len(a) == 0 {
		return b
	}
	all := make([]search.Doc, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch order := byKey(a[0], b[0]); {
		case order < 0:
			all, a = append(all, a[0]), a[1:]
		case order > 0:
			all, b = append(all, b[0]), b[1:]
		default:
			b = b[1:]
		}
	}
	return append(append(all, a...), b...)
}

func byKey(a, b search.Doc) int {
	return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Seq, b.Seq))
}

// mostExpected is how many documents there is room for before they are read.
const mostExpected = 1 << 12

func (m *matching) readStretches(ctx context.Context, stretches []stretch) ([]search.Doc, error) {
	var docs []search.Doc
	for chunk := range slices.Chunk(stretches, lookupBatch) {
		values, expect := make([]string, len(chunk)), int64(0)
		for i, s := range chunk {
			expect += min(s.To-s.From+1, mostExpected-expect)
			values[i] = "(" + strconv.FormatInt(s.From, 10) + ", " + strconv.FormatInt(s.To, 10) + ")"
		}
		c := &conditions{}
		c.and("d.key BETWEEN r.first AND r.last")
		read, err := m.read(ctx, "WITH r (first, last) AS (VALUES "+strings.Join(values, ", ")+") ", c, int(expect))
		if err != nil {
			return nil, err
		}
		docs = together(docs, read)
	}
	return docs, nil
}

// stretches returns what lies around candidates, in order, those that touch joined.
func (m *matching) stretches(ctx context.Context, seqs []int64) ([]stretch, error) {
	lane := `((d.key >> ` + strconv.Itoa(laneShift) + `) << ` + strconv.Itoa(laneShift) + `)`
	end := lane + ` + ` + strconv.Itoa(1<<laneShift-1)
	edge := func(between, order, or string) string {
		return `COALESCE((SELECT n.key FROM ` + m.t.docs + ` n WHERE ` + between + ` ORDER BY n.key ` + order + ` LIMIT 1 OFFSET ` + strconv.Itoa(around-1) + `), ` + or + `)`
	}
	var found []stretch
	for chunk := range slices.Chunk(seqs, lookupBatch) {
		var part []stretch
		err := m.tx.SelectContext(ctx, &part, `SELECT `+edge("n.key < d.key AND n.key >= "+lane, "DESC", lane)+` AS first, `+
			edge("n.key > d.key AND n.key <= "+end, "ASC", end)+` AS last FROM `+m.bySeq()+` WHERE d.seq IN `+numbers(chunk))
		if err != nil {
			return nil, err
		}
		found = append(found, part...)
	}
	return joined(found), nil
}

// joined sorts stretches and joins those that touch.
func joined(found []stretch) []stretch {
	slices.SortFunc(found, func(a, b stretch) int { return cmp.Compare(a.From, b.From) })
	out := found[:0]
	for _, s := range found {
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// mark says where documents may be missing and lets only those pass that are close to a candidate.
func mark(docs []search.Doc, stretches []stretch, candidates map[int64]bool) {
	at := 0
	close := make([]bool, len(docs))
	for i := range docs {
		for at < len(stretches) && stretches[at].To < docKey(docs[i].Lane, docs[i].Seq) {
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
