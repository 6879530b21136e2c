package offline

import (
	"slices"
	"strings"
	"sync"
)

// topic connects words in questions with words in the facts that answer them.
type topic struct {
	tag      string
	facts    string // words of facts that belong to it
	slots    string // slots of facts that belong to it; a trailing : matches any slot that starts so
	asks     string // words of questions that mean it
	phrases  string // phrases of questions that mean it, separated by bars
	says     string // phrases of facts that belong to it, separated by bars
	personal bool   // if the question names nobody, it is about the user
}

// topics is constant data: nothing is computed for it at start.
//
//nolint:misspell // both spellings are understood
var topics = []topic{
	{
		tag:      "@name",
		says:     "maiden name|last name|real name|full name|middle name|family name",
		slots:    " attr:name nickname attr:username ",
		asks:     " name called named nickname surname ",
		phrases:  "address me|am i called|call me|you call me|go by",
		personal: true,
	},
	{
		tag:      "@job",
		facts:    " job profession career employer retired freelance colleague apprentice apprenticeship internship trainee ",
		slots:    " job.role job.place job.topic ",
		says:     "living|by day|by trade|by profession|full time|part time|self employed|employed|their bread|hired|career|in charge of|freelance|freelances|on the payroll|nine to five",
		asks:     " job work profession occupation career employer company workplace employed employ employs role title position trade vocation industry sector ",
		phrases:  "for a living|do i do all day|earn my money|line of work|make my money|earn my living|pay my bills|pays my bills|pays my rent|do i do professionally|do i do for work|do i do",
		personal: true,
	},
	{
		tag:      "@home",
		facts:    " address ",
		slots:    " home attr:address ",
		says:     "house number|postcode|zip code|lives at|home is|the user's place|the user's home is|the user's house is|the user's flat is|the user's apartment is|based in|settled in|settled down|put down roots|from their home in|writing from|rents a|has moved to|hails from",
		asks:     " home live living city town address country reside residence based located house neighborhood ",
		phrases:  "where am i",
		personal: true,
	},
	{
		tag:      "@origin",
		slots:    " origin attr:birthplace ",
		asks:     " origin roots nationality hometown ",
		phrases:  "where am i from|am i from|from originally|originally from|grow up|come from|where i am from",
		personal: true,
	},
	{tag: "@pet", facts: animals, asks: " pet pets animal animals furry "},
	{
		tag:   "@diet",
		facts: " allergic vegan vegetarian gluten lactose intolerant eat eats diet kosher halal meat pescatarian ",
		slots: " allergy: ",
		asks:  " eat eating food foods diet allergic avoid meal meals menu ingredient ingredients dietary dish cook dinner lunch breakfast snack ",
	},
	{
		tag:   "@health",
		facts: " allergic asthma diabetic diabetes migraine migraines medication celiac coeliac ",
		slots: " allergy: ",
		asks:  " health medical illness condition conditions ",
	},
	{
		tag:      "@age",
		says:     "into the world|years old|years of age|born in|born on",
		slots:    " age born birthday ",
		asks:     " age ",
		phrases:  "how old|was i born|year of birth|birth year|date of birth",
		personal: true,
	},
	{
		tag:      "@birthday",
		slots:    " birthday born ",
		says:     "into the world|light of day|blows out candles|turns a year older|born on|birthday",
		asks:     " birthday ",
		phrases:  "was i born",
		personal: true,
	},
	{
		tag:   "@wedding",
		facts: " marry marries married wedding bride groom engaged anniversary ",
		says:  "tied the knot|tie the knot|got hitched|exchanged vows|said i do",
		asks:  " wedding marry married bride groom ceremony ",
	},
	{
		tag:   "@partner",
		facts: " wife husband spouse partner girlfriend boyfriend fiance fiancee fiancé fiancée ",
		slots: " marital ",
		asks:  " spouse partner relationship marital ",
	},
	{
		tag:  "@wed",
		says: "better half|other half|significant other|tied the knot|married to|got married to|got hitched|has been married|the user married",
		asks: " husband wife spouse ",
	},
	{tag: "@sibling", facts: " sister sisters brother brothers sibling siblings twin ", asks: " sibling siblings "},
	{tag: "@parent", facts: " mother father parent parents mum mom dad ", asks: " parent parents folks "},
	{
		tag:   "@child",
		facts: " son sons daughter daughters child children baby kid kids toddler boys girls ",
		says:  "mum of|mom of|mother of|dad of|father of|parent of",
		asks:  " child children kid kids offspring ",
	},
	{tag: "@family", facts: people, asks: " family relative relatives "},
	{
		tag:     "@like",
		facts:   likes + " favorite favourite likes loves enjoys adores ",
		says:    "a fan of|fond of|crazy about|keen on|mad about|is into|can not get enough of|look forward to|looks forward to|can not wait for|would rather|is the user's thing|is the user's jam|means the world|nothing beats|number one|all time|top of the list|soft spot|best of all|above all|go to|the user's pick|always goes for|hooked on|obsessed with|addicted to|swears by",
		asks:    " like love enjoy fond adore prefer happily happy favorite favourite joy delight gladly ",
		phrases: "into these days|make me happy|makes me happy|crazy about|can not i get enough of",
	},
	{
		tag:     "@dislike",
		facts:   dislikes,
		says:    "can not stand|could not stand|can not bear|can not abide|do not care for|does not care for|drives the user mad|drives the user crazy|gets on the user's nerves|sick of|not a fan|fed up with|pet hate",
		asks:    " hate dislike loathe despise detest dread annoy annoys bother bothers disgust disgusts ",
		phrases: "can not stand|can not i stand|can i not stand|can not bear|do not i like|do i not like|i do not like|can not abide|drives me mad|drives me crazy",
	},
	{
		tag: "@hobby",
		facts: likes + ` hobby hobbies play plays paint paints climb climbs hike hikes run runs swim swims garden knit knits collect collects
 photograph chess guitar piano dance dances sing sings sail sails surf ski skate juggle cycle cycles `,
		says:    "free time|spare time|for fun|to relax|to unwind",
		asks:    " hobby hobbies pastime interests interest weekends weekend ",
		phrases: "free time|spare time|for fun|to relax|days off",
	},
	{
		tag:   "@language",
		facts: " speak speaks fluent bilingual trilingual native rust python golang java kotlin javascript typescript haskell elixir erlang ocaml clojure scala ruby perl zig c++ c# ",
		asks:  " language languages speak tongue ",
	},
	{tag: "@deadline", facts: " deadline submit ", asks: " deadline due submit finish finished ", phrases: "hand in|turn in"},
	{
		tag:     "@travel",
		says:    "off to|heading to|headed to|flying to|going away",
		facts:   " trip travel travels traveling travelling fly flying flight vacation visit visiting visits ",
		asks:    " trip travel traveling travelling vacation flight journey visit plans ",
		phrases: "am i going|planning to go",
	},
	{
		tag:   "@study",
		facts: " study studies studied studying university college degree student course learn learning learns phd school ",
		says:  "took up|taken up|takes up|taking up|has lessons|takes lessons|teaching themselves",
		asks:  " study studied studying university college degree major learn learning learned course ",
	},
	{
		tag:   "@instrument",
		facts: " piano guitar violin drums cello flute saxophone bass trumpet ukulele clarinet harp accordion ",
		says:  "plays the|play the|playing the",
		asks:  " instrument instruments music musical musician ",
	},
	{
		tag:   "@music",
		facts: " music band album singer song songs jazz rock metal techno opera folk blues punk classical concert ",
		asks:  " music band song songs singer artist listen musical ",
	},
	{
		tag:   "@sport",
		facts: " football soccer tennis marathon climb climbs swim swims yoga gym basketball hockey cycling cycles ski skis rugby cricket volleyball badminton run runs rowing karate judo boxing triathlon ",
		asks:  " sport sports exercise workout fit athletic ",
	},
	{
		tag:   "@vehicle",
		facts: " car bicycle motorbike motorcycle drive drives truck van scooter tesla ",
		slots: " uses:car ",
		asks:  " vehicle car drive transport wheels ",
	},
	{tag: "@drink", facts: " coffee tea beer wine juice espresso drink drinks ", asks: " drink drinks beverage thirsty "},
	{
		tag:   "@move",
		facts: " moved relocated move moving relocating emigrate emigrating migrating ",
		asks:  " move moved relocate relocated ",
	},
	{
		tag:  "@called",
		says: "answers to|by the name of|knows the user as|know the user as|called|named|codenamed|nicknamed|we call|i call|the user calls|goes by",
	},
	{
		tag:   "@project",
		facts: " project projects ",
		says:  "is building|is working on|is making|is restoring|is renovating|is designing|is writing|is developing|is redoing|is planning|is organising|is preparing",
		asks:  " project projects busy ",
	},
	{tag: "@size", facts: " size ", phrases: "how big|how large"},
	{
		tag:   "@cost",
		facts: " cost costs price paid pays rent fee ",
		asks:  " money cost costs price pay paid expensive charge spend spent rent bill fee ",
	},
	{tag: "@dial", asks: " telephone ring ", phrases: "phone number|telephone number|mobile number|number of"},
	{tag: "@use", facts: " use uses using switched prefers ", asks: " use using used "},
}

