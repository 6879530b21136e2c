package offline

import (
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
		tag:   "@job",
		facts: " job profession career employer retired freelance colleague apprentice apprenticeship internship trainee ",
		slots: " job.role job.place job.topic ",
		says: "living|by day|by trade|by profession|full time|part time|self employed|employed|their bread|hired|career|in charge of|" +
			"freelance|freelances|on the payroll|nine to five",
		asks: " job work profession occupation career employer company workplace employed employ employs role title position trade " +
			"vocation industry sector ",
		phrases: "for a living|do i do all day|earn my money|line of work|make my money|earn my living|pay my bills|pays my bills|" +
			"pays my rent|do i do professionally|do i do for work|do i do",
		personal: true,
	},
	{
		tag:   "@home",
		facts: " address ",
		slots: " home attr:address ",
		says: "house number|postcode|zip code|lives at|home is|the user's place|the user's home is|the user's house is|" +
			"the user's flat is|the user's apartment is|based in|settled in|settled down|put down roots|from their home in|writing from|" +
			"rents a|has moved to|hails from",
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
		asks: " eat eating food foods diet allergic avoid meal meals menu ingredient ingredients dietary dish cook " +
			"dinner lunch breakfast snack ",
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
		tag: "@wed",
		says: "better half|other half|significant other|tied the knot|married to|got married to|got hitched|" +
			"has been married|the user married",
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
		tag:   "@like",
		facts: likes + " favorite favourite likes loves enjoys adores ",
		says: "a fan of|fond of|crazy about|keen on|mad about|is into|can not get enough of|look forward to|looks forward to|" +
			"can not wait for|would rather|is the user's thing|is the user's jam|means the world|nothing beats|number one|all time|" +
			"top of the list|soft spot|best of all|above all|go to|the user's pick|always goes for|hooked on|" +
			"obsessed with|addicted to|swears by",
		asks:    " like love enjoy fond adore prefer happily happy favorite favourite joy delight gladly ",
		phrases: "into these days|make me happy|makes me happy|crazy about|can not i get enough of",
	},
	{
		tag:   "@dislike",
		facts: dislikes,
		says: "can not stand|could not stand|can not bear|can not abide|do not care for|does not care for|drives the user mad|" +
			"drives the user crazy|gets on the user's nerves|sick of|not a fan|fed up with|pet hate",
		asks: " hate dislike loathe despise detest dread annoy annoys bother bothers disgust disgusts ",
		phrases: "can not stand|can not i stand|can i not stand|can not bear|do not i like|do i not like|i do not like|can not abide|" +
			"drives me mad|drives me crazy",
	},
	{
		tag: "@hobby",
		facts: likes + ` hobby hobbies play plays paint paints climb climbs hike hikes run runs swim swims garden knit knits collect
 collects photograph chess guitar piano dance dances sing sings sail sails surf ski skate juggle cycle cycles `,
		says:    "free time|spare time|for fun|to relax|to unwind",
		asks:    " hobby hobbies pastime interests interest weekends weekend ",
		phrases: "free time|spare time|for fun|to relax|days off",
	},
	{
		tag: "@language",
		facts: " speak speaks fluent bilingual trilingual native rust python golang java kotlin javascript typescript haskell elixir " +
			"erlang ocaml clojure scala ruby perl zig c++ c# ",
		asks: " language languages speak tongue ",
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
		tag: "@sport",
		facts: " football soccer tennis marathon climb climbs swim swims yoga gym basketball hockey cycling cycles ski skis rugby " +
			"cricket volleyball badminton run runs rowing karate judo boxing triathlon ",
		asks: " sport sports exercise workout fit athletic ",
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
		tag: "@called",
		says: "answers to|by the name of|knows the user as|know the user as|called|named|codenamed|nicknamed|we call|" +
			"i call|the user calls|goes by",
	},
	{
		tag:   "@project",
		facts: " project projects ",
		says: "is building|is working on|is making|is restoring|is renovating|is designing|is writing|is developing|is redoing|" +
			"is planning|is organising|is preparing",
		asks: " project projects busy ",
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
