/** The words of recurrences in the languages in which times are read, as parts of expressions. */

export const DAILY = `every ?day|each day|jeden tag|tous les jours|chaque jour|todos los días|cada día|ogni giorno|tutti i giorni|
  todos os dias|todo dia|elke dag|iedere dag|каждый день|щодня|кож(?:ен|ний) день|кожного дня`;
export const DAILY_HABITS = "daily|a diario|täglich|quotidiennement|diariamente|dagelijks|ежедневно|щоденно";
export const WORKDAYS = `(?:every|each) (?:week|work|working ?)day|on (?:week|work)days|jeden werktag|an werktagen|
  chaque jour (?:ouvré|ouvrable)|tous les jours (?:ouvrés|ouvrables)|cada día laborable|todos los días laborables|
  ogni giorno feriale|tutti i giorni feriali|todos os dias úteis|todo dia útil|elke werkdag|iedere werkdag|op werkdagen|
  каждый (?:будний|рабочий) день|по будням|кож(?:ен|ний) (?:будній|робочий) день|кожного (?:буднього|робочого) дня|щобудня|по буднях`;
export const WORKDAY_HABITS = "weekdays|workdays|werktags|wochentags|en semaine|entre semana|doordeweeks";
export const WEEKENDS = `(?:every|each) weekend|on weekends|jedes wochenende|an wochenenden|chaque week-?end|tous les week-?ends|cada fin de semana|
  (?:todos )?los fines de semana|ogni (?:fine settimana|weekend)|todo fim de semana|(?:todos os|aos|nos) fins de semana|elk weekend|
  кажд(?:ые|ый) (?:выходные|уикенд)|по выходным|кожні вихідні|щовихідних`;
export const HOURLY =
  "every hour|hourly|stündlich|jede stunde|toutes les heures|cada hora|ogni ora|toda hora|elk uur|каждый час|кожну годину|щогодини";
export const HALF_HOURLY =
  "every half(?: an)? hour|jede halbe stunde|toutes les demi-heures|cada media hora|ogni mezz['’]ora|a cada meia hora|elk half ?uur|каждые полчаса|кожні пів ?години";
export const EVERY = `every|each|jede[nms]?|chaque|tous les|toutes les|cada|todos los|todas las|ogni|tutti i|tutte le|todas? as|todos os|toda|todo|elke|elk|iedere|ieder|
  кажд(?:ый|ую|ое|ые)|кож(?:ен|ний|ну|ного|ної|ні)`;