// everyTopic iterates over topics and concepts.
func everyTopic(yield func(topic) bool) {
	for _, list := range [][]topic{topics, concepts} {
		for _, t := range list {
			if !yield(t) {
				return
			}
		}
	}
}

// tagIndex looks up topic tags by what facts say, because a block may hold thousands of facts.
type tagIndex struct {
	words, slots map[string][]string
	phrases      map[string][]tagPhrase // by their first word
}

type tagPhrase struct{ text, tag string }

var topicTags = sync.OnceValue(func() *tagIndex {
	x := &tagIndex{words: map[string][]string{}, slots: map[string][]string{}, phrases: map[string][]tagPhrase{}}
	for t := range everyTopic {
		for _, w := range strings.Fields(t.facts) {
			x.words[w] = append(x.words[w], t.tag)
		}
		for _, s := range strings.Fields(t.slots) {
			x.slots[s] = append(x.slots[s], t.tag)
		}
		for p := range strings.SplitSeq(t.says, "|") {
			first, _, _ := strings.Cut(p, " ")
			x.phrases[first] = append(x.phrases[first], tagPhrase{p, t.tag})
		}
	}
	return x
})

func (e *entry) mark(tags []string) {
	for _, t := range tags {
		e.terms[t] = true
	}
}

// tag adds the topics that a fact belongs to.
func (e *entry) tag() {
	lists := entryLists()
	stops, beings := lists.stops, lists.beings
	var low []string
	for i, w := range e.ws {
		manages := w.is("run", "runs") && i+1 < len(e.ws) && e.ws[i+1].is("a", "an", "the", "my", "their", "out", "on", "every")
		owner := i+1 < len(e.ws) && e.ws[i+1].is("'s") && !beings[w.low] // "the car's insurance" isn't about having a car
		if !w.punct() && !manages && !owner && (!stops[w.low] || listed(likes, w.low)) {
			low = append(low, w.low)
			if b := base(w.low); b != w.low {
				low = append(low, b)
			}
		}
	}
	topics := topicTags()
	for _, w := range low {
		e.mark(topics.words[w])
	}
	e.mark(topics.slots[e.slot])
	if kind, _, ok := strings.Cut(e.slot, ":"); ok {
		e.mark(topics.slots[kind+":"])
	}
	for rest := plain(e.ws) + " "; rest != ""; {
		first, behind, _ := strings.Cut(rest, " ")
		for _, p := range topics.phrases[first] {
			switch {
			case !strings.HasPrefix(rest, p.text+" "):
			case p.tag == "@like" && e.negated: // "is not a fan of"
				e.terms["@dislike"] = true
			default:
				e.terms[p.tag] = true
			}
		}
		rest = behind
	}
	if e.negated && e.terms["@like"] && strings.HasPrefix(e.slot, "feel:") {
		delete(e.terms, "@like")
		e.terms["@dislike"] = true
	}
	if !e.terms["@name"] && living(people+animals, e.subject) && introduces(e.ws) {
		e.terms["@name"] = true // "the user's sister Zoë is …" tells her name
	}
	for i, w := range e.ws {
		if named := i + 1; beings[w.low] { // "a wife, Lucia"
			if named+1 < len(e.ws) && e.ws[named].text == "," {
				named++
			}
			if named < len(e.ws) && e.ws[named].proper() && !listed(times, e.ws[named].low) && !listed(demonyms, e.ws[named].low) {
				e.terms["@called"] = true
			}
		}
		if k, ok := lists.kinds[w.low]; ok {
			e.terms["@"+k] = true
		}
	}
	if trades(e.ws) {
		e.terms["@trade"] = true
	}
	for _, t := range shapes(e.ws) {
		e.terms[t] = true
	}
}

