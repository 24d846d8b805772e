"""Numbers, dates and times however they are written, and the one form in which they compare."""

import re
from collections.abc import Iterable

# The letters and digits of scripts that put spaces between words. A number in the midst of
# Chinese or Japanese text ends where the ideographs begin, so those are left out.
LETTERS = "A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u052f"
WORD = LETTERS + "0-9_"

_SPELLINGS_OF_UNITS = {
    "ns": "ns nanosecond nanoseconds",
    "us": "us µs μs microsecond microseconds",
    "ms": "ms msec millisecond milliseconds millisekunden millisecondes milisegundos 毫秒 ミリ秒",
    "s": "s sec secs second seconds sekunde sekunden seconde secondes segundo segundos secondo"
    " secondi seconden sekund sekundy секунда секунды секунд сек 秒 秒钟 秒間 초 ثانية ثوان ثواني",
    "min": "min mins minute minutes minuten minuto minutos minuti minuut minut minuty минута"
    " минуты минут мин 分钟 分鐘 分間 분 دقيقة دقائق",
    "h": "h hr hrs hour hours stunde stunden heure heures hora horas ora ore uur uren godzina"
    " godziny godzin час часа часов 小时 小時 時間 시간 ساعة ساعات",
    "d": "d day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen dni"
    " день дня дней 天 日間 일 يوم أيام",
    "wk": "week weeks woche wochen semaine semaines semana semanas settimana settimane weken"
    " tydzień tygodnie неделя недели недель 周 週間 주 أسبوع أسابيع",
    "mo": "month months monat monate monaten mois mes meses mese mesi maand maanden miesiąc"
    " miesiące месяц месяца месяцев 个月 個月 ヶ月 か月 개월 شهر أشهر",
    "y": "year years jahr jahre jahren an ans année années año años ano anos anno anni jaar jaren"
    " lat год года лет 年間 سنة سنوات",
    "%": "% percent prozent pourcent procent процент процента процентов ٪",
    "b": "B byte bytes octet octets",
    "kb": "kB KB kb",
    "mb": "MB mb megabyte megabytes",
    "gb": "GB gb gigabyte gigabytes Go",
    "tb": "TB tb terabyte terabytes",
    "kib": "KiB kib Ki",
    "mib": "MiB mib Mi",
    "gib": "GiB gib Gi",
    "tib": "TiB tib Ti",
    "mbit": "Mb Mbit Mbps Mbit/s",
    "gbit": "Gb Gbit Gbps Gbit/s",
    "hz": "Hz hz",
    "mhz": "MHz mhz",
    "ghz": "GHz ghz",
    "°c": "°C ℃",
    "°f": "°F",
    "x": "x × fold",
    "th": "st nd rd th",
    "usd": "$ USD usd dollar dollars",
    "eur": "€ EUR eur euro euros",
    "gbp": "£ GBP gbp",
    "m": "m meter meters metre metres",
    "km": "km kilometer kilometers",
    "kg": "kg",
}
_UNITS = {
    written: unit
    for unit, spellings in _SPELLINGS_OF_UNITS.items()
    for spelling in spellings.split()
    for written in {spelling, spelling.capitalize() if len(spelling) > 3 else spelling}
}

_MONTHS_BY_LANGUAGE = (
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
    "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    (
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października"
        " listopada grudnia"
    ),
)
_MONTHS = {
    name: number for names in _MONTHS_BY_LANGUAGE for number, name in enumerate(names.split(), 1)
} | {"sept": 9, "okt": 10, "dez": 12}
# Names of months that are other words as well, or too short to stand for a month alone.
_OTHER_WORDS = "may mai mei march mars mar jan sep dec maja maio marca"
_NOT_ALONE = frozenset(_OTHER_WORDS.split())

