"""Closed word lists of the guard.

Only ``ARTICLES``, ``FILLERS``, ``OPENINGS``, the number words, the unit names and ``RESPELLED`` make two texts
equal, so each of their lines must be free of meaning. The other lists only name the kind of a difference that
is one in any case: a word that is missing there costs a better reason, never a fact.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _numbered(text: str, start: int) -> dict[str, int]:
    return {word: number for number, word in enumerate(text.split(), start)}


# English function and content words that are no words of the languages in which "a", "an", "ten" or "four" mean
# something else. Left out on purpose: has (Spanish), was and will (German), of (Dutch), to (Polish), do (Portuguese).
ENGLISH = _words(
    """is the and with from this these those which they their them his she what when where because every about
    after before between should would could does did doesn't wants likes loves hates lives works prefers takes uses
    owns plays speaks drinks eats reads manages starts ends costs needs plans moved joined bought sold born
    married allergic years months weeks days hours"""
)
# English words that exist elsewhere too: enough to read a number word when nothing speaks for another language.
MAYBE_ENGLISH = _words(
    "has have are was will he her of to for in it i my you your not user customer team meeting project"
)
FOREIGN = _words(
    """de la el los las le les des du un una uno en que y il lo gli di da do dos das na no em der die das und ist ein
    eine het een op te van och att det som ett ten je na w z się nie"""
)

ARTICLES = frozenset({"a", "an", "the"})
# After these a letter "a" is a label ("vitamin A", "plan A"), before those it is part of the quantity ("a few").
LABELLED = _words("vitamin plan group type class grade hepatitis option section team level blood room gate")
COUNTED_BY_A = _words("few little bit")

# A point after these ends no sentence.
ABBREVIATED = _words("mr mrs ms dr prof st nr vs inc ltd co jr sr approx dept")
# Whoever these mean depends on whether the words are quoted.
SPEAKERS = _words("i me my mine we us our ours you your yours i'm i'd i've i'll ich wir yo je moi eu io ik я мы")

FILLERS = _words("also actually indeed please")
OPENINGS = (("please", "note", "that"), ("note", "that"), ("remember", "that"), ("fyi",))

RESPELLED = {
    "ok": "okay",
    "colour": "color",
    "favourite": "favorite",
    "a.m": "am",
    "p.m": "pm",
    "&": "and",
    "gonna": "going to",
    "cannot": "can not",
    "can't": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "let's": "let us",
    "i'm": "i am",
    "isnt": "is not",
    "arent": "are not",
    "wasnt": "was not",
    "dont": "do not",
    "doesnt": "does not",
    "didnt": "did not",
    "hasnt": "has not",
    "havent": "have not",
    "couldnt": "could not",
    "shouldnt": "should not",
    "wouldnt": "would not",
} | {
    f"{pronoun}'s": f"{pronoun} is" for pronoun in ("it", "he", "she", "that", "there", "here", "what", "who", "where")
}
CONTRACTED = {"n't": "not", "'re": "are", "'ve": "have", "'ll": "will"}

UNITS_AND_TEENS = _numbered(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen""",
    start=0,
)
TENS = {
    word: number * 10
    for word, number in _numbered("twenty thirty forty fifty sixty seventy eighty ninety", start=2).items()
}
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
ORDINALS = _numbered(
    """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth""",
    start=1,
) | {"thirtieth": 30}

MONTHS = _numbered("january february march april may june july august september october november december", start=1)
MONTHS_SHORT = {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}

DATE_WORDS = _words(
    """monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday tonight noon midnight am pm
    morning afternoon evening night weekday weekend daily weekly monthly yearly spring summer autumn winter
    lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo
    montag dienstag mittwoch donnerstag freitag samstag sonntag lunedì martedì mercoledì giovedì venerdì sabato
    domenica segunda terça quarta quinta sexta maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
    janvier février mars avril mai juin juillet août septembre octobre novembre décembre
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    januar februar märz juni juli oktober dezember gennaio febbraio aprile maggio giugno luglio settembre ottobre
    dicembre janeiro fevereiro março maio junho julho setembro outubro novembro dezembro
    понедельник вторник среда четверг пятница суббота воскресенье января февраля марта апреля мая июня июля
    августа сентября октября ноября декабря"""
) | frozenset(MONTHS)

