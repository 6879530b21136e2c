package vectors

import (
	"hash/fnv"
	"math/bits"
	"slices"
	"sort"
)

// state is one generation of codes: rows by slot, in id order, all made with the same mean. The index's lock guards it.
type state struct {
	l      layout
	rot    *rotation
	mean   []float32
	file   *codeFile
	path   string
	blocks []*block // the last one may be on the heap, still filling
	full   int      // how many are in the file

	live     []uint64 // by slot
	rows     int      // slots
	alive    int
	last     int64 // id of the last row
	gone     int64 // the last deletion applied
	meanRows int   // how many rows the mean was computed from
	slots    slotMap
	known    Bounds // the last bounds it had all of: the last ids may have been deleted before they were read

	written int  // blocks that the header includes
	struck  bool // deletions since the header was written
	missed  bool // it hasn't seen everything that the facts had when it was created
	doubted int  // leading blocks that were loaded but not read completely yet
}

// slotMap finds an owner's slot. Owners are numbered in order of arrival, so pages of an array stay compact.
type slotMap map[int64]*[pageOwners]uint32

const pageOwners = 4096

func (m slotMap) get(owner int64) (slot int, ok bool) {
	page := m[owner/pageOwners]
	if page == nil {
		return 0, false
	}
	at := page[owner%pageOwners]
	return int(at) - 1, at != 0
}

// set stores the slot plus one: zero means none.
func (m slotMap) set(owner int64, slot int) {
	page := m[owner/pageOwners]
	if page == nil {
		page = new([pageOwners]uint32)
		m[owner/pageOwners] = page
	}
	page[owner%pageOwners] = uint32(slot + 1)
}

func (s *state) at(slot int) (*block, int) { return s.blocks[slot/blockRows], slot % blockRows }

func (s *state) isLive(slot int) bool { return s.live[slot/64]>>(slot%64)&1 == 1 }

// encodedRow is an encoded row, ready to add.
type encodedRow struct {
	row         Row
	f           factors
	offset      float32
	signs, rest []uint64
}

// push adds a row whose id is higher than all before it. If that fills a block, the caller writes the block out.
func (s *state) push(c *encodedRow) {
	if s.rows == len(s.blocks)*blockRows {
		s.blocks = append(s.blocks, s.l.fresh())
		s.live = append(s.live, make([]uint64, blockRows/64)...)
	}
	b, i := s.at(s.rows)
	w := s.l.words
	b.ids[i], b.owners[i], b.times[i] = c.row.ID, c.row.Owner, c.row.At
	b.groups[i], b.threads[i], b.roles[i] = c.row.Group, c.row.Thread, c.row.Role
	b.one[i], b.two[i], b.all[i], b.offsets[i] = c.f.one, c.f.two, c.f.all, c.offset
	copy(b.signs[i*w:], c.signs)
	copy(b.rest[i*w*(codeBits-1):], c.rest)
	b.n = i + 1
	s.enter(s.rows, c.row.Owner)
	s.rows++
	s.last = c.row.ID
}

// enter makes a slot live. An owner has one live row: a newer one replaces an older one.
func (s *state) enter(slot int, owner int64) {
	if old, ok := s.slots.get(owner); ok && s.isLive(old) {
		s.live[old/64] &^= 1 << (old % 64)
		s.alive--
	}
	s.slots.set(owner, slot)
	s.live[slot/64] |= 1 << (slot % 64)
	s.alive++
}

// seal writes out full blocks and replaces the ones on the heap by mapped ones.
func (s *state) seal() error {
	for s.full < s.rows/blockRows {
		b, err := s.file.add(s.full, s.blocks[s.full])
		if err != nil {
			return err
		}
		s.blocks[s.full] = b
		for i := range blockRows { // rows deleted before the block was full
			if slot := s.full*blockRows + i; !s.isLive(slot) {
				if err := s.file.strike(s.full, i, b.id(i)); err != nil {
					return err
				}
			}
		}
		s.full++
	}
	return nil
}

// drop deletes the row with an id, if it exists.
func (s *state) drop(id int64) error {
	at := sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i].id(0) > id }) - 1
	if at < 0 {
		return nil
	}
	b := s.blocks[at]
	row, ok := b.find(id)
	if !ok {
		return nil
	}
	if slot := at*blockRows + row; s.isLive(slot) {
		s.live[slot/64] &^= 1 << (slot % 64)
		s.alive--
	}
	if at >= s.full || b.ids[row] < 0 {
		return nil
	}
	s.struck = true
	if !mapped {
		b.ids[row] = -id
	}
	return s.file.strike(at, row, id)
}

