package index

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"loci/core/search"
)

// conditions are joined by AND; they refer to arguments as $N, in the order they were added.
type conditions struct {
	texts []string
	args  []any
}

// arg adds an argument and returns its placeholder.
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

// numbers formats a list of numbers that didn't come from outside.
func numbers(list []int64) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// among is a table with one value per row, as $1 lists them: a list of hundreds in a statement's text takes longer to parse
// than the rows take to read.
const among = `json_each($1) j CROSS JOIN `

// listed formats values for the table among.
func listed[V int64 | string](values []V) (string, error) {
	text, err := json.Marshal(values)
	return string(text), err
}

func number(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// scope restricts documents to the owners and thread asked for, the only condition that neighbours must meet too.
func (v *View) scope(alias string) *conditions {
	c := &conditions{}
	if v.owners != nil {
		c.and(alias + ".owner IN " + numbers(v.owners))
	}
	if v.lane != 0 {
		c.and(inLane(alias+".key", v.lane))
	}
	return c
}

// filter adds the conditions on results except roles: an answer inherits from a question that somebody else asked.
func (v *View) filter(c *conditions, alias string) {
	v.times(c, alias)
	if v.ask.Filter.tagged() {
		c.and(v.tagged(c, alias))
	}
}

func (v *View) times(c *conditions, alias string) {
	if from := v.ask.Filter.From; from != 0 {
		c.and(alias + ".at >= " + c.arg(from))
	}
	if until := v.ask.Filter.Until; until != 0 {
		c.and(alias + ".at < " + c.arg(until))
	}
}

// tagged reports whether a filter uses tags or files, which are stored as tags.
func (f *Filter) tagged() bool { return len(f.Tags)+len(f.Files) > 0 }

func (v *View) tagged(c *conditions, alias string) string {
	var each []string
	has := func(either []string) {
		each = append(each, `EXISTS (SELECT 1 FROM `+v.t.tags+` g WHERE g.seq = `+alias+`.seq AND g.tag IN `+c.list(either)+`)`)
	}
	f := v.ask.Filter
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

// read reads documents in lane order, about expect of them; before may be a table to join them with.
func (v *View) read(ctx context.Context, before string, c *conditions, expect int) ([]search.Doc, error) {
	columns := `d.key, d.id, d.at, d.minute, CAST(d.data AS TEXT)`
	if v.ask.Filter.tagged() {
		columns += ", " + v.tagged(c, "d")
	}
	docs := make([]search.Doc, 0, expect)
	err := v.each(ctx, `SELECT `+columns+` FROM `+before+v.t.docs+" d"+c.where(), c.args, func(row []driver.Value) error {
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
		docs = append(docs, v.doc(d, at, &s))
		return nil
	})
	if !slices.IsSortedFunc(docs, byKey) {
		slices.SortFunc(docs, byKey)
	}
	return docs, err
}

// each iterates over rows as the driver returns them: with thousands of rows, most of the time outside SQLite would go
// into copying their values twice. A row is valid until the next.
func (v *View) each(ctx context.Context, text string, args []any, use func(row []driver.Value) error) error {
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return err
		}
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return v.conn.Raw(func(raw any) error {
		q, ok := raw.(driver.QueryerContext)
		if !ok {
			return driver.ErrSkip
		}
		rows, err := q.QueryContext(ctx, text, named)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // Next reports an incomplete read
		row := make([]driver.Value, len(rows.Columns()))
		for n := 0; ; n++ {
			const often = 256 // rows between two context checks
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

func (v *View) doc(d search.Doc, at int64, s *docRecord) search.Doc {
	f := v.ask.Filter
	d.Who, d.Flags, d.Len, d.Words, d.Spans = s.who, search.Flags(s.flags), s.count, s.words, search.LoadSpans(s.spans)
	d.Allowed = d.Allowed && (f.From == 0 || at >= f.From) && (f.Until == 0 || at < f.Until) &&
		(len(f.Roles) == 0 || slices.Contains(f.Roles, s.role))
	if d.Flags&search.Dated != 0 {
		d.Day = search.DayOfMinute(d.Minute)
	} else {
		d.Day = search.DayOf(time.UnixMicro(at).In(v.ask.Zone))
	}
	return d
}

// Frequencies returns how many texts contain each word, across all scopes.
func (v *View) Frequencies(ctx context.Context, words []string) (map[string]int, error) {
	df := make(map[string]int, len(words))
	list, err := listed(words)
	if err != nil || len(words) == 0 {
		return df, err
	}
	query := `SELECT t.term, t.docs FROM ` + among + v.t.terms + ` t WHERE t.term = j.value`
	err = v.each(ctx, query, []any{list}, func(row []driver.Value) error {
		term, ok0 := row[0].(string)
		docs, ok1 := row[1].(int64)
		if !ok0 || !ok1 {
			return errDamaged
		}
		df[term] = int(docs)
		return nil
	})
	return df, v.met(err)
}

// maxLike limits the words compared with a typo: a million texts have fewer that begin alike.
const maxLike = 50_000

// Like returns the words that begin with the same letter as a word and are about as long.
func (v *View) Like(ctx context.Context, word string) ([]string, error) {
	first, size := utf8.DecodeRuneInString(word)
	if size == 0 {
		return nil, nil
	}
	const longer = 2
	n := utf8.RuneCountInString(word)
	var words []string
	err := v.tx.SelectContext(
		ctx,
		&words,
		`SELECT term FROM `+v.t.terms+` WHERE term >= $1 AND term < $2 AND LENGTH(term) BETWEEN $3 AND $4 LIMIT `+strconv.Itoa(maxLike),
		string(first), string(first+1), n-longer, n+longer,
	)
	return words, v.met(err)
}

// Speakers returns the name parts in scope that begin with one of the words, and how many texts each speaker has.
func (v *View) Speakers(ctx context.Context, words []string) (map[string]int, error) {
	found := map[string]int{}
	for _, w := range words {
		c := &conditions{}
		c.and("part >= " + c.arg(w) + " AND part < " + c.arg(w+"\U0010ffff"))
		if v.owners != nil {
			c.and("owner IN " + numbers(v.owners))
		}
		var rows []struct {
			Part string `db:"part"`
			Docs int    `db:"docs"`
		}
		err := v.tx.SelectContext(
			ctx,
			&rows,
			`SELECT part, SUM(docs) AS docs FROM `+v.t.speakers+c.where()+` GROUP BY part LIMIT 50`,
			c.args...)
		if err != nil {
			return nil, v.met(err)
		}
		for _, r := range rows {
			found[r.Part] = r.Docs
		}
	}
	return found, nil
}

// minutes returns the bounds of a span of days in minutes, wide enough for every time zone.
func minutes(s search.Span) (from, until int64) {
	const day, zones = 1440, 14 * 60
	return int64(s.From)*day - zones, int64(s.To+1)*day + zones
}

// OnDays counts the texts in scope within a span of days, at most most.
func (v *View) OnDays(ctx context.Context, s search.Span, most int) (int, error) {
	if v.owners == nil {
		return 0, nil // days are indexed by owner
	}
	from, until := minutes(s)
	var n int
	err := v.tx.GetContext(
		ctx,
		&n,
		`SELECT COUNT(*) FROM (SELECT 1 FROM `+v.t.docs+` WHERE owner IN `+numbers(v.owners)+` AND minute >= $1 AND minute < $2 LIMIT $3)`,
		from,
		until,
		most,
	)
	return n, v.met(err)
}
