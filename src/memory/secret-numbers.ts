/** Numbers that are secret by their form alone: payment cards, bank accounts, identity numbers. Pure. */

const CARD = /(?<!\d)[2-6]\d(?:[ .-]?\d){11,17}(?!\d)/gu;
const ACCOUNT = /(?<![a-z\d])[a-z]{2}\d{2}(?:[ -]?[a-z\d]){11,36}/giu;
const MIN_ACCOUNT = 15;
const MAX_ACCOUNT = 34;
/** Share of digits from which a run of letters and digits may be an account. */
const DIGITS_SHARE = 0.6;

/** Identity numbers whose form no other number has. */
const IDENTITY: readonly RegExp[] = [
  // United States, Brazil, Korea, Britain, Italy.
  /(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])/u,
  /(?<!\d)\d{3}\.\d{3}\.\d{3}-\d{2}(?!\d)/u,
  /(?<![\d-])\d{2}(?:0\d|1[0-2])(?:[0-2]\d|3[01])-[1-4]\d{6}(?![\d-])/u,
  /(?<![A-Z\d])[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?![A-Z\d])/u,
  /(?<![A-Z\d])[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z](?![A-Z\d])/iu,
];
const CHINESE = /(?<!\d)\d{6}(?:19|20)\d{9}[\dX](?![\dA-Z])/giu;
const CHINESE_WEIGHTS = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];

/** @param text with plain digits */
export function holdsSecretNumber(text: string): boolean {
  if (!/\d{2}/.test(text)) return false;
  if (IDENTITY.some((pattern) => pattern.test(text))) return true;
  return (
    [...text.matchAll(CARD)].some(([number]) => isCardNumber(number.replaceAll(/\D/gu, ""))) ||
    [...text.matchAll(ACCOUNT)].some(([number]) => beginsWithAccount(number)) ||
    [...text.matchAll(CHINESE)].some(([number]) => isChineseIdentity(number))
  );
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

/** Whether some whole groups at its beginning are an international account number, by its check digits. */
function beginsWithAccount(text: string): boolean {
  let joined = "";
  for (const group of text.toUpperCase().split(/[ -]/)) {
    joined += group;
    if (joined.length > MAX_ACCOUNT) return false;
    const digits = joined.replaceAll(/\D/gu, "").length;
    if (joined.length >= MIN_ACCOUNT && digits >= joined.length * DIGITS_SHARE && isAccount(joined))
      return true;
  }
  return false;
}

/** ISO 7064, mod 97-10. */
function isAccount(account: string): boolean {
  let rest = 0;
  for (const character of account.slice(4) + account.slice(0, 4))
    for (const digit of Number.parseInt(character, 36).toString()) rest = (rest * 10 + Number(digit)) % 97;
  return rest === 1;
}

function isChineseIdentity(text: string): boolean {
  const sum = CHINESE_WEIGHTS.reduce(
    (total, weight, index) => total + weight * Number(text.charAt(index)),
    0,
  );
  return "10X98765432".charAt(sum % 11) === text.charAt(17).toUpperCase();
}
