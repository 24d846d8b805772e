"""A cheap guess at the language of a text, by its small words: enough to choose a stemmer."""

import re

# The words that are most frequent in a language and rare in its neighbours. They are left out of
# questions as well: everybody uses them, so they find everything.
_SMALL_WORDS = {
    "english": (
        "a an the is are was were be been am do does did has have had of to in on at for with"
        " from by and or but if then than that this these those it its what which who whom"
        " whose where when why how there here i you he she we they my your our their me him"
        " her us them can could should would will shall may might must not no so as about into"
        " over under out up"
    ),
    "german": (
        "der die das den dem des ein eine einen einem einer eines ist sind war waren wird"
        " werden und oder aber wenn als wie was wer wo wann warum welche welcher welches zu"
        " zum zur im in an am auf für mit von vom bei aus nach nicht kein keine es er sie wir"
        " ihr ich du man sich hat haben auch nur noch über unter durch dass"
    ),
    "french": (
        "le la les l un une des du de d et ou mais est sont était être a ont avoir que qui"
        " quoi où quand comment pourquoi quel quelle quels quelles ce cet cette ces dans sur"
        " sous avec pour par ne pas il elle nous vous ils elles je tu on se sa son ses au aux"
        " en y"
    ),
    "spanish": (
        "el la los las un una unos unas de del y o pero es son era ser está están fue que qué"
        " quién cuál dónde cuándo cómo por para con sin en al se su sus no lo le nos yo tú él"
        " ella este esta estos estas ese esa hay como más"
    ),
    "italian": (
        "il lo la i gli le un uno una di del della dei delle dello e o ma è sono era essere"
        " che chi cosa dove quando come perché quale quali per con su da in nel nella non si"
        " al alla ai ci questo questa questi queste ha hanno"
    ),
    "portuguese": (
        "o a os as um uma de do da dos das e ou mas é são era ser está estão que quem qual"
        " quais onde quando como por para com sem em no na nos nas não se ao à aos este esta"
        " isso ele ela eu você foi tem mais pelo pela"
    ),
    "dutch": (
        "de het een is zijn was waren wordt worden en of maar als dan dat dit die deze wat"
        " wie waar wanneer waarom hoe welke van op in aan met voor door bij uit naar niet geen"
        " er ik je jij hij zij wij we ze om te ook nog"
    ),
    "swedish": (
        "och att det som en ett är var på i av för med till den de inte om vad vem när hur"
        " vilken vilka har hade kan ska från men eller jag du han hon vi ni"
    ),
    "russian": (
        "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по"
        " только ее мне было вот от меня о из ему для где когда какой какая какие кто это этот"
        " или чтобы при"
    ),
    "turkish": (
        "ve bir bu da de için ile ne mi mı mu mü olarak daha çok gibi ama var yok hangi"
        " nerede nasıl kim neden o şu değil"
    ),
}
SMALL_WORDS = {language: frozenset(words.split()) for language, words in _SMALL_WORDS.items()}
_LANGUAGE_OF_SCRIPT = (
    (re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), "greek"),
    (re.compile("[\u0600-\u06ff]"), "arabic"),
    (re.compile("[\u0900-\u097f]"), "hindi"),
    (re.compile("[\u0b80-\u0bff]"), "tamil"),
    (re.compile("[\u0400-\u052f]"), "russian"),
)
_FEW = 6  # words of a question without a small word in it
_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _words in SMALL_WORDS.items():
    for _word in _words:
        _LANGUAGES_OF.setdefault(_word, []).append(_language)


def language_of_word(word: str, language: str) -> str:
    """Return the language whose stemmer suits the word, in a text of the given language."""
    if word.isascii() or "À" <= word[0] <= "ɏ":
        return language if language in SMALL_WORDS and language != "russian" else "english"
    return next((name for script, name in _LANGUAGE_OF_SCRIPT if script.search(word)), language)


def languages_of(words: list[str]) -> list[str]:
    """
    Return the language of a text by its words, as a list of one.

    Where no small word speaks for any, a few words may be of all of them, and a text is English.
    """
    votes: dict[str, int] = {}
    for word in words[:400]:
        for language in _LANGUAGES_OF.get(word, ()):
            votes[language] = votes.get(language, 0) + 1
    if not votes:
        return list(SMALL_WORDS) if len(words) <= _FEW else ["english"]
    best = max(votes, key=lambda language: (votes[language], language == "english"))
    certain = votes[best] >= 2 or votes[best] > votes.get("english", 0)
    return [best if certain else "english"]


def language_of(words: list[str]) -> str:
    """Return the likeliest language of a text; English if there is too little to go by."""
    return languages_of(words)[0]
