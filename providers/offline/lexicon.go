package offline

import "strings"

// The lexicon: words by what they mean for facts and questions. Lists are constants, so they cost nothing at start.

//nolint:misspell // both spellings are understood
const verbs = ` accept admire adopt adore agree aim appreciate arrange arrive attend avoid bake be become begin believe belong bike
 break bring build buy call can care carry celebrate change chat choose clean climb code collect come commute compete contribute cook
 cost crave create cry cycle dance deal decide defend deliver depend design despise develop dislike dive do draw dread dream drink
 drive earn eat employ enjoy enter expect fall fear feed feel fight find finish fish fly follow forget found garden get give go
 graduate grow guess hate have head hear help hike hold hope host hunt hurt import intend interview invest join jog juggle jump keep
 knit know lack last lead learn leave like listen live loathe look lose love make manage marry mean meet mentor migrate mind miss mix
 move need negotiate own paint pay perform photograph plan play practice practise prefer prepare program publish quit raise read
 receive record relax relocate remember rent report research reside retire ride row run sail save say see sell settle sew share shoot
 shop sing sit skate ski sleep smoke snore sneeze solve speak specialise specialize spend stand start stay stop struggle study suffer
 support surf swim switch take talk teach tend thank think train translate travel treat try turn type understand upgrade use visit
 volunteer vote wait wake walk want watch wear weigh win wish wonder work worry write rotate expire happen die snack babysit tutor
 coach bowl box fence blog stream tweet podcast tinker bathe barbecue camp hate'd cannot end close open owe hide lend borrow restore
 repair feed deploy belong contain cover remain seem serve taste smell ache swell emigrate renovate organise organize supervise commute
 own lie lay hang park keep reach connect gather vote pray breathe `

//nolint:misspell // both spellings are understood
const people = ` gp physician supervisor mother father parent parents sister sisters brother brothers sibling siblings son sons
 daughter daughters child wife husband spouse partner girlfriend boyfriend fiance fiancee fiancé fiancée uncle aunt cousin cousins
 nephew niece grandmother grandfather grandma grandpa granddaughter grandson grandparents friend friends mate mates pal buddy colleague
 colleagues coworker boss manager neighbor neighbour neighbours neighbors roommate flatmate housemate teacher doctor dentist therapist
 landlord mentor baby twin twins toddler team kids kid mum mom dad children ex family stepmother stepfather `

const animals = ` dog dogs cat cats puppy kitten hamster parrot budgie rabbit rabbits horse horses pony fish goldfish turtle tortoise
 snake lizard gecko ferret chicken chickens duck ducks goat goats pig cow sheep mouse rat bird birds canary hedgehog corgi poodle
 labrador terrier spaniel dachshund beagle retriever tabby pet pets iguana axolotl llama alpaca donkey chinchilla frog spider tarantula `

// attributes are nouns that have one value at a time.
//
//nolint:misspell // both spellings are understood
const attributes = ` name birthday deadline age address email phone number password goal job profession occupation title role salary
 city country hometown home pronouns nickname timezone editor major height weight size surname username handle anniversary birthplace
 employer company motto zodiac browser shell favorite surgery flight exam interview appointment username `

const demonyms = ` american british english scottish irish welsh german french spanish italian portuguese dutch belgian swiss austrian
 polish czech slovak hungarian romanian bulgarian greek turkish russian ukrainian swedish norwegian danish finnish icelandic estonian
 latvian lithuanian canadian mexican brazilian argentinian argentine chilean colombian peruvian venezuelan cuban chinese japanese
 korean vietnamese thai indian pakistani bangladeshi nepali indonesian malaysian filipino filipina australian egyptian moroccan
 nigerian kenyan ghanaian ethiopian israeli iranian iraqi syrian lebanese saudi jewish muslim christian buddhist hindu catholic
 protestant sikh european asian african latino latina croatian serbian slovenian bosnian albanian georgian armenian scandinavian kiwi
 singaporean taiwanese `

const professions = ` nurse chef cook student lawyer doctor pilot ceo cto cfo dentist vet architect therapist paramedic pharmacist
 surgeon professor tutor coach clerk judge actor actress waiter waitress barista musician journalist guide monk priest pastor intern
 freelancer entrepreneur founder electrician librarian politician physician magician mathematician statistician technician optician
 consultant accountant assistant sergeant developer sysadmin devops contractor retiree potter nanny mechanic plumber midwife
 firefighter postdoc scientist secretary model diplomat spy sailor soldier `

