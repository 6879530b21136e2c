package index

import (
	"cmp"
	"context"
	"database/sql/driver"
	"maps"
	"slices"
	"strconv"

	"loci/core/search"
)

// Candidates picks the texts to look around.
func (v *View) Candidates(ctx context.Context, c search.Clues) (map[int64]bool, error) {
	found := map[int64]bool{}
	var err error
	if len(c.Words)+len(c.Near)+len(c.Names) > 0 {
		err = v.pick(ctx, c, found)
	}
	if err == nil {
		err = v.pickDays(ctx, c.Days, found)
	}
	if err == nil {
		err = v.pickNearest(ctx, c.Nearest, found)
	}
	return found, v.met(err)
}

// gates returns the scopes and tags of the filter.
func (v *View) gates(ctx context.Context) (gates, error) {
	var sets [][]string
	if v.owners != nil && v.inReach < v.total {
		var scopes []string
		for _, o := range v.owners {
			scopes = append(scopes, scopeTerm(o))
		}
		sets = append(sets, scopes)
	}
	if v.lane != 0 {
		sets = append(sets, []string{scopeTerm(v.lane)})
	}
	var tags []string
	for _, tag := range v.ask.Filter.Tags {
		if v.ask.Filter.AllTags {
			sets = append(sets, []string{tagTerm(tag)})
		} else {
			tags = append(tags, tagTerm(tag))
		}
	}
	if len(tags) > 0 {
		sets = append(sets, tags)
	}
	if files := v.ask.Filter.Files; len(files) > 0 {
		terms := make([]string, len(files))
		for i, tag := range fileTags(files) {
			terms[i] = tagTerm(tag)
		}
		sets = append(sets, terms)
	}
	var g gates
	for _, terms := range sets {
		lists, err := v.lists(ctx, terms)
		if err != nil {
			return nil, err
		}
		g = append(g, lists)
	}
	return g, nil
}

// pick adds the texts that score best for the words, precise enough to choose what to rank, and as many again of the
// named speakers' texts. If no text of theirs matches a word, it adds their newest.
func (v *View) pick(ctx context.Context, c search.Clues, found map[int64]bool) error {
	g, err := v.gates(ctx)
	if err != nil {
		return err
	}
	var who []string
	for _, n := range c.Names {
		who = append(who, whoTerm(n))
	}
	names, err := v.lists(ctx, who)
	if err != nil {
		return err
	}
	own, err := v.lists(ctx, c.Words)
	if err != nil {
		return err
	}
	near, err := v.relatives(ctx, c.Near)
	if err != nil {
		return err
	}
	n := maxCandidates
	if f := v.ask.Filter; f.From != 0 || f.Until != 0 {
		n = maxScanned // times have no postings lists
	}
	p := picks{own: best{n: n}, akin: best{n: n}, theirs: best{n: n}}
	p.score(own, near, g, names)
	if len(names) > 0 && len(p.theirs.list) == 0 {
		newest(names, g, &p.theirs)
	}
	all := slices.Concat(p.own.list, p.akin.list)
	slices.SortFunc(all, better)
	if err := v.keep(ctx, all, found); err != nil {
		return err
	}
	return v.keep(ctx, p.theirs.list, found)
}

// keep adds the first of a list that fall within the filter's times.
func (v *View) keep(ctx context.Context, list []docScore, found map[int64]bool) error {
	f := v.ask.Filter
	kept, akin := 0, 0
	for chunk := range slices.Chunk(list, lookupBatch) {
		var timely map[int64]bool
		if f.From != 0 || f.Until != 0 {
			timely = map[int64]bool{}
			seqs := make([]int64, len(chunk))
			for i, s := range chunk {
				seqs[i] = s.seq
			}
			c, err := inList(seqs)
			if err != nil {
				return err
			}
			v.times(c, "d")
			var in []int64
			if err := v.tx.SelectContext(ctx, &in, `SELECT d.seq FROM `+v.bySeq()+c.where(), c.args...); err != nil {
				return err
			}
			for _, seq := range in {
				timely[seq] = true
			}
		}
		for _, s := range chunk {
			if timely != nil && !timely[s.seq] || s.akin && akin == maxAkin {
				continue
			}
			found[s.seq] = true
			if s.akin {
				akin++
			}
			if kept++; kept == maxCandidates {
				return nil
			}
		}
	}
	return nil
}

// pickDays adds texts from the days asked for.
func (v *View) pickDays(ctx context.Context, spans []search.Span, found map[int64]bool) error {
	if v.owners == nil {
		return nil
	}
	seen := map[search.Span]bool{}
	for _, s := range spans {
		if seen[s] {
			continue
		}
		seen[s] = true
		from, until := minutes(s)
		c := v.scope("d")
		c.and("d.minute >= " + c.arg(from) + " AND d.minute < " + c.arg(until))
		v.filter(c, "d")
		var keys []int64 // read from the index alone, so sorting several owners' texts stays cheap
		err := v.tx.SelectContext(
			ctx,
			&keys,
			`SELECT d.key FROM `+v.byMinute()+c.where()+` ORDER BY d.minute LIMIT `+strconv.Itoa(maxDays),
			c.args...)
		if err != nil {
			return err
		}
		for _, key := range keys {
			found[key&(1<<laneShift-1)] = true
		}
	}
	return nil
}

