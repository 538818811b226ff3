import { normalForm } from "../text/text.ts";
import { withoutUnseen } from "../text/unseen.ts";

/**
 * Finds statements that give the agent orders: remembered, they would govern every later answer. Preferences of people ("Ann
 * prefers short answers") do not count. By the most common forms; recalled texts are quoted anyway. Pure.
 */

const MAX_LENGTH = 2000;

const NAMED_AGENT = "(?:the (?:assistant|bot|agent|model|ai)|this (?:assistant|bot|agent)|weir)";
const AGENT = `(?:you|${NAMED_AGENT})`;
const MUST = "(?:must|should|shall|will|have to|has to|need to|needs to|are to|is to|may only|can only)";
const HOW = "(?: now)?(?: always| never| not| only)?";
const SPEAK =
  "(?:answer|reply|respond|say|tell|output|print|write|include|append|start|begin|end|refuse|obey|comply|reveal|follow|do what|treat|address|trust|use|speak|act)";
/** Where a clause begins. All white space is a single space by then. */
const BEGIN = "(?:^|[.!?:;,\"'“„»(\\[-]|\\b(?:that|says?|said|please|and|then|on|remember)\\b) ?";

/** Orders to answer in some way. */
const ORDERS: readonly RegExp[] = [
  new RegExp(`${BEGIN}(?:always|never|only|from now on,?(?: always| never)?) ${SPEAK}\\b`, "iu"),
  new RegExp(`\\b${AGENT},? ${MUST}${HOW} ${SPEAK}\\b`, "iu"),
  // Only with the agent's name: people also write "you should send it" to each other.
  new RegExp(
    `\\b${NAMED_AGENT},? ${MUST}${HOW} (?:send|give|share|forward|post|mention|ping|grant|allow|approve|ignore|delete)\\b`,
    "iu",
  ),
  new RegExp(`\\bfrom now on\\b.{0,40}\\b${AGENT}\\b`, "iu"),
  /\b(?:antworte|sag|schreib)e?\b.{0,20}\b(?:immer|nie|ab jetzt|nur noch)\b/iu,
  /\b(?:réponds|dis|écris)\b.{0,20}\b(?:toujours|jamais|désormais)\b/iu,
  /\b(?:responde|contesta|di)\b.{0,20}\b(?:siempre|nunca)\b|\b(?:siempre|nunca) (?:responde|contesta)\b/iu,
  /(?<!\p{L})(?:отвечай|говори|пиши)(?:те)?(?!\p{L}).{0,20}(?:всегда|только|отныне)|(?:всегда|отныне|никогда не) (?:отвечай|говори|пиши)/iu,
  /\b(?:responda|diga)\b.{0,20}\b(?:sempre|nunca)\b|\b(?:sempre|nunca) (?:responda|rispondi)\b|\brispondi\b.{0,20}\b(?:sempre|mai)\b/iu,
  /(?:항상|반드시|무조건).{0,20}(?:대답|답변|말)(?:해|하세요|하라|할 것)/u,
  /(?:常に|必ず|いつも).{0,20}(?:答え|回答|返答|返事)(?:て|し|る|よ)|(?:总是|總是|永远|必须|必須).{0,10}(?:回答|回复|回覆)/u,
];

/** They would change what the agent is, or what it may do. */
const OVERRIDES: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|any|your|system|these|those|the)\b.{0,30}\b(?:instructions?|prompts?|rules?|guidelines?|restrictions?|policy|policies)\b/iu,
  new RegExp(`\\b${AGENT} (?:are|is) (?:now|no longer) (?:a|an|the|in|bound|restricted)\\b`, "iu"),
  /\b(?:new|updated|real|secret) (?:system )?(?:instructions?|prompt)\b\s*(?:is|are|:)/iu,
  /\b(?:reveal|print|repeat|show|leak|output)\b.{0,20}\b(?:system prompt|your (?:prompt|instructions|rules))\b/iu,
  /\b(?:act as|pretend (?:to be|you are)|roleplay as|developer mode|jailbreak)\b/iu,
  /^\s*\[?(?:system|assistant|developer)\]?\s*:|\[System\b|<\/?(?:system|instructions?)>/iu,
  /\bignorier(?:e|t)?\b.{0,40}\b(?:anweisung|regel)/iu,
  /\bignore[zr]?\b.{0,40}\b(?:consignes?|règles?)\b/iu,
  /\bignora\b.{0,40}\b(?:instrucciones|reglas)\b/iu,
  /\b(?:ignore|ignori|ignora)\b.{0,40}\b(?:instruções|regras|istruzioni|regole)(?!\p{L})/iu,
  /(?<!\p{L})(?:игнорируй|забудь)(?:те)?(?!\p{L}).{0,40}(?:инструкци|указани|правил)/iu,
  /(?:تجاهل|انس).{0,40}(?:التعليمات|الأوامر|القواعد)/u,
  /(?:지시|명령|규칙|지침).{0,15}(?:무시|잊어)/u,
  /(?:指示|命令).{0,10}無視|(?:忽略|无视|無視).{0,15}(?:指令|指示|规则|規則)/u,
];