// means returns the tags of facts that a question about a topic is about.
func (t topic) means() []alt {
	if t.tag == "@job" { // what somebody does for others is probably the job, if no other is known
		return []alt{{t.tag, 1}, {"@trade", 0.9}}
	}
	return []alt{{t.tag, 1}}
}

// term is one thing that a question asks for; any of the alternatives will do.
type term struct {
	word     string // the word asked for; empty: a phrase
	weight   float64
	alts     []alt
	personal bool
	focus    bool // what is asked for: "which breed"
	being    bool // a person or animal: an answer must be about them
	manner   bool // a verb or adverb, which a fact may phrase differently
}

type alt struct {
	key   string
	value float64
}

// question is what is being asked, as terms.
type question struct {
	raw    string
	terms  []term
	past   bool
	when   bool
	where  bool
	mine   bool   // names nobody but the user
	prized string // the kind of thing whose favourite is asked for
	own    bool   // asks for the user's own name
	self   bool   // asks what the user is or does
	first  bool   // mentions the user
	others bool   // asks about somebody in general words: the boys, the guy
	words  []string
}

func newQuestion(s string) question {
	q := question{raw: s, mine: true}
	ws, _ := strip(tokenise(bare(s)))
	low := " " + plain(ws) + " "
	q.past = strings.Contains(low, " did ") || strings.Contains(low, " used ") || strings.Contains(low, " was ") ||
		strings.Contains(low, " ever ")
	q.when = strings.HasPrefix(low, " when ") || strings.Contains(low, " when is ") || strings.Contains(low, " what day ") ||
		longest(
			low,
			"what date|which date|which day|which weekday|what weekday|by when|until when|since when|what time|which month|which year|how soon",
		) != ""
	q.where = strings.HasPrefix(low, " where ") || strings.Contains(low, " where do i ")
	q.own = longest(low, "my name|my first name|my real name|my full name|my last name|my own name|my surname") != ""
	q.prized = prized(strings.Fields(low))
	q.others = strings.HasPrefix(low, " who ") && !strings.HasPrefix(low, " who am ")
	q.first = slices.ContainsFunc(ws, func(w word) bool { return w.is("i", "me", "my", "mine", "we", "us", "our", "ours", "myself") })
	q.self = slices.ContainsFunc(ws, func(w word) bool { return w.is("i") })
	copular := len(ws) > 3 && ws[0].is("what", "who", "which", "when", "where") && ws[1].is("is", "are", "was", "were", "'s") &&
		ws[2].is("my", "our", "the") // "what is my blood type": no verb
	skip := q.phrases(low)
	for i, w := range ws {
		if part := i > 0 && w.is("back") &&
			ws[i-1].is("my", "the", "his", "her", "'s"); w.punct() || listed(stopwords, w.low) && !part || skip[w.low] ||
			len(q.terms) > 24 {
			continue
		}
		t := q.term(ws, i, copular)
		if t.being {
			q.mine = false
		}
		q.terms = append(q.terms, t)
		q.words = append(q.words, w.text)
	}
	q.balance(low)
	for i, t := range q.terms { // with nothing but a name asked for, it is the user's own
		if len(q.terms) > 1 && !q.own && slices.ContainsFunc(t.alts, func(a alt) bool { return a.key == "@name" }) {
			q.terms[i].alts = append(t.alts, alt{"@called", 0.9})
		}
	}
	return q
}

