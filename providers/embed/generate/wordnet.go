package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// wordNet is what is read from the database.
type wordNet struct {
	synsets []synset
	senses  map[string][]sense // by lemma, in the order of files and ranks
	lemmas  []string           // the keys of senses, in the order of reading
	tags    map[string]int     // by lemma: how often it was seen in tagged texts
	forms   [][2]string        // irregular form and base form; verbs first, then nouns, adjectives, adverbs
}

type synset struct {
	links    []link
	pointers []pointer
	words    []string // as written, with capitals
	gloss    string
}

// pointer is a relation as the database has it.
type pointer struct {
	symbol string
	to     int
}

type link struct {
	to     int
	weight float64
}

// sense is one meaning of a lemma: rank 1 is the most common one of its part of speech.
type sense struct {
	synset int
	rank   int
	tagged bool // some sense of this lemma and part of speech was seen in tagged texts
}

// relations are the weights of the kinds of pointers.
var relations = map[string]float64{
	"@": 1, "@i": 1, // hypernym, also of an instance
	"&": 1, "+": 1, "$": 1, "<": 1, `\`: 1, // similar, derived, verb group, participle, pertains to
	"=": .8,          // attribute
	"*": .7, ">": .7, // entails, causes
	"^":  .6,                                        // also
	"!":  .5,                                        // antonym
	"%p": .5, "#p": .5, "%s": .5, "#s": .5, "~": .5, // part, substance, hyponym
	";c": .5, ";r": .5, ";u": .5, "-c": .5, "-r": .5, "-u": .5, // domain
	"%m": .4, "#m": .4, // member
	"~i": .2, // instance
}

var parts = []struct{ file, pos string }{{"noun", "n"}, {"verb", "v"}, {"adj", "a"}, {"adv", "r"}}

func readWordNet(dir fs.FS) (*wordNet, error) {
	net := &wordNet{senses: map[string][]sense{}, tags: map[string]int{}}
	at := map[string]int{} // part of speech and offset → synset
	var pointers [][]string
	for _, p := range parts {
		err := lines(dir, "data."+p.file, func(line string) error { return net.data(p.pos, line, at, &pointers) })
		if err != nil {
			return nil, err
		}
	}
	for i, fields := range pointers {
		if err := net.link(i, fields, at); err != nil {
			return nil, err
		}
	}
	for _, p := range parts {
		if err := lines(dir, "index."+p.file, func(line string) error { return net.index(p.pos, line, at) }); err != nil {
			return nil, err
		}
	}
	for _, file := range []string{"verb", "noun", "adj", "adv"} {
		if err := lines(dir, file+".exc", net.exception); err != nil {
			return nil, err
		}
	}
	return net, lines(dir, "cntlist.rev", net.count)
}

// lines calls f for each line except the licence, whose lines begin with a space.
func lines(dir fs.FS, name string, f func(line string) error) error {
	file, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for n := 1; scanner.Scan(); n++ {
		line := scanner.Text()
		if line == "" || line[0] == ' ' {
			continue
		}
		if err := f(line); err != nil {
			return fmt.Errorf("%s line %d: %w", name, n, err)
		}
	}
	return scanner.Err()
}

// data reads "offset file type words {word id} pointers {symbol offset pos source/target} … | gloss".
func (net *wordNet) data(pos, line string, at map[string]int, pointers *[][]string) error {
	facts, gloss, ok := strings.Cut(line, "|")
	fields := strings.Fields(facts)
	if !ok || len(fields) < 5 {
		return fmt.Errorf("not a synset")
	}
	words, err := strconv.ParseInt(fields[3], 16, 32)
	if err != nil || len(fields) <= 4+2*int(words) {
		return fmt.Errorf("wrong number of words")
	}
	rest := fields[4+2*int(words):]
	n, err := strconv.Atoi(rest[0])
	if err != nil || n < 0 || len(rest) < 1+4*n {
		return fmt.Errorf("wrong number of pointers")
	}
	at[pos+fields[0]] = len(net.synsets)
	s := synset{gloss: strings.TrimSpace(gloss)}
	for i := range int(words) {
		word, _, _ := strings.Cut(fields[4+2*i], "(") // an adjective may say where it stands
		s.words = append(s.words, word)
	}
	net.synsets = append(net.synsets, s)
	*pointers = append(*pointers, rest[1:1+4*n])
	return nil
}

// link adds a synset's relations, each target once with its strongest one, weights summing to 1.
func (net *wordNet) link(from int, fields []string, at map[string]int) error {
	s := &net.synsets[from]
	place := map[int]int{}
	for ; len(fields) > 0; fields = fields[4:] {
		pos := fields[2]
		if pos == "s" {
			pos = "a"
		}
		to, ok := at[pos+fields[1]]
		weight, known := relations[fields[0]]
		if !ok || !known {
			return fmt.Errorf("synset %d: pointer %s %s%s leads nowhere", from, fields[0], pos, fields[1])
		}
		s.pointers = append(s.pointers, pointer{fields[0], to})
		if i, ok := place[to]; ok {
			s.links[i].weight = max(s.links[i].weight, weight)
			continue
		}
		place[to] = len(s.links)
		s.links = append(s.links, link{to, weight})
	}
	sum := 0.0
	for _, l := range s.links {
		sum += l.weight
	}
	for i := range s.links {
		s.links[i].weight /= sum
	}
	return nil
}

// index reads "lemma pos synsets pointers {symbol} senses tagged {offset}".
func (net *wordNet) index(pos, line string, at map[string]int) error {
	fields := strings.Fields(line)
	if len(fields) < 6 {
		return fmt.Errorf("not a lemma")
	}
	synsets, err1 := strconv.Atoi(fields[2])
	pointers, err2 := strconv.Atoi(fields[3])
	if err1 != nil || err2 != nil || pointers < 0 || len(fields) != 6+pointers+synsets {
		return fmt.Errorf("wrong number of senses")
	}
	lemma, tagged := fields[0], fields[5+pointers] != "0"
	if net.senses[lemma] == nil {
		net.lemmas = append(net.lemmas, lemma)
	}
	for i, offset := range fields[6+pointers:] {
		synset, ok := at[pos+offset]
		if !ok {
			return fmt.Errorf("no synset %s%s", pos, offset)
		}
		net.senses[lemma] = append(net.senses[lemma], sense{synset, i + 1, tagged})
	}
	return nil
}

// exception reads "form base …"; the first base form counts.
func (net *wordNet) exception(line string) error {
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return fmt.Errorf("not an irregular form")
	}
	net.forms = append(net.forms, [2]string{fields[0], fields[1]})
	return nil
}

// count reads "lemma%sense rank count".
func (net *wordNet) count(line string) error {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return fmt.Errorf("not a count")
	}
	n, err := strconv.Atoi(fields[2])
	lemma, _, ok := strings.Cut(fields[0], "%")
	if err != nil || !ok {
		return fmt.Errorf("not a count")
	}
	net.tags[lemma] += n
	return nil
}