/** In the order of cron: Sunday is 0. Ukrainian ones stand also behind "що": `щопонеділка`. */
export const WEEKDAYS = [
  "sundays?|sun|sonntag|dimanches?|domingos?|domenic(?:a|he)|zondag|воскресенье|неділ[юі]",
  "mondays?|mon|montag|lundis?|lunes|luned[ìi]|segundas?(?:-feiras?)?|maandag|понедельник|понеділ(?:ок|ка)",
  "tuesdays?|tues?|dienstag|mardis?|martes|marted[ìi]|ter[çc]as?(?:-feiras?)?|dinsdag|вторник|вівтор(?:ок|ка)",
  "wednesdays?|weds?|mittwoch|mercredis?|mi[ée]rcoles|mercoled[ìi]|quartas?(?:-feiras?)?|woensdag|среду|серед[уи]",
  "thursdays?|thurs?|thu|donnerstag|jeudis?|jueves|gioved[ìi]|quintas?(?:-feiras?)?|donderdag|четверга?|четвера?",
  "fridays?|fri|freitag|vendredis?|viernes|venerd[ìi]|sextas?(?:-feiras?)?|vrijdag|пятницу|п['’ʼ]ятниц[юі]",
  "saturdays?|sat|samstag|sonnabend|samedis?|s[áa]bados?|sabat[oi]|zaterdag|субботу|субот[уи]",
];
/** "On Mondays", "montags": weekdays that recur without a word for "every". */
export const HABITS = [
  "sundays|sonntags|(?:le|les) dimanches?|los domingos|(?:la|di|le) domenic(?:a|he)|(?:aos|nos) domingos|zondag(?:en|s)|воскресеньям|неділ(?:ях|ям|ями)",
  "mondays|montags|(?:le|les) lundis?|los lunes|(?:il|di|i) luned[ìi]|(?:[àa]s|nas) segundas(?:-feiras)?|maandag(?:en|s)|понедельникам|понеділк(?:ах|ам|ами)",
  "tuesdays|dienstags|(?:le|les) mardis?|los martes|(?:il|di|i) marted[ìi]|(?:[àa]s|nas) ter[çc]as(?:-feiras)?|dinsdag(?:en|s)|вторникам|вівторк(?:ах|ам|ами)",
  "wednesdays|mittwochs|(?:le|les) mercredis?|los mi[ée]rcoles|(?:il|di|i) mercoled[ìi]|(?:[àa]s|nas) quartas(?:-feiras)?|woensdag(?:en|s)|средам|серед(?:ах|ам|ами)",
  "thursdays|donnerstags|(?:le|les) jeudis?|los jueves|(?:il|di|i) gioved[ìi]|(?:[àa]s|nas) quintas(?:-feiras)?|donderdag(?:en|s)|четвергам|четверг(?:ах|ами)",
  "fridays|freitags|(?:le|les) vendredis?|los viernes|(?:il|di|i) venerd[ìi]|(?:[àa]s|nas) sextas(?:-feiras)?|vrijdag(?:en|s)|пятницам|п['’ʼ]ятниц(?:ях|ям|ями)",
  "saturdays|samstags|sonnabends|(?:le|les) samedis?|los s[áa]bados|(?:il|di|i) sabat[oi]|(?:aos|nos) s[áa]bados|zaterdag(?:en|s)|субботам|субот(?:ах|ам|ами)",
];
/** Behind "le lundi" it is one day: "le lundi 3 décembre", "il lunedì prossimo". */
export const ONE_DAY = String.raw`\s+(?:\d{1,2}(?:er|º|°)?\s+(?:gen|feb|mar|apr|mag|giu|lug|ago|set|ott|nov|di?c|janv|fév|avr|mai|jui|août|sep|oct|déc)|\d{1,2}[./]\d|prochain|suivant|prossim)`;
/** Between two weekdays: all those between them, too. */
export const TO = "to|through|until|bis|à|au|a|al|até|tot|t/m|по|до|[-–—]";
export const AND_WORDS = "and|und|et|y|e|en|и|і|й|та";
export const AND = String.raw`(?:\s*,\s*|\s+)(?:(?:${AND_WORDS}|${TO})\s+)?(?:(?:${EVERY}|on|op|по|у|в)\s+|що)?|\s*[-–—]\s*`;
export const MINUTES = "min|mins|minutes?|minuten|minutos|minuti|минут[уы]?|хвилин[иу]?";
export const HOURS = "h|hours?|stunden|heures?|horas?|ore|uur|час(?:а|ов)?|годин[иу]?";
export const ALL = `alle|${EVERY}|a cada`;
/** Every second one, and the like: no cron expression says it. */
export const ORDINAL = `other|(?:second|third|fourth|fifth|sixth|2nd|3rd|[4-6]th)|(?:zweite|dritte|vierte)[nrsm]?|(?:deuxième|segund[oa]|second[oa]|terz[oa]|tercer[oa]?|terceir[oa]|tweede|derde)|
  (?:втор|трет|друг|трет)(?:ой|ую|ое|ий|ью|ье|ий|у|ю|ого|ої)`;
export const UNEVEN = `bi-?weekly|fortnightly|quarterly|(?:every|each) (?:quarter|fortnight)|bi-?monthly|zweiwöchentlich|vierzehntägig|quartalsweise|vierteljährlich|
  jedes quartal|(?:une?|1) \\p{L}{3,10} sur (?:deux|2|trois|3)|(?:tous les|les) quinze jours|chaque trimestre|cada (?:quincena|trimestre)|quincenalmente|ogni trimestre|
  todo trimestre|elk kwartaal|om de (?:week|dag|maand|twee weken)|tweewekelijks|раз в (?:две|три|2|3) недели|через день|каждый квартал|щокварталу`;

/** Parts of the day after a word for "every", and the default hour of each. */
export const PARTS = [
  {
    hour: 9,
    isLate: false,
    words: `(?:every|each) morning|in the mornings|jede[nm]? (?:morgen|vormittag)|chaque matin|tous les matins|cada mañana|todas las mañanas|
      ogni mattin[ao]|tutte le mattine|toda manhã|todas as manhãs|(?:elke|iedere) (?:ochtend|morgen)|['’]s (?:ochtends|morgens)|
      каждое утро|по утрам|щоранку|кожного ранку`,
    unspaced: /毎朝|每(?:天|日)?早上?/u,
  },
  {
    hour: 15,
    isLate: true,
    words: `(?:every|each) afternoon|in the afternoons|jeden nachmittag|chaque après-midi|tous les après-midi|cada tarde|todas las tardes|
      ogni pomeriggio|tutti i pomeriggi|toda tarde|todas as tardes|(?:elke|iedere) middag|['’]s middags`,
    unspaced: /每(?:天|日)?下午/u,
  },
  {
    hour: 20,
    isLate: true,
    words: `(?:every|each) (?:evening|night)|nightly|in the evenings|jeden abend|jede nacht|chaque soir|chaque nuit|tous les soirs|cada noche|todas las noches|
      ogni (?:sera|notte)|tutte le sere|toda noite|todas as noites|(?:elke|iedere) (?:avond|nacht)|['’]s avonds|
      каждый вечер|по вечерам|щовечора|кожного вечора`,
    unspaced: /毎[晩夕]|每(?:天|日)?晚上?/u,
  },
];

