import { splitSentences } from "../text/terms.ts";
import { normalForm } from "../text/text.ts";
import { normalWords } from "../text/normal-text.ts";
import { tellsOfEnd } from "./statement-marks.ts";
import { sharedWords } from "./statement-support.ts";

/**
 * Classifies how a text states something: affirmed or denied; as a fact, a proposal, a hypothesis, a question, a joke, another person's
 * words, or mere agreement. It knows the most common forms of the languages that are most likely here. Pure.
 */

const list = (text: string): string =>
  text
    .split(/[|\n]/)
    .map((one) => one.trim())
    .filter((one) => one !== "")
    .join("|");
const whole = (pattern: string): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{M}\\p{N}'])(?:${pattern})(?![\\p{L}\\p{M}\\p{N}])`, "u");

/** In small letters, with plain apostrophes. */
export function inSmallLetters(text: string): string {
  return normalForm(text, "NFKC").toLowerCase().replaceAll(/[’‘ʼ]/g, "'").replaceAll(/\s+/g, " ").trim();
}

/** They have a negation, and deny nothing. */
const NO_DENIAL = new RegExp(
  `(?<!\\p{L})(?:${list(`
    (?:can|could)(?:no|n')?t (?:wait|stop|believe|help|agree more|be happier|be more|get enough|recommend .{0,20} enough|imagine)|can't wait|no (?:problem|worries|doubt|wonder|way|idea|kidding|matter|need to|rush)
    not (?:only|just|to mention|bad|sure if)|why (?:not|don't)|don't (?:worry|forget|you|hesitate|mind)|never mind|never (?:stop|fail|miss|refuse|skip)\\p{L}*|nothing (?:but|beats|like|better|compares)|isn't (?:it|that)|aren't (?:you|they|we)
    doesn't (?:it|he|she)|didn't (?:you|i|he|she|we|they)|wasn't it|won't you|shouldn't i|haven't you|right or not|or not|if not|not long ago|no longer than|not until|couldn't (?:have|be)|wouldn't (?:trade|change|miss)
    nicht nur|kein problem|keine (?:ahnung|sorge|frage)|nicht wahr|warum nicht|ohne zweifel|nicht zuletzt|non solo|no solo|no sólo|pas seulement|pas mal|pourquoi pas|por qué no|n'est-ce pas|sans doute|não só|не только`)})(?!\\p{L})|じゃない[?か]|ではない[?か]|かもしれない|かもしれません|なければ(?:なら|いけ)|なくては|ないと(?:いけ|だめ|ダメ)|違いない|しかない|少なくない|ませんか|ないですか|たまらない|仕方ない|不错|不錯|不好意思|对不起|不但|不仅|差不多|对不对|好不好|是不是|不得不|별로|뿐만 아니라`,
  "gu",
);
const DENIAL = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:${list(`
    not|no|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|dont|cant|wont|isnt|doesnt|didnt|aint|hardly|(?:\\p{L}+)n't|no longer|any ?more
    nicht|nix|nichts|kein|keine|keinen|keinem|keiner|keines|nie|niemals|niemand|ohne|nirgends
    ne|n'\\p{L}+|pas|jamais|aucune?|sans|rien|personne ne|nunca|jamás|ningún|ninguna|ninguno|nadie|sin|tampoco|nada
    non(?!-)|mai|nessuno|nessuna|senza|niente|não|nem|ninguém|sem|nenhuma?|niet|geen|nooit|inte|aldrig|ingen|ikke|nie|nigdy|bez|değil|yok|hiç
    не|нет|никогда|никто|ничего|нельзя|без|нету`)})(?!\\p{L})|ない(?!と思)|ません|なかった|なくな|ず(?=に)|ぬ(?=。|$)|嫌(?!い)|不(?!过|同|断|安|思議|動産|足)|没有?|沒有?|未(?!来|來)|无(?!论)|無(?!事|料|論)|别(?!人|的)|非(?!常)|안 |못 |없|않|아니|말고`,
  "u",
);
/** End, hate or fail what they stand beside: who does so neither does nor likes it. */
const OPPOSED = list(`
  dislikes?|disliked|hates?|hated|loath(?:es?|ed)|detest(?:s|ed)?|dropped out|stop(?:s|ped)(?! (?:in|by|at|over|off|for|to)(?!\\p{L}))|(?<!(?:\\p{L}(?:us|am|in|ro)|the|a|last|next|first|second|third|our|my) )stop(?! (?:in|by|at|over|off|for|to)(?!\\p{L}))|quit(?:s|ted)?|gave up|gives? up|given up|cancel(?:l?ed|s)?|refus(?:es?|ed)|avoid(?:s|ed)?|fail(?:s|ed)?|declin(?:es?|ed)|reject(?:s|ed)?
  hasst|hasse|aufgehört|aufgegeben|abgesagt|verweigert|vermeidet|abgelehnt|gekündigt|déteste|arrêté de|annulé|évite|odia|odio|dejó de|dejé de|cancel(?:é|ó|amos|aron|ad[oa])|evita|detesta|smesso|annullato|odeia|parou de|parei de
  ненавидит|ненавижу|бросил[аи]?|отменил[аи]?|отменен[оаы]?|избегает`);
const OPPOSED_PIECES =
  "嫌い|苦手|やめ(?!と)|辞め|中止|禁止|断[っり]|避け|讨厌|討厭|戒了|取消|拒绝|停止|싫|그만|취소";
const OPPOSES = new RegExp(`(?<!\\p{L})(?:${OPPOSED})(?!\\p{L})|${OPPOSED_PIECES}`, "u");
/** Deny by a word of their own. */
const AVERSE = new RegExp(
  `(?<!\\p{L})(?:${OPPOSED}|${list(`
    stop(?:s|ped)?|lack(?:s|ed)?|unable|skip(?:s|ped)?|miss(?:es|ed)?|un(?:happy|willing|certain|sure|available|employed|known|finished|comfortable)|allergic|intolerant|free of|tired of|over with|rarely|seldom|barely|impossible|no luck|void|too much
    mag .{0,20} nicht|fehlt|unmöglich|allergisch|unverträglich|arrêté|refuse|manque|allergique|dejó|dejé|falta|alérgic[oa]|allergic[oa]|parou|parei|аллергия`)})(?!\\p{L})|${OPPOSED_PIECES}|止め|無理|アレルギー|过敏|알레르기`,
  "u",
);
/** Words by which a statement says itself that something is over, or is not liked, besides those that deny. */
const OVER =
  /(?<!\p{L})(?:used to|former\p{L}*|ex-\p{L}+|left|lost|breaks?|broke\p{L}*|crash\p{L}*|without|\p{L}*-free|allerg\p{L}*|intoleran\p{L}*|failure|refusal|cancell\p{L}*|aversion|früher|ehemalig\p{L}*|abneigung|antigu[oa]|ancien\p{L}*)(?!\p{L})|禁煙|禁酒|嫌|苦手/u;

/** Whether a clause ends, hates or fails something, and a statement says nothing of that. */
export function opposes(clause: string, statement: string): boolean {
  return OPPOSES.test(clause.replaceAll(NO_DENIAL, " ")) && !OVER.test(statement) && !tellsOfEnd(statement);
}

/** A clause with these words reports no act: it was only wanted, tried or almost done. */
const NOT_DONE = new RegExp(
  `(?<!\\p{L})(?:${list(`
    (?:wanted|pretend(?:s|ed)?|meant|hoped|intended|tried|tempted|was going|were going|forgot|was about|were about) to(?! (?:say|tell|thank|ask|mention|share|let|know|check|add|note)(?!\\p{L}))|(?:almost|nearly) (?:\\p{L}+ed|bought|sold|died|went|got|fell|lost|left|broke|quit|hit|won|took|became|had|was)
    wollte|wollten|beinahe|hätte fast|quería|intenté|casi (?:\\p{L}+[éó])|voulais|failli|volevo`)})(?!\\p{L})|たかった|ところだった|つもりだった|ふりを`,
  "u",
);
const ATTEMPT =
  /(?<!\p{L})(?:almost|nearly|tr(?:y|ies|ied|ying)|attempt\p{L}*|pretend\p{L}*|meant|inten(?:d|t)\p{L}*|tempted|forgot\p{L}*|going to|about to|wollte|fast|beinahe|versucht\p{L}*|quería|quiso|intentó|casi|voulait|failli|voleva)(?!\p{L})|ところだった|ふりを/u;
/** These words end the clause: another matter follows. */
const BESIDE_MATTER = / (?:so|then|when|that|which|who|after|before) /;
const USED_TO =
  /(?<!(?:am|is|are|was|were|be|been|get|gets|got|getting|'m|'re|'s) )(?<!\p{L})used to (?<verb>\p{L}+)/u;
const PRESENT: Readonly<Record<string, string>> = { be: "is", have: "has", do: "does", go: "goes" };

/** Whether the clauses closest to a statement say that something was only wanted or tried, or is over, and the statement does not. */
export function isUndone(statement: string, quoted: readonly string[]): boolean {
  const pieces = quoted.flatMap((clause) => clause.split(BESIDE_MATTER));
  const { clauses, shared } = closestClauses(statement, pieces);
  const isNear = shared > 1 || (shared > 0 && statement.split(" ").length <= 4);
  if (!isNear) return false;
  const isReserved = RESERVED.test(statement) || RESERVED_PIECES.test(statement) || ATTEMPT.test(statement);
  return clauses.every((clause) => {
    if (!isReserved && NOT_DONE.test(clause)) return true;
    const verb = USED_TO.exec(clause)?.groups?.["verb"];
    return verb !== undefined && statement.split(" ").includes(PRESENT[verb] ?? thirdPerson(verb));
  });
}

function thirdPerson(verb: string): string {
  if (/[^aeiou]y$/.test(verb)) return `${verb.slice(0, -1)}ies`;
  return /(?:s|x|z|ch|sh)$/.test(verb) ? `${verb}es` : `${verb}s`;
}

const CLAUSES =
  /[,;:，、；]|(?:^| )(?:but|although|though|because|since|and|or|aber|obwohl|weil|sondern|und|mais|et|pero|sino|porque|y|perché|mas|но|а|потому что|и)(?= )|(?<=\p{L})(?<! (?:et|que|mais|avec|de|à|chez|pour|dans)|^(?:et|que|mais)) ma(?= )|[-–—]{1,2} |けど|けれど|でも|しかし|ので|から(?=、)|但是|但|因为/u;

export function clausesOf(text: string): string[] {
  return text
    .split(CLAUSES)
    .map((clause) => clause.trim())
    .filter((clause) => normalWords(clause) !== "");
}

export type Polarity = "denied" | "averse" | "affirmed";

/** Whether a clause denies what another states: with a negation, or with a word like "hates" that the other lacks. */
export function denies(clause: string, other: string): boolean {
  const rest = clause.replaceAll(NO_DENIAL, " ");
  if (DENIAL.test(rest)) return true;
  const [averse] = AVERSE.exec(rest) ?? [];
  return averse !== undefined && !other.includes(averse.slice(0, Math.max(2, averse.length - 2)));
}

/** @param text as {@link inSmallLetters} makes it */
export function polarityOf(text: string): Polarity {
  const rest = text.replaceAll(NO_DENIAL, " ");
  if (DENIAL.test(rest)) return "denied";
  return AVERSE.test(rest) ? "averse" : "affirmed";
}

/** Prefers one thing to another. */
const COMPARES =
  /(?<!\p{L})(?:prefer\p{L}*|instead|rather|over|than|lieber|statt|bevorzugt|plutôt|préfère|prefiere|antes que|preferisce|prefere|предпочитает|скорее)(?!\p{L})|より|比|更喜/u;

/** @param statement as {@link inSmallLetters} makes it */
export function comparesTwo(statement: string): boolean {
  return COMPARES.test(statement);
}

const PROPOSAL = whole(
  list(`
  let's|lets|let us|shall we|should (?:we|i)|why don't (?:we|you|i)|how about|what about|what if|what do you say|we (?:could|should|might)|you (?:could|should|might)|i (?:suggest|propose|vote for)|i'd suggest|my suggestion|do you want to|do you wanna
  lasst? uns|lass mal|wollen wir|sollen wir|sollten wir|können wir|wie wär(?:e|'s|s)|wir könnten|wir sollten|du könntest|du solltest|ich schlage vor|ich wäre dafür|was hältst du|mein vorschlag
  et si|on pourrait|on devrait|tu devrais|si on|je propose|ça te dit|ça vous dit|pourquoi ne pas|y si|podríamos|deberíamos|podemos|propongo|qué tal si|qué te parece|por qué no
  potremmo|dovremmo|che ne dici|propongo|e se|podíamos|poderíamos|que tal|proponho|давай|давайте|предлагаю|что если|может|можем`),
);
const PROPOSAL_PIECES =
  /ましょう|ませんか|ようか|(?:し|行|食|飲|見)よう(?:よ|ぜ|。|$|!)|たらどう|どうかな|どうでしょう|はどう[?だで]?|提案|要不|不如|我们.{0,15}吧|怎么样|建议|할까|어때|하자|합시다/u;
const HYPOTHESIS = whole(
  list(`
  might|maybe|perhaps|possibly|suppose|supposing|(?<!(?:can't|cannot|couldn't) )imagine|hypothetically|i wish|in theory|i guess|i wonder|i'm (?:thinking (?:of|about)|considering)|i am (?:thinking|considering)|would have|not sure (?:if|whether)
  vielleicht|angenommen|womöglich|eventuell|möglicherweise|ich überlege|ich würde|ich hätte gern|ich wäre|könnte|stell dir vor|hypothetisch
  peut-être|supposons|imagine|j'hésite|je pourrais|je serais|quizás?|tal vez|a lo mejor|imagina|podría|sería|supongamos
  forse|magari|supponiamo|potrei|talvez|может быть|возможно|наверное|допустим|бы`),
);
/** With a condition the other clauses of a sentence hold only as it does. */
const CONDITION =
  /(?<!(?:see|know|wonder|ask|asked|check|even|as|sure|what) )(?<!\p{L})(?:if|falls|wenn|si|se|если|unless)(?!\p{L})(?!,? (?:you know|you want|you like|possible|necessary|anything|i had to))/u;
const UNREAL =
  /(?<!\p{L})(?:would|could|might|should|will|(?:i|you|he|she|it|we|they)'(?:d|ll)|würde\p{L}*|wäre\p{L}*|hätte\p{L}*|könnte\p{L}*|werde|wird|ziehe|kaufe|\p{L}+(?:erais|erait|irais|irait|rions|ré|ría|ríamos|rei|ria|ebbe|erò)|\p{L}+(?:аю|ую|ем|ю)|бы)(?!\p{L})/u;
const HYPOTHESIS_PIECES =
  /かも|たぶん|多分|おそらく|もし|仮に|(?:した|だった|なった|あった|たっ)たら|(?:なら|れば)(?:、|いい)|だろう(?!と)|でしょう|かなあ?(?:。|$|…|!)|也许|或许|可能(?!性)|如果|要是|大概|假如|아마|만약|라면|면 좋겠|것 같|지도/u;
/** A statement with one of these says itself that it is no fact yet. */
const RESERVED = whole(
  list(`
  might|may|maybe|perhaps|possibly|probably|would|could|should|if|unless|wants?|wanted|hopes?|hoping|wish(?:es|ed)?|consider(?:s|ed|ing)?|think(?:s|ing)?|thought|plan(?:s|ned|ning)?|suggest(?:s|ed|ing|ions?)?|mention(?:s|ed)|express(?:es|ed)|emphasi[sz]es|curious|concerned|inquire[sd]?|seeks|excited|propos(?:es|ed|al)|recommend(?:s|ed)?|dream(?:s|ed|t)?|imagin(?:es|ed)|interested|unsure|uncertain|wonder(?:s|ed)?|guess(?:es|ed)?|ideas?|asks?|asked|offer(?:s|ed)?|invit(?:es|ed)|encourag(?:es|ed)|believes?|goal|aims?|looking
  vielleicht|falls|wenn|möchte|will|wollen|hofft|wünscht|überlegt|erwägt|plant|schlägt|vorschlag|schlug|vorgeschlagen|könnte|würde|sollte|denkt|glaubt|fragt|empfiehlt|träumt
  peut-être|si|veut|souhaite|espère|envisage|propose|suggère|pourrait|pense|rêve|demande|quizás?|si|quiere|espera|considera|propone|sugiere|podría|piensa|sueña|pregunta
  forse|se|vorrebbe|vuole|spera|propone|potrebbe|pensa|chiede|talvez|quer|espera|propõe|poderia|pensa|может|возможно|если|хочет|надеется|предлагает|думает|мечтает|спрашивает`),
);
const RESERVED_PIECES =
  /かも|もし|たい|つもり|予定|希望|検討|提案|考え|思っ|夢|たら|なら|可能|如果|想|希望|打算|考虑|建议|提议|어쩌면|싶|계획|제안|생각/u;
const QUESTION_MARK = /[?？؟;]["'”’»」』)\]]*\s*$/u;
const QUESTION_PIECES = /(?:です|ます|でした|ました|だろう|でしょう)か[。!]?$|[吗嗎呢][。!]?$/u;
/** A sentence that begins so asks with all of its clauses. */
const ASKS = whole(
  list(`
  do|does|did|are|is|was|were|have|has|had|can|could|will|would|should|what|who|whom|whose|which|where|when|why|how|any|am
  hast|habt|bist|seid|ist|sind|war|kannst|könnt|könnte|wirst|willst|möchtest|was|wer|wen|wem|wo|wohin|wann|warum|wie|welche[rsn]?
  est-ce|as-tu|es-tu|avez-vous|que|qui|où|quand|pourquoi|comment|quel(?:le)?s?|tienes|eres|has|puedes|qué|quién|dónde|cuándo|por qué|cómo|cuál|hai|sei|puoi|che|chi|dove|quando|perché|come|quale`),
);
const JOKE = whole(
  list(`
  just kidding|jk|j\\/k|i'm kidding|only kidding|kidding(?: aside)?|i'm joking|just joking|(?:it's|its|that's|is|was|as|just|only) an? (?:\\p{L}+ )?joke|(?<=^|[.,!?(*;:] ?)jokes?(?=$|[.,!?)*;:])|\\/s|lol no|in my dreams|as if(?=[^\\p{L}]*$)|yeah right|sure, and i'm|april fools?
  scherz|nur spaß|nur spass|kleiner scherz|ironie|spaß beiseite|war ein witz|je plaisante|je rigole|c'est une blague|es broma|bromeo|estoy bromeando|scherzo|sto scherzando|brincadeira|estou brincando|шучу|шутка|żartuję|grapje`),
);
/** Longest message that says nothing but that the one before was a joke. */
const MAX_JOKE = 30;
const JOKE_PIECES = /冗談|嘘です|うそです|なんちゃって|なんてね|開玩笑|开玩笑|농담|😜|🤪|🙃/u;
const REPORT = new RegExp(
  `(?<![\\p{L}])(?!(?:i|we|you|to|can|could|would|will|did|not|don't|just|also|and|ich|wir|du|zu|je|tu|yo|io|eu|я|мы) )(?:\\p{L}+ )(?:${list(`
    (?:says?|said)(?! (?:hello|hi|goodbye|bye|yes|no|so)\\b)|told (?:me|us)|tells (?:me|us)|claims?|claimed|insists?|swears?|(?:wrote|writes|thinks|believes|reckons|mentioned|texted|announced) (?:that|he|she|it|they|we|there|i)
    sagt(?:e)?|meint(?:e)?|(?:schreibt|schrieb),|behauptet(?:e)?|erzählt(?:e)?|glaubt|hat (?:mir |uns )?(?:gesagt|erzählt|geschrieben)
    dit|a dit|prétend|pense que|m'a dit|dice|dijo|me dijo|cuenta que|cree que|ha detto|dice che|pensa che|disse|acha que|говорит|сказала?|считает|пишет`)})(?![\\p{L}])`,
  "u",
);
const REPORT_PIECES =
  /(?:さん|くん|君|ちゃん|氏|先生|彼|彼女|母|父|兄|姉|弟|妹)(?:が|は|も)[^。]{0,80}(?:と|って)(?:言|話|聞|書)|によると|(?:だ|る|た)そうです|らしい|他说|她说|听说|据说|다고 (?:했|말했|하)|대요/u;
/** A statement that names the one whose words they are. */
const ATTRIBUTED = whole(
  list(`
  says?|said|told|tells|claims?|claimed|according|heard|writes|wrote|thinks|believes|reports?|reported|mentions|mentioned|quotes?|quoted|shared|learned|asked
  sagt|sagte|laut|meint|behauptet|schreibt|schrieb|erzählt|erzählte|gehört|glaubt|findet|dit|selon|prétend|pense|dice|dijo|según|cree|ha detto|secondo|disse|segundo|говорит|сказала?|считает|по словам`),
);
const ATTRIBUTED_PIECES = /と(?:言|話|聞|述)|によると|って言|そうだ|らしい|说|據說|据说|听说|다고/u;
/** Whether a statement names the one whose words it tells. */
export function isAttributed(statement: string): boolean {
  const said = inSmallLetters(statement);
  return ATTRIBUTED.test(said) || ATTRIBUTED_PIECES.test(said);
}

const AGREEMENT = new RegExp(
  `^(?:(?:${list(`
    o+k+(?:ay)?|okey|okie|k|kk|thanks?|thank you|thx|ty|yes|yeah|yep|yup|ya|sure|agreed|agree|i agree|fine|great|good|nice|cool|perfect|awesome|exactly|right|true|done|deal|sounds (?:good|great|fine)|got it|will do|noted|makes sense|same|me too|of course|absolutely|definitely|totally|no problem|np|fair enough|good idea|all good|that works|works for me|works|with me|by me|you're right|i know|so much|a lot|very|much|then|to me|for that|it is|that's|it's|again|with you|everyone|all|man|indeed|lol|haha|hm+|oh|ah|wow|and|let's do (?:it|that)|do it
    ja|jo|jep|genau|danke|dankeschön|super|klar|gut|passt|stimmt|einverstanden|in ordnung|alles klar|gern|gerne|prima|schön|okay dann|von mir aus|machen wir|richtig|find ich auch|sehr|schon|dann|so|oui|ouais|d'accord|merci|parfait|super|bien sûr|exactement|ça marche|sí|si|vale|gracias|perfecto|de acuerdo|claro|genial|muchas|bueno|va bene|grazie|certo|d'accordo|perfetto|sim|obrigad[oa]|certo|claro|combinado|да|ага|ок|хорошо|спасибо|согласен|согласна|точно|отлично|ладно
    はい|うん|ええ|了解(?:です|しました)?|わかりました|分かりました|ありがとう(?:ございます)?|そうですね|そうだね|いいね|いいですね|オッケー|賛成(?:です)?|なるほど|お願いします|好的?|可以|谢谢|没问题|对|是的|同意|行|네|예|응|좋아요?|감사합니다|고마워요?|알겠습니다|맞아요?`)})(?: |$))+$`,
  "u",
);

/** Why a quote proves no fact. */
export type NoFact =
  | "a proposal"
  | "a hypothesis"
  | "a question"
  | "a joke"
  | "somebody else's words"
  | "mere agreement";

export interface Told {
  readonly statement: string;
  readonly quote: string;
  /** The message in which the quote stands. */
  readonly line: string;
  /** What its speaker says in the next lines. */
  readonly after: readonly string[];
  /** Whether somebody else agrees in the next lines. */
  readonly isAgreed: boolean;
  /** Whether the statement begins with the name of the quote's speaker. */
  readonly isOfSpeaker: boolean;
}

/** Whether a text only agrees with another. */
export function isAgreement(text: string): boolean {
  return AGREEMENT.test(
    inSmallLetters(text)
      .replaceAll(/[^\p{L}\p{N}\p{M}' ]+/gu, " ")
      .replaceAll(/ +/g, " ")
      .trim(),
  );
}

/** Why the quote is no fact as it stands in its message; null: it may be one. */
export function noFact({ statement, quote, line, after, isAgreed, isOfSpeaker }: Told): NoFact | null {
  const said = inSmallLetters(statement);
  if (isAgreement(quote)) return "mere agreement";
  const around = inSmallLetters(sentencesAround(quote, line).join(" "));
  const isReserved = RESERVED.test(said) || RESERVED_PIECES.test(said);
  const isProposal = proposes(said, around);
  if (!(isProposal && isAgreed) && isQuestion(quote, around))
    return isReserved && isOfSpeaker ? null : "a question";
  if (!isReserved && !isAgreed && isProposal) return "a proposal";
  const isConditional = CONDITION.test(around) && UNREAL.test(around);
  if (
    !isReserved &&
    (isConditional ||
      closestClauses(statement, clausesOf(around)).clauses.some(
        (one) => HYPOTHESIS.test(one) || HYPOTHESIS_PIECES.test(one),
      ))
  )
    return "a hypothesis";
  const told = withNextSentence(quote, line);
  const alone = after.map(inSmallLetters).filter(({ length }) => length <= MAX_JOKE);
  if ([...told, ...alone].some((one) => JOKE.test(one) || JOKE_PIECES.test(one))) return "a joke";
  if (!isAttributed(statement) && isOfOthers(quote, line, around)) return "somebody else's words";
  return null;
}

/** The sentences of a quote and the one right behind: what is said of others is no joke for that. */
function withNextSentence(quote: string, line: string): string[] {
  const around = sentencesAround(quote, line);
  const sentences = splitSentences(line);
  const last = sentences.lastIndexOf(around.at(-1) ?? "");
  // A quote over the edge of a sentence stands in no one of them.
  return (last < 0 ? [line] : [...around, ...sentences.slice(last + 1, last + 2)]).map(inSmallLetters);
}

/** A part of a sentence that another is set against: "we could go, but I work". */
const CONTRAST =
  /[,;]? (?:but|however|except that|aber|allerdings|mais|pero|però|mas|но) |けど|けれど|でも|しかし|但是/u;

/** Whether the part of the sentence that is closest to a statement proposes something. */
function proposes(statement: string, around: string): boolean {
  return closestClauses(statement, around.split(CONTRAST)).clauses.some(
    (part) => PROPOSAL.test(part) || PROPOSAL_PIECES.test(part),
  );
}

/** The sentences of a message that share words with a quote. */
export function sentencesAround(quote: string, line: string): string[] {
  const words = normalWords(quote);
  const sentences = splitSentences(line);
  const found = sentences.filter((one) => {
    const normal = normalWords(one);
    return (
      normal !== "" &&
      (` ${normal} `.includes(` ${words} `) ||
        ` ${words} `.includes(` ${normal} `) ||
        (normal.includes(words) && !/^[a-z ]+$/.test(words)))
    );
  });
  // A quote over the edge of a sentence is what its words are.
  return found.length > 0 ? found : [quote];
}

function isQuestion(quote: string, around: string): boolean {
  if (!QUESTION_MARK.test(around) && !QUESTION_PIECES.test(around)) return false;
  const clauses = clausesOf(around);
  const last = normalWords(clauses.at(-1) ?? "");
  const words = normalWords(quote);
  if (ASKS.test((clauses[0] ?? "").split(" ")[0] ?? "")) return true;
  // "I moved to Oslo, can you believe it?"
  return clauses.length < 2 || last.includes(words) || words.includes(last);
}

/** The clauses that share most words with a statement, and how many. */
export function closestClauses(
  statement: string,
  clauses: readonly string[],
): { readonly clauses: string[]; readonly shared: number } {
  const counts = clauses.map((clause) => sharedWords(clause, statement));
  const shared = Math.max(0, ...counts);
  return { clauses: clauses.filter((_, index) => counts[index] === shared), shared };
}

const OF_LISTENER =
  /(?:^|[,.;!?] |\b(?:that|so|and|but|because) )(?:you|you're|you've|you'll|u|du|ihr|tu|vous|tú|usted|você|ты|вы) (?!(?:should|could|might|must|can|know|see|don't|need|may|have to|would)(?!\p{L}))\p{L}|あなた(?:は|が)|君(?:は|が)|你(?!们)|너는|당신은/u;

/** Whether a quote has its speaker at least beside: "it helps me". */
export function hasSelf(quote: string): boolean {
  return /(?<!\p{L})me(?!\p{L})/u.test(inSmallLetters(quote)) || isOfSelf(quote);
}

/** Whether a quote is of its speaker and others: "we". */
export function isOfUs(quote: string): boolean {
  return /(?<!\p{L})(?:we|we'\p{L}+|us|our|wir|uns|unser\p{L}*|nous|notre|nos|nosotr[oa]s|nuestr[oa]s?|noi|nostr[oaie]|nós|noss[oa]s?|мы|нас|наш\p{L}*)(?!\p{L})|私たち|私達|僕ら|我们|我們|우리/u.test(
    inSmallLetters(quote),
  );
}

/** "You live in Oslo": it is of the one spoken to. */
export function tellsOfListener(quote: string): boolean {
  return OF_LISTENER.test(inSmallLetters(quote));
}

/** Of somebody else. */
const OF_OTHERS =
  /(?<!\p{L})(?:he|she|his|her|him|he's|she's|er|sie|ihr|sein\p{L}*|ihn|ihm|il|elle|lui|son|sa|ses|él|ella|su|sus|lei|suo|sua|ele|ela|он|она|его|её|их)(?!\p{L})|彼|さん|他(?!们|的)|她|그(?:가|는|녀)|씨/u;

const GREETED =
  /(?:[,.!?:] |(?<!\p{L})(?:hey|hi|hello|yo|thanks|thank you|cheers|congrats|congratulations|sorry|dear|wow|sure|yeah|yes|hallo|danke|hola|gracias|salut|merci|bonjour|ciao|grazie|привет|спасибо) )$/u;
const SPOKEN_TO = /^(?:さん)? ?(?:[,.!?:、。…)]|$)/u;

/** Whether a text names a person otherwise than to speak to them: "thanks, Nate!" @param name in small letters */
export function tellsOfPerson(text: string, name: string): boolean {
  const told = inSmallLetters(text);
  const bare = name.replaceAll(/[^\p{L}\p{N}\p{M}]/gu, "");
  if (bare === "") return false;
  for (let at = told.indexOf(bare); at >= 0; at = told.indexOf(bare, at + bare.length)) {
    const before = told.slice(Math.max(0, at - 20), at).replace("@", "");
    const behind = told.slice(at + bare.length, at + bare.length + 4);
    const isSpokenTo = (before === "" || GREETED.test(before)) && SPOKEN_TO.test(behind);
    if (!isSpokenTo) return true;
  }
  return false;
}

/** Whether a quote may be of another person than its speaker. */
export function isOfOthersSelf(quote: string): boolean {
  return OF_OTHERS.test(inSmallLetters(quote));
}

/** Whether the quote is inside of quotation marks or of a quoted line, or behind "Ben says". */
function isOfOthers(quote: string, line: string, around: string): boolean {
  const words = normalWords(quote);
  if (line.split("\n").some((one) => /^\s*(?:>|&gt;)/.test(one) && normalWords(one).includes(words)))
    return true;
  for (const [, inside = ""] of line.matchAll(/["“„«「『]([^"”“»」』\n]{4,400})["”“»」』]/gu))
    if (countOf(inside) >= 3 && normalWords(inside).includes(words)) return true;
  const before = around.slice(0, Math.max(0, placeOf(around, quote)));
  return REPORT.test(`${before} `) || REPORT_PIECES.test(around);
}

function placeOf(around: string, quote: string): number {
  const start = inSmallLetters(quote).slice(0, 12);
  const at = around.indexOf(start);
  if (at > 0) return at;
  return at === 0 ? Math.min(around.length, 40) : 0;
}

function countOf(text: string): number {
  return normalWords(text).split(" ").length + (/[぀-ヿ一-鿿]/.test(text) ? 3 : 0);
}

const OF_SELF = new RegExp(
  `(?<![\\p{L}'])(?:i|i'\\p{L}+|my|mine|myself|ich|mein\\p{L}*|mich|mir|je|j'\\p{L}+|mon|ma|mes|mi|yo|soy|tengo|vivo|trabajo|mis|io|mio|mia|sono|eu|meu|minha|я|мой|моя|моё|мои|меня|мне)(?![\\p{L}])|私(?!たち|達)|僕(?!ら|たち)|俺(?!たち|ら)|わたし|ぼく|我(?!们|們)|나는|내가|저는|제가`,
  "u",
);

/** Whether a quote is of its speaker: "I", "my". */
export function isOfSelf(quote: string): boolean {
  return OF_SELF.test(inSmallLetters(quote));
}