// pickNearest adds the vector hits that pass the filter.
func (v *View) pickNearest(ctx context.Context, nearest []int64, found map[int64]bool) error {
	if len(nearest) == 0 {
		return nil
	}
	c, err := inList(nearest)
	if err != nil {
		return err
	}
	v.filter(c, "d")
	return v.each(ctx, `SELECT d.key, d.owner FROM `+v.bySeq()+c.where(), c.args, func(row []driver.Value) error {
		key, ok0 := row[0].(int64)
		owner, ok1 := row[1].(int64)
		if !ok0 || !ok1 {
			return errDamaged
		}
		// not in SQL, which might scan a whole scope
		if (v.owners == nil || slices.Contains(v.owners, owner)) && (v.lane == 0 || v.lane == key>>laneShift) {
			found[key&(1<<laneShift-1)] = true
		}
		return nil
	})
}

// inList returns the condition that documents read by bySeq are those of a list.
func inList(seqs []int64) (*conditions, error) {
	list, err := listed(seqs)
	c := &conditions{args: []any{list}} // $1, which among reads
	c.and("d.seq = j.value")
	return c, err
}

// bySeq and byMinute name the table with the index to use: SQLite has too few row statistics to choose well. The former joins it
// with a list of seqs.
func (v *View) bySeq() string    { return among + v.t.docs + ` d INDEXED BY ` + v.t.docs + `_seq` }
func (v *View) byMinute() string { return v.t.docs + ` d INDEXED BY ` + v.t.docs + `_minute` }

// stretch is the part of a lane to read, from key to key.
type stretch struct{ From, To int64 }

// Near reads the candidates and their neighbours in the same lanes. Only texts close to a candidate may be returned.
func (v *View) Near(ctx context.Context, candidates map[int64]bool) ([]search.Doc, error) {
	docs, err := v.near(ctx, candidates)
	if err != nil {
		return nil, v.met(err)
	}
	return without(docs, v.ask.Without), nil
}

func (v *View) near(ctx context.Context, candidates map[int64]bool) ([]search.Doc, error) {
	seqs := slices.Sorted(maps.Keys(candidates))
	var docs []search.Doc
	var read []stretch
	if v.kind == search.Passage { // an archive filled in one go has consecutive texts: read those before querying for neighbours
		var err error
		if read, err = v.windows(ctx, seqs); err != nil {
			return nil, err
		}
		if docs, err = v.readStretches(ctx, read); err != nil {
			return nil, err
		}
		seqs = lonely(docs, candidates)
	}
	if len(seqs) > 0 {
		more, err := v.stretches(ctx, seqs)
		if err != nil {
			return nil, err
		}
		others, err := v.readStretches(ctx, more)
		if err != nil {
			return nil, err
		}
		docs, read = together(docs, others), joined(append(read, more...))
	}
	mark(docs, read, candidates)
	return docs, nil
}

// windows returns the keys around those of candidates, as if their lanes had no gaps.
func (v *View) windows(ctx context.Context, seqs []int64) ([]stretch, error) {
	c, err := inList(seqs)
	if err != nil {
		return nil, err
	}
	found := make([]stretch, 0, len(seqs))
	err = v.each(ctx, `SELECT d.key FROM `+v.bySeq()+c.where(), c.args, func(row []driver.Value) error {
		key, ok := row[0].(int64)
		if !ok {
			return errDamaged
		}
		lane := key >> laneShift
		found = append(found, stretch{max(key-around, docKey(lane, 0)), min(key+around, docKey(lane+1, 0)-1)})
		return nil
	})
	return joined(found), err
}

// lonely returns the candidates with fewer neighbours among docs than their lane may hold.
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

// together merges docs in key order, without duplicates.
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

// mostExpected caps how many documents are allocated for before reading.
const mostExpected = 1 << 12

func (v *View) readStretches(ctx context.Context, stretches []stretch) ([]search.Doc, error) {
	if len(stretches) == 0 {
		return nil, nil
	}
	list, expect := make([]byte, 0, 48*len(stretches)), int64(0)
	for i, s := range stretches { // {"from": to, …}
		expect += min(s.To-s.From+1, mostExpected-expect)
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, '"')
		list = strconv.AppendInt(list, s.From, 10)
		list = append(list, "\":"...)
		list = strconv.AppendInt(list, s.To, 10)
	}
	c := &conditions{args: []any{"{" + string(list) + "}"}}
	c.and("d.key BETWEEN CAST(j.key AS INTEGER) AND j.value")
	return v.read(ctx, among, c, int(expect))
}

// stretches returns what surrounds the candidates, in order, with overlapping stretches joined.
func (v *View) stretches(ctx context.Context, seqs []int64) ([]stretch, error) {
	lane := `((d.key >> ` + strconv.Itoa(laneShift) + `) << ` + strconv.Itoa(laneShift) + `)`
	end := lane + ` + ` + strconv.Itoa(1<<laneShift-1)
	edge := func(between, order, or string) string {
		return `COALESCE((SELECT n.key FROM ` + v.t.docs + ` n WHERE ` + between + ` ORDER BY n.key ` + order + ` LIMIT 1 OFFSET ` +
			strconv.Itoa(around-1) + `), ` + or + `)`
	}
	c, err := inList(seqs)
	if err != nil {
		return nil, err
	}
	found := make([]stretch, 0, len(seqs))
	err = v.each(ctx, `SELECT `+edge("n.key < d.key AND n.key >= "+lane, "DESC", lane)+`, `+
		edge("n.key > d.key AND n.key <= "+end, "ASC", end)+` FROM `+v.bySeq()+c.where(), c.args, func(row []driver.Value) error {
		first, ok0 := row[0].(int64)
		last, ok1 := row[1].(int64)
		if !ok0 || !ok1 {
			return errDamaged
		}
		found = append(found, stretch{first, last})
		return nil
	})
	return joined(found), err
}

// joined sorts stretches and joins those that overlap.
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

// mark sets Gap where documents may be missing and allows only those close to a candidate.
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