// phrases adds a term for every topic that a phrase in the question means, and returns the words it covered.
func (q *question) phrases(low string) map[string]bool {
	skip := map[string]bool{}
	for t := range everyTopic {
		p := longest(low, t.phrases)
		vague := p == "do i do" && low != " what do i do " || p == "where am i" && len(strings.Fields(low)) > 3
		if p != "" && !vague {
			q.terms = append(q.terms, term{weight: 1, alts: t.means(), personal: t.personal})
			for f := range strings.FieldsSeq(p) {
				skip[f] = true
			}
			if t.tag == "@origin" { // "which city am I from" doesn't ask where home is
				skip["city"], skip["town"], skip["country"] = true, true, true
			}
		}
	}
	return skip
}

// term returns what a word of the question asks for.
func (q *question) term(ws []word, i int, copular bool) term {
	w := ws[i]
	t := term{word: w.low, weight: 1, alts: []alt{{stem(w.low), 1}}}
	if listed(light, w.low) || listed(light, infinite(w.low)) || listed(light, stem(w.low)) {
		t.weight = 0.35
		q.others = q.others || listed(someone, stem(w.low))
	}
	if listed(" have get go do make take give put come ", stem(w.low)) {
		t.weight = 0.2
	}
	for tp := range everyTopic {
		if listed(tp.asks, w.low) {
			if tp.personal {
				// "live" is better answered by where home is than by any fact containing the word
				t.personal, t.alts[0].value = true, bareWord
				if q.past {
					t.alts[0].value = pastWord
				}
				t.alts = append(t.alts, tp.means()...)
			} else {
				t.alts = append(t.alts, alt{tp.tag, 0.94}) // the same word is better than its topic
			}
		}
	}
	if k := "@" + w.low; slices.Contains([]string{"@editor", "@browser", "@os", "@shell", "@database", "@car", "@phone"}, k) {
		t.alts = append(t.alts, alt{k, 1})
	} else if w.low == "ide" {
		t.alts = append(t.alts, alt{"@editor", 1})
	}
	t.place(ws, i, copular)
	t.being = listed(people, w.low) || listed(animals, w.low) && !w.is("pet", "pets") || i > 0 && w.proper() && !listed(demonyms, w.low)
	if w.is("family", "kids", "children", "parents", "kid") {
		t.being = false
	}
	if t.being {
		if group, ok := lookup(kin, w.low); ok {
			t.alts = append(t.alts, alt{stem(group), 0.9})
		}
	}
	return t
}