_DAYS_BY_LANGUAGE = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "mondays tuesdays wednesdays thursdays fridays saturdays sundays",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "montags dienstags mittwochs donnerstags freitags samstags sonntags",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miércoles jueves viernes sábado domingo",
    "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    "понедельник вторник среду четверг пятницу субботу воскресенье",
    "poniedziałek wtorek środę czwartek piątek sobotę niedzielę",
    "星期一 星期二 星期三 星期四 星期五 星期六 星期日",
    "周一 周二 周三 周四 周五 周六 周日",
    "月曜 火曜 水曜 木曜 金曜 土曜 日曜",
    "월요일 화요일 수요일 목요일 금요일 토요일 일요일",
)
_DAYS = {
    name: number for names in _DAYS_BY_LANGUAGE for number, name in enumerate(names.split(), 1)
}

# One is left out: it is an article or a pronoun in most of these languages, and a text that has
# one where another has two differs by the two.
_NUMBER_WORDS = {
    word: str(number)
    for number, words in {
        0: "zero null zéro cero",
        2: "two zwei deux dos due dois duas twee два две двух dwa dwie",
        3: "three drei trois tres tre três drie три трёх трех trzy",
        4: "four vier quatre cuatro quattro quatro четыре четырёх cztery",
        5: "five fünf cinq cinco cinque vijf пять пяти pięć",
        6: "six sechs seis zes шесть sześć",
        7: "seven sieben sept siete sette sete zeven семь siedem",
        8: "eight acht huit ocho oito восемь osiem",
        9: "nine neun neuf nueve nove negen девять dziewięć",
        10: "ten zehn dix diez dieci dez tien десять dziesięć",
        11: "eleven elf onze undici",
        12: "twelve zwölf douze doce dodici doze twaalf двенадцать dwanaście",
        15: "fifteen fünfzehn quinze quindici vijftien",
        20: "twenty zwanzig vingt veinte venti vinte twintig двадцать dwadzieścia",
        30: "thirty dreißig trente treinta trenta trinta dertig тридцать trzydzieści",
        40: "forty vierzig quarante cuarenta quaranta veertig сорок",
        50: "fifty fünfzig cinquante cincuenta cinquanta cinquenta vijftig пятьдесят",
        60: "sixty sechzig soixante sesenta sessanta sessenta zestig шестьдесят",
        90: "ninety neunzig noventa novanta negentig девяносто",
        100: "hundred hundert cent cien cento honderd сто sto",
        1000: "thousand tausend mille mil duizend тысяча tysiąc",
    }.items()
    for word in words.split()
}
_CJK_DIGITS = {numeral: digit for digit, numeral in enumerate("零一二三四五六七八九")} | {
    "两": 2,
    "兩": 2,
}
_CJK_POWERS = {"十": 10, "百": 100, "千": 1000}


def any_of(spellings: Iterable[str]) -> str:
    """Return a pattern for any of the spellings; a look at the first letter spares most of them."""
    longest_first = sorted(spellings, key=len, reverse=True)
    firsts = re.escape("".join(sorted({one[0] for one in longest_first})))
    return f"(?=[{firsts}])(?:{'|'.join(map(re.escape, longest_first))})"


# Possessive throughout: a number is read once and never given back a digit at a time.
_DIGITS = (
    r"\d{1,3}+(?:[,'_\u00a0\u202f]\d{3}(?!\d))++(?:\.\d++)?+"
    r"|\d++(?:[.,]\d++)*+(?:[eE][+-]?\d{1,3}(?!\d))?+"
)
_WORDY_UNITS = any_of(unit for unit in _UNITS if unit[-1].isalpha() and unit[-1] < "\u2e80")
_OTHER_UNITS = any_of(unit for unit in _UNITS if not unit[-1].isalpha() or unit[-1] >= "\u2e80")
QUANTITY = re.compile(
    rf"(?<![{WORD}])(?<![{WORD}][.,:])(?P<sign>(?<![{WORD}).-])-)?(?P<currency>[$€£]\u0020?)?"
    rf"(?P<digits>{_DIGITS})"
    rf"(?:[ \u00a0\u202f-]?(?P<unit>(?:{_WORDY_UNITS})(?![{WORD}])|{_OTHER_UNITS})"
    rf"|(?P<kilo>[kK])(?![{WORD}]))"
    rf"|(?<![{WORD}])(?P<dear>[$€£])\u0020?(?P<amount>{_DIGITS})(?![{WORD}])"
)
NUMBER = re.compile(rf"(?:(?<![{WORD}).-])(?P<sign>-))?(?<![{WORD}])(?P<digits>{_DIGITS})")
NUMBER_WORD = re.compile(rf"(?<![{WORD}])(?:{any_of(_NUMBER_WORDS)})(?![{WORD}])", re.IGNORECASE)
CJK_NUMBER = re.compile(
    r"[零一二三四五六七八九十百千两兩]{1,9}"
    r"(?=[个個秒分小天日月年次台份名人条條件本枚回つ层階倍周週])"
)

