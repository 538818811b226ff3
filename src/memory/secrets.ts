import { normalForm, plainDigits } from "../text/text.ts";
import { withoutUnseen } from "../text/unseen.ts";
import {
  BEHIND_VALUE,
  COPULAS,
  DIGIT_WORDS,
  FILLERS,
  FUNCTION_WORDS,
  isPredicate,
  KINDS,
  LABEL,
  type LabelKind,
  NO_SECRET_BEFORE,
  NO_SECRET_BEHIND,
  OPENED,
  POSSESSIVES,
  SENTENCE_WORDS,
  TO_IS,
  TOWARDS,
  UNITS,
  WITHOUT_COPULA,
} from "./secret-labels.ts";
import { holdsSecretNumber } from "./secret-numbers.ts";

/**
 * Finds keys, tokens, passwords, codes, card and account numbers: by their form alone, or by a label and a value beside it. Pure.
 */

/** Longest text that is looked at, in UTF-16 units. */
const MAX_LENGTH = 10_000;

const PATTERNS: readonly RegExp[] = [
  // Keys and tokens by the prefix that their issuer gives them.
  /\b(?:sk|pk|rk|whsec)[-_][\w-]{16,}/u,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/u,
  /\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|npm_\w{30,}|hf_\w{20,}|pypi-[\w-]{30,}|shp[ac]t_\w{20,}|dop_v1_\w{20,}|GOCSPX-[\w-]{16,}|ya29\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,})/u,
  /\bxox[abeoprs]-[\w-]{10,}|\bxapp-\d-[\w-]{10,}/u,
  /\bAIza[\w-]{30,}/u,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/u,
  /\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}/u,
  /\b\d{8,10}:[\w-]{35}\b/u,
  /-----BEGIN [A-Z ]*PRIVATE KEY|\bAGE-SECRET-KEY-1/u,
  /\bBearer\s+[\w.~+/-]{16,}|\bauthorization: ?basic\s+[\w+/]{8,}/iu,
  /\bhooks\.slack\.com\/services\/T\w{6,}|\bdiscord(?:app)?\.com\/api\/webhooks\/\d{10,}\/[\w-]{20,}/iu,
  // A password in an address.
  /\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s/:@]{1,100}:[^\s/@]{1,100}@/iu,
  // A name or an address, and a password.
  /@[\w-]{1,60}\.[\w.]{2,60}\s{0,3}[/|]\s{0,3}(?=\S{0,60}\d)[^\s/]{6,}|\b(?:root|admin|guest):(?=\w{0,60}\d)\w{5,60}/iu,
  // "You get in with sunflower88".
  /\b(?:get|gets|got|log|logs|sign|signs) in with ["'“]?[a-z]{4,30}\d{2,8}(?![\w.@/-]*[\w@/])/iu,
  // Labels in scripts without spaces.
  /ログイン(?:は|が|:)\s{0,3}[\w.@-]{2,60}\s{0,3}\/\s{0,3}(?=\w{0,60}\d)\w{6,60}/u,
  /(?:パスワード|パスコード|暗証番号|密码|密碼|口令|비밀번호|비번|รหัสผ่าน|PIN(?:码|碼|コード|番号|번호))\s*(?:(?:は|が|是|为|為|：|:|=|은|는|คือ){1,8}\s*)?[「『]?(?=\S{0,200}\d)[\w!#$%^&*+~-]{4,}/u,
  /(?:パスワード|密码|密碼|口令)\s*(?:は|が|是|为|為|:|=){1,4}\s*[A-Za-z][\w!#$%^&*+~-]{3,}(?=\s|です|だ|。|、|$)/u,
  /(?:玄関|ドア|扉|門|金庫|確認|認証|ワンタイム|セキュリティ|ロック|入室|駐輪場|倉庫)(?:の)?(?:コード|番号|キー|パスワード)\s{0,3}(?:は|が|:|=){0,3}\s{0,3}[A-Za-z]?\d(?:[ -]?\d){2,}/u,
  /(?:验证码|驗證碼|门禁码|门锁码|取件码|동?인증번호|인증 ?코드|현관 ?(?:비번|번호)|マイナンバー|身份证号?码?|주민등록번호)\s{0,3}(?:是|为|為|은|는|は|:|=){0,3}\s{0,3}\d(?:[ -]?\d){3,}/u,
  /(?:合言葉|合い言葉|暗号)は[「『]?(?!秘密|内緒|何|なに|忘|ひみつ|ない|まだ|もう|変)[\p{L}ー]{2,12}[」』]?(?:です|だ|。|$)/u,
];
/** Letters of both cases and digits without a space: no word, no number, no hash in hexadecimal. */
const RANDOM = /(?<![\w/+-])(?=[\w/+-]*[a-z])(?=[\w/+-]*[A-Z])(?=(?:[\w/+-]*\d){3})[\w/+-]{40,200}={0,2}/u;

/** The readable part of a link: a long path is no key. */
const LINK = /https?:\/\/[^\s?#]+/giu;

/** Does a text have the form of a secret, also in other digits, or with invisible characters in between? */
export function holdsSecret(text: string): boolean {
  const plain = plainDigits(withoutUnseen(normalForm(text.slice(0, MAX_LENGTH), "NFKC")));
  if (PATTERNS.some((pattern) => pattern.test(plain)) || RANDOM.test(plain.replaceAll(LINK, " ")))
    return true;
  return holdsSecretNumber(plain) || holdsLabelled(plain) || opensWithDigits(plain) || isSeed(plain);
}

/** Longest distance from a label to its value, in UTF-16 units and in words. */
const REACH = 120;
const MAX_GAP = 6;
/** Words of a list that restores a wallet. */
const SEED_WORDS = 10;
const SEED_LENGTHS: ReadonlySet<number> = new Set([12, 15, 18, 21, 24]);

function holdsLabelled(plain: string): boolean {
  // Letters whose small form has another length would shift the places.
  const lower = plain.toLowerCase();
  const text = lower.length === plain.length ? plain : lower;
  for (const { 0: label, index, groups = {} } of lower.matchAll(LABEL)) {
    const kind = KINDS.find((one) => groups[`c_${one}`] !== undefined || groups[`w_${one}`] !== undefined);
    if (kind === undefined) continue;
    const end = index + label.length;
    const behind = wordsOf(text.slice(end, end + REACH));
    const before = wordsOf(text.slice(Math.max(0, index - REACH), index));
    const qualifier = before.at(-1)?.core.toLowerCase() ?? "";
    if (NO_SECRET_BEFORE.has(qualifier)) continue;
    const isMine = POSSESSIVES.has(qualifier) || POSSESSIVES.has(label);
    const isOfDoor = OPENED.test(text.slice(Math.max(0, index - 30), index).toLowerCase());
    if (isTold({ kind, label, isMine, isOfDoor }, behind)) return true;
    if (isToldBefore(kind, before)) return true;
  }
  return false;
}

interface Word {
  readonly text: string;
  /** Without punctuation around it. */
  readonly core: string;
  /** It ends a clause. */
  readonly isEnd: boolean;
  readonly isQuoted: boolean;
}

function wordsOf(text: string): Word[] {
  return text
    .replaceAll(/(?<=^|\s|["'”’])[:=]|[:=](?=\s|$)/gu, " $& ")
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word) => ({
      text: word,
      core: stripped(word, `"'“„«»‚‘(<[\`*`, `"'”“’»«)>]\`*.,;!?…。，`),
      isEnd: /[.,;!?…)。，][*"'”’»`]*$/u.test(word),
      isQuoted: /^["“„«‚‘'`]/u.test(word),
    }));
}

/** Without these characters at its ends. */
function stripped(word: string, first: string, last: string): string {
  let from = 0;
  let to = word.length;
  while (from < to && first.includes(word.charAt(from))) from++;
  while (to > from && last.includes(word.charAt(to - 1))) to--;
  return word.slice(from, to);
}

interface Label {
  readonly kind: LabelKind;
  readonly label: string;
  readonly isMine: boolean;
  /** A door stands before it. */
  readonly isOfDoor: boolean;
}

/** Whether the value stands behind a label: at once, or behind a copula with a few words before it. */
function isTold({ kind, label, isMine, isOfDoor }: Label, words: readonly Word[]): boolean {
  if (kind === "words") return longestList(words) >= SEED_WORDS;
  const isFree = WITHOUT_COPULA.test(label);
  const copulas = (word: string): boolean => COPULAS.has(word) || (word === "to" && TO_IS.test(label));
  if (/^['’]s$/u.test(words[0]?.text ?? "") && isValueAt(kind, words, 1, false)) return true;
  for (const [gap, word] of words.slice(0, MAX_GAP + 2).entries()) {
    const lower = word.core.toLowerCase();
    if (copulas(word.text.toLowerCase())) return isValueAt(kind, words, gap + 1, true);
    if (TOWARDS.has(lower) && isValueAt(kind, words, gap + 1, false)) return true;
    if (NO_SECRET_BEHIND.has(lower)) return false;
    if (gap === 0 && word.text.startsWith("=")) return hasForm(kind, word.core.replace(/^=+/u, ""));
    const mayStand = gap === 0 ? (kind !== "bare" || isOfDoor) && kind !== "login" : isFree;
    if ((mayStand || isFree) && isStrong(kind, words, gap)) return true;
    if (gap === 0 && isFree && isMine && (word.isEnd || words.length === 1) && isPlain(kind, word))
      return true;
    if (word.isEnd && !word.text.endsWith(",")) return false;
  }
  return false;
}

/** Whether the value stands before a label: "4711 is my PIN". */
function isToldBefore(kind: LabelKind, words: readonly Word[]): boolean {
  if (kind === "words" || kind === "login" || kind === "number") return false;
  const place = words.findLastIndex(({ text }) => BEHIND_VALUE.has(text.toLowerCase()));
  const between = words.slice(place + 1);
  if (place < 1 || between.length > 3 || between.some(({ isEnd }) => isEnd)) return false;
  const first = between[0]?.core.toLowerCase();
  const isNamed =
    first === undefined ||
    /^(?:the|my|our|your|his|her|mein|meine|das|die|der|unser|el|la|mi|mon|le|ma|il|мой)$/u.test(first);
  if (!isNamed) return false;
  const value = words.slice(0, place).at(-1);
  if (value === undefined || (value.isEnd && !/[!?]$/.test(value.text))) return false;
  const digits = words
    .slice(0, place)
    .slice(-3)
    .map(({ core }) => core)
    .join(" ");
  const row = /(?<![\d-])(?:\p{Lu}-)?\d(?:[ -]?\d){3,9}$/u.exec(digits);
  return (
    (row !== null && (kind === "code" || kind === "bare")) || (isMixed(value.text) && value.core.length >= 5)
  );
}

/** @param mayBePlain whether an ordinary word may be the value */
function isValueAt(kind: LabelKind, words: readonly Word[], from: number, mayBePlain: boolean): boolean {
  let at = from;
  while (COPULAS.has(words[at]?.text.toLowerCase() ?? "") || FILLERS.has(words[at]?.core.toLowerCase() ?? ""))
    at++;
  const word = words[at];
  if (word === undefined) return false;
  if (kind === "login")
    return words.slice(at, at + 4).some(({ text }, place) => place > 0 && isMixed(text) && text.length >= 6);
  if (isStrong(kind, words, at)) return true;
  if (
    kind === "code" &&
    words.slice(at, at + 3).filter(({ core }) => DIGIT_WORDS.has(core.toLowerCase())).length === 3
  )
    return true;
  const isDirect = at === from || COPULAS.has(words[at - 1]?.text.toLowerCase() ?? "");
  if (!mayBePlain || kind !== "pass" || !isDirect) return false;
  return word.isQuoted || ((word.isEnd || at === words.length - 1) && isPlain(kind, word));
}

/** Whether the value shows by its form that it is one. */
function isStrong(kind: LabelKind, words: readonly Word[], at: number): boolean {
  const word = words[at];
  if (word === undefined || isNoValue(word.core)) return false;
  if (word.isQuoted && (kind === "pass" || kind === "mixed")) {
    const quoted = words.slice(at, at + 6).map(({ text }) => text);
    if (/\d/.test(quoted.slice(0, 1 + quoted.findIndex((one) => /["'”’»`][.,!]*$/u.test(one))).join(" ")))
      return true;
  }
  const digits = digitsFrom(words, at);
  const taken = Math.max(1, digits.words);
  const next = words[at + taken];
  const isCounted = digits.words > 0 && UNITS.has(next?.core.toLowerCase() ?? "");
  if (isCounted) return false;
  const isClosed = next === undefined || words[at + taken - 1]?.isEnd === true || isJoining(next.core);
  if (kind === "number")
    return digits.count >= 6 || (isMixedCode(word.core) && /(?:\d\D*){5}/.test(word.core));
  if (kind === "bare") return isClosed && (digits.count >= 4 || isMixedCode(word.core));
  if (kind === "code") return digits.count >= 3 || isMixedCode(word.core);
  return hasForm(kind, word.text) || (kind !== "key" && digits.count >= 4 && isClosed);
}

function isJoining(core: string): boolean {
  const word = core.toLowerCase();
  return FUNCTION_WORDS.has(word) || COPULAS.has(word);
}

function hasForm(kind: LabelKind, value: string): boolean {
  const core = stripped(value, `"'“„«`, `"'”»,;`);
  if (isNoValue(core)) return false;
  if (kind === "key")
    return core.length >= 8 && /\d/.test(core) && /\p{L}/u.test(core) && !/[()<>{}]/.test(core);
  return core.length >= 5 && isMixed(core);
}

/** Letters with digits or signs inside. */
function isMixed(word: string): boolean {
  const core = stripped(word, `"'“„«(`, `"'”»),;.?`);
  if (isNoValue(core) || !/\p{L}/u.test(core)) return false;
  return /\d/.test(core) || /[\p{L}][!#$%^&*+~@|][\p{L}]/u.test(core);
}

function isMixedCode(core: string): boolean {
  return (
    !isNoValue(core) &&
    core.length <= 24 &&
    /^[\p{L}\d#*-]+$/u.test(core) &&
    (core.match(/\d/g)?.length ?? 0) >= 2 &&
    core.length >= 4
  );
}

/** An ordinary word that is a password. */
function isPlain(kind: LabelKind, { core }: Word): boolean {
  return (
    (kind === "pass" || kind === "mixed") &&
    /^[\p{L}\p{M}][\p{L}\p{M}\d._-]{3,}$/u.test(core) &&
    !isPredicate(core.toLowerCase()) &&
    !FUNCTION_WORDS.has(core.toLowerCase())
  );
}

/** Links, addresses, paths, dates, times, versions and the like. */
function isNoValue(core: string): boolean {
  return /^(?:https?:|\w[\w.+-]*@\w[\w-]*\.|[~.]{0,2}\/|\d{4}-\d\d-\d\d|\d{1,2}[:.]\d\d$|\d+(?:st|nd|rd|th|s|h|ms|kb|mb|gb|bit)$|v?\d+(?:\.\d+)+$|#\d|\d+[-–]\d+$(?<!\d{2}-\d{2})|sha-?\d|md5|utf-?\d|base64|[\w-]+\.(?:md|txt|json|toml|conf|ts|py|sh|env)$)/iu.test(
    core,
  );
}

/** The digits of one word or of several groups, and how many words they are. */
function digitsFrom(words: readonly Word[], at: number): { readonly count: number; readonly words: number } {
  let count = 0;
  let taken = 0;
  for (const { core, isEnd } of words.slice(at, at + 8)) {
    if (taken === 0 ? !/^\d[\d-]*[#*]?$/.test(core) : !/^(?:\d[\d-]*[#*]?|\p{Lu})$/u.test(core)) break;
    count += core.replaceAll(/\D/g, "").length;
    taken++;
    if (isEnd) break;
  }
  return { count, words: taken };
}

/** The longest row of different words as wallets have, none of which only joins others. */
function longestList(words: readonly Word[]): number {
  let longest = 0;
  let row = new Set<string>();
  for (const { core } of words) {
    const word = core.toLowerCase();
    if (!/^[\p{L}\p{M}]{2,12}$/u.test(word) || SENTENCE_WORDS.has(word)) row = new Set();
    else row.add(word);
    longest = Math.max(longest, row.size);
  }
  return longest;
}

/** Whether a text, or a line or a clause of it, is a row of as many words as wallets have. */
function isSeed(plain: string): boolean {
  const bare = plain.replaceAll(/(?<!\S)\d{1,2}[.)]? (?=[a-z])/g, "").replaceAll(/,(?= |$)/gm, "");
  return bare.split(/[\n.:;!?]/).some((line) => {
    const words = line.trim().split(/ +/, 40);
    return (
      SEED_LENGTHS.has(words.length) &&
      new Set(words).size === words.length &&
      words.every((word) => /^[a-z]{3,8}$/.test(word) && !FUNCTION_WORDS.has(word))
    );
  });
}

const TYPED =
  /\b(?:enter|type|dial|press|punch(?: in)?|key in|use|tippe?|gib|drücke?|wähle?|teclea|marca|pulsa|tape[zr]?|compose[zr]?|digita|premi)\b\s+(?:in )?["'“]?\d(?:[ -]?\d){2,7}[#*]?(?![\d.:/])/giu;
const OPENS =
  /\b(?:opens?|unlocks?|unlocked|disarmed|off|öffnet|geht auf|aus|unscharf|deaktiviert|abre|ouvre|s'ouvre|apre)\b[^\n.]{0,20}?\b(?:with|mit|con|avec|com)\s+\d(?:[ -]?\d){3,9}(?![\d.:/])/giu;

const TYPED_BEFORE =
  /(?<![\d.:/-])\d(?:[ -]?\d){3,9}[#*]? (?:eintippen|eingeben|drücken|tippen|wählen|invoeren|intoetsen)/giu;

/** "Type 7731 at the gate", "the safe opens with 18 72 05". */
function opensWithDigits(plain: string): boolean {
  return [TYPED, OPENS, TYPED_BEFORE].some((pattern) =>
    [...plain.matchAll(pattern)].some(({ 0: found, index }) =>
      OPENED.test(plain.slice(Math.max(0, index - 60), index + found.length + 60).toLowerCase()),
    ),
  );
}
