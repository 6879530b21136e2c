package index

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"loci/core/search"
)

// conditions are joined by AND; they use $N for the arguments, which stand in the order in which they were added.
type conditions struct {
	texts []string
	args  []any
}

// arg adds an argument and returns its place.
func (c *conditions) arg(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

func (c *conditions) list(values []string) string {
	places := make([]string, len(values))
	for i, v := range values {
		places[i] = c.arg(v)
	}
	return "(" + strings.Join(places, ", ") + ")"
}

func (c *conditions) and(text string) { c.texts = append(c.texts, text) }

func (c *conditions) where() string {
	if len(c.texts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.texts, " AND ")
}

// numbers writes a list of our own numbers.
func numbers(list []int64) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

func number(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// scope restricts documents to what was asked for: the only condition that is also one of neighbours.
func (m *matching) scope(alias string) *conditions {
	c := &conditions{}
	if m.owners != nil {
		c.and(alias + ".owner IN " + numbers(m.owners))
	}
	if m.lane != 0 {
		c.and(inLane(alias+".key", m.lane))
	}
	return c
}

// filter adds what a result must fulfil, but for roles: an answer inherits from a question that somebody else asked.
func (m *matching) filter(c *conditions, alias string) {
	m.times(c, alias)
	if m.ask.Filter.tagged() {
		c.and(m.tagged(c, alias))
	}
}

func (m *matching) times(c *conditions, alias string) {
	if from := m.ask.Filter.From; from != 0 {
		c.and(alias + ".at >= " + c.arg(from))
	}
	if until := m.ask.Filter.Until; until != 0 {
		c.and(alias + ".at < " + c.arg(until))
	}
}

// tagged reports whether a filter goes by what stands among the tags.
func (f *Filter) tagged() bool { return len(f.Tags)+len(f.Files) > 0 }

func (m *matching) tagged(c *conditions, alias string) string {
	var each []string
	has := func(either []string) {
		each = append(each, `EXISTS (SELECT 1 FROM `+m.t.tags+` g WHERE g.seq = `+alias+`.seq AND g.tag IN `+c.list(either)+`)`)
	}
	f := m.ask.Filter
	if f.AllTags {
		for _, tag := range f.Tags {
			has([]string{tag})
		}
	} else if len(f.Tags) > 0 {
		has(f.Tags)
	}
	if len(f.Files) > 0 {
		has(fileTags(f.Files))
	}
	return "(" + strings.Join(each, " AND ") + ")"
}

// read reads documents in the order of lanes, about as many as expected; with may put ranges before the table, named r.
func (m *matching) read(ctx context.Context, with string, c *conditions, expect int) ([]search.Doc, error) {
	columns := `d.key, d.id, d.at, d.minute, CAST(d.data AS TEXT)`
	if m.ask.Filter.tagged() {
		columns += ", " + m.tagged(c, "d")
	}
	from := m.t.docs + " d"
	if with != "" {
		from = "r CROSS JOIN " + from
	}
	docs := make([]search.Doc, 0, expect)
	err := m.each(ctx, with+`SELECT `+columns+` FROM `+from+c.where(), c.args, func(row []driver.Value) error {
		key, ok0 := row[0].(int64)
		id, ok1 := row[1].(string)
		at, ok2 := row[2].(int64)
		minute, ok3 := row[3].(int64)
		data, ok4 := row[4].(string)
		if !ok0 || !ok1 || !ok2 || !ok3 || !ok4 {
			return errDamaged
		}
		s, err := unpack(data)
		if err != nil {
			return err
		}
		d := search.Doc{ID: id, Lane: key >> laneShift, Seq: key & (1<<laneShift - 1), Minute: minute, Allowed: true}
		if len(row) > 5 {
			d.Allowed = row[5] == int64(1)
		}
		docs = append(docs, m.doc(d, at, &s))
		return nil
	})
	if !slices.IsSortedFunc(docs, byKey) {
		slices.SortFunc(docs, byKey)
	}
	return docs, err
}

// each goes through rows as the driver gives them: where there are thousands, most of the time that is not SQLite's would
// go into copying their values twice. A row is good until the next.
func (m *matching) each(ctx context.Context, text string, args []any, use func(row []driver.Value) error) error {
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return err
		}
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return m.conn.Raw(func(raw any) error {
		q, ok := raw.(driver.QueryerContext)
		if !ok {
			return driver.ErrSkip
		}
		rows, err := q.QueryContext(ctx, text, named)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // what was read is complete or Next says so
		row := make([]driver.Value, len(rows.Columns()))
		for n := 0; ; n++ {
			const often = 256 // rows between two looks at the context
			if n%often == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := rows.Next(row); err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
			if err := use(row); err != nil {
				return err
			}
		}
	})
}

func (m *matching) doc(d search.Doc, at int64, s *stored) search.Doc {
	f := m.ask.Filter
	d.Who, d.Flags, d.Len, d.Words, d.Spans = s.who, search.Flags(s.flags), s.count, s.words, search.LoadSpans(s.spans)
	d.Allowed = d.Allowed && (f.From == 0 || at >= f.From) && (f.Until == 0 || at < f.Until) && (len(f.Roles) == 0 || slices.Contains(f.Roles, s.role))
	if d.Flags&search.Dated != 0 {
		d.Day = search.DayOfMinute(d.Minute)
	} else {
		d.Day = search.DayOf(time.UnixMicro(at).In(m.ask.Zone))
	}
	return d
}

// frequencies returns in how many texts each word stands, those of all scopes.
func (m *matching) frequencies(ctx context.Context, words []string) (map[string]int, error) {
	df := make(map[string]int, len(words))
	for chunk := range slices.Chunk(words, lookupBatch) {
		c := &conditions{}
		c.and("term IN " + c.list(chunk))
		err := m.each(ctx, `SELECT term, docs FROM `+m.t.terms+c.where(), c.args, func(row []driver.Value) error {
			term, ok0 := row[0].(string)
			docs, ok1 := row[1].(int64)
			if !ok0 || !ok1 {
				return errDamaged
			}
			df[term] = int(docs)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return df, nil
}

// speakers returns the parts of names in reach that begin with one of the words, with how many texts they said.
func (m *matching) speakers(ctx context.Context, words []string) (map[string]int, error) {
	found := map[string]int{}
	for _, w := range words {
		c := &conditions{}
		c.and("part >= " + c.arg(w) + " AND part < " + c.arg(w+"\U0010ffff"))
		if m.owners != nil {
			c.and("owner IN " + numbers(m.owners))
		}
		var rows []struct {
			Part string `db:"part"`
			Docs int    `db:"docs"`
		}
		err := m.tx.SelectContext(ctx, &rows, `SELECT part, SUM(docs) AS docs FROM `+m.t.speakers+c.where()+` GROUP BY part LIMIT 50`, c.args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			found[r.Part] = r.Docs
		}
	}
	return found, nil
}

// minutes are the bounds of a span of days in minutes, wide enough for every zone.
func minutes(s search.Span) (from, until int64) {
	const day, zones = 1440, 14 * 60
	return int64(s.From)*day - zones, int64(s.To+1)*day + zones
}

// onDays counts the texts in reach of a span of days, up to so many.
func (m *matching) onDays(ctx context.Context, s search.Span, most int) (int, error) {
	if m.owners == nil {
		return 0, nil // there is no index of the days of all owners
	}
	from, until := minutes(s)
	var n int
	err := m.tx.GetContext(ctx, &n, `SELECT COUNT(*) FROM (SELECT 1 FROM `+m.t.docs+` WHERE owner IN `+numbers(m.owners)+` AND minute >= $1 AND minute < $2 LIMIT $3)`, from, until, most)
	return n, err
}
