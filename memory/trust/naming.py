"""
Which words name a thing that lasts, and what looks like a value of its attribute.

An attribute tells what its value looks like: a port is a number, a path has a slash, a command is
quoted as one, and an owner is a name. A name is told from an adjective by how it is written: the
broker is RabbitMQ, and the broker is slow.
"""

import re
from collections.abc import Sequence


def listed(words: str) -> frozenset[str]:
    """Return the words that stand in a list of words."""
    return frozenset(words.split())


# Attributes of a thing, by what their values look like.
_NUMBERS = (
    "timeout ttl retention limit size interval quota threshold replicas workers threads retries"
    " rate length period lifetime count"
)
_NAMES = (
    "branch region zone owner lead manager maintainer provider engine database broker queue bucket"
    " topic namespace cluster user username role channel schedule window entrypoint image tag"
    " locale protocol encoding currency timezone license licence framework language runtime shell"
    " prefix suffix format mode level location model dialect backend frontend server platform"
    " remote mirror name alias"
)
_PLACES = "path directory folder file url uri endpoint host hostname domain registry address"
_WRITTEN_AS = {
    "port": re.compile(r"\d{1,5}"),
    "version": re.compile(r"v?\d[\w.+-]*"),
    "date": re.compile(r"\d{4}-\d{2}-\d{2}.*"),
    "deadline": re.compile(r"\d{4}-\d{2}-\d{2}.*"),
    "time": re.compile(r"\d{1,2}:\d{2}.*"),
    "email": re.compile(r"[^@\s]+@[^@\s]+"),
    "command": re.compile(r"[`\"“].*"),
    **dict.fromkeys(listed(_NUMBERS), re.compile(r".*\d.*")),
    **dict.fromkeys(listed(_PLACES), re.compile(r".*[/.\\~\d_-].*|[`\"“].*")),
}
ATTRIBUTES = listed(_NAMES) | _WRITTEN_AS.keys()

_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*")
# Names that are written small. Any other small word after "is" may be an adjective.
SMALL_NAMES = listed(
    """
    main master trunk develop development staging production release next hotfix canary json
    yaml toml xml csv parquet avro protobuf html markdown redis postgres postgresql mysql sqlite
    mongodb kafka rabbitmq nginx docker podman bash zsh fish sh python node java go rust ruby
    php perl http https grpc tcp udp amqp mqtt debug info
    """
)
_ADJECTIVE = re.compile(
    r".*(?:ed|ing|able|ible|ive|ous|ful|less|ish|ent|ant|only|based|ready|native|date|free|proof|safe"
    r"|wide|friendly|specific|aware|driven|like|term|time|side|neutral|agnostic)"
    r"|(?:un|in|im|non|well|self|multi|half|semi|over|high|low|too|up|out|so|hard|easy)-.*",
)
_SAY_NOTHING = listed(
    """
    a an the in on at by for with from to of as so very too also always still now only just done
    slow fast down up fine bad wrong right new old important optional unknown open full unused
    enough great nice small large big hard easy simple complex true false yes no correct
    incorrect ok okay green red live dead private public good broken empty unstable unset unsafe
    safe here there soon later flexible manual automatic high low medium tbd tba tbc todo n/a na
    none null nil pending various several multiple see same both all any many latest xxx ??? -
    """
)
_DAYS = listed("monday tuesday wednesday thursday friday saturday sunday")
_ON_CERTAIN_DAYS = frozenset({"window", "schedule"})
# What stands for a value that whoever reads it puts in.
_TO_BE_FILLED_IN = re.compile(r"[<>{}$*]|\byour[-_]", re.IGNORECASE)

