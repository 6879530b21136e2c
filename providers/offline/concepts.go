package offline

// concepts connect general words in questions with specific words in facts: which herb, with coriander. They are never
// read the other way round, so that a question about one thing isn't answered with another of its kind.
//
//nolint:misspell // both spellings are understood
var concepts = []topic{
	// food
	{
		tag:   "@herb",
		facts: " coriander cilantro basil parsley mint dill thyme rosemary sage oregano chives tarragon lavender lemongrass ",
		asks:  " herb herbs seasoning ",
	},
	{
		tag:   "@spice",
		facts: " cinnamon cumin turmeric pepper paprika ginger nutmeg saffron cardamom chili chilli curry vanilla clove cloves wasabi ",
		asks:  " spice spices seasoning flavor flavour ",
	},
	{
		tag: "@vegetable",
		facts: " broccoli spinach carrot carrots onion onions garlic tomato tomatoes potato potatoes cucumber cabbage kale cauliflower " +
			"aubergine eggplant zucchini courgette beetroot celery asparagus sprouts lettuce peas leek leeks radish pumpkin okra ",
		asks: " vegetable vegetables veg veggie veggies greens ",
	},
	{
		tag: "@fruit",
		facts: " apple apples banana bananas orange oranges mango mangoes strawberry strawberries grape grapes peach pear pears cherry " +
			"cherries kiwi pineapple lemon melon watermelon papaya plum plums blueberries raspberries avocado fig figs apricot durian ",
		asks: " fruit fruits berry ",
	},
	{
		tag:   "@nut",
		facts: " peanut peanuts almond almonds walnut walnuts cashew cashews hazelnut hazelnuts pistachio pecans ",
		asks:  " nut nuts ",
	},
	{
		tag:   "@seafood",
		facts: " fish salmon tuna shrimp prawns oyster oysters crab lobster mussels squid octopus shellfish anchovies sushi ",
		asks:  " seafood ",
	},
	{tag: "@meat", facts: " meat beef pork chicken lamb steak bacon ham sausage turkey venison ", asks: " meat meats "},
	{tag: "@dairy", facts: " milk cheese butter yogurt yoghurt cream lactose dairy ", asks: " dairy "},
	{
		tag: "@sweets",
		facts: " chocolate cake cakes cookie cookies candy ice-cream pie donut donuts brownie brownies pudding tiramisu " +
			"licorice liquorice marzipan ",
		asks: " sweet sweets dessert desserts candy treat treats sugary ",
	},
	{
		tag: "@dish",
		facts: " pizza pasta sushi ramen curry lasagna lasagne risotto paella burger burgers soup stew taco tacos burrito pho dumplings " +
			"salad noodles spaghetti sandwich omelette falafel kebab 🍣 🍕 🍔 🍜 🌮 ",
		asks: " dish dishes meal cuisine dinner lunch food supper eat ",
	},
	{
		tag: "@ingredient",
		facts: " coriander cilantro basil garlic onion onions mushroom mushrooms olives peanuts celery tofu mayonnaise " +
			"anchovies cheese ginger cinnamon ",
		asks: " ingredient ingredients topping toppings food ",
	},
	{
		tag: "@diet",
		facts: " intolerance breakfast lunch dinner supper hives rash cramps bloated heartburn nausea sneeze itch swell vegetarianism " +
			"pescetarian paleo keto coeliac celiac ",
		says: "can not eat|do not eat|does not eat|never eats|make the user sick|makes the user sick|make the user ill|" +
			"makes the user ill|can not have|can not tolerate|could kill the user|kills the user|kill the user|deadly for the user|" +
			"bad for the user|brings the user out|bring the user out|in hives|the user a rash|upsets the user|upset the user|" +
			"allergic reaction|hurts the user's stomach",
		asks: " upset upsets stomach tolerate allergy allergies allergen intolerance intolerances vegan vegetarian ",
		phrases: "keep away|stay away|stay clear of|steer clear of|keep off my plate|leave out|not serve|not feed|make me ill|" +
			"make me sick|can not i eat|i can not eat|i must not eat|harm me|kill me",
	},
	{
		tag:   "@alcohol",
		facts: " beer wine whisky whiskey gin rum vodka cider cocktail cocktails champagne ",
		asks:  " alcohol alcoholic booze ",
	},
	{
		tag: "@brew",
		facts: " coffee tea espresso cappuccino latte matcha cocoa water lemonade soda cola milkshake smoothie cider whisky whiskey gin " +
			"cocktail cocktails ☕ 🍺 🍷 ",
		asks: " drink drinks beverage beverages brew sip order ",
	},
	// living things
	{tag: "@pet", says: "animal|pet", asks: " companion critter creature beast ", phrases: "four legged|at home with fur"},
	{
		tag:   "@dog",
		facts: " dog dogs puppy corgi poodle labrador terrier spaniel dachshund beagle retriever husky ",
		asks:  " dog dogs puppy hound doggy ",
	},
	{tag: "@cat", facts: " cat cats kitten tabby ", asks: " cat cats kitty feline "},
	{tag: "@bird", facts: " parrot budgie canary cockatiel hen chickens ducks ", asks: " bird birds "},
	{
		tag:   "@plant",
		facts: " rose roses tulip tulips orchid orchids cactus fern monstera sunflower sunflowers lily bonsai daisies peony peonies ",
		asks:  " plant plants flower flowers bloom ",
	},
	{
		tag:   "@insect",
		facts: " spider spiders wasp wasps bee bees moth moths ant ants mosquito mosquitoes ",
		asks:  " insect insects bug bugs ",
	},
	// people
	{
		tag:     "@boss",
		facts:   " boss manager supervisor superior ",
		says:    "reports to|report to",
		asks:    " boss manager supervisor superior chief ",
		phrases: "report to|answer to|reporting to|above me|in charge of me|my line manager",
	},
	{
		tag:     "@employs",
		facts:   " boss manager employer ",
		slots:   " job.place ",
		asks:    " employer ",
		phrases: "work for|employs me|pays me|pays my salary",
	},
	{tag: "@doctor", facts: " doctor physician dentist gp vet surgeon ", asks: " doctor physician medic gp treat treats "},
	{
		tag:     "@spouse",
		facts:   " wife husband spouse ",
		says:    "tied the knot|married to|got hitched|the user married",
		asks:    " spouse ",
		phrases: "better half|other half|married to|did i marry|significant other|my love",
	},
	{tag: "@grandparent", facts: " grandmother grandfather grandma grandpa granny ", asks: " grandparent grandparents "},
	{tag: "@colleague", facts: " colleague colleagues coworker teammate ", asks: " colleague coworker teammate ", phrases: "work with"},
	{tag: "@friend", facts: " friend friends buddy pal ", asks: " buddy pal mate friend friends friendship "},
	{tag: "@neighbor", facts: " neighbor neighbour neighbors neighbours ", phrases: "next door|lives beside me|lives nearby"},
	{
		tag:     "@roommate",
		facts:   " roommate flatmate housemate ",
		asks:    " roommate flatmate housemate ",
		phrases: "share my flat|share a flat|share my apartment|live with",
	},
	// days
	{
		tag:   "@gift",
		facts: " birthday anniversary ",
		slots: " birthday ",
		asks:  " present presents gift gifts celebrate celebration congratulate cake party ",
	},
	{
		tag:   "@appointment",
		facts: " appointment surgery checkup interview exam ",
		says:  "has to see|have to see|needs to see|is seeing|to see the|see the user's|the user sees|is meeting|an appointment",
		asks:  " appointment appointments booked scheduled schedule ",
	},
	{tag: "@exam", facts: " exam exams test finals ", asks: " exam exams examined tested "},
	{tag: "@holiday", facts: " vacation holiday holidays trip ", asks: " holiday holidays getaway "},
	{tag: "@due", facts: " deadline due ", asks: " cutoff ", phrases: "time limit|must be ready|have to be ready|be done by"},
	// things
	{
		tag: "@vehicle",
		facts: " saab volvo toyota bmw honda ford audi mazda volkswagen fiat renault peugeot skoda porsche ferrari mini jeep " +
			"subaru lexus kia hyundai ",
		asks:    " vehicle car cars automobile ride motor drive driving wheels commute ",
		phrases: "get around|in my garage|in the garage|behind the wheel",
	},
	{tag: "@bike", facts: " bicycle bike ebike ", asks: " cycle pedal bicycle bike "},
	{tag: "@boat", facts: " boat yacht kayak canoe dinghy sailboat ", asks: " boat vessel "},
	{
		tag:   "@phone",
		facts: " phone iphone android pixel smartphone fairphone samsung nokia ",
		asks:  " smartphone handset phone mobile cell ",
	},
	{tag: "@computer", facts: " laptop macbook thinkpad desktop pc ", asks: " computer laptop machine "},
	{tag: "@camera", facts: " camera leica nikon canon fujifilm ", asks: " camera "},
	{
		tag:     "@book",
		facts:   " book books novel novels author authors writer trilogy poetry comics manga ",
		says:    "reading|reads",
		asks:    " read reading book books novel novels literature ",
		phrases: "on my nightstand|page turner",
	},
	{tag: "@author", facts: " author authors writer novelist poet ", asks: " author authors writer writers novelist "},
	{tag: "@film", facts: " film films movie movies cinema director ", asks: " film films movie movies watch watching cinema "},
	{tag: "@series", facts: " series show sitcom podcast ", asks: " series show shows binge "},
	{tag: "@game", facts: " chess game games minecraft poker zelda tetris go videogames scrabble backgammon ", asks: " game games gaming "},
	{
		tag:   "@clothes",
		facts: " shirt shirts dress dresses shoes boots jacket hat hats jeans sweater sneakers scarf coat ",
		asks:  " clothes clothing wear wearing outfit garment ",
	},
	{
		tag:     "@color",
		facts:   " red blue green yellow purple teal orange pink black white brown grey gray turquoise violet magenta ",
		asks:    " color colour colors colours shade hue tint ",
		phrases: "paint my",
	},
	{tag: "@secret", facts: " password code pin passphrase combination ", asks: " password passcode pin passphrase code combination "},
	{tag: "@network", facts: " wifi wi-fi network router ", asks: " wifi wi-fi network internet wireless "},
	{tag: "@editor", facts: " editor ide ", asks: " ide editor ", phrases: "write code in|code in|edit code|edit text|edit files"},
	{tag: "@website", facts: " website blog homepage ", asks: " website blog homepage site "},
	{tag: "@mail", facts: " email mail ", asks: " email mail "},
	{tag: "@contact", facts: " email phone ", asks: " contact reach ", phrases: "get hold of me|write to me"},
	// doing
	{
		tag: "@sport",
		facts: " jogging jog jogs marathons triathlons bouldering surfing snowboarding sailing skiing pilates crossfit running " +
			"swimming climbing handball lacrosse golf dart darts ",
		asks:    " athletics athlete training train active physical ",
		phrases: "keep fit|stay fit|in shape|work out|break a sweat",
	},
	{tag: "@team", facts: " supports fan club ", asks: " cheer root club support team ", phrases: "root for|cheer for"},
	{tag: "@music", facts: " radiohead beatles soundtrack playlist ", asks: " tune tunes listening playlist "},
	{tag: "@instrument", facts: " banjo mandolin oboe trombone viola drum keyboard sitar tuba harmonica ", asks: " play "},
	{
		tag:   "@craft",
		facts: " knit knits knitting sew sews sewing crochet pottery woodworking origami embroidery paint paints painting ",
		asks:  " craft crafts handicraft make ",
	},
	{
		tag:   "@nature",
		facts: " hike hikes hiking camp camps camping mountains forest garden gardening birdwatching ",
		asks:  " outdoors outdoor outside nature ",
	},
	{tag: "@art", facts: " paint paints painter painting draw draws drawing sculpture museum ", asks: " art arts artistic "},
	{
		tag:     "@code",
		facts:   " rust python golang java kotlin javascript typescript haskell elixir erlang ocaml clojure scala ruby perl zig c++ c# ",
		asks:    " program programming code coding ",
		phrases: "write software|write programs",
	},
	{
		tag: "@field",
		facts: " physics chemistry biology mathematics maths law medicine history philosophy economics psychology linguistics " +
			"architecture engineering ",
		asks: " subject subjects field discipline science ",
	},
	{
		tag:   "@school",
		facts: " university college school graduated degree studied studies ",
		asks:  " school campus alma educated education graduate graduated ",
	},
	{tag: "@volunteer", facts: " volunteer volunteers volunteering charity ", asks: " charity volunteering volunteer "},
	{
		tag:     "@goal",
		facts:   " goal dream dreams wants aims hopes ambition ",
		says:    "is trying to|wanted to|would love to|would like to|some day|one day|saving up|saving for|plans to|hopes to|is aiming",
		asks:    " goal goals ambition ambitions aim aspire dream dreams wish ",
		phrases: "bucket list|aiming for",
	},
	{
		tag:   "@fear",
		facts: " afraid scared fear fears phobia terrified dread dreads ",
		asks:  " fear fears afraid scared scare scares frighten frightens phobia frightened terrify terrifies ",
	},
	{tag: "@habit", facts: " smoke smokes smoking vape ", asks: " cigarette cigarettes tobacco nicotine "},
	{
		tag:     "@sleep",
		facts:   " bedtime sleep sleeps wakes wake bed nap insomnia ",
		says:    "gets up",
		asks:    " sleep wake bedtime ",
		phrases: "get up|go to bed|get out of bed",
	},
	// state
	{
		tag:   "@health",
		facts: " asthmatic hypertension epilepsy arthritis insomnia pregnant diagnosed disease ",
		says: "hurt|hurts|broke|sprained|ache|aches|in pain|injured|sore|torn|twisted|operated on|suffers from|diagnosed with|" +
			"takes tablets|bad knee|bad back",
		asks: " sick ill disease ailment diagnosis suffer suffering injury injured hurt wrong ",
	},
	{
		tag: "@medicine",
		facts: " insulin aspirin ibuprofen medication medicine pills antibiotics penicillin vitamin vitamins " +
			"supplement supplements inhaler ",
		asks: " supplement supplements vitamins tablet tablets medicine medication medicines drug drugs pill pills ",
	},
	{tag: "@body", facts: " cm tall height kg weigh weighs ", says: "meters|metres", phrases: "how tall|my height|how heavy|my weight"},
	{
		tag:   "@faith",
		facts: " christian muslim jewish buddhist hindu catholic protestant sikh atheist agnostic ",
		asks:  " religion religious faith believe ",
	},
	{tag: "@nation", facts: demonyms, asks: " nationality citizen citizenship passport ", phrases: "what country am i from"},
	{
		tag: "@country",
		facts: " germany france spain italy portugal japan china india norway sweden denmark finland iceland brazil canada mexico " +
			"australia greece ireland scotland england kenya egypt morocco peru chile argentina poland austria switzerland " +
			"turkey vietnam thailand korea ",
		asks: " country countries abroad ",
	},
	{tag: "@birthplace", slots: " attr:birthplace ", says: "was born in|born in", phrases: "was i born|place of birth"},
	{tag: "@seat", facts: " window aisle ", asks: " seat seats "},
	{
		tag:     "@transport",
		facts:   " train bus tram metro subway bicycle car cycles walks drives scooter motorbike ferry tube foot ride rides ",
		asks:    " commute transport transportation travel ",
		phrases: "get to work|get to the office|go to work",
	},
	{
		tag:   "@company",
		facts: " startup company firm business ",
		slots: " job.place ",
		asks:  " firm business startup organization organisation ",
	},
	{tag: "@money", facts: " salary income mortgage debt savings rent bank ", asks: " bank finances financial "},
	{tag: "@income", facts: " salary income wage wages earn earns earned pay ", asks: " earn earned earning wage wages salary income "},
	{tag: "@house", facts: " house apartment flat cottage villa cabin ", asks: " dwelling apartment flat "},
	{
		tag:     "@season",
		facts:   " spring summer autumn winter fall ",
		asks:    " season seasons ",
		phrases: "time of year|time of the year|part of the year",
	},
	{tag: "@weather", facts: " rain rainy snow snowy windy stormy heat sun sunny sunshine fog storms thunder ", asks: " weather climate "},
	{
		tag:     "@hand",
		says:    "left handed|right handed",
		facts:   " left-handed right-handed lefty ",
		asks:    " handed handedness ",
		phrases: "which hand|write with",
	},
}

// manners are words of questions that a fact may phrase differently or omit, besides the verbs that facts start with.
const manners = ` handle respect share shares own owns possess serve offer bring brings fetch order steer suit suits concern concerns
 matter matters apply observe current own right wrong best most usual regular main first specific particular certain special `
