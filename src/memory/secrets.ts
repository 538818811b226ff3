import { normalForm, plainDigits } from "../text/text.ts";
import { withoutUnseen } from "../text/unseen.ts";

/** Finds keys, tokens, passwords and card numbers, by their form alone. Pure. */

/** Longest text that is looked at, in UTF-16 units. */
const MAX_LENGTH = 10_000;

const PATTERNS: readonly RegExp[] = [
  // Keys and tokens by the prefix that their issuer gives them.
  /\b(?:sk|pk|rk)[-_][\w-]{16,}/u,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/u,
  /\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|npm_\w{30,}|hf_\w{20,}|pypi-[\w-]{30,})/u,
  /\bxox[abeoprs]-[\w-]{10,}|\bxapp-\d-[\w-]{10,}/u,
  /\bAIza[\w-]{30,}/u,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/u,
  /\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}/u,
  /\b\d{8,10}:[\w-]{35}\b/u,
  /-----BEGIN [A-Z ]*PRIVATE KEY/u,
  /\bBearer\s+[\w.~+/-]{16,}/iu,
  // A password in an address.
  /\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s/:@]{1,100}:[^\s/@]{1,100}@/iu,
  // A password by its label: the value that follows does not look like a word.
  /\b(?:pass(?:word|wd|phrase|code)|pwd|api[ _-]?key|(?:access|auth|api|bot|secret)[ _-]?(?:token|key)|client[ _-]?secret|passwort|kennwort|mot de passe|contraseña|senha)\b['"”]?\s*(?:is|are|ist|est|es|:|=|→){1,8}\s*['"“]?(?=\S{0,200}[\d!#$%^&*_+~])[^\s'"”]{6,}/iu,
  /(?:パスワード|暗証番号|密码|密碼|비밀번호)\s*(?:(?:は|是|为|為|:|=|은|는){1,8}\s*)?(?=\S{0,200}\d)[\w!#$%^&*+~-]{4,}/u,
];
/** Letters of both cases and digits without a space: no word, no number, no hash in hexadecimal. */
const RANDOM = /(?<![\w/+-])(?=[\w/+-]*[a-z])(?=[\w/+-]*[A-Z])(?=(?:[\w/+-]*\d){3})[\w/+-]{40,200}={0,2}/u;
const CARD = /(?<!\d)[2-6]\d(?:[ .-]?\d){11,17}(?!\d)/gu;

/** Does a text have the form of a secret, also in other digits, or with invisible characters in between? */
export function holdsSecret(text: string): boolean {
  const plain = plainDigits(withoutUnseen(normalForm(text.slice(0, MAX_LENGTH), "NFKC")));
  if (PATTERNS.some((pattern) => pattern.test(plain)) || RANDOM.test(plain)) return true;
  return [...plain.matchAll(CARD)].some(([number]) => isCardNumber(number.replaceAll(/\D/gu, "")));
}

/** By its check digit (Luhn); of one digit alone it would be no card. */
function isCardNumber(digits: string): boolean {
  if (new Set(digits).size < 2) return false;
  let sum = 0;
  for (const [index, digit] of Array.from(digits).toReversed().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}