// place finds the role of a word in the question: a verb or adverb, or what is asked for.
func (t *term) place(ws []word, i int, copular bool) {
	w := ws[i]
	t.manner = listed(verbs, w.low) || listed(manners, w.low) || listed(verbs, infinite(w.low)) ||
		len(w.low) > 4 && (strings.HasSuffix(w.low, "ly") || strings.HasSuffix(w.low, "ing")) && !listed(notParticiple, w.low)
	t.manner = t.manner && (!copular || strings.HasSuffix(w.low, "ing") || listed(manners, w.low))
	ends := i+1 == len(ws) || ws[i+1].punct() || listed(functionWords, ws[i+1].low) || verbal3(ws[i+1].low)
	t.focus = i > 0 && ends && (ws[i-1].is("what", "which") || i > 1 && ws[i-2].is("what", "which") && !listed(functionWords, ws[i-1].low))
	t.manner = t.manner && !t.focus || i > 0 && ws[i-1].is("i", "we", "he", "she", "they")
}

// kin are relatives whom facts may mention together.
const kin = ` mother=parents father=parents mum=parents mom=parents dad=parents son=children daughter=children brother=siblings sister=siblings
 grandmother=grandparents grandfather=grandparents grandma=grandparents grandpa=grandparents `

// someone are the stems of general words for people.
const someone = ` guy man woman girl boy folk ladi `

// prized returns the word after "favourite".
func prized(words []string) string {
	for i, w := range words {
		if i+1 < len(words) && strings.HasPrefix(stem(w), "favorit") {
			return words[i+1]
		}
	}
	return ""
}

// other reports whether a fact gives the favourite of a different kind than asked for.
func (q question) other(e *entry) bool {
	kind := prized(strings.Fields(strings.TrimPrefix(e.slot, "attr:")))
	if q.prized == "" || kind == "" || stem(kind) == stem(q.prized) {
		return false
	}
	for t := range everyTopic {
		if listed(t.asks, q.prized) && (listed(t.asks, kind) || listed(t.facts, kind)) {
			return false
		}
	}
	return true
}

// balance lets "do I like X" match dislikes too, but "what do I like" hardly.
func (q *question) balance(low string) {
	open := strings.HasPrefix(low, " what ") || strings.HasPrefix(low, " which ") || strings.HasPrefix(low, " who ")
	for i, t := range q.terms {
		for _, a := range t.alts {
			other := map[string]string{"@like": "@dislike", "@dislike": "@like"}[a.key]
			if other == "" {
				continue
			}
			value := 0.9
			if open {
				value = 0.1
			}
			q.terms[i].alts = append(q.terms[i].alts, alt{other, value})
			break
		}
	}
}

func longest(low, phrases string) string {
	best := ""
	for p := range strings.SplitSeq(phrases, "|") {
		if len(p) > len(best) && strings.Contains(low, " "+p+" ") {
			best = p
		}
	}
	return best
}

// bareWord is what the very word of a question counts where a topic is meant: "city", for where home is.
const (
	bareWord = 0.58
	pastWord = 0.85 // of what was, the topic knows less
)

// enough is the score from which a fact counts as an answer.
const enough = 0.6