// load reads the parts of the header's blocks that every search reads; the rest is verified later.
func (s *state) load() error {
	h := s.file.head
	for at := range int(h.Blocks) {
		b, err := s.file.block(at)
		if err != nil {
			return err
		}
		s.blocks = append(s.blocks, b)
		if b.hotSum(s.l) != b.sums[0] || b.id(0) <= s.last {
			return ErrDamaged
		}
		s.live = append(s.live, make([]uint64, blockRows/64)...)
		for i, id := range b.ids {
			if b.owners[i] < 0 {
				return ErrDamaged
			}
			if id > 0 {
				s.enter(s.rows+i, b.owners[i])
			}
		}
		s.rows += blockRows
		s.last = b.id(blockRows - 1)
	}
	s.full, s.written, s.doubted = len(s.blocks), len(s.blocks), len(s.blocks)
	if s.last != h.Last {
		return ErrDamaged
	}
	s.gone = h.Gone
	return nil
}

// close releases the mappings and the file.
func (s *state) close() {
	for _, b := range s.blocks {
		b.close()
	}
	s.blocks = nil
	_ = s.file.f.Close()
}

// Filter restricts a search; empty fields restrict nothing.
type Filter struct {
	Groups      []uint64
	Thread      uint64
	Roles       uint64    // a bit per role
	From, Until int64     // half-open
	Owners      []*Owners // each set must contain the owner
}

func (f *Filter) empty() bool {
	return len(f.Groups) == 0 && f.Thread == 0 && f.Roles == 0 && f.From == 0 && f.Until == 0 && len(f.Owners) == 0
}

// Owners is a set of owners.
type Owners struct{ words []uint64 }

// Add puts an owner in, Remove takes it out, Has says whether it is in.
func (o *Owners) Add(owner int64) {
	at := int(owner / 64)
	if at >= len(o.words) {
		o.words = append(o.words, make([]uint64, max(at+1-len(o.words), len(o.words)/4))...)
	}
	o.words[at] |= 1 << (owner % 64)
}

// Remove takes an owner out.
func (o *Owners) Remove(owner int64) {
	if at := int(owner / 64); at < len(o.words) {
		o.words[at] &^= 1 << (owner % 64)
	}
}

// Has says whether an owner is in.
func (o *Owners) Has(owner int64) bool {
	at := int(owner / 64)
	return at < len(o.words) && o.words[at]>>(owner%64)&1 == 1
}

// Join adds all of another set.
func (o *Owners) Join(other *Owners) {
	if n := len(other.words) - len(o.words); n > 0 {
		o.words = append(o.words, make([]uint64, n)...)
	}
	for i, w := range other.words {
		o.words[i] |= w
	}
}

// Clone is a copy.
func (o *Owners) Clone() *Owners { return &Owners{words: slices.Clone(o.words)} }

// Key is the number of a name, for groups and threads.
func Key(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum64()
}

// pass returns which of 64 rows from a slot on are alive and within the filter.
func (s *state) pass(f *Filter, word int) uint64 {
	m := s.live[word]
	if m == 0 || f.empty() {
		return m
	}
	b, at := s.at(word * 64)
	if len(f.Groups) > 0 {
		m &= groupMask((*[64]uint64)(b.groups[at:]), f.Groups, m)
	}
	if f.Thread != 0 && m != 0 {
		m &= equalMask((*[64]uint64)(b.threads[at:]), f.Thread)
	}
	if m == 0 {
		return 0
	}
	if f.Roles != 0 || len(f.Owners) > 0 {
		m = s.slowPass(f, b, at, m)
	}
	if f.From != 0 || f.Until != 0 {
		m &= timeMask((*[64]int64)(b.times[at:]), f.From, f.Until)
	}
	return m
}

func (s *state) slowPass(f *Filter, b *block, at int, m uint64) uint64 {
	for rest := m; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		ok := f.Roles == 0 || f.Roles>>(b.roles[at+i]&63)&1 == 1
		for _, set := range f.Owners {
			ok = ok && set.Has(b.owners[at+i])
		}
		if !ok {
			m &^= 1 << i
		}
	}
	return m
}

func equalMask(column *[64]uint64, want uint64) (m uint64) {
	for i, v := range column {
		m |= bit(v == want) << i
	}
	return m
}

// groupMask asks for each group where there are few, else for each row; rows of a group tend to lie together.
func groupMask(column *[64]uint64, groups []uint64, want uint64) (m uint64) {
	if len(groups) <= 4 {
		for _, g := range groups {
			m |= equalMask(column, g)
		}
		return m
	}
	known, in := uint64(0), false
	for rest := want; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if v := column[i]; v != known || i == bits.TrailingZeros64(want) {
			known = v
			at := sort.Search(len(groups), func(i int) bool { return groups[i] >= v })
			in = at < len(groups) && groups[at] == v
		}
		m |= bit(in) << i
	}
	return m
}

func timeMask(column *[64]int64, from, until int64) (m uint64) {
	if until == 0 {
		until = 1<<63 - 1
	}
	for i, v := range column {
		m |= bit(v >= from) & bit(v < until) << i
	}
	return m
}

// bit is 1 for true. It compiles to no branch: rows pass unpredictably, and a branch for each would double the cost.
func bit(b bool) uint64 {
	var v uint8
	if b {
		v = 1
	}
	return uint64(v)
}