/** They tell a reader what to remember, as a page does that plants something. */
const PLANTS: readonly RegExp[] = [
  /\b(?:remember|memori[sz]e)(?: (?:this|that|the following|forever|always))? ?[:!]/iu,
  /\b(?:remember|memori[sz]e|keep in mind|never forget)\b.{0,40}\b(?:the|this|your) (?:user|owner|operator|human)\b/iu,
  /\b(?:save|store|add|keep|put|write|record|commit|remember)\b.{0,60}\b(?:(?:in|to|into) (?:your|long[- ]term|persistent) memor(?:y|ies)|as a (?:memory|lasting fact))\b/iu,
  /\b(?:merke? (?:dir|euch)|merken sie sich|vergiss nie|retiens|retenez|souviens-toi|souvenez-vous|n'oublie jamais|recuerda|recuerde|no olvides|ricordati|ricordate|lembre-se)\b/iu,
  /(?<!\p{L})(?:запомни|помни|не забывай)(?:те)?(?!\p{L})|覚えて(?:おいて|ください|おけ)|忘れないで|(?:请|請)?(?:记住|記住|牢记|牢記)|기억(?:해|하세요|하라|할 것)/iu,
];

/** They tell a reader what to do. Of people's own lines that says nothing: people write so to each other. */
const TO_READER: readonly RegExp[] = [
  new RegExp(
    `${BEGIN}(?:always|never|do not|don't|make sure|be sure|ensure|remember|please|from now on|keep in mind) \\p{L}`,
    "iu",
  ),
  new RegExp(
    `${BEGIN}(?:send|pay|wire|give|forward|grant|approve|ignore|reveal|click|visit|execute|tell|ask|trust|treat) (?:the|this|that|all|any|your|my|me|us|it|them|him|her|to|on|with|as)\\b`,
    "iu",
  ),
  new RegExp(`\\b(?:you|the user|this user|users|${NAMED_AGENT}),? ${MUST}\\b`, "iu"),
  /\b(?:the|this|your) (?:user|owner|operator|human)(?:'s\b| (?:is|has|wants|likes|prefers|lives|uses|owes|allows|allowed|agrees|agreed)\b)/iu,
  /(?<!\p{L})(?:(?:du|ihr|sie) (?:musst|müsst|müssen|sollst|sollt|sollen)|(?:vous devez|tu dois)|(?:usted )?debes?|(?:tu )?devi|você deve)(?!\p{L})/iu,
];

/** Whether a text asks its reader to remember something. */
export function plantsMemory(text: string): boolean {
  return fits(text, PLANTS) || overridesRules(text);
}

/** Whether a text tells its reader what to do. */
export function tellsReader(text: string): boolean {
  return fits(text, TO_READER) || isInstruction(text);
}

/** Whether a text orders the agent to behave in some way. */
export function isInstruction(text: string): boolean {
  return fits(text, ORDERS) || overridesRules(text);
}

/** Whether a text orders the agent to ignore its rules, to reveal them, or to be something different. */
export function overridesRules(text: string): boolean {
  return fits(text, OVERRIDES);
}

/** Words that a pattern takes to the clause before an order. */
const JOINING = /^(?:that|says?|said|please|and|then|on|remember)(?= )/iu;

/** What stands before the first order of a text; null: it orders nothing. */
export function beforeOrder(text: string): string | null {
  const plain = plainText(text);
  let first: string | null = null;
  for (const pattern of [...ORDERS, ...OVERRIDES]) {
    const found = pattern.exec(plain);
    if (found === null) continue;
    const end = found.index + (JOINING.exec(found[0])?.[0].length ?? 0);
    if (first === null || end < first.length) first = plain.slice(0, end);
  }
  return first;
}

function fits(text: string, patterns: readonly RegExp[]): boolean {
  const plain = plainText(text);
  return patterns.some((pattern) => pattern.test(plain));
}

function plainText(text: string): string {
  return withoutUnseen(normalForm(text.slice(0, MAX_LENGTH), "NFKC")).replaceAll(/\s+/gu, " ");
}