_MONTH = rf"(?:{any_of(_MONTHS)})(?![{WORD}])\.?"
_ORDINAL = r"(?:st|nd|rd|th|er|º|\.)?"
YEAR_FIRST = (
    rf"(?<![{WORD}.-])(?P<y>\d{{4}})(?P<mark>[-/.])(?P<m>0?[1-9]|1[0-2])(?P=mark)"
    r"(?P<d>0?[1-9]|[12]\d|3[01])(?!\d)"
)
YEAR_LAST = (
    rf"(?<![{WORD}.-])(?P<a>0?[1-9]|[12]\d|3[01])(?P<mark>[./-])(?P<b>0?[1-9]|[12]\d|3[01])"
    rf"(?P=mark)"
    r"(?P<y>\d{4})(?!\d)"
)
DATES = (
    re.compile(
        r"(?P<y>\d{4})\s?[年년]\s?(?P<m>0?[1-9]|1[0-2])\s?[月월](?:\s?(?P<d>\d{1,2})\s?[日号號일])?"
    ),
    re.compile(
        rf"(?<![{WORD}])(?P<d>\d{{1,2}}){_ORDINAL} (?:of |de |di )?(?P<name>{_MONTH})"
        r"(?:,? (?:de |del )?(?P<y>\d{4})(?!\d))?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![{WORD}])(?P<name>{_MONTH}) (?P<d>\d{{1,2}}){_ORDINAL}(?![\d{LETTERS}:%])"
        rf"(?:,? (?P<y>\d{{4}})(?!\d))?",
        re.IGNORECASE,
    ),
    re.compile(rf"(?<![{WORD}])(?P<name>{_MONTH}),? (?:de )?(?P<y>\d{{4}})(?!\d)", re.IGNORECASE),
)
MONTH_ALONE = re.compile(
    rf"(?<![{WORD}])(?:{any_of(set(_MONTHS) - _NOT_ALONE)})(?![{WORD}])", re.IGNORECASE
)
DOUBTFUL_MONTH = re.compile(rf"(?<=[a-zà-ÿ] )(?:May|March|Mai|Mei)(?![{WORD}])")
WEEKDAY = re.compile(
    rf"(?<![{WORD}])(?:{any_of(day for day in _DAYS if day[0] < chr(0x2E80))})(?![{WORD}])"
    rf"|{any_of(day for day in _DAYS if day[0] >= chr(0x2E80))}",
    re.IGNORECASE,
)
TIME = re.compile(
    rf"(?:(?<= )T|(?<![{WORD}.:]))(?P<h>[01]?\d|2[0-4]):(?P<m>[0-5]\d)(?P<s>:[0-6]\d"
    rf"(?:[.,]\d{{1,9}})?)?"
    r"(?![\d:])(?P<half> ?[ap]\.?m\b\.?)?"
    rf"(?P<zone> ?(?:Z|UTC|GMT|CET|CEST|EST|EDT|PST|PDT|MSK|JST|IST)(?![{WORD}])"
    rf"| ?[+-]\d\d:?\d\d(?!\d))?"
    rf"|(?<![{WORD}.:])(?P<hour>1[0-2]|[1-9])(?P<noon> ?[ap]\.?m)(?![{WORD}])",
    re.IGNORECASE,
)