# Before these words nobody knows whose it is, or the text is of another language.
_POINTING = listed(
    """
    my your his her its their this that these those each every any some another other same such
    both all no one most it we you they he she which what i der die das den dem des ein eine
    einen unser unsere unserer mein meine dein deine ihr ihre sein seine aktuelle neue le la les
    un une notre nos mon ma mes votre vos leur el los las una nuestro nuestra mi tu su il lo gli
    nostro nostra mia mio o os as nosso nossa minha meu seu het de onze mijn nasz nasza den det
    vores
    """
)
# With one of these inside it is a clause: deleting the bucket, what to do with the port.
_INSIDE_A_CLAUSE = listed(
    """
    the this that these those in on by with at from to and or as whose which who using always is
    are be it we you they while because since so but
    """
)
# So an instruction begins.
_BIDDING = listed(
    """
    set use see try ask choose pick enter visit add remove delete avoid remember ensure verify
    fix bump go get put let please contact notify tell open switch change wait do run note make
    keep
    """
)
# Whatever these are said of was looked at once, on one occasion.
_PASSING = listed(
    """
    current currently new next first second third last latest recent previous upcoming final
    remaining wrong bad good broken stuck slow slowest fastest old peak actual observed failing
    crashing missing pending running waiting hanging leaking offending conflicting outstanding
    following offline dead suspect culprit guilty worst best biggest longest
    """
)
_PARTICIPLE = re.compile(r"[a-z]{3,}ed")
_LASTING_PARTICIPLES = listed(
    """
    shared managed embedded hosted dedicated generated signed distributed encrypted allowed
    expected speed feed seed embed need compiled federated replicated scheduled
    """
)
# What happens once, whoever has to do with it then, and what is left of it.
_OCCASIONS = listed(
    """
    demo sale sprint workshop lunch dinner breakfast party trip flight train hotel offsite
    birthday birth holiday vacation interview talk training visit action task todo item story
    recording screenshot thread pr mr pull patch fix diff attempt run experiment follow-up
    candidate reporter customer guest visitor attendee caller applicant sender recipient author
    reviewer assignee winner patient student buyer seller contact person colleague problem bug
    reason point thing question answer idea result goal rule trick example hint tip caveat
    warning difference root symptom reproduction impact
    """
)
# One of these comes and goes, and the next has another address. Their limits are set for all.
_COME_AND_GO = listed(
    """
    meeting call incident outage crash failure error exception issue ticket alert alarm session
    request response client pod process connection transaction lock order invoice review trace
    core
    """
)
_WHICH_ONE_IT_IS = listed(
    """
    name alias address user username host hostname path directory folder file url uri location
    image email region zone tag owner lead manager branch date time
    """
)
_COUNTED = listed(
    """
    room building floor day week month year phase step chapter ticket pr issue gate terminal
    line team table zone page section part option plan type level tier slot stage wave round
    january february march april may june july august september october november december
    """
)


def names_a_thing(words: Sequence[str], attribute: str, *, with_article: bool) -> bool:
    """Return whether the words name a thing of which this attribute lasts."""
    small = [word.lower() for word in words]
    if not small or small[0] in _POINTING or (small[0] in _BIDDING and not with_article):
        return False
    if _INSIDE_A_CLAUSE.intersection(small) or any(map(_is_passing, small)):
        return False
    # What stands last tells what it is: a customer portal is a portal.
    head = small[-1]
    if head in _COME_AND_GO:
        return attribute not in _WHICH_ONE_IT_IS
    return head not in _OCCASIONS


def is_a_value(attribute: str, value: str, *, after_a_sign: bool) -> bool:
    """
    Return whether it looks like a value that the attribute takes.

    :param value: as it is written, with its quotes
    :param after_a_sign: whether a colon or the like stands before it, and not a verb
    """
    bare = value.strip('`"“”')
    last = re.split(r"[_-]", attribute)[-1]
    if bare.lower() in _SAY_NOTHING or (
        last != "command" and _TO_BE_FILLED_IN.search(bare) is not None
    ):
        return False
    written = _WRITTEN_AS.get(last)
    if written is not None:
        return written.fullmatch(value) is not None or written.fullmatch(bare) is not None
    if bare != value or _WORD.fullmatch(value) is None:
        return True
    if value.lower() in _DAYS:
        return last in _ON_CERTAIN_DAYS
    if value != value.lower() or value in SMALL_NAMES or (after_a_sign and last == "branch"):
        return True
    return (after_a_sign or "-" in value) and _ADJECTIVE.fullmatch(value) is None


def is_a_release(tool: str, number: str) -> bool:
    """Return whether the number after the word is its version: Java 21, but not room 4."""
    if tool.lower() in _COUNTED:
        return False
    return "." in number or tool[0].isupper() or tool in SMALL_NAMES


def _is_passing(word: str) -> bool:
    return any(
        part in _PASSING or (_PARTICIPLE.fullmatch(part) and part not in _LASTING_PARTICIPLES)
        for part in word.split("-")
    )