// score says how well a fact answers a question, from 0 to 1.
func (q question) score(e *entry) float64 {
	if q.other(e) {
		return 0
	}
	sum, total, personal := 0.0, 0.0, false
	missing, named := false, e.subject == "user"
	for _, t := range q.terms {
		total += t.weight
		best := 0.0
		for _, a := range t.alts {
			named = named || a.key == e.subject
			if e.terms[a.key] && a.value > best {
				best = a.value
				personal = personal || t.personal
				named = named || means(a.key, e.subject)
			}
		}
		missing = missing || t.being && best == 0
		sum += t.weight * best
	}
	if total == 0 {
		return 0
	}
	s := sum / total
	if missing {
		s *= 0.6
	}
	if (personal && q.mine && !named) || q.own && e.subject != "user" {
		s *= 0.5
	} else if q.self && q.mine && !named && living(people+animals, e.subject) {
		s *= 0.5 // don't answer "what do I drive?" with what a sister drives
	}
	if !q.past && strings.Contains(e.text, " used to ") {
		s *= 0.7
	}
	if q.past && strings.Contains(e.text, " used to ") {
		s *= 1.2
	}
	if q.when && !timed(e) || q.where && !placed(e) {
		s *= 0.55
	}
	return s
}

// introduces reports whether a fact about a person or animal gives the name: a name after the noun, or after "is" and
// the like. A place or day elsewhere in the fact doesn't count.
func introduces(ws []word) bool {
	for i := 1; i < len(ws); i++ {
		if !ws[i].proper() || listed(times, ws[i].low) || listed(demonyms, ws[i].low) {
			continue
		}
		if before := ws[i-1].low; listed(people+animals, before) || listed(" is are called named name names ", before) {
			return true
		}
	}
	return false
}

// living reports whether the subject of a fact, a stem, is on a list of people or animals.
func living(list, subject string) bool {
	if listed(list, subject) {
		return true
	}
	const least = 4 // letters that a shortened stem has: grandmoth, puppi
	subject = strings.TrimSuffix(subject, "i")
	return len(subject) >= least && strings.Contains(list, " "+subject)
}

// means reports whether a topic describes a person or animal: pet, for a dog.
func means(tag, subject string) bool {
	if !living(people+animals, subject) {
		return false
	}
	for t := range everyTopic {
		if t.tag == tag && living(t.facts, subject) {
			return true
		}
	}
	return false
}

// named lets the name of a person or animal stand for what facts call them: Zoë for the sister of that name.
func (q question) named(facts []*entry) question {
	q.terms = slices.Clone(q.terms)
	for i, t := range q.terms {
		if !t.being {
			continue
		}
		for _, e := range facts {
			if e.terms["@name"] && e.terms[t.alts[0].key] && e.subject != "user" &&
				(listed(people+animals, e.subject) || e.slot == "attr:name") {
				q.terms[i].alts = append(slices.Clone(t.alts), alt{e.subject, 1})
				break
			}
		}
	}
	return q
}

// placed reports whether a fact mentions a place.
func placed(e *entry) bool {
	if e.slot == "home" || e.slot == "origin" || e.slot == "job.place" {
		return true
	}
	for i, w := range e.ws {
		if w.is("in", "at", "near", "to", "from", "on", "under", "behind", "inside", "with") && i+1 < len(e.ws) {
			return true
		}
	}
	return false
}

// equal is the fraction of the best score from which another answer is told too.
const equal = 0.95

// over reports whether a fact says that something is no longer so.
func (e *entry) over() bool {
	return e.negated && strings.Contains(e.text, " no longer ") || e.ending()
}

// find returns the facts that answer a question, best first.
func (q question) find(facts []*entry) []*entry {
	type hit struct {
		e     *entry
		score float64
		at    int
	}
	q = q.named(facts)
	var hits []hit
	for i, e := range facts {
		if s := q.score(e); s >= enough {
			hits = append(hits, hit{e, s, i})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		switch {
		case a.score > b.score+0.001:
			return -1
		case b.score > a.score+0.001:
			return 1
		case a.e.origin != b.e.origin:
			return int(a.e.origin) - int(b.e.origin)
		}
		return a.at - b.at
	})
	// Tell what is so, not what is no longer so.
	if slices.ContainsFunc(hits, func(h hit) bool { return !h.e.over() && h.score >= hits[0].score*equal }) {
		hits = slices.DeleteFunc(hits, func(h hit) bool { return h.e.over() })
	}
	var out []*entry
	told := map[string]bool{}
	for _, h := range hits {
		if len(out) >= 6 || h.score < hits[0].score*equal || h.e.origin != hits[0].e.origin {
			break
		}
		if !told[same(h.e.text)] {
			told[same(h.e.text)] = true
			out = append(out, h.e)
		}
	}
	return out
}

// same returns the form in which facts are compared for equality.
func same(s string) string { return plain(tokenise(s)) }