def number(digits: str, unit: str | None = None, sign: str | None = None) -> str:
    """
    Return how a number compares: without the marks between its thousands, with a known unit.

    Without a unit 2.10 stays 2.10, for it may be a version, and 1.000 stays what it is, for half of
    the world means a thousand by it: what is doubtful is never taken to be equal.
    """
    plain = re.sub(r"['_\u00a0\u202f]", "", digits)
    if re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", plain):
        plain = plain.replace(",", "")
    elif re.fullmatch(r"\d+,\d{1,2}|\d+,\d{4,}|0,\d+", plain):
        plain = plain.replace(",", ".")
    elif re.fullmatch(r"[1-9]\d{0,2}(?:\.\d{3}){2,}", plain):
        plain = plain.replace(".", "")
    if unit and re.fullmatch(r"\d+\.\d{1,2}|\d+\.\d{4,}", plain):
        plain = plain.rstrip("0").rstrip(".")
    known = _UNITS.get(unit) or _UNITS.get(unit.lower(), unit) if unit else None
    return ("-" if sign else "") + plain + (f" {known}" if known else "")


def quantity(found: re.Match[str]) -> str:
    """Return how a match of QUANTITY compares."""
    if found["amount"]:
        return number(found["amount"], found["dear"])
    if found["kilo"]:
        return number(_thousandfold(found["digits"]), None, found["sign"])
    return number(found["digits"], found["unit"], found["sign"])


def number_word(word: str) -> str:
    """Return how a number in letters, or in Chinese numerals, compares."""
    known = _NUMBER_WORDS.get(word.lower())
    return known if known is not None else str(_cjk(word))


def date(found: re.Match[str]) -> str:
    """Return how a date compares: 2026-11-30, 2026-11, --11-30; as it stands if it is doubtful."""
    parts = found.groupdict()
    year = parts.get("y") or "-"
    if "a" in parts:
        first, second = int(parts["a"]), int(parts["b"])
        if first > 12 or first == second or "." in found[0]:
            return f"{year}-{second:02}-{first:02}"
        return f"{year}-{first:02}-{second:02}" if second > 12 else found[0]
    name = parts.get("name")
    month = _MONTHS[name.rstrip(".").lower()] if name else int(parts["m"])
    day = f"-{int(parts['d']):02}" if parts.get("d") else ""
    return f"{year}-{month:02}{day}"


def month(name: str) -> str:
    return f"--{_MONTHS[name.lower()]:02}"


def weekday(name: str) -> str:
    return f"weekday {_DAYS[name.lower()]}"


def time(found: re.Match[str]) -> str:
    """Return how a match of TIME compares: 15:00, 14:30:05Z, 09:00+02:00."""
    hour, half = int(found["h"] or found["hour"]), (found["half"] or found["noon"] or "").lower()
    if half and hour <= 12:
        hour = hour % 12 + (12 if "p" in half else 0)
    seconds = (found["s"] or "").replace(",", ".")
    zone = (found["zone"] or "").strip().upper()
    if zone in {"UTC", "GMT", "Z", "+00:00", "+0000", "-00:00"}:
        zone = "Z"
    if zone[:1] in {"+", "-"}:
        zone = zone[:3] + ":" + zone[-2:]
    return f"{hour:02}:{found['m'] or '00'}{'' if seconds == ':00' else seconds}{zone}"


def version(written: str) -> str:
    """Return how a version compares: without v, and without zeros beyond the second part."""
    numbers, rest = re.fullmatch(r"[vV]?([\d.]*\d)(.*)", written, re.DOTALL).groups()  # type: ignore[union-attr]
    parts = (numbers + ".0" if "." not in numbers else numbers).split(".")
    while len(parts) > 2 and parts[-1].strip("0") == "":
        parts.pop()
    return ".".join(parts) + rest.lower()


def _thousandfold(digits: str) -> str:
    whole, _, fraction = digits.partition(".")
    if len(fraction) <= 3 and whole.isdigit() and (fraction.isdigit() or not fraction):
        return (whole + fraction.ljust(3, "0")).lstrip("0") or "0"
    return digits + "k"


def _cjk(numerals: str) -> int:
    total, digit = 0, 0
    for numeral in numerals:
        if numeral in _CJK_POWERS:
            total += (digit or 1) * _CJK_POWERS[numeral]
            digit = 0
        else:
            digit = digit * 10 + _CJK_DIGITS[numeral]
    return total + digit