const notProfessions = ` father mother brother sister daughter member believer lover owner stepfather stepmother beginner loner smoker
 drinker riser sleeper listener eater hater newcomer foreigner teenager pensioner fighter winner loser cancer vegetarian christian
 pacifist optimist pessimist perfectionist atheist feminist minimalist humanist runner swimmer climber cyclist gamer hiker voter
 supporter follower reader earlier partner giver `

// kinds are tools that people use, by kind; a new one replaces the old one of its kind.
const kinds = ` vim=editor neovim=editor nvim=editor emacs=editor helix=editor vscode=editor nano=editor sublime=editor zed=editor
 intellij=editor goland=editor
 pycharm=editor webstorm=editor notepad=editor kakoune=editor micro=editor cursor=editor xcode=editor eclipse=editor atom=editor
 firefox=browser chrome=browser safari=browser edge=browser brave=browser opera=browser vivaldi=browser chromium=browser arc=browser
 linux=os windows=os macos=os ubuntu=os debian=os fedora=os arch=os nixos=os android=phone iphone=phone pixel=phone
 bash=shell zsh=shell fish=shell nushell=shell powershell=shell tmux=multiplexer zellij=multiplexer
 postgres=database postgresql=database mysql=database sqlite=database mongodb=database
 tesla=car toyota=car bmw=car volkswagen=car honda=car ford=car audi=car volvo=car mazda=car `

const (
	likes    = ` like love enjoy adore prefer appreciate `
	dislikes = ` hate dislike loathe despise dread detest avoid `
)

// feeling reports whether a stem is a verb of liking or disliking.
func feeling(verb string) bool { return listed(likes, verb) || listed(dislikes, verb) }

// verbal reports whether a word, in its form after I, we or they, is a verb.
func verbal(low string) bool {
	return listed(verbs, low) || listed(past, low) || listed(modals, low) ||
		listed(" am are is has does have do went 's 've 'm 're ", low) ||
		len(low) > 3 && strings.HasSuffix(low, "ed") && !listed(endEd, low)
}

// verbal3 is verbal for the form after he, she or a noun.
func verbal3(low string) bool {
	return verbal(low) || strings.HasSuffix(low, "s") && !strings.HasSuffix(low, "ss") && listed(verbs, infinite(low))
}

// profession reports whether a noun names what someone does for a living.
func profession(low string) bool {
	if listed(professions, low) {
		return true
	}
	if listed(notProfessions, low) || listed(people, low) || listed(demonyms, low) || len(low) < 5 {
		return false
	}
	for _, end := range []string{"er", "or", "ist", "eer", "smith"} {
		if strings.HasSuffix(low, end) {
			return true
		}
	}
	return false
}

// functionWords are words that hardly any English sentence does without.
const functionWords = ` i me my we us our you your he she it they them his her its their the a an and or but if of to in on at for with
 from by about as into is am are was were be been do does did have has had not no yes can could will would shall should may might must
 this that these those there here what who whom which when where why how so than then too very just also please thanks thank hello hi
 hey ok okay bye call remember forget search find any some all 's whats wheres whose name help test good morning evening night note
 sorry `

// stopwords carry nothing in a search.
//
//nolint:gosec // a list of words, no credential
const stopwords = ` i me my mine myself we us our ours you your yours he him his she her it its they them their the a an and or but if
 of to in on at for with from by about as into is am are was were be been being do does did done will would shall should may might must
 can could this that these those there here what who whom which when where why how so than then too very just also please 's user not
 no never yet ever now currently longer any anything something some thing things stuff all know tell remember remind recall mention
 mentioned say said told think again much many lot kind sort again today nowadays up out down over back between during because while
 until really actually day days still else already s t me exactly supposed ok okay hey hi hello well oh question idea clue memory
 memories happen happened going usually often always sometimes most more best one ones good right let every each own on's same such
 somewhere anywhere anyone someone somebody anybody nothing before after forget new only and/or name's long ago though via per hmm btw
 moment onto into off `

// light words count little in a match.
const light = ` have get go do make take use want need like live work be plan keep put give see come look find start call time people
 person thing new old year month week date day days early number address due status first full real trouble problem issue detail guy
 man woman girl boy lady folk `