# Spellings of one unit, only after a number ("second" is also an ordinal). "m" and "pounds" stay as they are:
# metres, minutes or millions; weight or money.
_UNIT_SPELLINGS = """
km kilometre kilometer kilometres kilometers
cm centimetre centimeter centimetres centimeters
mm millimetre millimeter millimetres millimeters
metre meter metres meters
mile miles
foot feet
inch inches
kg kgs kilogram kilograms kilogramme kilogrammes kilo kilos
gram grams gramme grammes
lb lbs
litre liter litres liters
ml millilitre milliliter millilitres milliliters
kb kilobyte kilobytes
mb megabyte megabytes
gb gigabyte gigabytes
tb terabyte terabytes
hour hours hr hrs
minute minutes min mins
second seconds sec secs
day days
week weeks
month months
year years yr yrs
dollar dollars
euro euros eur
percent
"""
UNIT_KEYS = {word: line.split()[0] for line in _UNIT_SPELLINGS.split("\n") for word in line.split()}
UNIT_WORDS = frozenset(UNIT_KEYS) | _words(
    """g m mi ms mg oz ounce ounces pound pounds yard yards acre acres hectare hectares celsius fahrenheit degree
    degrees usd gbp jpy chf cent cents yen rupee rupees rouble roubles franc francs bit bits byte bytes kbps mbps gbps
    mph kph kmh watt watts kw kwh volt volts hz khz mhz ghz stunden tage wochen jahre heures jours semaines ans
    horas días semanas años ore giorni settimane anni dias anos uur dagen weken jaar"""
)
CURRENCIES = {"$": "dollar", "€": "euro", "£": "gbp", "¥": "¥", "₹": "rupee", "₽": "rouble", "₩": "₩", "₺": "lira"}

NEGATIONS = _words(
    """not no never none nobody nothing nowhere neither nor without no-one hardly barely except unless ain't lacks lack
    refuses refused stopped stops quit fails failed avoids denies
    nunca jamás nadie nada ni sin tampoco ningún ninguna ninguno não nem sem jamais ninguém nenhum nenhuma
    ne n'est n'a n'ai pas non aucun aucune rien personne sans plus nicht kein keine keinen keiner keinem nie niemals
    niemand nichts ohne nein weder mai nessuno nessuna niente senza né neppure nemmeno niet geen nooit zonder
    niets noch не нет ни без никогда никто ничего нельзя لا ليس ليست لم لن غير بدون ليسوا לא אין बिना नहीं मत"""
)
CJK_NEGATIONS = ("不", "没", "沒", "無", "无", "非", "未", "別", "别", "ない", "なか", "なく", "ません", "ず", "ぬ")
NEGATIVE_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "anti", "de", "mis")

MODALS = _words(
    """may might must should shall can could will would ought wants want wanted wishes wish hopes hope plans plan
    planned intends intend considers considering considered thinks believes maybe perhaps probably possibly likely
    allegedly supposedly apparently used going tries tried trying needs need always usually often sometimes rarely
    seldom only almost nearly about approximately around least most if when until was were had did been being
    kann könnte soll sollte muss müsste darf will möchte wird würde vielleicht wahrscheinlich immer oft manchmal nur
    peut pourrait doit devrait veut voudrait peut-être toujours souvent parfois seulement
    puede podría debe debería quiere quisiera quizás siempre solo sólo pode poderia deve deveria quer talvez sempre
    só può potrebbe vuole vorrebbe forse spesso soltanto kan zou moet wil misschien altijd vaak alleen
    может должен должна хочет возможно всегда только قد ربما يجب يمكن يريد"""
)