/** "Once a week", and "twice a day", which no cron expression says without the times. */
export const ONCE = "once|one time|einmal|une fois|una vez|una volta|uma vez|een keer|eens|раз";
export const OFTEN =
  "twice|thrice|zweimal|dreimal|двічі|тричі|(?:\\d{1,2}|\\p{L}{2,9}) (?:times|mal|fois|veces|volte|vezes|keer|раза?|рази)";
export const PER_ONE = "an?|per|each|every|pro|am|im|in der|par|al|a la|alla|por|na|в|на";

/** What needs a date beside it. */
export const PER = {
  week: `(?:every|each) week|jede woche|chaque semaine|toutes les semaines|cada semana|todas las semanas|ogni settimana|tutte le settimane|
    toda semana|todas as semanas|elke week|iedere week|каждую неделю|щотижня|кожного тижня`,
  month: `(?:every|each) month|jeden monat|chaque mois|tous les mois|cada mes|todos los meses|ogni mese|tutti i mesi|todo mês|todos os meses|cada mês|
    elke maand|iedere maand|каждый месяц|щомісяця|кож(?:ен|ний) місяць|кожного місяця`,
  year: `(?:every|each) year|jedes jahr|chaque année|tous les ans|cada año|todos los años|ogni anno|tutti gli anni|todo ano|todos os anos|elk jaar|ieder jaar|
    каждый год|щороку|кожного року`,
};
export const PER_HABITS = {
  week: "weekly|wöchentlich|semanalmente|settimanalmente|wekelijks|еженедельно",
  month: "monthly|monatlich|mensuellement|mensualmente|mensilmente|mensalmente|maandelijks|ежемесячно",
  year: "yearly|annually|jährlich|annuellement|anualmente|annualmente|jaarlijks|ежегодно",
};
/** Before a day of the month. */
export const MONTHLY = `${PER.month}|${PER_HABITS.month}`;

/** A day of the month, and the words around it. "The first" alone may be any first. */
const FIRST =
  "first(?: day)?|ersten?(?: tag)?|1er|premier(?: jour)?|primer[oa]?(?: d[ií]a)?|primo(?: giorno)?|primeiro(?: dia)?|eerste(?: dag)?|перв(?:ого|ое|ый)(?: дня| числа)?|перш(?:ого|е|ий)(?: дня| числа)?";
const LAST =
  "last(?: day)?|letzten?(?: tag)?|dernier(?: jour)?|último(?: d[ií]a)?|ultimo(?: giorno)?|laatste(?: dag)?|последн(?:ий|его)(?: день| дня| числа)?|останн(?:ій|ього)(?: день| дня| числа)?";
/** Group names are repeated in each alternative that uses this. */
export const DAY = String.raw`(?:(?:day|día|dia|dag|день|число)\s+)?(?:(?<day>\d{1,2})(?:st|nd|rd|th|er|\.|e|º|°|ª|-?(?:го|е|ое))?(?: числа| число)?|(?<first>${FIRST})|(?<last>${LAST}))`;
/** Before the day. */
export const THE = `(?:(?:always |immer )?(?:on(?: the)?|the|am|zum|le|el|il|l['’]|no|op de|op|de|em|в|у)\\s+)?`;
/** Behind the day. */
export const OF_EACH_MONTH = `of (?:each|every) month|(?:jede[sn]|eines jeden|im|des) monats?|(?:de |du )?chaque mois|de tous les mois|de cada mes|di ogni mese|de cada mês|de todos os meses|
  van (?:elke|iedere|de) maand|каждого месяца|кожного місяця|щомісяця`;
/** Behind "every" and the day. */
export const OF_MONTH = `of (?:the |each |every )?month|in (?:the|a) month|(?:im|des|eines) monats?|du mois|del mes|del mese|do mês|van de maand|месяца|місяця|числ[оа]`;
/** First to last: the number that cron has behind `#`. */
export const NTH: readonly (readonly [as: string, words: string])[] = [
  ["1", "first|1st|ersten?|erster"],
  ["2", "second|2nd|zweiten?"],
  ["3", "third|3rd|dritten?"],
  ["4", "fourth|4th|vierten?"],
  ["L", "last|letzten?"],
];

/** What may be said of a recurrence, and no cron expression says: an exception, a beginning, an end. */
export const LIMITS = `except|excluding|but not|außer|ausser|sauf|excepto|salvo|menos|eccetto|tranne|exceto|behalve|кроме|крім|
  until|till|starting|beginning|bis|ab|jusqu['’]\\p{L}*|à partir|hasta|a partir|desde|fino|até|tot|vanaf|начиная|починаючи|до`;
